// Package ravb is a register-level model of Renesas' Ethernet AVB (R-Car Gen2 and
// Gen3) and of the Gigabit Ethernet of RZ/G2L: AVB-DMAC, E-MAC, checksum engine, and
// a PHY behind the MDIO pins.
//
// The model takes what the registers say and nothing else. Where the manual leaves
// hardware free it is hostile: everything is lost in RESET, descriptors are fetched
// as soon as they are given away, padding and status fields hold junk. What a driver
// must never do is kept as Violations: ones written to reserved status bits, queues
// configured outside of CONFIG, a frame whose end is not there when its start is,
// descriptors without bytes, unaligned buffers where alignment is asked for.
//
// A frame that finds no empty descriptor is lost and raises the queue's full flag.
// Left out are gPTP and timestamps on transmission, stream queues, filters and
// shaping, wake-up, and pauses of the core's own; the registers behind them only
// hold what is written, and requests to gPTP are over at once.
package ravb

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
)

// Model is one core. Its methods may be called from any goroutine.
//
// Locks are taken in the order write, rx.mu, tx.mu, line.mu. None is held while a
// frame is transmitted.
type Model struct {
	cfg    Config
	clock  sim.Clock
	faults *sim.Faults
	bad    sim.Violations
	mem    sim.DMA

	// regs holds every register; single ones are read and written without a lock.
	// write serialises writes that have effects beyond their register.
	regs  [etheravb.WindowSize / 4]atomic.Uint32
	write sync.Mutex

	line line
	rx   receiver
	tx   transmitter
	mdio mdio
	link atomic.Pointer[mac.Link]
	stat stats

	// ops is the operating mode (0 RESET to 3 STANDBY); changes counts requests for
	// one. Guarded by write, ops also readable without.
	ops     atomic.Uint32
	changes uint64

	closed  atomic.Bool
	done    chan struct{}
	wakeTX  chan struct{}
	workers sync.WaitGroup
}

var (
	_ sim.Device    = (*Model)(nil)
	_ sim.LinkPort  = (*Model)(nil)
	_ sim.Described = (*Model)(nil)
	_ sim.MultiLine = (*Model)(nil)
)

// New returns a core that has just been powered on, with the link up at 1 Gbit/s.
func New(cfg Config) *Model {
	cfg = cfg.withDefaults()
	m := &Model{
		cfg: cfg, clock: cfg.Clock, faults: sim.NewFaults(cfg.Seed),
		done: make(chan struct{}), wakeTX: make(chan struct{}, 1),
	}
	m.rx.junk = cfg.Seed*2 + 1
	m.link.Store(&mac.Link{Up: true, Speed: 1000, FullDuplex: true})
	m.connectPHY()
	m.setReset()
	if a := cfg.MACAddress; a != (mac.HardwareAddr{}) {
		m.ops.Store(etheravb.OPCConfig)
		m.store(etheravb.CCC, etheravb.OPCConfig)
		m.store(etheravb.MAHR, uint32(a[0])<<24|uint32(a[1])<<16|uint32(a[2])<<8|uint32(a[3]))
		m.store(etheravb.MALR, uint32(a[4])<<8|uint32(a[5]))
	}
	if cfg.MII {
		m.store(etheravb.CXR35, field.Put(etheravb.CXR35HalfCycle, etheravb.HalfCycleDefault)|etheravb.XMIIMII)
	}
	return m
}

// Compatible implements sim.Device.
func (m *Model) Compatible() []string { return m.cfg.Variant.compatible() }

// WindowSize implements sim.Device.
func (m *Model) WindowSize() int { return etheravb.WindowSize }

// ClockHz implements sim.Device.
func (m *Model) ClockHz() int { return m.cfg.ClockHz }

// work is the transmit engine's goroutine.
func (m *Model) work() {
	for {
		select {
		case <-m.done:
			return
		case <-m.wakeTX:
			m.pumpTX()
		}
	}
}

// kickTX has the transmit engine look at its queues. No lock is held.
func (m *Model) kickTX() {
	if m.cfg.Inline {
		m.pumpTX()
		return
	}
	select {
	case m.wakeTX <- struct{}{}:
	default:
	}
}

// Port implements sim.Device. The port is a sim.LinkPort.
func (m *Model) Port() sim.Port { return m }

// OnTransmit implements sim.Port.
func (m *Model) OnTransmit(f func(frame []byte)) {
	m.tx.mu.Lock()
	defer m.tx.mu.Unlock()
	m.tx.out = f
}

// SetLink implements sim.LinkPort. Frames wait in the transmit queues while the link
// is down, and are lost while the MAC is set to another speed. A link that is up
// without a speed has 1 Gbit/s. Where there is a PHY, l is all that its new partner
// offers.
func (m *Model) SetLink(l mac.Link) {
	if l.Up && l.Speed == 0 {
		l.Speed, l.FullDuplex = 1000, true
	}
	if m.mdio.phy == nil {
		m.linkChanged(l)
		return
	}
	m.mdio.phy.SetLink(l)
}

// linkChanged takes over the link that the MAC has now.
func (m *Model) linkChanged(l mac.Link) {
	changed := m.link.Swap(&l).Up != l.Up
	if changed && m.ops.Load() != etheravb.OPCReset {
		m.raise(etheravb.ECSR, etheravb.ECSRLCHNG)
	}
	m.kickTX()
}

// onWire reports whether the link carries frames at the speed that the MAC is set
// to, over the interface that it is set to.
func (m *Model) onWire() bool {
	l := m.link.Load()
	if !l.Up {
		return false
	}
	speed := m.load(etheravb.GECMR)
	if m.cfg.Variant != GbEth {
		return speed&etheravb.GECMRGigabit != 0 && l.Speed == 1000 || speed&etheravb.GECMRGigabit == 0 && l.Speed == 100
	}
	want := uint32(etheravb.XMIIRGMII)
	if m.cfg.MII {
		want = etheravb.XMIIMII
	}
	if field.Get(etheravb.CXR35SelXMII, m.load(etheravb.CXR35)) != want {
		return false
	}
	switch field.Get(etheravb.GECMRSpeed, speed) {
	case etheravb.Speed10:
		return l.Speed == 10
	case etheravb.Speed100:
		return l.Speed == 100
	}
	return l.Speed == 1000
}

// Faults are the faults of this core.
func (m *Model) Faults() *sim.Faults { return m.faults }

// Violations are what the driver did that the manual forbids. Accesses outside of
// DMA memory are the Space's.
func (m *Model) Violations() *sim.Violations { return &m.bad }

// Quiesce waits until the accesses to memory that the engines have begun are over,
// so that memory which has been taken out of the DMA space can go. Both engines
// reach memory only with their lock held.
func (m *Model) Quiesce() {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	m.tx.mu.Lock()
	defer m.tx.mu.Unlock()
}

// Close implements sim.Device. It waits for a transmit function that blocks.
func (m *Model) Close() error {
	if m.closed.Swap(true) {
		return nil
	}
	close(m.done)
	m.rx.mu.Lock()
	m.stopTimers()
	m.rx.mu.Unlock()
	m.workers.Wait()
	return nil
}
