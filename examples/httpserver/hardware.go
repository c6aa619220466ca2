package main

import (
	"context"
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/auto"
	"github.com/barewire/barewire/mac/cores"
)

// openBus opens the device by the bus that -bus names, or by the safest one.
func (o *options) openBus() (mac.Bus, error) {
	how := auto.Options{Drivers: cores.All(), Memory: o.memory, InputEvent: o.irqInput, ClockHz: o.clock}
	if o.bus != busAuto {
		how.Bus = o.bus
	}
	bus, err := auto.Open(o.dev, &how)
	if err != nil && o.dev != "" {
		return nil, fmt.Errorf("-dev %s: %w", o.dev, err)
	}
	return bus, err
}

// drivers are the one that -core names, or all, of which the device says which fits.
func (o *options) drivers() ([]mac.Driver, error) {
	if o.core == "" {
		return cores.All(), nil
	}
	d, err := cores.Find(o.core)
	return []mac.Driver{d}, err
}

// openHardware opens a MAC of this machine. The core is reset before
// any memory is taken, whatever a program before this one has left it doing.
func (m *machine) openHardware(ctx context.Context) error {
	drivers, err := m.opts.drivers()
	if err != nil {
		return err
	}
	bus, err := m.opts.openBus()
	if err != nil {
		return err
	}
	c := m.config()
	m.opts.link.configure(&c)
	m.dev, err = mac.Open(ctx, bus, &c, drivers...)
	m.bus, _ = bus.(fmt.Stringer)
	m.clockHz = bus.ClockHz()
	return err
}
