package vfio

import "github.com/barewire/barewire/mac/bus/internal/sysfs"

// Options says how a device is used. The zero value, and a nil *Options, are
// right for most.
type Options struct {
	// MSI takes a message interrupt instead of the INTx line of a PCI device.
	//
	// INTx is a level: it is masked when it fires and fires again after Rearm
	// while the device still asserts it, so it is right for every core. A message
	// is sent once, when a cause comes up. It is cheaper, but Rearm cannot bring
	// back one that came up while another was served. Use it with cores that mask
	// their causes until they have been served. Some guests have no vectors to
	// give; Interrupt says so.
	MSI bool

	// Compatible replaces what the bus finds out about the device.
	Compatible []string

	// ClockHz is the rate of the core's register clock (CSR clock) in hertz. 0: what
	// the device tree says, if it does.
	ClockHz int

	// For tests.
	root   sysfs.Root // stands for /
	kernel kernel     // nil: the real one
}
