package hostmem

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

// udmabuf is a dma.Source of one u-dma-buf: contiguous memory that a kernel module
// holds, whoever dies. Its files are those of its Readme ("Device file",
// github.com/ikwzm/udmabuf, since version 2).
//
// Where DMA is not coherent, the same memory is mapped twice: cached for buffers, and
// uncached (O_SYNC) for descriptors, never the same page in both ways.
type udmabuf struct {
	config   Config
	name     string
	dir      string // in sysfs
	phys     uint64
	size     int
	coherent bool
	why      string
	maintain func([]byte) dma.Syncer // nil: by the sync files
	reach    reach

	lock  int // holds the device for this process; -1: nothing is mapped
	free  dma.Ranges
	taken int // regions
	files *syncFiles
}

func newUDMABuf(c Config, s situation, maintain func([]byte) dma.Syncer) (*udmabuf, error) {
	u := &udmabuf{config: c, name: c.Options.UDMABuf, reach: s.reach, maintain: maintain, lock: -1}
	for _, class := range []string{"/sys/class/u-dma-buf/", "/sys/class/udmabuf/"} {
		if c.Root.Exists(class, u.name) {
			u.dir = class + u.name
		}
	}
	if u.dir == "" {
		return nil, fmt.Errorf("no u-dma-buf called %s; there are: %s. As root: insmod u-dma-buf.ko %s=16777216: %w", u.name, c.Root.List("/sys/class/u-dma-buf"), u.name, mac.ErrNoDevice)
	}
	var err error
	if u.phys, err = c.Root.Number(u.dir, "phys_addr"); err != nil {
		return nil, fmt.Errorf("u-dma-buf %s: %w", u.name, err)
	}
	size, err := c.Root.Number(u.dir, "size")
	if err != nil {
		return nil, fmt.Errorf("u-dma-buf %s: %w", u.name, err)
	}
	page := uint64(os.Getpagesize())
	if size = min(size, 1<<30) &^ (page - 1); size == 0 || u.phys%page != 0 {
		return nil, fmt.Errorf("u-dma-buf %s: %d bytes at %#x: not whole pages: %w", u.name, size, u.phys, mac.ErrUnsupported)
	}
	u.size = int(size)
	device, ok := s.reach.device(u.phys, size)
	if !ok {
		return nil, fmt.Errorf("u-dma-buf %s at %#x: the device reaches %s alone (dma-ranges of the device tree): %w", u.name, u.phys, s.reach.dma, mac.ErrUnsupported)
	}
	u.free.Add(device, size)
	u.coherent, u.why = s.coherent, s.why
	if own, err := c.Root.Text(u.dir, "dma_coherent"); err == nil && own == "1" && !u.coherent {
		u.coherent, u.why = true, "u-dma-buf says dma_coherent"
	}
	u.files = &syncFiles{forDevice: c.Root.Path(u.dir, "sync_for_device"), forCPU: c.Root.Path(u.dir, "sync_for_cpu")}
	return u, nil
}

// coherence is the part of a line about caches; how is what a program can do.
func (u *udmabuf) coherence(how string) string {
	switch {
	case u.coherent:
		return "coherent since " + u.why
	case u.maintain == nil:
		how = "its sync files"
	}
	return "not coherent since " + u.why + ", maintained by " + how + ", descriptors uncached"
}

// Map implements dma.Source. Descriptors get a region of their own where they need
// another mapping than buffers.
func (u *udmabuf) Map(use mac.Use, size, align int, limit uint64) (dma.Region, error) {
	page := os.Getpagesize()
	if align > page {
		return dma.Region{}, fmt.Errorf("alignment %d is more than a page of %d bytes: %w", align, page, mac.ErrConfig)
	}
	size = (size + page - 1) / page * page
	if err := u.hold(); err != nil {
		return dma.Region{}, err
	}
	device, ok := u.free.Take(uint64(size), uint64(page), limit)
	if !ok {
		return dma.Region{}, errors.Join(fmt.Errorf("%w: u-dma-buf %s has %d bytes, %d of them in one piece are wanted below %#x. Make it larger, or ask for less (mac.Config.Pages, RXRing, TXRing): %w", errFull, u.name, u.size, size, limit, mac.ErrUnsupported), u.let())
	}
	r, err := u.mapAt(use, device, size)
	if err != nil {
		u.free.Add(device, uint64(size))
		return dma.Region{}, errors.Join(err, u.let())
	}
	u.taken++
	return r, nil
}

func (u *udmabuf) mapAt(use mac.Use, device uint64, size int) (dma.Region, error) {
	first, _ := u.reach.device(u.phys, uint64(u.size))
	off := int(device - first)
	r := dma.Region{Device: device, Kind: dma.Cached}
	switch {
	case u.coherent:
		r.Kind = dma.Coherent
	case use == mac.Descriptors:
		r.Kind = dma.Words
		// What the last user left in the cache must not come down on descriptors.
		u.files.sync(u.files.device, 0, off, size)
		u.files.sync(u.files.cpu, 0, off, size)
		if err := u.files.failed(); err != nil {
			return r, err
		}
	}
	path := u.config.Root.Path("/dev", u.name)
	fd, err := u.config.Hooks.OpenFile(path, r.Kind == dma.Words)
	if err != nil {
		return r, u.explain(&os.PathError{Op: "open", Path: path, Err: err})
	}
	defer unix.Close(fd)
	r.Bytes, err = unix.Mmap(fd, int64(off), size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return r, fmt.Errorf("map %d bytes of %s: %w", size, path, err)
	}
	if r.Kind == dma.Cached {
		r.Sync = &syncRegion{files: u.files, base: off}
		if u.maintain != nil {
			r.Sync = u.maintain(r.Bytes)
		}
	}
	return r, nil
}

func (u *udmabuf) explain(err error) error {
	return sysfs.Why(err, "run udev or mdev -s", "run as root or: chown $USER /dev/"+u.name)
}

// hold keeps other programs out, let lets them in with the last region.
func (u *udmabuf) hold() error {
	if u.lock >= 0 {
		return nil
	}
	path := u.config.Root.Path("/dev", u.name)
	fd, err := u.config.Hooks.OpenFile(path, false)
	if err != nil {
		return u.explain(&os.PathError{Op: "open", Path: path, Err: err})
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("u-dma-buf %s: another program uses it: %w", u.name, err), unix.Close(fd))
	}
	if !u.coherent {
		if err := u.files.open(); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
	}
	u.lock = fd
	return nil
}

func (u *udmabuf) let() error {
	if u.taken > 0 || u.lock < 0 {
		return nil
	}
	err := unix.Close(u.lock)
	u.lock = -1
	if !u.coherent {
		err = errors.Join(err, u.files.close())
	}
	return err
}

// Check implements dma.Source: syncing has worked so far.
func (u *udmabuf) Check(dma.Region) error { return u.files.failed() }

// Unmap implements dma.Source.
func (u *udmabuf) Unmap(r dma.Region) error {
	if err := unix.Munmap(r.Bytes); err != nil {
		return err
	}
	u.free.Add(r.Device, uint64(len(r.Bytes)))
	u.taken--
	return errors.Join(u.let(), u.files.failed())
}

// syncFiles has the kernel maintain caches. The files are open while memory is mapped.
type syncFiles struct {
	forDevice, forCPU string // paths
	device, cpu       int    // descriptors
	err               atomic.Pointer[error]
}

// Directions, as in enum dma_data_direction.
const (
	bidirectional = 0
	toDevice      = 1
	fromDevice    = 2
)

func (s *syncFiles) open() (err error) {
	if s.device, err = unix.Open(s.forDevice, unix.O_WRONLY|unix.O_CLOEXEC, 0); err != nil {
		return explainSync(&os.PathError{Op: "open", Path: s.forDevice, Err: err})
	}
	if s.cpu, err = unix.Open(s.forCPU, unix.O_WRONLY|unix.O_CLOEXEC, 0); err != nil {
		return errors.Join(explainSync(&os.PathError{Op: "open", Path: s.forCPU, Err: err}), unix.Close(s.device))
	}
	return nil
}

func (s *syncFiles) close() error { return errors.Join(unix.Close(s.device), unix.Close(s.cpu)) }

func explainSync(err error) error {
	return sysfs.Why(err, "u-dma-buf has no sync files: take version 2 or later", "run as root or: chown $USER the sync files")
}

// sync maintains size bytes from off of the buffer. A failure is kept: whoever syncs
// a frame could do nothing about it.
func (s *syncFiles) sync(fd, direction, off, size int) {
	// One number has it all: offset, size in units of 16 bytes, direction, and a 1.
	const unit = 16
	from := off &^ (unit - 1)
	size = (off + size - from + unit - 1) &^ (unit - 1)
	var text [20]byte
	word := strconv.AppendUint(append(text[:0], "0x"...), uint64(from)<<32|uint64(size)|uint64(direction)<<2|1, 16)
	if _, err := unix.Pwrite(fd, word, 0); err != nil {
		failure := fmt.Errorf("u-dma-buf: sync %d bytes: %w", size, err)
		s.err.CompareAndSwap(nil, &failure)
	}
}

// failed is the first failure.
func (s *syncFiles) failed() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// syncRegion keeps one region right by the sync files.
type syncRegion struct {
	files *syncFiles
	base  int // of the region in the buffer
}

func direction(use mac.Use) int {
	switch use {
	case mac.TXBuffers:
		return toDevice
	case mac.RXBuffers:
		return fromDevice
	}
	return bidirectional
}

// ForDevice implements dma.Syncer.
func (r *syncRegion) ForDevice(use mac.Use, off, n int) {
	// u-dma-buf maintains for the device only what goes to it, and no line may stay
	// that is still dirty.
	d := direction(use)
	if d == fromDevice {
		d = bidirectional
	}
	r.files.sync(r.files.device, d, r.base+off, n)
}

// ForCPU implements dma.Syncer.
func (r *syncRegion) ForCPU(use mac.Use, off, n int) {
	if use != mac.TXBuffers {
		r.files.sync(r.files.cpu, direction(use), r.base+off, n)
	}
}
