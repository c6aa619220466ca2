//go:build linux

package vfio

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ioctl passes a structure of at least one byte. The kernel keeps no pointer
// into it.
func ioctl(fd int, request uint, arg []byte) (int, error) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(&arg[0])))
		runtime.KeepAlive(arg)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, errno
		}
		return int(n), nil
	}
}

func ioctlInt(fd int, request uint, arg int) (int, error) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, errno
		}
		return int(n), nil
	}
}
