package phy

import (
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
	"github.com/barewire/barewire/mac/sim"
)

// Config says which PHY it is. The zero value is a gigabit PHY that negotiates in
// no time.
type Config struct {
	// ID is what registers 2 and 3 read. 0 means an unknown one.
	ID uint32
	// Modes is what the PHY can do. 0 means UpTo1000.
	Modes Modes
	// NoMMD leaves the clause 45 registers out, and registers 13 and 14 with them.
	NoMMD bool
	// NoClause22 is a PHY that answers clause 45 accesses alone.
	NoClause22 bool
	// EEE has energy-efficient Ethernet advertised from power-on.
	EEE bool
	// PoweredDown and Isolated have the PHY start like that, as a warm reboot or a
	// strap leaves it. A reset ends both.
	PoweredDown, Isolated bool
	// Negotiation is how long it takes until the link is up, Reset how long a
	// reset takes. 0: no time.
	Negotiation, Reset time.Duration
	// Clock is the time the PHY runs on. nil means the system's.
	Clock sim.Clock
}

// Partner is the other end of the cable.
type Partner struct {
	// Modes is what it advertises; one mode of 10 or 100 Mbit/s when it does not
	// negotiate.
	Modes Modes
	// Pause and AsymPause are the bits that it advertises (802.3 annex 28B.2).
	Pause, AsymPause bool
	// Forced has it not negotiate: the PHY finds its speed and takes half duplex
	// (parallel detection, 28.2.3.1).
	Forced bool
}

// PHY is one PHY. Its methods may be called from any goroutine.
type PHY struct {
	cfg Config

	mu        sync.Mutex
	reg       [32]uint16
	mmd       map[uint32]uint16 // device<<16 | register
	resetting bool
	deadReset bool
	partner   *Partner // nil: no cable
	done      bool     // negotiation is over
	parallel  bool     // by parallel detection
	up        bool
	speed     int
	full      bool
	pause     struct{ rx, tx bool }
	lost      uint8 // status registers that have not shown a lost link, a bit each
	attempt   uint64
	told      mac.Link
	onLink    func(mac.Link)
}

// Bits of PHY.lost.
const (
	lostBMSR = 1 << iota
	lostPMA
	lostPCS
	lostAN
	lostAll = lostBMSR | lostPMA | lostPCS | lostAN
)

// New returns a PHY that has just been powered on, without a cable.
func New(cfg Config) *PHY {
	if cfg.ID == 0 {
		cfg.ID = 0x12345670
	}
	if cfg.Modes == 0 {
		cfg.Modes = UpTo1000
	}
	if cfg.Clock == nil {
		cfg.Clock = sim.RealClock{}
	}
	p := &PHY{cfg: cfg}
	p.powerOn()
	return p
}

func (p *PHY) powerOn() {
	p.resetting = false
	p.defaults()
	if p.cfg.PoweredDown {
		p.reg[mii.BMCR] |= mii.BMCRPowerDown
	}
	if p.cfg.Isolated {
		p.reg[mii.BMCR] |= mii.BMCRIsolate
	}
}

// defaults sets the registers as a reset does.
func (p *PHY) defaults() {
	m := p.cfg.Modes
	p.reg = [32]uint16{mii.BMCR: mii.BMCRANEnable | mii.BMCRFull, mii.ANAR: mii.ANSelect802 | anAbilities(m)}
	p.mmd = map[uint32]uint16{}
	switch {
	case m&(Mode1000Half|Mode1000Full) != 0:
		p.reg[mii.BMCR] |= mii.BMCRSpeed1000
		p.reg[mii.GBCR] = pick(m, Mode1000Half, mii.GBCRHalf) | pick(m, Mode1000Full, mii.GBCRFull)
		p.reg[mii.ESR] = pick(m, Mode1000Half, mii.ESR1000THalf) | pick(m, Mode1000Full, mii.ESR1000TFull)
	default:
		p.reg[mii.BMCR] |= mii.BMCRSpeed100
	}
	p.mmd[mii.DevAN<<16|mii.MGBTControl] = pick(m, Mode2500, mii.MGBTControl2500) | pick(m, Mode5000, mii.MGBTControl5000) | pick(m, Mode10000, mii.MGBTControl10G)
	if p.cfg.EEE {
		p.mmd[mii.DevAN<<16|mii.EEEAdvertise] = mii.EEE100 | mii.EEE1000
	}
}

// pick is bit when m has the mode.
func pick(m, mode Modes, bit uint16) uint16 {
	if m&mode == 0 {
		return 0
	}
	return bit
}

func anAbilities(m Modes) uint16 {
	return pick(m, Mode10Half, mii.AN10Half) | pick(m, Mode10Full, mii.AN10Full) |
		pick(m, Mode100Half, mii.AN100Half) | pick(m, Mode100Full, mii.AN100Full)
}

// OnLink has f called with each change of the link that the MAC can use, with no
// lock held. A PHY that is isolated gives the MAC none.
func (p *PHY) OnLink(f func(mac.Link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onLink = f
}

// Link is the link that the MAC can use now.
func (p *PHY) Link() mac.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link()
}

// Plug joins the PHY to a partner, after pulling the cable that was there.
func (p *PHY) Plug(partner Partner) {
	p.change(func() { p.partner = &partner; p.restart() })
}

// Unplug pulls the cable.
func (p *PHY) Unplug() {
	p.change(func() { p.partner = nil; p.restart() })
}

// SetLink is for ports that know only what the link is to be: it plugs in a
// partner that advertises just that, or pulls the cable when l is down.
func (p *PHY) SetLink(l mac.Link) {
	if !l.Up {
		p.Unplug()
		return
	}
	p.Plug(Partner{
		Modes:     mii.ModeOf(l.Speed, l.FullDuplex),
		Pause:     l.TXPause, // it obeys our pause frames
		AsymPause: l.RXPause != l.TXPause,
	})
}

// BreakReset has resets never end, or ends that.
func (p *PHY) BreakReset(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadReset = broken
}

// PowerCycle takes the PHY's power away and gives it back: registers are as at
// first, and the link is negotiated anew.
func (p *PHY) PowerCycle() {
	p.change(func() { p.powerOn(); p.restart() })
}

// change does f, which may change the link, and tells of it.
func (p *PHY) change(f func()) {
	p.mu.Lock()
	f()
	l, tell := p.link(), p.onLink
	if l == p.told {
		tell = nil
	}
	p.told = l
	p.mu.Unlock()
	if tell != nil {
		tell(l)
	}
}

// later calls f, unless something else has begun meanwhile. p.mu is held.
func (p *PHY) later(d time.Duration, f func()) {
	p.attempt++
	if d == 0 {
		f()
		return
	}
	this := p.attempt
	p.cfg.Clock.AfterFunc(d, func() {
		p.change(func() {
			if p.attempt == this {
				f()
			}
		})
	})
}
