package phy

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
)

// check fills in s for this PHY.
func (p *PHY) check(s settings) (settings, error) {
	refuse := func(format string, args ...any) (settings, error) {
		return s, fmt.Errorf("phy: address %d: %s: %w", p.addr, fmt.Sprintf(format, args...), mac.ErrConfig)
	}
	if s.modes == 0 {
		s.modes = p.can &^ Mode1000Half
	}
	can := s.modes & p.can
	switch {
	case can == 0:
		return refuse("none of the modes %v: the PHY can do %v", s.modes, p.can)
	case s.pause > PauseTransmit:
		return refuse("pause %d is none of those there are", s.pause)
	case !s.force:
		s.modes = can
		return s, nil
	case p.only45:
		return refuse("a PHY of clause 45 is not forced: negotiate with the one mode instead")
	case s.modes != can || s.modes&^UpTo100 != 0 || s.modes&(s.modes-1) != 0:
		return refuse("modes %v: one of 10 or 100 Mbit/s can be forced; faster ones must negotiate, if need be with one mode", s.modes)
	}
	return s, nil
}

// Negotiate changes what the partner is offered, and negotiates anew. The link is
// lost meanwhile. Zero values are as in Options.
func (p *PHY) Negotiate(m Modes, pause Pause) error {
	return p.set(settings{modes: m, pause: pause})
}

// Force has the link not negotiated: m is one mode of 10 or 100 Mbit/s. Neither
// end obeys pause frames then.
func (p *PHY) Force(m Modes) error {
	return p.set(settings{modes: m, pause: PauseNone, force: true})
}

func (p *PHY) set(s settings) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := p.check(s)
	if err != nil {
		return err
	}
	p.want = s
	_, err = p.apply(!s.force)
	return err
}

// Restart negotiates anew.
func (p *PHY) Restart() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.want.force || p.want.down {
		return fmt.Errorf("phy: address %d: restart: the PHY is powered down or its mode forced: %w", p.addr, mac.ErrConfig)
	}
	_, err := p.apply(true)
	return err
}

// PowerDown ends the link and switches the PHY off but for its registers. Some MACs
// do not come out of reset without the clock of a PHY: PowerUp comes first.
func (p *PHY) PowerDown() error { return p.power(true) }

// PowerUp ends PowerDown.
func (p *PHY) PowerUp() error { return p.power(false) }

func (p *PHY) power(down bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.want.down = down
	_, err := p.apply(false)
	return err
}

// restore sets the PHY up when nothing is known of its registers. The caller
// holds mu, or is Open.
func (p *PHY) restore() (changed bool, err error) {
	p.suspect = true
	if p.setup != nil {
		if err := p.setup(p); err != nil {
			return false, fmt.Errorf("phy: address %d: setup: %w", p.addr, err)
		}
	}
	changed, err = p.apply(false)
	p.suspect = err != nil
	return changed, err
}

// apply writes what is not as wanted and, when that was anything that the partner
// has to hear of, or when asked to, negotiates anew. The caller holds mu.
func (p *PHY) apply(again bool) (changed bool, err error) {
	if !p.want.down {
		if changed, err = p.advertise(); err != nil {
			return changed, err
		}
	}
	woken, err := p.control()
	changed = changed || woken
	if err == nil && !p.want.down && !p.want.force && (again || changed) {
		err = p.renegotiate()
	}
	if err == nil {
		p.kept, err = p.keep()
	}
	return changed, err
}

// keep reads the registers whose loss is noticed. What they hold is not always
// what was written: a PHY may have no pause bits, say.
func (p *PHY) keep() (k kept, err error) {
	if k.an, err = p.readAN(); err != nil || p.only45 {
		return k, err
	}
	const stays = mii.BMCRANEnable | mii.BMCRPowerDown | mii.BMCRIsolate
	k.bmcr, err = p.read(mii.BMCR)
	k.bmcr &= stays
	return k, err
}

// advertise writes what is offered to the partner.
func (p *PHY) advertise() (changed bool, err error) {
	modes := p.want.modes
	const pause = mii.ANPause | mii.ANAsymPause
	own, err := p.readAN()
	if err != nil {
		return false, err
	}
	want := own&^(mask(anBits)|pause|mii.AN100T4|mii.ANSelector) | mii.ANSelect802 | encode(modes, anBits) | p.want.pause.bits()
	if own != want {
		changed, err = true, p.writeAN(want)
	}
	if err == nil && p.gigabit {
		changed, err = update(changed, encode(modes, gbcrBits), mask(gbcrBits),
			func() (uint16, error) { return p.read(mii.GBCR) },
			func(v uint16) error { return p.write(mii.GBCR, v) })
	}
	at := func(reg, bits, mask uint16) {
		if err == nil {
			changed, err = update(changed, bits, mask,
				func() (uint16, error) { return p.read45(mii.DevAN, reg) },
				func(v uint16) error { return p.write45(mii.DevAN, reg, v) })
		}
	}
	if p.multi {
		at(mii.MGBTControl, encode(modes, controlBits), mask(controlBits))
	}
	if p.eee {
		at(mii.EEEAdvertise, 0, 0xffff)
	}
	return changed, err
}

// update writes bits under mask when they are not there.
func update(changed bool, bits, mask uint16, read func() (uint16, error), write func(uint16) error) (bool, error) {
	v, err := read()
	if err != nil || v&mask == bits {
		return changed, err
	}
	return true, write(v&^mask | bits)
}

// control writes power, isolation, negotiation and forced mode, each of which
// costs the link when it changes.
func (p *PHY) control() (changed bool, err error) {
	if p.only45 {
		return p.control45()
	}
	const forced = mii.BMCRSpeed100 | mii.BMCRSpeed1000 | mii.BMCRFull
	set, clear := uint16(mii.BMCRANEnable), uint16(mii.BMCRPowerDown|mii.BMCRIsolate|mii.BMCRLoopback)
	switch {
	case p.want.down:
		set, clear = mii.BMCRPowerDown, 0
	case p.want.force:
		set, clear = 0, clear|mii.BMCRANEnable|forced
		if p.want.modes&(Mode100Half|Mode100Full) != 0 {
			set |= mii.BMCRSpeed100
		}
		if p.want.modes&(Mode10Full|Mode100Full) != 0 {
			set |= mii.BMCRFull
		}
	}
	return update(false, set, set|clear,
		func() (uint16, error) { return p.read(mii.BMCR) },
		func(v uint16) error { return p.write(mii.BMCR, v&^(mii.BMCRReset|mii.BMCRANRestart)) })
}

func (p *PHY) control45() (changed bool, err error) {
	low := uint16(0)
	if p.want.down {
		low = mii.Control1LowPower
	}
	at := func(dev int, bits, mask uint16) {
		if err == nil {
			changed, err = update(changed, bits, mask,
				func() (uint16, error) { return p.read45(dev, mii.Control1) },
				func(v uint16) error { return p.write45(dev, mii.Control1, v&^mii.Control1Reset) })
		}
	}
	at(mii.DevPMA, low, mii.Control1LowPower)
	if !p.want.down {
		at(mii.DevAN, mii.ANControl1Enable, mii.ANControl1Enable)
	}
	return changed, err
}

func (p *PHY) renegotiate() error {
	if p.only45 {
		return p.write45(mii.DevAN, mii.Control1, mii.ANControl1Enable|mii.ANControl1Again)
	}
	v, err := p.read(mii.BMCR)
	if err != nil {
		return err
	}
	return p.write(mii.BMCR, v&^mii.BMCRReset|mii.BMCRANEnable|mii.BMCRANRestart)
}
