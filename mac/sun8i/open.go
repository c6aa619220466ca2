package sun8i

import (
	"context"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
)

// Driver is the driver of sun8i EMACs, for mac.Open. A board that needs to be told
// about has BoardDriver.
func Driver() mac.Driver { return BoardDriver(Board{}) }

// BoardDriver is Driver for a MAC that is wired up as board says.
func BoardDriver(board Board) mac.Driver {
	d := mac.Driver{
		Name: "sun8i",
		New:  func(bus mac.Bus) (mac.Core, error) { return NewBoard(bus, board) },
	}
	for _, soc := range emac.SoCs() {
		d.Compatible = append(d.Compatible, soc.Compatible)
	}
	return d
}

// Open finds a sun8i EMAC on bus and makes a device of it, reset and programmed,
// which an endpoint then starts. cfg may be nil. The device owns the bus; on
// failure it is closed.
func Open(ctx context.Context, bus mac.Bus, cfg *mac.Config) (*mac.Device, error) {
	return mac.Open(ctx, bus, cfg, Driver())
}
