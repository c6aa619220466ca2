package ravb

import (
	"context"
	"slices"

	"github.com/barewire/barewire/mac"
)

// RCar is the driver of EtherAVB in R-Car and RZ/G, for mac.Open.
func RCar() mac.Driver {
	return mac.Driver{
		Name:       gen3.driver,
		Compatible: slices.Concat(gen2.compatible, gen3.compatible, gen4.compatible),
		New:        func(bus mac.Bus) (mac.Core, error) { return NewRCar(bus) },
	}
}

// GbEth is the driver of the Gigabit Ethernet in RZ/G2L and kin, for mac.Open.
func GbEth() mac.Driver {
	return mac.Driver{
		Name:       gbeth.driver,
		Compatible: gbeth.compatible,
		New:        func(bus mac.Bus) (mac.Core, error) { return NewGbEth(bus) },
	}
}

// Open finds an R-Car EtherAVB or a GbEth on bus, by what the bus says it is, and
// makes a device of it, reset and programmed, which an endpoint then starts. cfg may
// be nil. The device owns the bus; on failure it is closed.
func Open(ctx context.Context, bus mac.Bus, cfg *mac.Config) (*mac.Device, error) {
	return mac.Open(ctx, bus, cfg, RCar(), GbEth())
}

// NewRCar finds an EtherAVB on bus and reads what it can do. Which generation it is
// the bus's compatible names say; Gen3 when they do not. It writes no register and
// takes no memory, so the core may still be running as somebody else left it. The
// error wraps mac.ErrNoDevice when nothing answers and mac.ErrUnsupported when
// something else does.
func NewRCar(bus mac.Bus) (*Core, error) {
	for _, name := range bus.Compatible() {
		for _, v := range []*variant{&gen2, &gen3, &gen4} {
			if slices.Contains(v.compatible, name) {
				return find(bus, v)
			}
		}
	}
	return find(bus, &gen3)
}

// NewGbEth is NewRCar for the Gigabit Ethernet of RZ/G2L and kin.
func NewGbEth(bus mac.Bus) (*Core, error) { return find(bus, &gbeth) }
