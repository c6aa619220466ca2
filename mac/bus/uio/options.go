package uio

import (
	"io"

	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

// Options says how a device is used. The zero value, and a nil *Options, give
// registers and interrupt but no DMA memory.
type Options struct {
	// UnsafeHugePages takes DMA memory from huge pages, whose physical addresses
	// are read from /proc/self/pagemap. That needs root (CAP_SYS_ADMIN).
	//
	// Unsafe: nothing keeps the device to this memory, and a device that is not
	// stopped goes on writing to it after the process has died and the kernel has
	// given it to somebody else. See the package comment.
	UnsafeHugePages bool

	// HugePageSize is the size of these pages in bytes, one that
	// /sys/kernel/mm/hugepages lists. 0: the system's default.
	HugePageSize int

	// AssumeCoherent says that CPU and device see each other's writes in DMA
	// memory although the kernel does not say so, as it does not on Arm with ACPI.
	// Where that is wrong, frames and descriptors are damaged.
	AssumeCoherent bool

	// Compatible replaces what the bus finds out about the device, for a device
	// tree that names it for UIO alone ("generic-uio").
	Compatible []string

	// ClockHz is the rate of the core's register clock (CSR clock) in hertz, which
	// UIO cannot know. 0: unknown.
	ClockHz int

	// For tests.
	root    sysfs.Root                     // stands for /
	goarch  string                         // "": that of the program
	pagemap io.ReaderAt                    // nil: /proc/self/pagemap
	memfd   func(int64) (int, error)       // nil: huge pages
	open    func(path string) (int, error) // nil: open the UIO device, non-blocking
}
