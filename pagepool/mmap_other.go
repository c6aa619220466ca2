//go:build !unix

package pagepool

import "fmt"

// NewMmap is NewHeap on this system.
func NewMmap(size int, deviceAddr uint64) (Memory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("pagepool: map %d bytes of memory: need at least 1", size)
	}
	return NewHeap(size, deviceAddr), nil
}
