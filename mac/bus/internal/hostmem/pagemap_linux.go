package hostmem

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

// Bits of a pagemap entry (Documentation/admin-guide/mm/pagemap).
const (
	frameMask   = 1<<55 - 1
	pageSwapped = 1 << 62
	pagePresent = 1 << 63
)

func openPagemap() (*os.File, error) {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, sysfs.Why(err, "mount /proc, or enable CONFIG_PROC_PAGE_MONITOR", "run as root (CAP_SYS_ADMIN)")
	}
	return f, nil
}

// physical returns the physical address of b, which is aligned to pages, after
// it has seen that b is in memory, in one piece.
func physical(pagemap io.ReaderAt, b []byte) (uint64, error) {
	page := os.Getpagesize()
	entries := make([]byte, len(b)/page*8)
	at := int64(dma.Address(b) / uint64(page) * 8)
	if n, err := pagemap.ReadAt(entries, at); n < len(entries) {
		return 0, fmt.Errorf("read physical addresses from pagemap: %w", err)
	}
	var first uint64
	for i := 0; i < len(entries); i += 8 {
		e := binary.NativeEndian.Uint64(entries[i:])
		frame := e & frameMask
		switch {
		case e&pageSwapped != 0:
			return 0, fmt.Errorf("page %d of DMA memory is swapped out: it is not locked: %w", i/8, mac.ErrUnsupported)
		case e&pagePresent == 0:
			return 0, fmt.Errorf("page %d of DMA memory is not present: the memory or hugetlb limit of this control group is too low (hugetlb.*.max): %w", i/8, mac.ErrUnsupported)
		case frame == 0:
			return 0, fmt.Errorf("pagemap hides physical addresses: run as root (CAP_SYS_ADMIN): %w", os.ErrPermission)
		case i == 0:
			first = frame
		case frame != first+uint64(i/8):
			return 0, fmt.Errorf("DMA memory is not in one piece: page %d is frame %#x, not %#x: %w", i/8, frame, first+uint64(i/8), mac.ErrUnsupported)
		}
	}
	return first * uint64(page), nil
}
