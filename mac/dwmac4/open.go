package dwmac4

import (
	"context"

	"github.com/barewire/barewire/mac"
)

// Driver is the driver of GMAC4 and GMAC5 cores, for mac.Open.
func Driver() mac.Driver {
	return mac.Driver{
		Name: "dwmac4",
		Compatible: []string{
			"snps,dwmac-4.00", "snps,dwmac-4.10a", "snps,dwmac-4.20a", "snps,dwmac-5.10a", "snps,dwmac-5.20", "snps,dwmac-5.30a",
			"pci16c3,7102", // GMAC5 on a PCI function
		},
		New: func(bus mac.Bus) (mac.Core, error) { return New(bus) },
	}
}

// Open finds a GMAC4 or GMAC5 on bus and makes a device of it, reset and
// programmed, which an endpoint then starts. cfg may be nil. The device owns the
// bus; on failure it is closed.
func Open(ctx context.Context, bus mac.Bus, cfg *mac.Config) (*mac.Device, error) {
	return mac.Open(ctx, bus, cfg, Driver())
}
