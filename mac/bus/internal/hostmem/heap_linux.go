package hostmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

// heap is a dma.Source of a DMA heap (include/uapi/linux/dma-heap.h). Each region is
// one dma-buf, which goes with its last mapping. Physical addresses are those of
// /proc/self/pagemap: a dma-buf has no others for a program.
type heap struct {
	pages
	name  string
	root  sysfs.Root
	hooks Hooks
}

// heapAlloc is DMA_HEAP_IOCTL_ALLOC: _IOWR('H', 0, struct dma_heap_allocation_data).
const heapAlloc = 0xc0184800

// Map implements dma.Source.
func (h *heap) Map(_ mac.Use, size, align int, limit uint64) (dma.Region, error) {
	page := os.Getpagesize()
	if align > page {
		return dma.Region{}, fmt.Errorf("alignment %d is more than a page of %d bytes: %w", align, page, mac.ErrConfig)
	}
	size = (size + page - 1) / page * page
	fd, err := h.allocate(size)
	if err != nil {
		return dma.Region{}, err
	}
	defer unix.Close(fd)
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return dma.Region{}, fmt.Errorf("map %d bytes of DMA heap %s: %w", size, h.name, err)
	}
	phys, err := h.locate(b)
	if err != nil {
		return dma.Region{}, errors.Join(fmt.Errorf("DMA heap %s: %w", h.name, err), unix.Munmap(b))
	}
	device, ok := h.reach.device(phys, uint64(size))
	if !ok || device >= limit || limit-device < uint64(size) || device/fourGiB != (device+uint64(size)-1)/fourGiB {
		return dma.Region{}, errors.Join(fmt.Errorf("DMA heap %s: %d bytes at %#x: the device does not reach them, or not in one piece below %#x: take another heap: %w", h.name, size, phys, limit, mac.ErrUnsupported), unix.Munmap(b))
	}
	return h.region(b, device), nil
}

func (h *heap) allocate(size int) (int, error) {
	path := h.root.Path("/dev/dma_heap", h.name)
	if h.hooks.Heap != nil {
		return h.hooks.Heap(path, size)
	}
	f, err := os.Open(path)
	if err != nil {
		return -1, sysfs.Why(err, "heaps there are: "+h.root.List("/dev/dma_heap")+" (CONFIG_DMABUF_HEAPS_CMA)", "run as root or: chown $USER "+path)
	}
	defer f.Close()
	arg := make([]byte, 24) // length, descriptor, its flags, flags
	binary.NativeEndian.PutUint64(arg, uint64(size))
	binary.NativeEndian.PutUint32(arg[12:], unix.O_RDWR|unix.O_CLOEXEC)
	if err := ioctl(int(f.Fd()), heapAlloc, arg); err != nil {
		if errors.Is(err, unix.ENOMEM) {
			err = fmt.Errorf("%w: raise cma= on the kernel command line, or ask for less (mac.Config.Pages)", err)
		}
		return -1, fmt.Errorf("DMA_HEAP_IOCTL_ALLOC %d bytes of %s: %w", size, path, err)
	}
	return int(binary.NativeEndian.Uint32(arg[8:])), nil
}

// locate brings all pages in and returns the address of the first.
func (h *heap) locate(b []byte) (uint64, error) {
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 0
	}
	var pagemap io.ReaderAt = h.hooks.Pagemap
	if pagemap == nil {
		f, err := openPagemap()
		if err != nil {
			return 0, err
		}
		defer f.Close()
		pagemap = f
	}
	return physical(pagemap, b)
}

// Check implements dma.Source. A dma-buf is not moved.
func (h *heap) Check(dma.Region) error { return nil }

// Unmap implements dma.Source.
func (h *heap) Unmap(r dma.Region) error { return unix.Munmap(r.Bytes) }
