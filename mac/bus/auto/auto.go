// Package auto opens a device by the safest bus that it can be reached by.
package auto

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devmem"
	"github.com/barewire/barewire/mac/bus/find"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/mac/bus/uio"
	"github.com/barewire/barewire/mac/bus/vfio"
)

// Options says how a device is chosen and used. The zero value, and a nil *Options,
// take the only one that can be used.
type Options struct {
	// Bus is the bus to use: find.VFIO, find.UIO or find.DevMem. "": the safest of them
	// that nothing stands in the way of.
	Bus string
	// Drivers are those that the program has, for a device that is not named.
	Drivers []mac.Driver
	// Memory is the DMA memory of buses without an IOMMU.
	Memory memory.Options
	// InputEvent and PollPeriod are those of devmem.Options.
	InputEvent string
	PollPeriod time.Duration
	// ClockHz is the rate of the core's register clock in hertz. 0: what the device
	// tree says, if it does.
	ClockHz int
	// Compatible replaces what the bus finds out about the device.
	Compatible []string
}

// Open opens the device of a name that the buses know: a PCI address, a platform
// device, "uio0", or with devmem the place of its registers. "" and "auto" mean the
// only device that one of Options.Drivers knows and nothing stands in the way of. The
// result's String says in a line which bus it is, with which memory and interrupt, and
// why. opts may be nil.
//
// The error says what stands in the way of each bus, and what to do about it. It wraps
// mac.ErrNoDevice when there is no such device, and mac.ErrConfig when there are
// several to choose from.
func Open(dev string, opts *Options) (mac.Bus, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	bus, name, err := o.pick(dev, "")
	if err != nil {
		return nil, err
	}
	switch bus {
	case find.VFIO:
		return open(vfio.Open(name, &vfio.Options{ClockHz: o.ClockHz, Compatible: o.Compatible}))
	case find.UIO:
		return open(uio.Open(name, &uio.Options{Memory: o.Memory, ClockHz: o.ClockHz, Compatible: o.Compatible}))
	}
	return open(devmem.Open(name, &devmem.Options{
		Memory: o.Memory, InputEvent: o.InputEvent, PollPeriod: o.PollPeriod, ClockHz: o.ClockHz, Compatible: o.Compatible,
	}))
}

// open makes no bus of a nil one.
func open[B mac.Bus](b B, err error) (mac.Bus, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

// pick chooses bus and device on the machine whose root directory is root.
func (o *Options) pick(dev, root string) (bus, name string, err error) {
	if o.Bus != "" && o.Bus != find.VFIO && o.Bus != find.UIO && o.Bus != find.DevMem {
		return "", "", fmt.Errorf("auto: bus %q: want %s, %s or %s: %w", o.Bus, find.VFIO, find.UIO, find.DevMem, mac.ErrConfig)
	}
	where := &find.Options{Root: root, Memory: o.Memory}
	if dev == "" || dev == "auto" {
		return o.only(find.Devices(o.Drivers, where))
	}
	if o.Bus != "" {
		return o.Bus, dev, nil // its Open says what is wrong
	}
	if strings.HasPrefix(strings.TrimPrefix(dev, "/dev/"), "uio") {
		return find.UIO, dev, nil
	}
	if _, err := memory.ParseRange(dev); err == nil {
		return find.DevMem, dev, nil
	}
	d, err := find.Named(dev, o.Drivers, where)
	if err != nil {
		return "", "", fmt.Errorf("auto: %w", err)
	}
	if bus = d.Ready(); bus == "" {
		return "", "", fmt.Errorf("auto: %s cannot be reached:\n%w", d.Name, o.obstacles(d))
	}
	return bus, d.Name, nil
}

// only is the one device that can be used.
func (o *Options) only(all []find.Device) (bus, name string, err error) {
	var ready []string
	var why []error
	for _, d := range all {
		if d.Driver == "" {
			continue
		}
		b := o.ready(d)
		if b == "" {
			why = append(why, o.obstacles(d))
			continue
		}
		bus, name = b, d.Name
		ready = append(ready, d.Name)
	}
	switch {
	case len(ready) == 1:
		return bus, name, nil
	case len(ready) > 1:
		return "", "", fmt.Errorf("auto: there are several devices, name one: %s: %w", strings.Join(ready, ", "), mac.ErrConfig)
	case len(why) > 0:
		return "", "", fmt.Errorf("auto: no device can be reached:\n%w", errors.Join(why...))
	}
	return "", "", fmt.Errorf("auto: no device that a driver knows; Ethernet devices: %s: %w", names(all), mac.ErrNoDevice)
}

// ready is the safest bus of a device that nothing stands in the way of, and that is
// Options.Bus where one was asked for; "" when there is none.
func (o *Options) ready(d find.Device) string {
	for _, w := range d.Ways {
		if w.Err == nil && (o.Bus == "" || w.Bus == o.Bus) {
			return w.Bus
		}
	}
	return ""
}

// obstacles are what stands in the way of each bus of a device.
func (o *Options) obstacles(d find.Device) error {
	var errs []error
	for _, w := range d.Ways {
		if o.Bus == "" || w.Bus == o.Bus {
			errs = append(errs, w.Err)
		}
	}
	if errs == nil {
		return fmt.Errorf("%s: no way by %s, which is for platform devices: %w", d.Name, o.Bus, mac.ErrConfig)
	}
	return errors.Join(errs...)
}

func names(all []find.Device) string {
	var s []string
	for _, d := range all {
		s = append(s, fmt.Sprintf("%s (%s)", d.Name, strings.Join(d.Compatible, ", ")))
	}
	if s == nil {
		return "none"
	}
	return strings.Join(s, "; ")
}
