package mac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Driver is what a core's package offers to Open. It is a value, so that a program
// holds the drivers it wants and links no others; package mac/cores has them all.
type Driver struct {
	// Name is the driver's name ("dwmac4"), which Info.Core repeats.
	Name string
	// Compatible are the device-tree names that the driver knows, and PCI
	// functions in the device tree's form for them ("pci16c3,7102").
	Compatible []string
	// New finds the core on a bus and reads what it can do. It writes no register
	// and does not close the bus. Its error wraps ErrNoDevice when nothing answers
	// and ErrUnsupported when something else does.
	New func(Bus) (Core, error)
}

// Open makes a device of what is on bus, reset and programmed, which an endpoint
// then starts. Of drivers it takes the one that knows the most specific of the
// bus's compatible names; a single driver is taken as it is, whatever those names
// say: naming the driver is the caller's right. cfg may be nil. The device owns
// the bus; on failure it is closed.
//
// The error wraps ErrUnsupported when no driver fits, and says what was tried.
func Open(ctx context.Context, bus Bus, cfg *Config, drivers ...Driver) (*Device, error) {
	d, err := Match(bus, drivers...)
	if err != nil {
		return nil, errors.Join(err, bus.Close())
	}
	core, err := d.New(bus)
	if err != nil {
		return nil, errors.Join(advised(bus, err), bus.Close())
	}
	dev, err := NewDevice(ctx, bus, core, cfg)
	return dev, advised(bus, err)
}

// Match is the choice that Open makes.
func Match(bus Bus, drivers ...Driver) (Driver, error) {
	if len(drivers) == 1 {
		return drivers[0], nil
	}
	names := bus.Compatible()
	for _, name := range names {
		for _, d := range drivers {
			if slices.Contains(d.Compatible, name) {
				return d, nil
			}
		}
	}
	tried := make([]string, len(drivers))
	for i, d := range drivers {
		tried[i] = d.Name
	}
	says := "it says nothing about itself"
	if len(names) > 0 {
		says = "it says that it is " + strings.Join(names, ", ")
	}
	return Driver{}, fmt.Errorf("mac: %s: no driver fits: %s; tried %s; name the driver if you know that one fits: %w",
		bus.Name(), says, strings.Join(tried, ", "), ErrUnsupported)
}

// Advisor is a Bus that knows what the user can do about an error of the core.
type Advisor interface {
	// Advice is one sentence, "" when it has none.
	Advice(err error) string
}

// advised adds to an error what the bus has to say about it.
func advised(bus Bus, err error) error {
	if a, ok := bus.(Advisor); ok && err != nil {
		if advice := a.Advice(err); advice != "" {
			return fmt.Errorf("%w (%s)", err, advice)
		}
	}
	return err
}
