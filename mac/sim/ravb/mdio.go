package ravb

import (
	"sync"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/sim/internal/phy"
)

// mdio is the PHY's end of the management interface: it looks at the pins with every
// rising edge of MDC (IEEE 802.3, 22.2.4 and 45.3).
type mdio struct {
	phy *phy.PHY

	mu    sync.Mutex
	pins  uint32
	ones  int    // of the preamble
	bits  int    // of the frame so far
	shift uint64 // those bits
	drive bool   // the PHY drives MDIO: a read is being answered
	out   uint32 // what it drives, behind the turnaround
	addr  uint16 // register of clause 45
}

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
		level = etheravb.Get(etheravb.PIRMDO, p.pins)
	case p.drive && p.bits > headerBits:
		level = p.out >> (frameBits - 1 - p.bits) & 1
	}
	return p.pins | etheravb.Put(etheravb.PIRMDI, level)
}

// write moves the pins. here is the address of the PHY.
func (p *mdio) write(v uint32, here int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rising := v&^p.pins&etheravb.PIRMDC != 0
	p.pins = v & (etheravb.PIRMDC | etheravb.PIRMMD | etheravb.PIRMDO)
	if !rising {
		return
	}
	bit := uint64(1)
	if v&etheravb.PIRMMD != 0 {
		bit = uint64(etheravb.Get(etheravb.PIRMDO, v))
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
		p.answer(here)
	case frameBits:
		p.end(here)
	}
}

// header is what a frame begins with.
func header(h uint64) (clause45 bool, op, phy, reg int) {
	return h>>12&3 == 0, int(h >> 10 & 3), int(h >> 5 & 31), int(h & 31)
}

// answer has the PHY get ready to drive MDIO when it is asked for data.
func (p *mdio) answer(here int) {
	clause45, op, at, reg := header(p.shift)
	if at != here {
		return
	}
	switch {
	case !clause45 && op == 2:
		p.drive, p.out = true, uint32(p.phy.Read(reg))
	case clause45 && op&2 != 0:
		p.drive, p.out = true, uint32(p.phy.Read45(reg, p.addr))
		if op == 2 {
			p.addr++ // read and go on to the next
		}
	}
}

// end takes what was written.
func (p *mdio) end(here int) {
	clause45, op, at, reg := header(p.shift >> (frameBits - headerBits))
	data := uint16(p.shift)
	if at == here {
		switch {
		case !clause45 && op == 1:
			p.phy.Write(reg, data)
		case clause45 && op == 0:
			p.addr = data
		case clause45 && op == 1:
			p.phy.Write45(reg, p.addr, data)
		}
	}
	p.bits, p.shift, p.ones, p.drive = 0, 0, 0, false
}
