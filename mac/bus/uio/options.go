package uio

import (
	"github.com/barewire/barewire/mac/bus/internal/hostmem"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
)

// Options says how a device is used. The zero value, and a nil *Options, give
// registers, interrupt, and the DMA memory that the device tree sets aside.
type Options struct {
	// Memory says which DMA memory to use.
	Memory memory.Options

	// MemoryMap is the number of the UIO map that is DMA memory: where the device's
	// node has a range of reserved memory behind its registers in reg, neither
	// /dev/mem nor root is needed. 0: none.
	MemoryMap int

	// Compatible replaces what the bus finds out about the device, for a device
	// tree that names it for UIO alone ("generic-uio").
	Compatible []string

	// ClockHz is the rate of the core's register clock (CSR clock) in hertz. 0: what
	// the device tree says, if it does.
	ClockHz int

	// For tests.
	root   sysfs.Root                     // stands for /
	goarch string                         // "": that of the program
	hooks  hostmem.Hooks                  // of DMA memory
	open   func(path string) (int, error) // nil: open the UIO device, non-blocking
}
