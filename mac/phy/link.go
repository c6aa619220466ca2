package phy

import (
	"errors"
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
)

// Link reads the link. A link that was up and has been lost since the last call
// is reported down once, even when it has come back: what both ends agreed on may
// be another thing now. While a link stays up, that costs three reads.
//
// The error says that the PHY does not answer, or not as a PHY does; it wraps
// mac.ErrNoDevice when it seems to be gone. The link is down then. Once it answers
// again, registers that it has lost are set again.
func (p *PHY) Link() (mac.Link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	link, err := p.follow()
	if p.link.Up && !link.Up {
		p.count.Drops++
	}
	p.link = link
	if err != nil {
		p.count.Errors++
		p.suspect = p.suspect || !errors.Is(err, mac.ErrUnsupported)
	}
	return link, err
}

func (p *PHY) follow() (mac.Link, error) {
	up, done, err := p.status()
	if err != nil {
		return mac.Link{}, err
	}
	dropped := p.dropped.Swap(false) || !up
	lost, err := p.lostRegisters()
	switch {
	case err != nil, lost, p.want.down:
		return mac.Link{}, err
	case p.link.Up && dropped:
		return mac.Link{}, nil
	case p.link.Up:
		return p.link, nil // it cannot have changed without being lost
	case !up: // since the last look: and now?
		if up, done, err = p.status(); err != nil {
			return mac.Link{}, err
		}
	}
	if !up || !done && !p.want.force {
		return mac.Link{}, nil
	}
	return p.resolve()
}

// status reads whether the link has been up since the last read of it, and
// whether negotiation is over.
func (p *PHY) status() (up, done bool, err error) {
	if !p.only45 {
		v, err := p.read(mii.BMSR)
		if err == nil && (v == 0xffff || v&mii.BMSRAbilities != p.abilities) {
			err = p.gone(v)
		}
		return v&mii.BMSRLink != 0, v&mii.BMSRANDone != 0, err
	}
	v, err := p.read45(mii.DevPMA, mii.Devices1)
	if err == nil && v != p.abilities {
		err = p.gone(v)
	}
	if err != nil {
		return false, false, err
	}
	if v, err = p.read45(mii.DevPMA, mii.Status1); err != nil {
		return false, false, err
	}
	an, err := p.read45(mii.DevAN, mii.Status1)
	return v&mii.Status1Link != 0, an&mii.ANStatus1Done != 0, err
}

func (p *PHY) gone(status uint16) error {
	return fmt.Errorf("phy: address %d: the PHY's status reads %#04x: is it still powered? %w", p.addr, status, mac.ErrNoDevice)
}

// lostRegisters sets a PHY up again that is not as it was set: it was without
// power, or somebody has reset it. The link is down then until the next look.
func (p *PHY) lostRegisters() (bool, error) {
	if !p.suspect {
		now, err := p.keep()
		if err != nil || now == p.kept {
			return false, err
		}
	}
	changed, err := p.restore()
	if changed && err == nil {
		p.count.Restored++
	}
	return changed, err
}

// resolve is what both ends have agreed on.
func (p *PHY) resolve() (mac.Link, error) {
	if p.want.force {
		speed, full := p.want.modes.Best()
		return mac.Link{Up: true, Speed: speed, FullDuplex: full}, nil
	}
	own, partner, err := p.exchanged()
	if err != nil {
		return mac.Link{}, err
	}
	speed, full := (own.modes & partner.modes).Best()
	if speed == 0 {
		return mac.Link{}, fmt.Errorf("phy: address %d: the link is up in a mode that the standard's registers do not tell (own %v, partner %v): %w",
			p.addr, own.modes, partner.modes, mac.ErrUnsupported)
	}
	l := mac.Link{Up: true, Speed: speed, FullDuplex: full}
	if full {
		l.RXPause, l.TXPause = resolvePause(own.an, partner.an)
	}
	return l, nil
}

// offer is what one end advertises.
type offer struct {
	modes Modes
	an    uint16 // ANAR or ANLPAR
}

// exchanged reads both ends' offers.
func (p *PHY) exchanged() (own, partner offer, err error) {
	if own.an, err = p.readAN(); err != nil {
		return own, partner, err
	}
	if p.only45 {
		partner.an, err = p.read45(mii.DevAN, mii.ANPartner)
	} else {
		partner.an, err = p.read(mii.ANLPAR)
	}
	own.modes, partner.modes = decode(own.an, anBits), decode(partner.an, anBits)
	if err == nil && p.gigabit {
		err = p.exchangedGigabit(&own, &partner)
	}
	if err == nil && p.multi {
		err = p.exchangedMulti(&own, &partner)
	}
	own.modes &= p.can
	return own, partner, err
}

func (p *PHY) exchangedGigabit(own, partner *offer) error {
	control, err := p.read(mii.GBCR)
	if err != nil {
		return err
	}
	status, err := p.read(mii.GBSR)
	own.modes |= decode(control, gbcrBits)
	if status&mii.GBSRFault == 0 {
		partner.modes |= decode(status, gbsrBits)
	}
	return err
}

func (p *PHY) exchangedMulti(own, partner *offer) error {
	control, err := p.read45(mii.DevAN, mii.MGBTControl)
	if err != nil {
		return err
	}
	status, err := p.read45(mii.DevAN, mii.MGBTStatus)
	own.modes |= decode(control, controlBits)
	partner.modes |= decode(status, statusBits)
	return err
}
