// Package sun8i is a register-level model of Allwinner's sun8i EMAC, of the MDIO
// bus with its PHYs, and of what the SoC has around it: the EMAC clock register and
// the clock control unit.
//
// The model takes what the registers say and nothing else. Where manual and
// drivers leave hardware free it is hostile: a write-back has junk in the fields
// that mean nothing, a descriptor may be fetched as soon as it is given away,
// transmit goes on only when it is told to, positions survive a stop, the station
// address does not survive a reset. Things that a driver must never do are kept as
// Violations.
//
// What a bus error does is in no manual: here DMA stops, which its state and its
// interrupt show. Left out are the thresholds for forwarding a frame that is not
// all there, the early interrupts, source address filters, collisions, and counters,
// of which the core has none.
package sun8i

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// Model is one core. Its methods may be called from any goroutine.
//
// Locks are taken in the order write, rx.mu, tx.mu, line.Mu. None is held while
// a frame is transmitted.
type Model struct {
	cfg    Config
	soc    emac.SoC
	clock  sim.Clock
	faults *sim.Faults
	bad    sim.Violations
	mem    sim.DMA

	// regs holds every register; single ones are read and written without a
	// lock. write serialises writes that have effects beyond their register.
	regs  [spaceSize / 4]atomic.Uint32
	write sync.Mutex

	line dwmac.Line // Mu guards INT_STA and INT_EN
	rx   receiver
	tx   transmitter
	mdio dwmac.MDIO // its PHY is the external one
	glue glue
	link atomic.Pointer[mac.Link]
	stat stats

	resetting atomic.Bool
	resets    uint64 // guarded by write
	waiting   bool   // the reset waits for a PHY's clock; guarded by write
	closed    atomic.Bool
	done      chan struct{}
	rxEngine  *dwmac.Engine
	txEngine  *dwmac.Engine
	workers   sync.WaitGroup
}

var (
	_ sim.Model    = (*Model)(nil)
	_ sim.Windowed = (*Model)(nil)
)

// New returns a core that has just been powered on, with the link up as fast as
// its PHY can.
func New(cfg Config) *Model {
	m := &Model{faults: sim.NewFaults(cfg.Seed), done: make(chan struct{})}
	m.line.Init(m.faults)
	m.rxEngine, m.txEngine = dwmac.NewEngine(cfg.Inline, m.pumpRX), dwmac.NewEngine(cfg.Inline, m.pumpTX)
	m.cfg, m.soc = cfg.withDefaults()
	m.clock = m.cfg.Clock
	m.tx.hold.Init(m.clock, m.txEngine.Kick)
	m.rx.junk, m.tx.junk = dwmac.Junk(cfg.Seed)|1, dwmac.Junk(cfg.Seed+1)|1
	m.tx.data = make([]byte, 0, 2048)
	m.powerOn()
	m.link.Store(&mac.Link{Up: true, Speed: 1000, FullDuplex: true})
	m.connectPHYs()
	m.glue.attached = m.cfg.PHYAddress
	m.sampleMux()
	m.setReset()
	m.setAddress(cfg.MACAddress)
	return m
}

func (m *Model) setAddress(a mac.HardwareAddr) {
	if a == (mac.HardwareAddr{}) {
		return
	}
	m.store(emac.AddrHigh(0), emac.AddrHighEn|uint32(a[5])<<8|uint32(a[4]))
	m.store(emac.AddrLow(0), uint32(a[3])<<24|uint32(a[2])<<16|uint32(a[1])<<8|uint32(a[0]))
	m.loadSlots()
}

// Compatible implements sim.Device.
func (m *Model) Compatible() []string { return m.cfg.Compatible }

// ClockHz implements sim.Device.
func (m *Model) ClockHz() int { return m.cfg.ClockHz }

// Connect implements sim.Device.
func (m *Model) Connect(mem sim.DMA, irq func(level bool)) {
	m.mem = mem
	m.line.Connect(irq)
	if !m.cfg.Inline {
		m.workers.Go(func() { m.rxEngine.Run(m.done) })
		m.workers.Go(func() { m.txEngine.Run(m.done) })
	}
}

// kickRX and kickTX have an engine look at its chain. No lock is held.
func (m *Model) kickRX() { m.rxEngine.Kick() }
func (m *Model) kickTX() { m.txEngine.Kick() }

// Port implements sim.Device. The port is a sim.LinkPort.
func (m *Model) Port() sim.Port { return m }

// OnTransmit implements sim.Port.
func (m *Model) OnTransmit(f func(frame []byte)) {
	m.tx.mu.Lock()
	defer m.tx.mu.Unlock()
	m.tx.out = f
}

// SetLink implements sim.LinkPort. Frames wait in the transmit ring while the link
// is down, and are lost while the MAC is set to another speed. A link that is up
// without a speed has 1 Gbit/s. Where there is a PHY, l is all that its new partner
// offers.
func (m *Model) SetLink(l mac.Link) {
	if l.Up && l.Speed == 0 {
		l.Speed, l.FullDuplex = 1000, true
	}
	if p := m.PHY(); p != nil {
		p.SetLink(l)
		return
	}
	m.linkChanged(l)
}

// linkChanged takes over the link that the MAC has now.
func (m *Model) linkChanged(l mac.Link) {
	m.link.Store(&l)
	if m.cfg.LoopbackTrap {
		m.write.Lock()
		m.store(emac.BasicCtl0, m.load(emac.BasicCtl0)|emac.Ctl0Loopback)
		m.write.Unlock()
	}
	if m.cfg.InBandLink {
		m.line.Mu.Lock()
		m.setInBand()
		m.orLocked(emac.IntSta, emac.IntRGMII)
		m.line.Mu.Unlock()
	}
	m.kickTX()
}

// setInBand puts the link into RGMII_STA.
func (m *Model) setInBand() {
	l, v := m.link.Load(), uint32(0)
	if l.Up {
		v = emac.RGMIILink
		switch l.Speed {
		case 10:
			v |= field.Put(emac.RGMIISpeed, emac.RGMIISpeed10)
		case 100:
			v |= field.Put(emac.RGMIISpeed, emac.RGMIISpeed100)
		default:
			v |= field.Put(emac.RGMIISpeed, emac.RGMIISpeed1000)
		}
		if l.FullDuplex {
			v |= emac.RGMIIDuplex
		}
	}
	m.store(emac.RGMIISta, v)
}

// onWire reports whether the link carries frames at the speed that the MAC is set
// to.
func (m *Model) onWire() bool {
	l := m.link.Load()
	if !l.Up || m.closed.Load() {
		return false
	}
	switch field.Get(emac.Ctl0Speed, m.load(emac.BasicCtl0)) {
	case emac.Speed10:
		return l.Speed == 10
	case emac.Speed100:
		return l.Speed == 100
	}
	return l.Speed == 1000
}

// Faults are the faults of this core.
func (m *Model) Faults() *sim.Faults { return m.faults }

// Violations are what the driver did that the manual forbids. Accesses outside
// of DMA memory are the Space's.
func (m *Model) Violations() *sim.Violations { return &m.bad }

// Quiesce waits until the accesses to memory that the engines have begun are
// over, so that memory which has been taken out of the DMA space can go. Both
// engines reach memory only with their lock held.
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
	m.write.Lock()
	m.rx.mu.Lock()
	m.tx.mu.Lock()
	m.resets++
	m.tx.hold.End()
	m.tx.gen++
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	m.write.Unlock()
	m.workers.Wait()
	return nil
}
