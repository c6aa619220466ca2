// Package hostmem makes the DMA memory of buses without an IOMMU, of the kinds that
// package memory describes.
package hostmem

import "io"

// Hooks stand in for parts of the kernel.
type Hooks struct {
	Pagemap io.ReaderAt                                       // nil: /proc/self/pagemap
	Memfd   func(size int64) (int, error)                     // nil: huge pages
	Heap    func(path string, size int) (fd int, err error)   // nil: /dev/dma_heap
	Open    func(path string, sync bool) (fd int, err error)  // nil: open(2)
	Cache   func() (line int, clean, invalidate func([]byte)) // nil: package cache
}
