package phy

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
)

// restart drops the link and begins anew with what the registers say. p.mu is
// held.
func (p *PHY) restart() {
	if p.up {
		p.lost = lostAll
	}
	p.up, p.done, p.parallel = false, false, false
	if p.partner == nil || p.resetting || p.reg[mii.BMCR]&mii.BMCRPowerDown != 0 {
		p.attempt++ // what was under way ends
		return
	}
	p.later(p.cfg.Negotiation, p.resolve)
}

// reset is a write of the reset bit. p.mu is held.
func (p *PHY) reset() {
	p.defaults()
	p.resetting = true
	p.restart()
	if p.deadReset {
		return
	}
	p.later(p.cfg.Reset, func() {
		p.resetting = false
		p.reg[mii.BMCR] &^= mii.BMCRReset
		p.restart()
	})
}

// resolve decides what becomes of the link. p.mu is held.
func (p *PHY) resolve() {
	bmcr := p.reg[mii.BMCR]
	p.pause.rx, p.pause.tx = false, false
	switch {
	case bmcr&mii.BMCRANEnable == 0:
		p.speed, p.full = 10, bmcr&mii.BMCRFull != 0
		switch {
		case bmcr&mii.BMCRSpeed1000 != 0: // needs negotiation for master and slave (40.5.2)
			return
		case bmcr&mii.BMCRSpeed100 != 0:
			p.speed = 100
		}
		p.up = p.partner.Modes&(mii.ModeOf(p.speed, false)|mii.ModeOf(p.speed, true)) != 0
		return
	case p.partner.Forced:
		p.parallel = true
		p.speed, _ = p.partner.Modes.Best()
		p.full = false
		p.up = p.speed <= 100 && p.advertised()&mii.ModeOf(p.speed, false) != 0
	default:
		p.speed, p.full = (p.advertised() & p.partner.Modes).Best()
		p.up = p.speed != 0
		if p.full {
			p.pause.rx, p.pause.tx = p.pauseAgreed()
		}
	}
	p.done = p.up
}

// advertised is what the registers offer to the partner, of what the PHY can do.
func (p *PHY) advertised() Modes {
	var m Modes
	for _, b := range []struct {
		reg, bit uint16
		mode     Modes
	}{
		{p.reg[mii.ANAR], mii.AN10Half, Mode10Half}, {p.reg[mii.ANAR], mii.AN10Full, Mode10Full},
		{p.reg[mii.ANAR], mii.AN100Half, Mode100Half}, {p.reg[mii.ANAR], mii.AN100Full, Mode100Full},
		{p.reg[mii.GBCR], mii.GBCRHalf, Mode1000Half}, {p.reg[mii.GBCR], mii.GBCRFull, Mode1000Full},
		{p.multi(), mii.MGBTControl2500, Mode2500}, {p.multi(), mii.MGBTControl5000, Mode5000}, {p.multi(), mii.MGBTControl10G, Mode10000},
	} {
		if b.reg&b.bit != 0 {
			m |= b.mode
		}
	}
	return m & p.cfg.Modes
}

func (p *PHY) multi() uint16 { return p.mmd[mii.DevAN<<16|mii.MGBTControl] }

// link is what the MAC can use of the link. p.mu is held.
func (p *PHY) link() mac.Link {
	if !p.up || p.reg[mii.BMCR]&mii.BMCRIsolate != 0 {
		return mac.Link{}
	}
	return mac.Link{Up: true, Speed: p.speed, FullDuplex: p.full, RXPause: p.pause.rx, TXPause: p.pause.tx}
}

// pauseAgreed is table 28B-3: whether the partner's pause frames are to be obeyed, and
// whether to send some.
func (p *PHY) pauseAgreed() (rx, tx bool) {
	own, asym := p.reg[mii.ANAR]&mii.ANPause != 0, p.reg[mii.ANAR]&mii.ANAsymPause != 0
	switch {
	case own && p.partner.Pause:
		return true, true
	case !own && asym && p.partner.Pause && p.partner.AsymPause:
		return false, true
	case own && asym && p.partner.AsymPause:
		return true, false
	}
	return false, false
}

// partnerAbility is ANLPAR. p.mu is held.
func (p *PHY) partnerAbility() uint16 {
	switch {
	case !p.done:
		return 0
	case p.parallel:
		return anAbilities(mii.ModeOf(p.speed, false))
	}
	v := mii.ANSelect802 | mii.ANAck | anAbilities(p.partner.Modes)
	if p.partner.Pause {
		v |= mii.ANPause
	}
	if p.partner.AsymPause {
		v |= mii.ANAsymPause
	}
	return v
}

// status is the link bit of a status register, which shows a lost link once.
// p.mu is held.
func (p *PHY) status(which uint8, bit uint16) uint16 {
	up := p.up && p.lost&which == 0
	p.lost &^= which
	if !up {
		return 0
	}
	return bit
}
