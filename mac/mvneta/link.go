package mvneta

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
)

// Mode is the interface between port and PHY.
type Mode uint8

const (
	// ModeFound is the one that the bootloader has set up.
	ModeFound Mode = iota
	ModeRGMII
	// ModeSGMII includes QSGMII.
	ModeSGMII
	Mode1000BaseX
	// Mode2500BaseX is 1000BASE-X with a faster clock, which the SerDes makes.
	Mode2500BaseX
)

// portMode is a Mode and whether the link is negotiated in band.
type portMode struct {
	Mode
	inBand bool
}

// findMode decodes the mode that is set up, or takes that of the options.
func (c *Core) findMode() (portMode, error) {
	if m := c.opts.Mode; m != ModeFound {
		if m > Mode2500BaseX || m == ModeRGMII && c.opts.InBand {
			return portMode{}, fmt.Errorf("mvneta: %s: mode %d, in band %v: RGMII has no negotiation in band: %w", c.name, m, c.opts.InBand, mac.ErrConfig)
		}
		return portMode{m, c.opts.InBand}, nil
	}
	found := portMode{ModeRGMII, c.regs.Read32(neta.AN)&neta.ANInBand != 0}
	switch control2 := c.regs.Read32(neta.GMAC2); {
	case control2&neta.GMAC2PCS == 0:
		found.inBand = false
	case c.regs.Read32(neta.GMAC4)&neta.GMAC4Short != 0:
		found.Mode = Mode2500BaseX
	case c.regs.Read32(neta.GMAC0)&neta.GMAC0BaseX != 0:
		found.Mode = Mode1000BaseX
	default:
		found.Mode = ModeSGMII
	}
	return found, nil
}

// controls are the mode bits of GMAC_Control0, 2 and 4.
func (m portMode) controls() (control0, control2, control4 uint32) {
	control2 = neta.GMAC2RGMII // in every mode
	switch m.Mode {
	case ModeSGMII:
		control2 |= neta.GMAC2PCS
		if m.inBand {
			control2 |= neta.GMAC2InBand
		}
	case Mode1000BaseX, Mode2500BaseX:
		control2 |= neta.GMAC2PCS
		if m.inBand {
			control0 = neta.GMAC0BaseX
		}
	}
	if m.Mode == Mode2500BaseX {
		control4 = neta.GMAC4Short
	}
	return control0, control2, control4
}

// anBits are the bits of GMAC_AN that are ours.
const anBits = neta.ANForceDown | neta.ANForceUp | neta.ANInBand | neta.ANBypass | neta.ANRestart | neta.ANMII | neta.ANGMII |
	neta.ANSpeed | neta.ANFlow | neta.ANSymPause | neta.ANAsymPause | neta.ANFlowAuto | neta.ANFull | neta.ANDuplexAuto

// an is GMAC_AN for link l. Negotiated in band, the link comes and goes by itself.
//
// Pause frames are one bit for both directions, set when either was agreed on: a
// partner that has agreed to less than both neither sends them nor minds them.
func (m portMode) an(l mac.Link) uint32 {
	v := neta.ANMustSet
	if l.RXPause || l.TXPause {
		v |= neta.ANFlow
	}
	switch {
	case m.inBand && m.Mode == ModeSGMII:
		return v | neta.ANInBand | neta.ANSpeed | neta.ANDuplexAuto
	case m.inBand:
		return v | neta.ANInBand | neta.ANGMII | neta.ANFull | neta.ANFlowAuto | neta.ANSymPause
	case !l.Up:
		return neta.ANMustSet | neta.ANForceDown
	}
	v |= neta.ANForceUp
	switch l.Speed {
	case 1000, 2500:
		v |= neta.ANGMII
	case 100:
		v |= neta.ANMII
	}
	if l.FullDuplex {
		v |= neta.ANFull
	}
	return v
}

// writeMode programs the mode, which may change only while the link is forced
// down.
func (c *Core) writeMode() {
	c.change(neta.AN, neta.ANForceUp, neta.ANForceDown)
	control0, control2, control4 := c.mode.controls()
	c.change(neta.GMAC0, neta.GMAC0BaseX, control0|neta.GMAC0MIB)
	c.change(neta.GMAC2, neta.GMAC2InBand|neta.GMAC2PCS, control2)
	c.change(neta.GMAC4, neta.GMAC4Short, control4)
	divider := uint32(0)
	if c.mode.inBand {
		hz := c.clockHz
		if hz <= 0 {
			hz = assumedHz
		}
		divider = neta.ClockDivider1ms | uint32(hz/1000)
	}
	c.regs.Write32(neta.ClockDivider, divider)
	c.change(neta.AN, anBits, c.mode.an(mac.Link{}))
}

// Link implements mac.Core.Link with what was negotiated in band (GMAC_Status).
func (c *Core) Link() (link mac.Link, ok bool) {
	if !c.mode.inBand {
		return mac.Link{}, false
	}
	v := c.regs.Read32(neta.GMACStat)
	if v&neta.StatLink == 0 || v == 0xFFFFFFFF {
		return mac.Link{}, true
	}
	link = mac.Link{
		Up: true, Speed: 10, FullDuplex: v&neta.StatFull != 0,
		RXPause: v&neta.StatRXFlow != 0, TXPause: v&neta.StatTXFlow != 0,
	}
	switch {
	case c.mode.Mode == Mode2500BaseX:
		link.Speed = 2500
	case v&neta.Stat1000 != 0:
		link.Speed = 1000
	case v&neta.Stat100 != 0:
		link.Speed = 100
	}
	return link, true
}

// SetLink implements mac.Core.SetLink.
func (c *Core) SetLink(l mac.Link) error {
	if !l.Up {
		l = mac.Link{}
	} else if err := c.mode.check(l); err != nil {
		return err
	}
	c.link = l
	if c.started {
		c.applyLink()
	}
	return nil
}

func (m portMode) check(l mac.Link) error {
	switch {
	case l.Speed != 10 && l.Speed != 100 && l.Speed != 1000 && l.Speed != 2500:
		return fmt.Errorf("mvneta: link at %d Mbit/s: takes 10, 100, 1000 and 2500: %w", l.Speed, mac.ErrConfig)
	case (l.Speed == 2500) != (m.Mode == Mode2500BaseX), m.Mode == Mode1000BaseX && l.Speed != 1000:
		return fmt.Errorf("mvneta: link at %d Mbit/s: the interface to the PHY is not set up for it (Options.Mode): %w", l.Speed, mac.ErrUnsupported)
	case !l.FullDuplex && l.Speed >= 1000:
		return fmt.Errorf("mvneta: half-duplex link at %d Mbit/s: the port has none: %w", l.Speed, mac.ErrUnsupported)
	}
	return nil
}

// applyLink programs c.link: queues off, the link down, the new link, queues on.
// A queue that does not stop is left to the transmit watchdog.
func (c *Core) applyLink() {
	_ = c.stopQueues()
	if !c.mode.inBand {
		c.change(neta.AN, neta.ANForceUp, neta.ANForceDown)
	}
	c.change(neta.AN, anBits, c.mode.an(c.link))
	if c.link.Up {
		c.regs.Write32(neta.TXCommandReg, field.Put(neta.CommandEnable, 1<<c.setup.TXQueues-1))
		c.regs.Write32(neta.RXCommand, field.Put(neta.CommandEnable, 1<<c.setup.RXQueues-1))
	}
}
