package dwmac4

import (
	"context"
	"errors"

	"github.com/barewire/barewire/mac"
)

// Open finds a GMAC4 or GMAC5 on bus and makes a device of it, reset and
// programmed, which an endpoint then starts. cfg may be nil. The device owns the
// bus; on failure it is closed.
func Open(ctx context.Context, bus mac.Bus, cfg *mac.Config) (*mac.Device, error) {
	core, err := New(bus)
	if err != nil {
		return nil, errors.Join(err, bus.Close())
	}
	return mac.NewDevice(ctx, bus, core, cfg)
}
