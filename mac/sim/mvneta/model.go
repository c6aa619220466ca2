// Package mvneta is a register-level model of Marvell's NETA controller, of the
// buffer manager beside it, and of the SMI bus with a PHY behind it.
//
// The model takes what the registers say and nothing else. Where no source tells
// what the hardware does it is hostile: descriptors come back with junk in every
// word that is not for software, buffers of a pool in any order, causes and masks
// are seen through the queue map of the CPU that happens to ask, a time of 0 is
// over at once, and positions survive a stop until DMA is reset. Things that a
// driver must never do are kept as Violations.
//
// Left out are the parser (PnC), PTP, EEE, wake-up, Marvell headers other than
// zeros, rate limits and snooping: registers behind them only hold what is
// written.
package mvneta

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
)

// Model is one port. Its methods may be called from any goroutine.
//
// mu guards everything below it. It is not held while a frame is transmitted.
type Model struct {
	cfg    Config
	clock  sim.Clock
	faults *sim.Faults
	bad    sim.Violations
	mem    sim.DMA

	smi smi // has a lock of its own

	mu    sync.Mutex
	regs  [neta.WindowSize / 4]uint32
	bm    manager
	rxq   [neta.MaxQueues]rxQueue
	txq   [neta.MaxQueues]txQueue
	fifo  fifo
	tx    transmitter
	line  line
	link  mac.Link
	junk  uint64
	reset struct {
		busy  bool // GMAC_Control2 reads as in reset
		count uint64
	}
	dead  bool // DMA has met an address that is not there
	forge []uint32
	armed []uint32 // for checkArmed
	stats Stats

	closed  atomic.Bool
	done    chan struct{}
	wake    chan struct{}
	workers sync.WaitGroup
}

var (
	_ sim.Device    = (*Model)(nil)
	_ sim.LinkPort  = (*Model)(nil)
	_ sim.Described = (*Model)(nil)
	_ sim.Windowed  = (*Model)(nil)
)

// line is the interrupt line.
type line struct {
	irq   func(level bool)
	level bool
	cpu   int // the CPU that asks next
}

// Stats are counts of the model's own, for tests.
type Stats struct {
	// RX and TX are frames by queue.
	RX, TX [neta.MaxQueues]uint64
	// Filtered frames did not pass the address filter.
	Filtered uint64
	// Checksums is how many frames had any inserted.
	Checksums uint64
	// Puts and Gets are buffers given to and taken from each pool.
	Puts, Gets [neta.MaxPools]uint64
}

// New returns a port that has just been powered on and set up by firmware, with
// the link up at 1 Gbit/s (2.5 with Config.Fast).
func New(cfg Config) *Model {
	cfg = cfg.withDefaults()
	m := &Model{
		cfg: cfg, clock: cfg.Clock, faults: sim.NewFaults(cfg.Seed),
		done: make(chan struct{}), wake: make(chan struct{}, 1), junk: cfg.Seed | 1,
		link: mac.Link{Up: true, Speed: 1000, FullDuplex: true},
	}
	if cfg.Fast {
		m.link.Speed = 2500
	}
	m.powerOn()
	m.connectPHY()
	return m
}

// powerOn puts every register into the state that firmware leaves. There is no
// reset of everything later on.
func (m *Model) powerOn() {
	m.store(neta.Version, 0xA5A5_0000|uint32(m.cfg.Version))
	m.store(neta.GMAC0, neta.GMAC0MIB|field.Put(neta.GMAC0MaxRX, 0x300))
	m.store(neta.GMAC2, neta.GMAC2RGMII)
	m.store(neta.AN, neta.ANMustSet|neta.ANForceDown)
	m.store(neta.PortStatus, neta.StatusTXEmpty|neta.StatusRXEmpty)
	m.store(neta.UnitControl, neta.UnitPolling)
	m.store(neta.InterruptEnable, neta.AllQueues)
	a := m.cfg.MACAddress
	m.store(neta.MACLow, uint32(a[4])<<8|uint32(a[5]))
	m.store(neta.MACHigh, uint32(a[0])<<24|uint32(a[1])<<16|uint32(a[2])<<8|uint32(a[3]))
	for c := range neta.MaxCPUs {
		m.store(neta.CPUMap(c), 0x0101<<c) // one queue each
	}
	m.store(neta.WindowEnable, neta.WindowsOff)
	if !m.cfg.PassThrough {
		m.store(neta.WindowBase(0), 0x0E00)
		m.store(neta.WindowBase(1), 0x8000_0D00)
		m.store(neta.WindowSpan(0), 0x7FFF_0000)
		m.store(neta.WindowSpan(1), 0x7FFF_0000)
		m.store(neta.WindowEnable, neta.WindowsOff&^3)
		m.store(neta.WindowProtect, 0xF)
	}
	if !m.cfg.NoBPPI {
		m.store(neta.BMAddress, m.cfg.BPPI)
	}
	switch {
	case m.cfg.BaseX, m.cfg.Fast:
		m.or(neta.GMAC2, neta.GMAC2PCS)
		if m.cfg.Fast {
			m.or(neta.GMAC4, neta.GMAC4Short)
		}
		if m.cfg.InBandLink {
			m.or(neta.GMAC0, neta.GMAC0BaseX)
			m.or(neta.AN, neta.ANInBand|neta.ANGMII|neta.ANFull|neta.ANFlowAuto|neta.ANSymPause)
		}
	case m.cfg.InBandLink:
		m.or(neta.GMAC2, neta.GMAC2PCS|neta.GMAC2InBand)
		m.or(neta.AN, neta.ANInBand|neta.ANSpeed|neta.ANDuplexAuto)
	}
}

// Compatible implements sim.Device.
func (m *Model) Compatible() []string { return []string{m.cfg.Compatible} }

// WindowSize implements sim.Device.
func (m *Model) WindowSize() int { return neta.WindowSize }

// Windows implements sim.Windowed: the port, the buffer manager, its BPPI.
func (m *Model) Windows() []sim.Window {
	return []sim.Window{
		{Size: neta.WindowSize},
		{Offset: neta.BMOffset, Size: neta.BMWindowSize},
		{Offset: neta.BPPIOffset, Size: neta.BPPISize},
	}
}

// ClockHz implements sim.Device.
func (m *Model) ClockHz() int { return m.cfg.ClockHz }

// Connect implements sim.Device.
func (m *Model) Connect(mem sim.DMA, irq func(level bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mem, m.line.irq = mem, irq
	if !m.cfg.Inline {
		m.workers.Go(m.work)
	}
}

// work is the transmit engine's goroutine.
func (m *Model) work() {
	for {
		select {
		case <-m.done:
			return
		case <-m.wake:
			m.pumpTX()
		}
	}
}

// kickTX has the transmit engine look at its queues. mu is not held.
func (m *Model) kickTX() {
	if m.cfg.Inline {
		m.pumpTX()
		return
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Port implements sim.Device. The port is a sim.LinkPort.
func (m *Model) Port() sim.Port { return m }

// OnTransmit implements sim.Port.
func (m *Model) OnTransmit(f func(frame []byte)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tx.out = f
}

// SetLink implements sim.LinkPort. Frames wait in the transmit rings while the
// link is down, and are lost while the MAC is set to another speed. A link that is
// up without a speed has 1 Gbit/s. Where there is a PHY, l is all that its new
// partner offers.
func (m *Model) SetLink(l mac.Link) {
	if l.Up && l.Speed == 0 {
		l.Speed, l.FullDuplex = 1000, true
	}
	if m.smi.phy != nil {
		m.smi.phy.SetLink(l)
		return
	}
	m.linkChanged(l)
}

// linkChanged takes over the link that there is now.
func (m *Model) linkChanged(l mac.Link) {
	m.mu.Lock()
	m.link = l
	if m.load(neta.AN)&neta.ANInBand != 0 {
		m.misc(neta.MiscLink)
	}
	m.mu.Unlock()
	m.kickTX()
}

// Faults are the faults of this port.
func (m *Model) Faults() *sim.Faults { return m.faults }

// Violations are what the driver did that it must never do. Accesses outside of
// DMA memory are the Space's.
func (m *Model) Violations() *sim.Violations { return &m.bad }

// Stats is a snapshot.
func (m *Model) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// Quiesce waits until the accesses to memory that have begun are over, so that
// memory which has been taken out of the DMA space can go.
func (m *Model) Quiesce() {
	m.mu.Lock()
	defer m.mu.Unlock()
}

// Close implements sim.Device. It waits for a transmit function that blocks.
func (m *Model) Close() error {
	if m.closed.Swap(true) {
		return nil
	}
	close(m.done)
	m.mu.Lock()
	for q := range m.rxq {
		m.rxq[q].stopTimer()
	}
	if m.tx.resume != nil {
		m.tx.resume.Stop()
	}
	m.tx.gen++
	m.mu.Unlock()
	m.workers.Wait()
	return nil
}

// random steps a generator of unlikely values.
func (m *Model) random() uint32 {
	m.junk ^= m.junk << 13
	m.junk ^= m.junk >> 7
	m.junk ^= m.junk << 17
	return uint32(m.junk >> 16)
}
