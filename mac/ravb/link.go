package ravb

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
)

// Link implements mac.Core.Link. The core sees the PHY's LINK pin at most (PSR),
// and neither speed nor duplex: the PHY has to be asked.
func (c *Core) Link() (mac.Link, bool) { return mac.Link{}, false }

// SetLink implements mac.Core.SetLink. R-Car has no flow control: pause is left out
// there. GbEth obeys pauses and sends none: when it would is not documented.
func (c *Core) SetLink(l mac.Link) error {
	if !l.Up {
		l = mac.Link{}
	} else if err := c.checkLink(l); err != nil {
		return err
	}
	c.link = l
	if c.started {
		c.applyLink()
	}
	return nil
}

func (c *Core) checkLink(l mac.Link) error {
	switch {
	case l.Speed != 10 && l.Speed != 100 && l.Speed != 1000:
		return fmt.Errorf("ravb: link at %d Mbit/s: takes %s: %w", l.Speed, c.speeds(), mac.ErrConfig)
	case l.Speed == 10 && !c.v.toe:
		return fmt.Errorf("ravb: link at 10 Mbit/s: takes %s: %w", c.speeds(), mac.ErrUnsupported)
	case !l.FullDuplex && !c.v.halfDuplex:
		return fmt.Errorf("ravb: half-duplex link: the core knows full duplex only: %w", mac.ErrUnsupported)
	case !l.FullDuplex && l.Speed == 1000:
		return fmt.Errorf("ravb: half-duplex link at 1000 Mbit/s: half duplex ends at 100: %w", mac.ErrUnsupported)
	}
	return nil
}

func (c *Core) speeds() string {
	if c.v.toe {
		return "10, 100 and 1000"
	}
	return "100 and 1000"
}

// applyLink programs c.link. Speed and duplex change only while transmitter and
// receiver are off.
func (c *Core) applyLink() {
	c.enable(0)
	l := c.link
	if !l.Up {
		return
	}
	c.ecmr &^= etheravb.ECMRDM | etheravb.ECMRRXF
	if l.FullDuplex {
		c.ecmr |= etheravb.ECMRDM
		if l.RXPause && c.v.toe {
			c.ecmr |= etheravb.ECMRRXF
		}
	}
	c.enable(0)
	c.regs.Write32(etheravb.GECMR, c.speedCode(l.Speed))
	c.enable(etheravb.ECMRTE | etheravb.ECMRRE)
}

// speedCode is GECMR.
func (c *Core) speedCode(speed int) uint32 {
	gigabit := speed == 1000
	switch {
	case !c.v.toe && gigabit:
		return etheravb.GECMRGigabit
	case !c.v.toe:
		return 0
	case gigabit:
		return field.Put(etheravb.GECMRSpeed, etheravb.Speed1000)
	case speed == 100:
		return field.Put(etheravb.GECMRSpeed, etheravb.Speed100)
	}
	return field.Put(etheravb.GECMRSpeed, etheravb.Speed10)
}

// enable writes ECMR with these of TE and RE.
func (c *Core) enable(bits uint32) {
	c.enabled = bits
	c.regs.Write32(etheravb.ECMR, c.ecmr|bits)
}
