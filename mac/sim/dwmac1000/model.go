// Package dwmac1000 is a register-level model of the Synopsys DesignWare Ethernet
// MAC 10/100/1000 Universal (GMAC 3.00 to 3.70): MAC, FIFOs, DMA with normal,
// enhanced and extended descriptors in rings or chains, MMC, and MDIO with a PHY
// behind it.
//
// The model takes what the registers and descriptors say and nothing else. Where
// the manual leaves hardware free it is hostile: reserved fields hold junk, a
// descriptor may be fetched as soon as it is given away and is not looked at again,
// positions survive a stop; Config has more such liberties. Things that a driver
// must never do are kept as Violations.
//
// Left out are time stamps, EEE and wake-up, the PCS, AV channels, VLAN insertion,
// layer 3 and 4 filters and the early interrupts (ETI, ERI): the feature register
// says so, and the registers behind them only hold what is written.
package dwmac1000

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Model is one core. Its methods may be called from any goroutine.
//
// Locks are taken in the order write, rx.mu, tx.mu, line.Mu. None is held while a
// frame is transmitted.
type Model struct {
	cfg    Config
	facts  gmac3.Facts
	clock  sim.Clock
	faults *sim.Faults
	bad    sim.Violations
	mem    sim.DMA

	// regs holds every register; single ones are read and written without a
	// lock. write serialises writes that have effects beyond their register.
	regs  [gmac3.WindowSize / 4]atomic.Uint32
	write sync.Mutex

	line dwmac.Line
	mmc  dwmac.MMC
	rx   receiver
	tx   transmitter
	mdio dwmac.MDIO
	link atomic.Pointer[mac.Link]
	stat stats

	resetting atomic.Bool
	resets    uint64 // guarded by write
	closed    atomic.Bool
	done      chan struct{}
	rxEngine  *dwmac.Engine
	txEngine  *dwmac.Engine
	workers   sync.WaitGroup
}

var _ sim.Model = (*Model)(nil)

// New returns a core that has just been powered on, with the link up at 1 Gbit/s.
func New(cfg Config) *Model {
	cfg = cfg.withDefaults()
	m := &Model{cfg: cfg, clock: cfg.Clock, faults: sim.NewFaults(cfg.Seed), done: make(chan struct{})}
	m.rxEngine, m.txEngine = dwmac.NewEngine(cfg.Inline, m.pumpRX), dwmac.NewEngine(cfg.Inline, m.pumpTX)
	m.line.Init(m.faults)
	m.rx.watchdog.Init(cfg.Clock, m.watchdogEnds)
	m.tx.hold.Init(cfg.Clock, m.txEngine.Kick)
	m.mmc.Absent, m.mmc.Changed = cfg.NoMMC, func() {
		m.line.Mu.Lock()
		m.updateLine()
		m.line.Mu.Unlock()
	}
	m.facts, _ = gmac3.FactsFor(uint32(cfg.Version))
	m.rx.junk, m.tx.junk = dwmac.Junk(cfg.Seed)|1, dwmac.Junk(cfg.Seed+1)|1
	m.tx.data = make([]byte, 0, 2048)
	m.link.Store(&mac.Link{Up: true, Speed: 1000, FullDuplex: true})
	m.mdio.Init(gmac3.MIIGB, transfer, cfg.PHYAddress, cfg.PHY, *m.link.Load(), m.linkChanged)
	m.setReset()
	if a := cfg.MACAddress; a != (mac.HardwareAddr{}) {
		m.store(gmac3.AddrHigh(0), dwregs.AddrHighAE|uint32(a[5])<<8|uint32(a[4]))
		m.store(gmac3.AddrLow(0), uint32(a[3])<<24|uint32(a[2])<<16|uint32(a[1])<<8|uint32(a[0]))
		m.loadSlots()
	}
	return m
}

// Compatible implements sim.Device.
func (m *Model) Compatible() []string { return m.cfg.Names }

// WindowSize implements sim.Device.
func (m *Model) WindowSize() int { return gmac3.WindowSize }

// ClockHz implements sim.Device.
func (m *Model) ClockHz() int { return m.cfg.ClockHz }

// Connect implements sim.Device.
func (m *Model) Connect(mem sim.DMA, irq func(level bool)) {
	m.mem = mem
	m.line.Connect(irq)
	if m.cfg.Inline {
		return
	}
	m.workers.Go(func() { m.rxEngine.Run(m.done) })
	m.workers.Go(func() { m.txEngine.Run(m.done) })
}

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
	if m.mdio.PHY == nil {
		m.linkChanged(l)
		return
	}
	m.mdio.PHY.SetLink(l)
}

// linkChanged takes over the link that the MAC has now.
func (m *Model) linkChanged(l mac.Link) {
	m.link.Store(&l)
	if m.cfg.InBandLink {
		m.line.Mu.Lock()
		m.setInBand()
		m.orLocked(gmac3.MACIntStatus, gmac3.MACIntRGSMII)
		m.line.Mu.Unlock()
	}
	m.txEngine.Kick()
}

// setInBand puts the link into the RGMII status register.
func (m *Model) setInBand() {
	l, v := m.link.Load(), uint32(0)
	if l.Up {
		v = dwregs.InBandLink
		switch l.Speed {
		case 10:
		case 100:
			v |= field.Put(dwregs.InBandSpeed, dwregs.InBand100)
		default:
			v |= field.Put(dwregs.InBandSpeed, dwregs.InBand1000)
		}
		if l.FullDuplex {
			v |= dwregs.InBandDuplex
		}
	}
	m.store(gmac3.MACRGSMII, v)
}

// onWire reports whether the link carries frames at the speed that the MAC is set
// to.
func (m *Model) onWire() bool {
	l := m.link.Load()
	if !l.Up {
		return false
	}
	switch m.load(gmac3.MACConfig) & (gmac3.ConfigPS | gmac3.ConfigFES) {
	case gmac3.ConfigPS | gmac3.ConfigFES:
		return l.Speed == 100
	case gmac3.ConfigPS:
		return l.Speed == 10
	}
	return l.Speed == 1000
}

// PHY is the PHY at Config.PHYAddress, nil when there is none. What it makes of
// its cable is the link of the core.
func (m *Model) PHY() *phy.PHY { return m.mdio.PHY }

// MDIO is the bus behind the core's management port, to put more on it or to
// break it. While it is broken the port stays busy.
func (m *Model) MDIO() *phy.Bus { return m.mdio.Bus }

// transfer decodes GMII_Address. The port has clause 22 only.
func transfer(addr, _ uint32) dwmac.Transfer {
	return dwmac.Transfer{
		Write:    addr&gmac3.MIIGW != 0,
		PHY:      int(field.Get(gmac3.MIIPA, addr)),
		Register: int(field.Get(gmac3.MIIGR, addr)),
	}
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
	m.write.Lock()
	m.rx.mu.Lock()
	m.tx.mu.Lock()
	m.stopTimers()
	m.tx.gen++
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	m.write.Unlock()
	m.workers.Wait()
	return nil
}
