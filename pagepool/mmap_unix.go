//go:build unix

package pagepool

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NewMmap returns anonymous private memory outside the Go heap for a simulated
// device that sees it at deviceAddr: coherent, zeroed, page-aligned and
// populated. Its Release unmaps it. Other systems than Unix get NewHeap.
func NewMmap(size int, deviceAddr uint64) (Memory, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("pagepool: map %d bytes of memory: %w", size, err)
	}
	for i := 0; i < len(b); i += heapAlign {
		b[i] = 0 // a write makes the kernel provide the page now
	}
	return &hostMemory{b: b, addr: deviceAddr, unmap: func() error { return unix.Munmap(b) }}, nil
}
