//go:build linux

package hostmem

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ioctl passes a structure of at least one byte, which the kernel may change.
func ioctl(fd int, request uint, arg []byte) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(&arg[0])))
		runtime.KeepAlive(arg)
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}
