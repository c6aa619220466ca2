package vfio

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
)

const (
	// granule is the unit of mappings and their alignment on both sides: a huge
	// page on most machines, one entry of most IOMMUs.
	granule = 2 << 20

	// lowestIOVA keeps address 0, and what old devices decode, out of use.
	lowestIOVA  = 1 << 20
	highestIOVA = 1<<63 - 1

	// Between these no known machine reserves anything: above the message
	// interrupt window of Arm (0x08000000), below that of x86 (0xfee00000).
	defaultLow, defaultHigh = 0x10000000, 0xe0000000
)

// memory is a dma.Source: anonymous memory that the IOMMU shows to the device
// and the kernel keeps locked.
type memory struct {
	k         kernel
	container int

	mu     sync.Mutex // guards what follows
	space  dma.Ranges // free IOVAs
	mapped map[uint64]mapping
	gone   bool // the IOMMU mappings have been taken away
	huge   int  // regions of huge pages
	normal int  // other regions
}

// mapping is one region of memory and the whole of what was mapped for it.
type mapping struct {
	all  []byte
	size uint64
	huge bool
}

func newMemory(k kernel, container int) (*memory, error) {
	space, ok, err := iovaRanges(k, container)
	if err != nil {
		return nil, err
	}
	if !ok {
		space.Add(defaultLow, defaultHigh-defaultLow)
	}
	return &memory{k: k, container: container, space: space, mapped: map[uint64]mapping{}}, nil
}

// Map implements dma.Source.
func (m *memory) Map(_ mac.Use, size, align int, limit uint64) (dma.Region, error) {
	size = (size + granule - 1) / granule * granule
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return dma.Region{}, unix.EBADF
	}
	iova, ok := m.space.Take(uint64(size), uint64(max(align, granule)), limit)
	if !ok {
		return dma.Region{}, fmt.Errorf("no %d bytes of free IOVA below %#x: %w", size, limit, mac.ErrUnsupported)
	}
	bytes, mp, err := anonymous(size, max(align, granule))
	if err != nil {
		m.space.Add(iova, uint64(size))
		return dma.Region{}, fmt.Errorf("map %d bytes: %w", size, err)
	}
	if err := mapDMA(m.k, m.container, dma.Address(bytes), iova, uint64(size)); err != nil {
		m.space.Add(iova, uint64(size))
		return dma.Region{}, errors.Join(explainMap(err, size, iova), unix.Munmap(mp.all))
	}
	m.mapped[iova] = mp
	m.count(mp, 1)
	return dma.Region{Bytes: bytes, Device: iova}, nil
}

func (m *memory) count(mp mapping, n int) {
	if mp.huge {
		m.huge += n
	} else {
		m.normal += n
	}
}

func explainMap(err error, size int, iova uint64) error {
	switch {
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("%w: cannot lock %d bytes: raise the limit (ulimit -l unlimited, or memlock in /etc/security/limits.conf)", err, size)
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w: the IOMMU is out of entries for %d bytes: give it huge pages: echo 8 > /proc/sys/vm/nr_hugepages", err, size)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: IOVA %#x: the IOMMU reserves it", err, iova)
	}
	return err
}

// anonymous returns size bytes of huge pages when there are any, else of memory
// that the kernel is asked to make huge pages of.
func anonymous(size, align int) ([]byte, mapping, error) {
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if align == granule {
		// A huge page of another size makes this fail, or is aligned all the same.
		b, err := unix.Mmap(-1, 0, size, prot, flags|unix.MAP_HUGETLB|21<<unix.MAP_HUGE_SHIFT)
		if err == nil {
			return b, mapping{all: b, size: uint64(size), huge: true}, noFork(b)
		}
	}
	all, err := unix.Mmap(-1, 0, size+align, prot, flags)
	if err != nil {
		return nil, mapping{}, err
	}
	off := int(-dma.Address(all) & uint64(align-1))
	b := all[off : off+size : off+size]
	// A kernel without transparent huge pages refuses, and nothing is lost.
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return b, mapping{all: all, size: uint64(size)}, noFork(b)
}

// noFork keeps a child process from sharing the pages: the first write after a
// fork would give this process a copy, and the device would have the original.
func noFork(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_DONTFORK); err != nil {
		return fmt.Errorf("keep DMA memory from child processes: %w", err)
	}
	return nil
}

// Check implements dma.Source. The kernel holds the pages.
func (m *memory) Check(dma.Region) error { return nil }

// Unmap implements dma.Source.
func (m *memory) Unmap(r dma.Region) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	mp := m.mapped[r.Device]
	if !m.gone {
		// On failure the device may still reach the memory, so it stays.
		if err := unmapDMA(m.k, m.container, r.Device, mp.size); err != nil {
			return err
		}
		m.space.Add(r.Device, mp.size)
	}
	delete(m.mapped, r.Device)
	m.count(mp, -1)
	return unix.Munmap(mp.all)
}

// detach takes all memory away from the device. It stays mapped for the CPU
// until it is released.
func (m *memory) detach() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return nil
	}
	m.gone = true
	var errs []error
	for iova, mp := range m.mapped {
		errs = append(errs, unmapDMA(m.k, m.container, iova, mp.size))
	}
	return errors.Join(errs...)
}

func (m *memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.normal > 0:
		return "locked normal pages, since there are no free huge pages"
	case m.huge > 0:
		return "huge pages"
	}
	return "huge pages when there are free ones, locked normal pages otherwise"
}
