package ravb

import (
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim/phy"
)

// mdio is the PHYs' end of the management interface: they look at the pins with
// every rising edge of MDC (IEEE 802.3, 22.2.4 and 45.3).
type mdio struct {
	bus *phy.Bus
	phy *phy.PHY // nil: none

	mu    sync.Mutex
	pins  uint32
	ones  int    // of the preamble
	bits  int    // of the frame so far
	shift uint64 // those bits
	drive bool   // a PHY drives MDIO: a read is being answered
	out   uint32 // what it drives, behind the turnaround
	addr  uint16 // register of clause 45
}

// connectPHY puts the PHY on the bus, and the link that it makes into the core.
func (m *Model) connectPHY() {
	m.mdio.bus = phy.NewBus()
	if m.cfg.PHYAddress < 0 {
		return
	}
	p := phy.New(m.cfg.PHY)
	m.mdio.phy = p
	m.mdio.bus.Attach(m.cfg.PHYAddress, p)
	p.SetLink(*m.link.Load())
	p.OnLink(func(mac.Link) { m.linkChanged(p.Link()) })
}

// PHY is the PHY at Config.PHYAddress, nil when there is none. What it makes of its
// cable is the link of the core.
func (m *Model) PHY() *phy.PHY { return m.mdio.phy }

// MDIO is the bus behind the pins, to put more on it or to break it.
func (m *Model) MDIO() *phy.Bus { return m.mdio.bus }

const (
	preamble   = 32
	headerBits = 14
	frameBits  = 32 // header, turnaround, data
)

func (p *mdio) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pins, p.ones, p.bits, p.drive = 0, 0, 0, false
}

// read is PIR: MDIO is pulled up where nobody drives it.
func (p *mdio) read() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	level := uint32(1)
	switch {
	case p.pins&etheravb.PIRMMD != 0:
		level = field.Get(etheravb.PIRMDO, p.pins)
	case p.drive && p.bits > headerBits:
		level = p.out >> (frameBits - 1 - p.bits) & 1
	}
	return p.pins | field.Put(etheravb.PIRMDI, level)
}

// write moves the pins.
func (p *mdio) write(v uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rising := v&^p.pins&etheravb.PIRMDC != 0
	p.pins = v & (etheravb.PIRMDC | etheravb.PIRMMD | etheravb.PIRMDO)
	if !rising {
		return
	}
	bit := uint64(1)
	if v&etheravb.PIRMMD != 0 {
		bit = uint64(field.Get(etheravb.PIRMDO, v))
	}
	if p.bits == 0 {
		if bit != 0 {
			p.ones = min(p.ones+1, preamble)
			return
		}
		if p.ones < preamble {
			p.ones = 0
			return
		}
	}
	p.shift = p.shift<<1 | bit
	switch p.bits++; p.bits {
	case headerBits:
		p.answer()
	case frameBits:
		p.end()
	}
}

// header is what a frame begins with.
func header(h uint64) (clause45 bool, op, phy, reg int) {
	return h>>12&3 == 0, int(h >> 10 & 3), int(h >> 5 & 31), int(h & 31)
}

// answer has a PHY get ready to drive MDIO when it is asked for data. Where there
// is none nobody drives.
func (p *mdio) answer() {
	clause45, op, at, reg := header(p.shift)
	var v uint16
	var err error
	switch {
	case !clause45 && op == 2:
		v, err = p.bus.Read(at, reg)
	case clause45 && op&2 != 0:
		v, err = p.bus.Read45(at, reg, p.addr)
		if op == 2 {
			p.addr++ // read and go on to the next
		}
	default:
		return
	}
	p.drive, p.out = err == nil, uint32(v)
}

// end takes what was written.
func (p *mdio) end() {
	clause45, op, at, reg := header(p.shift >> (frameBits - headerBits))
	data := uint16(p.shift)
	// A bus that fails is one on which nobody hears it.
	switch {
	case !clause45 && op == 1:
		_ = p.bus.Write(at, reg, data)
	case clause45 && op == 0:
		p.addr = data
	case clause45 && op == 1:
		_ = p.bus.Write45(at, reg, p.addr, data)
	}
	p.bits, p.shift, p.ones, p.drive = 0, 0, 0, false
}
