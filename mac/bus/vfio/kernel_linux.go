package vfio

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac/bus/internal/mmio"
)

// kernel is what the bus wants of the operating system for VFIO files.
type kernel interface {
	Open(path string) (fd int, err error)
	Close(fd int) error
	// Ioctl passes a structure, which the kernel may change. The result is that
	// of the call: a descriptor, for one.
	Ioctl(fd int, request uint, arg []byte) (int, error)
	// IoctlInt passes a number.
	IoctlInt(fd int, request uint, arg int) (int, error)
	// Map maps registers at a file position.
	Map(fd int, offset int64, size uint64) (*mmio.Window, error)
	Pread(fd int, b []byte, offset int64) (int, error)
	Pwrite(fd int, b []byte, offset int64) (int, error)
}

// linux is the real kernel.
type linux struct{}

func (linux) Open(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (linux) Close(fd int) error { return unix.Close(fd) }

func (linux) Ioctl(fd int, request uint, arg []byte) (int, error) {
	return ioctl(fd, request, arg)
}

func (linux) IoctlInt(fd int, request uint, arg int) (int, error) {
	return ioctlInt(fd, request, arg)
}

func (linux) Map(fd int, offset int64, size uint64) (*mmio.Window, error) {
	return mmio.Map(fd, offset, 0, size)
}

func (linux) Pread(fd int, b []byte, offset int64) (int, error) { return unix.Pread(fd, b, offset) }

func (linux) Pwrite(fd int, b []byte, offset int64) (int, error) { return unix.Pwrite(fd, b, offset) }

// configSpace is a sysfs.ConfigSpace in a device file.
type configSpace struct {
	k      kernel
	device int
	region region
}

func (c *configSpace) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.k.Pread(c.device, b, int64(c.region.offset)+off)
	return n, whole(n, len(b), err)
}

func (c *configSpace) WriteAt(b []byte, off int64) (int, error) {
	n, err := c.k.Pwrite(c.device, b, int64(c.region.offset)+off)
	return n, whole(n, len(b), err)
}

func whole(n, want int, err error) error {
	if err == nil && n != want {
		return unix.EIO
	}
	return err
}
