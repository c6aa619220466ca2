// Package fake is a fake Ethernet MAC for unit tests, and for trying Barewire
// without a board.
//
// It is not a mock: a MAC of this package is the real driver of an Ethernet core on
// a register-level model of that core, with DMA memory, interrupts and faults, in
// one process and without any privilege. What an application does over it takes the
// same path as on hardware.
//
//	m, err := fake.New(nil)           // one MAC; its wire is the test's
//	a, b, err := fake.Pair(nil, nil)  // two MACs on one wire
//
// The core is a Synopsys GMAC5 (mac/dwmac4 on mac/sim/dwmac4) unless Options.Core
// names another. Packages mac/cores and mac/sim/models have them all by name.
//
// Closing the endpoint made on a MAC, or the MAC itself, ends all of it: device,
// model and cable.
package fake

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/barewire/barewire/mac"
	simbus "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/dwmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/cable"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
)

// Options changes what New makes. The zero value, and nil, are good defaults.
type Options struct {
	// Config is the configuration of the device.
	Config mac.Config
	// Core is the kind of MAC. The zero value is a GMAC5.
	Core Core
	// Build is how the core is built and how its model runs. Queues is raised to
	// what Config asks for; with Inline and a manual Clock a test is deterministic:
	// nothing happens but in calls of the test.
	Build sim.Build
	// Capture is how many transmitted frames are kept for Next when no cable is
	// plugged in; later ones are dropped. 0: 1024.
	Capture int
}

// Core is a kind of MAC: a driver, and the hardware for it. A model's Config says
// more of the hardware than sim.Build does:
//
//	fake.Core{Driver: dwmac4.Driver(), Build: model.Config{NoTSO: true}.Build}
type Core struct {
	Driver mac.Driver
	Build  func(sim.Build) sim.Model
}

// GMAC5 is the core that is used by default, built as config says.
func GMAC5(config model.Config) Core {
	return Core{Driver: dwmac4.Driver(), Build: config.Build}
}

// MAC is a fake MAC: a device, and the other side of it that a test drives.
// Methods may be called from any goroutine.
type MAC struct {
	*mac.Device

	bus   *simbus.Bus
	model sim.Model
	sent  chan []byte

	mu    sync.Mutex
	cable *cable.Cable
	far   func() // pulls the cable of a Pair that the other MAC holds
}

// bus pulls the cable before the model goes.
type bus struct {
	*simbus.Bus
	unplug func()
}

func (b *bus) Close() error {
	b.unplug()
	return b.Bus.Close()
}

// New makes a MAC with nothing plugged in: Send is the wire's way in and Next its
// way out. opts may be nil.
func New(opts *Options) (*MAC, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Capture == 0 {
		o.Capture = 1024
	}
	if o.Core.Build == nil {
		o.Core = GMAC5(model.Config{})
	}
	o.Build.Queues = max(o.Build.Queues, o.Config.Queues)
	if o.Config.Name == "" {
		o.Config.Name = "fake"
	}
	m := &MAC{model: o.Core.Build(o.Build), sent: make(chan []byte, o.Capture)}
	m.model.OnTransmit(m.capture)
	m.bus = simbus.New(m.model, nil)
	dev, err := open(&bus{m.bus, m.pull}, o.Core.Driver, o.Config)
	if err != nil {
		return nil, fmt.Errorf("fake: %w", err)
	}
	m.Device = dev
	return m, nil
}

// open is mac.Open, with a fixed link for a core that does not see its own.
func open(b mac.Bus, driver mac.Driver, c mac.Config) (*mac.Device, error) {
	core, err := driver.New(b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if _, ok := core.Link(); !ok && c.Link == (mac.Link{}) {
		c.Link = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
	}
	return mac.NewDevice(context.Background(), b, core, &c)
}

func (m *MAC) capture(frame []byte) {
	select {
	case m.sent <- append([]byte(nil), frame...):
	default:
	}
}

// Pair makes two MACs and joins them back to back. They have different addresses
// unless the options say otherwise. Closing either unplugs the cable.
func Pair(a, b *Options) (*MAC, *MAC, error) {
	x, err := New(a)
	if err != nil {
		return nil, nil, err
	}
	y, err := New(b)
	if err != nil {
		return nil, nil, errors.Join(err, x.Close())
	}
	c := x.Plug(y.Port())
	y.far = func() { x.unplug(c) }
	return x, y, nil
}

// Port is the MAC's socket for a cable (package mac/sim/cable).
func (m *MAC) Port() sim.LinkPort { return m.model }

// Plug joins the MAC to another port: that of a second MAC, a TAP device, a
// capture file, a user-mode network. It pulls the cable that was there. Closing
// the MAC pulls it too; the other port stays the caller's to close.
func (m *MAC) Plug(p sim.Port) *cable.Cable { return m.PlugWith(p, nil) }

// PlugWith is Plug with a cable that records or spoils what it carries. o may be
// nil.
func (m *MAC) PlugWith(p sim.Port, o *cable.Options) *cable.Cable {
	m.Unplug()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cable = cable.Connect(m.Port(), p, o)
	return m.cable
}

// Unplug pulls the cable, if there is one: the link goes down, and transmitted
// frames are kept for Next again.
func (m *MAC) Unplug() { m.unplug(nil) }

// unplug pulls the cable if it is c, or whichever it is when c is nil.
func (m *MAC) unplug(c *cable.Cable) {
	m.mu.Lock()
	have := m.cable
	if c != nil && have != c {
		have = nil
	}
	if have != nil {
		m.cable = nil
	}
	m.mu.Unlock()
	if have != nil {
		have.Close()
		m.model.OnTransmit(m.capture)
	}
}

// pull is what closing does to the cable, whichever end of a Pair closes.
func (m *MAC) pull() {
	m.Unplug()
	if m.far != nil {
		m.far()
	}
}

// Send has the MAC receive a frame from the wire: Ethernet header and payload,
// without FCS.
func (m *MAC) Send(frame []byte) { m.model.Deliver(frame) }

// Next returns the next frame that the MAC has transmitted while no cable was
// plugged in. It waits for one until ctx is done; one that is there already is
// returned whatever ctx says.
func (m *MAC) Next(ctx context.Context) ([]byte, error) {
	select {
	case f := <-m.sent:
		return f, nil
	default:
	}
	select {
	case f := <-m.sent:
		return f, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("fake: wait for a transmitted frame: %w", ctx.Err())
	}
}

// SetLink changes the link as a PHY would report it. A core that does not see its
// link, and a device with a fixed one, take no notice.
func (m *MAC) SetLink(l mac.Link) { m.model.SetLink(l) }

// Faults injects what goes wrong with hardware.
func (m *MAC) Faults() *sim.Faults { return m.model.Faults() }

// Trace counts what the driver does: register accesses, descriptor reads,
// barriers, interrupts.
func (m *MAC) Trace() *sim.Trace { return m.bus.Trace() }

// Model is the hardware itself, for what is not covered here. It has the type of
// its core's package.
func (m *MAC) Model() sim.Model { return m.model }
