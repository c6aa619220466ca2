// Package eqos is what the models of GMAC4 and XGMAC have in common: DMA channels,
// MTL queues with flow control, the filter in front of them, and the way of a frame
// through all of it. The two cores have other register maps and other receive
// descriptors, which the models say as Map and MAC; behind them they are one design.
//
// What makes the models hostile is here: a write-back overwrites all four words,
// unused ones with junk; a descriptor may be fetched as soon as it is given away, and
// is not looked at again; positions survive a stop. Things that a driver must never
// do are kept as Violations.
package eqos

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Config is what the configurations of the models have in common.
type Config struct {
	// Channels is the number of DMA channels each way, RXQueues and TXQueues that of
	// MTL queues. Transmit queue q belongs to channel q.
	Channels, RXQueues int
	RXFIFO             int
	PerfectSlots       int // beside the own address
	HashBins           int
	AddressBits        int
	NoTXChecksum       bool
	NoTSO              bool
	ClockHz            int
	Clock              sim.Clock
	SlowReset          time.Duration
	Seed               uint64
	Inline             bool
	JunkLengths        bool
	CheckArmed         bool
	LateContexts       bool // a context is written when the next thing happens
}

// Engine is one core behind its registers. Its methods may be called
// from any goroutine.
//
// Locks are taken in the order Write, rx.mu, tx.mu, Line.Mu. None is held while a
// frame is transmitted.
type Engine struct {
	cfg    Config
	at     Map
	mac    MAC
	count  dwmac.Counters
	clock  sim.Clock
	faults *sim.Faults
	mem    sim.DMA

	// Bad are the violations.
	Bad sim.Violations

	// regs holds every register; single ones are read and written without a lock.
	// Write serialises writes that have effects beyond their register.
	regs  []atomic.Uint32
	Write sync.Mutex

	Line dwmac.Line
	MDIO dwmac.MDIO
	rx   receiver
	tx   transmitter
	link atomic.Pointer[mac.Link]
	stat counts

	resetting atomic.Bool
	resets    uint64 // guarded by Write
	closed    atomic.Bool
	done      chan struct{}
	rxEngine  *dwmac.Engine
	txEngine  *dwmac.Engine
	workers   sync.WaitGroup
}

var _ sim.LinkPort = Core{}

// Init makes a core of cfg, with the link up as l says. The model goes on with InitMDIO and PowerOn once it has set itself up.
func (m *Engine) Init(cfg Config, at Map, front MAC, l mac.Link) {
	m.cfg, m.at, m.mac, m.count, m.clock = cfg, at, front, front, cfg.Clock
	m.faults, m.done = sim.NewFaults(cfg.Seed), make(chan struct{})
	m.regs = make([]atomic.Uint32, at.Window/4)
	m.rxEngine, m.txEngine = dwmac.NewEngine(cfg.Inline, m.pumpRX), dwmac.NewEngine(cfg.Inline, m.pumpTX)
	m.Line.Init(m.faults)
	m.rx.junk, m.tx.junk = dwmac.Junk(cfg.Seed)|1, dwmac.Junk(cfg.Seed+1)|1
	m.link.Store(&l)
	m.tx.hold.Init(m.clock, m.txEngine.Kick)
	for c := range cfg.Channels {
		m.rx.ch[c].watchdog.Init(m.clock, func() { m.watchdogEnds(c) })
		m.tx.ch[c].data, m.tx.ch[c].segment = make([]byte, 0, 2048), make([]byte, 0, 2048)
	}
}

// InitMDIO sets up the MDIO port.
func (m *Engine) InitMDIO(busy uint32, decode func(addr, data uint32) dwmac.Transfer, at int, cfg phy.Config) {
	m.MDIO.Init(busy, decode, at, cfg, *m.link.Load(), m.linkChanged)
}

// PowerOn sets the registers as after a reset, with a that firmware left as the
// station address.
func (m *Engine) PowerOn(a mac.HardwareAddr) {
	m.setReset()
	if a == (mac.HardwareAddr{}) {
		return
	}
	m.Store(gmac4.AddrHigh(0), dwregs.AddrHighAE|uint32(a[5])<<8|uint32(a[4]))
	m.Store(gmac4.AddrLow(0), uint32(a[3])<<24|uint32(a[2])<<16|uint32(a[1])<<8|uint32(a[0]))
	m.loadSlots()
}

func (m *Engine) connect(mem sim.DMA, irq func(level bool)) {
	m.mem = mem
	m.Line.Connect(irq)
	if m.cfg.Inline {
		return
	}
	m.workers.Go(func() { m.rxEngine.Run(m.done) })
	m.workers.Go(func() { m.txEngine.Run(m.done) })
}

func (m *Engine) setLink(l mac.Link) {
	if l.Up && l.Speed == 0 {
		l.Speed, l.FullDuplex = 1000, true
	}
	if m.MDIO.PHY == nil {
		m.linkChanged(l)
		return
	}
	m.MDIO.PHY.SetLink(l)
}

// linkChanged takes over the link that the MAC has now.
func (m *Engine) linkChanged(l mac.Link) {
	m.link.Store(&l)
	m.mac.LinkChanged()
	m.txEngine.Kick()
}

// Link is the link that the MAC has.
func (m *Engine) Link() mac.Link { return *m.link.Load() }

// onWire reports whether the link carries frames at the speed that the MAC is
// set to.
func (m *Engine) onWire() bool {
	l := m.link.Load()
	return l.Up && l.Speed == m.mac.Speed()
}

// Closed reports whether Close has been called.
func (m *Engine) Closed() bool { return m.closed.Load() }

func (m *Engine) close() error {
	if m.closed.Swap(true) {
		return nil
	}
	close(m.done)
	m.Write.Lock()
	m.rx.mu.Lock()
	m.tx.mu.Lock()
	m.stopTimers()
	m.tx.gen++
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	m.Write.Unlock()
	m.workers.Wait()
	return nil
}
