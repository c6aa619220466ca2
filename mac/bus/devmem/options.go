package devmem

import (
	"time"

	"github.com/barewire/barewire/mac/bus/internal/hostmem"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
)

// Options says how a device is used. The zero value, and a nil *Options, take
// everything from the device tree.
type Options struct {
	// Memory says which DMA memory to use.
	Memory memory.Options

	// Windows are the register windows. nil: those of the device tree, or the one
	// that Open's dev names.
	Windows []memory.Range

	// InputEvent is the input device that has a key press for each interrupt
	// ("/dev/input/event0"). "": there is none, and the device is polled.
	InputEvent string

	// PollPeriod is the time between two looks at a device that is polled. 0: one
	// millisecond.
	PollPeriod time.Duration

	// Compatible replaces what the device tree says about the device.
	Compatible []string

	// ClockHz is the rate of the core's register clock (CSR clock) in hertz. 0: what
	// the device tree says, if it does.
	ClockHz int

	// For tests.
	root   sysfs.Root                            // stands for /
	goarch string                                // "": that of the program
	hooks  hostmem.Hooks                         // of DMA memory
	input  func(path string) (fd int, err error) // nil: open and grab
}
