package mmio

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
)

// Map maps size bytes of registers from fd: lead bytes behind file position
// offset, which is a multiple of the page size.
func Map(fd int, offset int64, lead, size uint64) (*Window, error) {
	const most = 1 << 30
	if size < 4 || size%4 != 0 || lead%4 != 0 || size > most || lead > most {
		return nil, fmt.Errorf("map %d bytes of registers at %d: not whole 32-bit registers: %w", size, lead, mac.ErrUnsupported)
	}
	page := uint64(os.Getpagesize())
	all, err := unix.Mmap(fd, offset, int((lead+size+page-1)/page*page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w (kernel lockdown, as with Secure Boot, forbids it: see /sys/kernel/security/lockdown)", err)
		}
		return nil, fmt.Errorf("map %d bytes of registers: %w", size, err)
	}
	return &Window{regs: all[lead : lead+size : lead+size], all: all}, nil
}

// Unmap gives the mapping back. Nobody uses the window any more; a late access
// panics.
func (w *Window) Unmap() error {
	all := w.all
	w.regs, w.all = nil, nil
	if all == nil {
		return nil
	}
	return unix.Munmap(all)
}
