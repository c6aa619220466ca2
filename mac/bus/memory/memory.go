// Package memory says which DMA memory a device without an IOMMU is given.
//
// # Which kind
//
// A device that reaches all of memory must have memory that stays its own. When the
// process is killed, the device goes on writing until the next start stops it; where
// those pages have gone to somebody else by then, it writes over that. So two kinds
// are safe, which belong to the device for ever: memory that the kernel leaves alone
// (Reserved), and u-dma-buf, a kernel module that keeps it. They come first. The
// others, which the kernel takes back with the process, must be asked for by a name
// that says so.
//
//   - Reserved memory is mapped uncached. On Arm it is Device memory then, which takes
//     aligned words only; so descriptors lie in it, and frames are copied between it
//     and plain memory a word at a time. It works everywhere, and costs a copy of each
//     frame.
//   - u-dma-buf is plain memory, cached, and kept right by syncing where DMA is not
//     coherent. Descriptors lie in an uncached part of it. The best kind without an
//     IOMMU.
//   - A DMA heap of contiguous memory (CMA), and huge pages, are plain memory, too.
//     Where DMA is not coherent, descriptors need reserved memory besides.
//
// # Caches
//
// Whether DMA is coherent is known and never guessed: the device tree says
// dma-coherent, or u-dma-buf does, or the architecture is (x86). Where it is not, a
// range is maintained exactly as long as it is: by DC CVAC and DC CIVAC on arm64, and
// elsewhere by the sync files of u-dma-buf. The sync ioctl of dma-buf is no way: the
// kernel's heaps maintain caches for devices attached in the kernel, and there is none
// (drivers/dma-buf/heaps/cma_heap.c, begin_cpu_access).
//
// # How to set memory aside
//
//	# in the device tree, and in the MAC's node: memory-region = <&mac_dma>;
//	reserved-memory {
//		#address-cells = <1>; #size-cells = <1>; ranges;
//		mac_dma: mac-dma@7c000000 { reg = <0x7c000000 0x1000000>; no-map; };
//	};
//
//	# or on the kernel's command line, leaving the end of memory out
//	mem=960M                  # and Options.Reserved from there
//
//	# or u-dma-buf
//	insmod u-dma-buf.ko udmabuf0=16777216
package memory

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Options says which DMA memory to use. The zero value takes what the device tree
// sets aside for the device.
type Options struct {
	// Reserved is physical memory that the kernel does not use, from /dev/mem. Zero:
	// that of the device's memory-region.
	Reserved Range

	// UDMABuf is the name of a u-dma-buf device ("udmabuf0").
	UDMABuf string

	// UnsafeDMAHeap is the name of a heap in /dev/dma_heap that gives contiguous
	// memory ("linux,cma", "default_cma_region"). Unsafe as huge pages are.
	UnsafeDMAHeap string

	// UnsafeHugePages takes memory from huge pages, whose physical addresses are
	// read from /proc/self/pagemap. That needs root (CAP_SYS_ADMIN).
	//
	// Unsafe: a device that is not stopped goes on writing to it after the process
	// has died and the kernel has given it to somebody else.
	UnsafeHugePages bool

	// HugePageSize is the size of huge pages in bytes, one that
	// /sys/kernel/mm/hugepages lists. 0: the system's default.
	HugePageSize int

	// AssumeCoherent says that CPU and device see each other's writes in DMA
	// memory although the kernel does not say so, as it does not on Arm with ACPI.
	// Where that is wrong, frames and descriptors are damaged.
	AssumeCoherent bool
}

// Range is Size bytes of physical memory from Addr on.
type Range struct{ Addr, Size uint64 }

// String is the range as ParseRange takes it.
func (r Range) String() string { return fmt.Sprintf("%#x+%#x", r.Addr, r.Size) }

// ParseRange parses "0x7c000000+0x1000000": address and size in bytes, each decimal or
// with a prefix 0x, the size with K, M or G behind it if you like.
func ParseRange(s string) (Range, error) {
	addr, size, _ := strings.Cut(s, "+")
	var r Range
	shift := 0
	for i, unit := range []string{"K", "M", "G"} {
		if rest, ok := strings.CutSuffix(size, unit); ok {
			size, shift = rest, 10*(i+1)
		}
	}
	var err, serr error
	r.Addr, err = strconv.ParseUint(addr, 0, 64)
	r.Size, serr = strconv.ParseUint(size, 0, 64)
	if err != nil || serr != nil || r.Size == 0 || r.Size > math.MaxUint64>>shift || r.Addr > math.MaxUint64-r.Size<<shift {
		return Range{}, fmt.Errorf(`memory: range %q: want address and size like "0x7c000000+16M"`, s)
	}
	r.Size <<= shift
	return r, nil
}
