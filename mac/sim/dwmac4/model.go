// Package dwmac4 is a register-level model of the Synopsys DesignWare Ethernet
// QoS cores (GMAC4 and GMAC5, versions 4.00 to 5.30): MAC, MTL, DMA, MMC and
// MDIO with a PHY behind it.
//
// The model takes what the registers say and nothing else. Where the manual
// leaves hardware free it is hostile: a write-back overwrites all four words,
// unused ones with junk; a descriptor may be fetched as soon as it is given
// away, and is not looked at again; positions survive a stop. Things that a
// driver must never do are kept as Violations.
//
// Left out are timestamps, EEE and wake-up, split headers, VLAN insertion,
// layer 3 and 4 filters, the early interrupts (ETI, ERI), and the safety and
// scheduling extensions: the feature registers say so, and the registers behind
// them only hold what is written.
package dwmac4

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// Model is one core. Its methods may be called from any goroutine.
//
// Locks are taken in the order write, rx.mu, tx.mu, line.Mu. None is held while
// a frame is transmitted.
type Model struct {
	cfg    Config
	facts  gmac4.Facts
	clock  sim.Clock
	faults *sim.Faults
	bad    sim.Violations
	mem    sim.DMA

	// regs holds every register; single ones are read and written without a
	// lock. write serialises writes that have effects beyond their register.
	regs  [gmac4.WindowSize / 4]atomic.Uint32
	write sync.Mutex

	line dwmac.Line
	mmc  dwmac.MMC
	rx   receiver
	tx   transmitter
	mdio mdio
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

var (
	_ sim.Device    = (*Model)(nil)
	_ sim.LinkPort  = (*Model)(nil)
	_ sim.Described = (*Model)(nil)
)

// New returns a core that has just been powered on, with the link up at 1 Gbit/s.
func New(cfg Config) *Model {
	cfg = cfg.withDefaults()
	m := &Model{
		cfg: cfg, clock: cfg.Clock, faults: sim.NewFaults(cfg.Seed),
		done: make(chan struct{}),
	}
	m.rxEngine, m.txEngine = dwmac.NewEngine(cfg.Inline, m.pumpRX), dwmac.NewEngine(cfg.Inline, m.pumpTX)
	m.line.Init(m.faults)
	m.mmc.Absent, m.mmc.Changed = cfg.NoMMC, func() {
		m.line.Mu.Lock()
		m.updateLine()
		m.line.Mu.Unlock()
	}
	m.facts, _ = gmac4.FactsFor(uint32(cfg.Version))
	m.rx.junk, m.tx.junk = dwmac.Junk(cfg.Seed)|1, dwmac.Junk(cfg.Seed+1)|1
	m.link.Store(&mac.Link{Up: true, Speed: 1000, FullDuplex: true})
	m.connectPHY()
	for c := range cfg.Queues {
		m.tx.ch[c].data, m.tx.ch[c].segment = make([]byte, 0, 2048), make([]byte, 0, 2048)
	}
	m.setReset()
	m.setAddress(cfg.MACAddress)
	return m
}

func (m *Model) setAddress(a mac.HardwareAddr) {
	if a == (mac.HardwareAddr{}) {
		return
	}
	m.store(gmac4.AddrHigh(0), dwregs.AddrHighAE|uint32(a[5])<<8|uint32(a[4]))
	m.store(gmac4.AddrLow(0), uint32(a[3])<<24|uint32(a[2])<<16|uint32(a[1])<<8|uint32(a[0]))
	m.loadSlots()
}

// Compatible implements sim.Device.
func (m *Model) Compatible() []string {
	name := "snps,dwmac-" + gmac4.VersionName(uint32(m.cfg.Version))
	if v := m.cfg.Version; v != 0x40 && v != 0x52 {
		name += "a" // the device-tree names have it, but for these two
	}
	return []string{name, "snps,dwmac"}
}

// WindowSize implements sim.Device.
func (m *Model) WindowSize() int { return gmac4.WindowSize }

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

// SetLink implements sim.LinkPort. Frames wait in the transmit rings while the
// link is down, and are lost while the MAC is set to another speed. A link that
// is up without a speed has 1 Gbit/s. Where there is a PHY, l is all that its new
// partner offers.
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
	m.link.Store(&l)
	if m.cfg.InBandLink {
		m.line.Mu.Lock()
		m.setInBand()
		m.orLocked(gmac4.MACIntStatus, gmac4.MACIntRGSMII)
		m.line.Mu.Unlock()
	}
	m.txEngine.Kick()
}

// setInBand puts the link into MAC_PHYIF_Control_Status.
func (m *Model) setInBand() {
	l, v := m.link.Load(), uint32(0)
	if l.Up {
		v |= gmac4.PHYIFLink
		switch l.Speed {
		case 10:
		case 100:
			v |= field.Put(gmac4.PHYIFSpeed, gmac4.PHYIFSpeed100)
		default:
			v |= field.Put(gmac4.PHYIFSpeed, gmac4.PHYIFSpeed1000)
		}
		if l.FullDuplex {
			v |= gmac4.PHYIFDuplex
		}
	}
	m.store(gmac4.MACPHYIF, m.load(gmac4.MACPHYIF)&0xffff|v)
}

// onWire reports whether the link carries frames at the speed that the MAC is
// set to.
func (m *Model) onWire() bool {
	l := m.link.Load()
	if !l.Up {
		return false
	}
	speed := 1000
	switch m.load(gmac4.MACConfig) & (gmac4.ConfigPS | gmac4.ConfigFES) {
	case gmac4.ConfigPS | gmac4.ConfigFES:
		speed = 100
	case gmac4.ConfigPS:
		speed = 10
	case gmac4.ConfigFES:
		speed = 2500
	}
	return speed == l.Speed
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
	m.stopTimers()
	m.tx.gen++
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	m.write.Unlock()
	m.workers.Wait()
	return nil
}
