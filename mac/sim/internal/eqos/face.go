package eqos

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Core is what a model shows of its engine: models embed it. Its methods may be
// called from any goroutine.
type Core struct{ e *Engine }

// Core is the engine as a model shows it.
func (m *Engine) Core() Core { return Core{m} }

// WindowSize implements sim.Device.
func (c Core) WindowSize() int { return c.e.at.Window }

// ClockHz implements sim.Device.
func (c Core) ClockHz() int { return c.e.cfg.ClockHz }

// Connect implements sim.Device.
func (c Core) Connect(mem sim.DMA, irq func(level bool)) { c.e.connect(mem, irq) }

// Port implements sim.Device. The port is a sim.LinkPort.
func (c Core) Port() sim.Port { return c }

// Close implements sim.Device. It waits for a transmit function that blocks.
func (c Core) Close() error { return c.e.close() }

// Doorbell implements sim.Described.
func (c Core) Doorbell(off uint32) bool { return c.e.doorbell(off) }

// Deliver implements sim.Port. A frame of less than 60 bytes is padded, as the
// sender's MAC does.
func (c Core) Deliver(frame []byte) { c.e.arriving(frame) }

// DeliverWire delivers what is on the wire as it is: FCS included, right or
// wrong, and of any length.
func (c Core) DeliverWire(wire []byte) { c.e.deliverWire(wire) }

// OnTransmit implements sim.Port.
func (c Core) OnTransmit(f func(frame []byte)) {
	c.e.tx.mu.Lock()
	defer c.e.tx.mu.Unlock()
	c.e.tx.out = f
}

// SetLink implements sim.LinkPort. Frames wait in the transmit rings while the
// link is down, and are lost while the MAC is set to another speed. A link that
// is up without a speed has 1 Gbit/s. Where there is a PHY, l is all that its new
// partner offers.
func (c Core) SetLink(l mac.Link) { c.e.setLink(l) }

// PHY is the PHY at the configured address, nil when there is none. What it makes of
// its cable is the link of the core.
func (c Core) PHY() *phy.PHY { return c.e.MDIO.PHY }

// MDIO is the bus behind the core's management port, to put more on it or to break
// it. While it is broken the port stays busy.
func (c Core) MDIO() *phy.Bus { return c.e.MDIO.Bus }

// Faults are the faults of this core.
func (c Core) Faults() *sim.Faults { return c.e.faults }

// Violations are what the driver did that the manual forbids. Accesses outside
// of DMA memory are the Space's.
func (c Core) Violations() *sim.Violations { return &c.e.Bad }

// RaiseStatus sets bits of DMA_CHi_Status of channel i as hardware would, for tests of
// a driver's interrupt handling.
func (c Core) RaiseStatus(i int, bits uint32) { c.e.Raise(i, bits) }

// RXAvailable is how many descriptors receive channel i may use as things stand:
// those that the device owns from the current one up to the tail.
func (c Core) RXAvailable(i int) int { return c.e.available(i) }

// Stats is a snapshot.
func (c Core) Stats() Stats { return c.e.stats() }

// Quiesce waits until the accesses to memory that the engines have begun are
// over, so that memory which has been taken out of the DMA space can go. Both
// engines reach memory only with their lock held.
func (c Core) Quiesce() {
	c.e.rx.mu.Lock()
	defer c.e.rx.mu.Unlock()
	c.e.tx.mu.Lock()
	defer c.e.tx.mu.Unlock()
}
