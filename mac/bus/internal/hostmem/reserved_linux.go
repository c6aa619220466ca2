package hostmem

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
)

// devMem is a window of /dev/mem.
func devMem(c *Config, r memory.Range, what string) *Window {
	return &Window{What: what, Range: r, Offset: int64(r.Addr), File: func() (int, error) {
		path := c.Root.Path("/dev/mem")
		fd, err := c.Hooks.OpenFile(path, true)
		if err != nil {
			return -1, sysfs.Why(&os.PathError{Op: "open", Path: path, Err: err}, "the kernel has no /dev/mem (CONFIG_DEVMEM)", "run as root (CAP_SYS_RAWIO)")
		}
		return fd, nil
	}}
}

// OpenFile opens a file; with sync, what is mapped of it is not cached.
func (h Hooks) OpenFile(path string, sync bool) (fd int, err error) {
	if h.Open != nil {
		return h.Open(path, sync)
	}
	flags := unix.O_RDWR | unix.O_CLOEXEC
	if sync {
		flags |= unix.O_SYNC
	}
	for {
		fd, err = unix.Open(path, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// reserved is a dma.Source of memory that the kernel does not use: one region, mapped
// uncached. Nobody else is given it when the process dies.
type reserved struct {
	window Window
	reach  reach
	root   sysfs.Root
	mapped bool
}

// Map implements dma.Source.
func (r *reserved) Map(_ mac.Use, size, _ int, _ uint64) (dma.Region, error) {
	w := r.window
	if r.mapped {
		return dma.Region{}, fmt.Errorf("%w: %s at %s. Set more aside, or ask for less (mac.Config.Pages, RXRing, TXRing): %w", errFull, w.What, w.Range, mac.ErrUnsupported)
	}
	page := uint64(os.Getpagesize())
	skip := -w.Range.Addr & (page - 1)
	if w.Range.Size < skip+page {
		return dma.Region{}, fmt.Errorf("%s at %s has no whole page of %d bytes: %w", w.What, w.Range, page, mac.ErrConfig)
	}
	addr, length := w.Range.Addr+skip, (w.Range.Size-skip)&^(page-1)
	if length < uint64(size) {
		return dma.Region{}, fmt.Errorf("%s at %s is too small for %d bytes: %w", w.What, w.Range, size, mac.ErrUnsupported)
	}
	length = min(length, 1<<30) // fits an int of 32 bits; more than any device needs
	device, ok := r.reach.device(addr, length)
	if !ok {
		return dma.Region{}, fmt.Errorf("%s at %s: the device reaches %s alone (dma-ranges of the device tree): %w", w.What, w.Range, r.reach.dma, mac.ErrUnsupported)
	}
	if ram := r.systemRAM(addr, length); ram != "" {
		return dma.Region{}, fmt.Errorf("%s at %s: the kernel uses %s as System RAM (/proc/iomem): leave it out with mem= on the kernel command line, or reserve it as no-map in the device tree: %w", w.What, w.Range, ram, mac.ErrConfig)
	}
	fd, err := w.File()
	if err != nil {
		return dma.Region{}, err
	}
	defer unix.Close(fd)
	b, err := unix.Mmap(fd, w.Offset+int64(skip), int(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w (the kernel uses this memory, or forbids /dev/mem: see /proc/iomem and /sys/kernel/security/lockdown)", err)
		}
		return dma.Region{}, fmt.Errorf("map %s at %s: %w", w.What, w.Range, err)
	}
	r.mapped = true
	return dma.Region{Bytes: b, Device: device, Kind: dma.Words}, nil
}

// systemRAM names memory of the kernel's within a range, "" when there is none or
// /proc/iomem does not say, as it does not to anybody but root.
func (r *reserved) systemRAM(addr, size uint64) string {
	text, err := os.ReadFile(r.root.Path("/proc/iomem"))
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		where, what, _ := strings.Cut(lines.Text(), " : ")
		var from, last uint64
		if _, err := fmt.Sscanf(where, "%x-%x", &from, &last); err != nil || what != "System RAM" || last == 0 {
			continue
		}
		if from < addr+size && addr <= last {
			return where
		}
	}
	return ""
}

// Check implements dma.Source.
func (r *reserved) Check(dma.Region) error { return nil }

// Unmap implements dma.Source.
func (r *reserved) Unmap(m dma.Region) error {
	r.mapped = false
	return unix.Munmap(m.Bytes)
}
