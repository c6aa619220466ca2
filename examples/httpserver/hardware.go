package main

import (
	"context"
	"errors"
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

// driver is the one that -core names, or that fits what the device says it is.
func (o *options) driver(bus mac.Bus) (mac.Driver, error) {
	if o.core != "" {
		return cores.Find(o.core)
	}
	return mac.Match(bus, cores.All()...)
}

// openHardware opens a MAC of this machine. The core is reset before
// any memory is taken, whatever a program before this one has left it doing.
func (m *machine) openHardware(ctx context.Context) error {
	bus, err := m.opts.openBus()
	if err != nil {
		return err
	}
	driver, err := m.opts.driver(bus)
	if err != nil {
		return errors.Join(err, bus.Close())
	}
	core, err := driver.New(bus)
	if err != nil {
		return errors.Join(err, bus.Close())
	}
	c := m.config()
	m.opts.link.configure(&c)
	m.dev, err = mac.NewDevice(ctx, bus, core, &c)
	m.bus, _ = bus.(fmt.Stringer)
	m.clockHz = bus.ClockHz()
	return err
}
