// Package fake is a fake Ethernet MAC for unit tests, and for trying Barewire
// without a board.
//
// It is not a mock: a MAC of this package is the real driver of a Synopsys GMAC5
// (mac/dwmac4) on a register-level model of that core (mac/sim/dwmac4), with DMA
// memory, interrupts and faults, in one process and without any privilege. What
// an application does over it takes the same path as on hardware.
//
//	m, err := fake.New(nil)           // one MAC; its wire is the test's
//	a, b, err := fake.Pair(nil, nil)  // two MACs on one wire
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
	// Model is how the core was built and how its model runs. Queues is raised to
	// what Config asks for; with Model.Inline and a manual Model.Clock a test is
	// deterministic: nothing happens but in calls of the test.
	Model model.Config
	// Capture is how many transmitted frames are kept for Next when no cable is
	// plugged in; later ones are dropped. 0: 1024.
	Capture int
}

// MAC is a fake MAC: a device, and the other side of it that a test drives.
// Methods may be called from any goroutine.
type MAC struct {
	*mac.Device

	bus   *simbus.Bus
	model *model.Model
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
	o.Model.Queues = max(o.Model.Queues, o.Config.Queues)
	o.Model.InBandLink = true
	if o.Config.Name == "" {
		o.Config.Name = "fake"
	}
	m := &MAC{model: model.New(o.Model), sent: make(chan []byte, o.Capture)}
	m.model.OnTransmit(m.capture)
	m.bus = simbus.New(m.model, nil)
	dev, err := dwmac4.Open(context.Background(), &bus{m.bus, m.pull}, &o.Config)
	if err != nil {
		return nil, fmt.Errorf("fake: %w", err)
	}
	m.Device = dev
	return m, nil
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
func (m *MAC) Port() sim.LinkPort { return m.model.Port().(sim.LinkPort) }

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

// SetLink changes the link as a PHY would report it.
func (m *MAC) SetLink(l mac.Link) { m.model.SetLink(l) }

// Faults injects what goes wrong with hardware.
func (m *MAC) Faults() *sim.Faults { return m.model.Faults() }

// Trace counts what the driver does: register accesses, descriptor reads,
// barriers, interrupts.
func (m *MAC) Trace() *sim.Trace { return m.bus.Trace() }

// Model is the hardware itself, for what is not covered here.
func (m *MAC) Model() *model.Model { return m.model }
