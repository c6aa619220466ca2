package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/mac/bus/uio"
	"github.com/barewire/barewire/mac/bus/vfio"
	"github.com/barewire/barewire/mac/cores"
)

// describedBus is a bus that says in a line what it uses.
type describedBus interface {
	mac.Bus
	fmt.Stringer
}

func (o *options) openBus() (describedBus, error) {
	if o.bus == busUIO {
		return uio.Open(o.dev, &uio.Options{Memory: memory.Options{UnsafeHugePages: o.hugePages}, ClockHz: o.clock})
	}
	return vfio.Open(o.dev, &vfio.Options{ClockHz: o.clock})
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
		return fmt.Errorf("-dev %s: %w", m.opts.dev, err)
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
	m.bus = bus
	return err
}
