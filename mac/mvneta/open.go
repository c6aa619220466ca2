package mvneta

import (
	"context"

	"github.com/barewire/barewire/mac"
)

// Options is what cannot be found out from the device. The zero value takes
// things as the bootloader has left them.
type Options struct {
	// BufferManager takes receive buffers from the SoC's buffer manager. Its
	// registers are window 1 of the bus and the aperture of its BPPI window 2. The
	// process has the buffer manager to itself.
	BufferManager bool
	// BPPI is the physical address of that aperture, which the port has to be
	// told. 0: the port has been told.
	BPPI uint32
	// Pool is the first pool of the buffer manager that this port uses, one for
	// each receive queue.
	Pool int
	// Windows are how the port reaches memory. Empty: what is set up, or one
	// window over everything on a SoC that has it.
	Windows []Window
	// Mode is the interface to the PHY, InBand its negotiation over the interface
	// itself. ModeFound leaves both as they are.
	Mode   Mode
	InBand bool
	// ChecksumLimit is the longest frame in bytes, without FCS, for which this port
	// inserts checksums ("tx-csum-limit"). 0: the SoC's.
	ChecksumLimit int
}

// Driver is the driver with buffers of software, for mac.Open.
func Driver() mac.Driver {
	names := make([]string, len(socs))
	for i := range socs {
		names[i] = socs[i].compatible
	}
	return mac.Driver{
		Name:       "mvneta",
		Compatible: names,
		New:        func(bus mac.Bus) (mac.Core, error) { return New(bus, nil) },
	}
}

// HWBMDriver is the driver with the buffer manager. No device-tree name tells
// that a port is to use it: it has to be named.
func HWBMDriver() mac.Driver {
	return mac.Driver{
		Name: "mvneta-hwbm",
		New:  func(bus mac.Bus) (mac.Core, error) { return New(bus, &Options{BufferManager: true}) },
	}
}

// Open finds a port on bus and makes a device of it, reset and programmed, which
// an endpoint then starts. opts and cfg may be nil. The device owns the bus; on
// failure it is closed.
func Open(ctx context.Context, bus mac.Bus, opts *Options, cfg *mac.Config) (*mac.Device, error) {
	return mac.Open(ctx, bus, cfg, mac.Driver{
		Name: "mvneta",
		New:  func(bus mac.Bus) (mac.Core, error) { return New(bus, opts) },
	})
}
