package dwxgmac2

import (
	"context"

	"github.com/barewire/barewire/mac"
)

// Driver is the driver of XGMAC cores, for mac.Open.
func Driver() mac.Driver {
	return mac.Driver{
		Name:       "dwxgmac2",
		Compatible: []string{"snps,dwxgmac-2.10", "snps,dwxgmac"},
		New:        func(bus mac.Bus) (mac.Core, error) { return New(bus) },
	}
}

// Open finds an XGMAC on bus and makes a device of it, reset and programmed, which an
// endpoint then starts. cfg may be nil. The device owns the bus; on failure it is
// closed.
func Open(ctx context.Context, bus mac.Bus, cfg *mac.Config) (*mac.Device, error) {
	return mac.Open(ctx, bus, cfg, Driver())
}
