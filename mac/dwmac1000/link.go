package dwmac1000

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

// macIdleLimit bounds the wait for the frame that is on the wire when the link
// changes: 1.2 ms for 1522 bytes at 10 Mbit/s.
const macIdleLimit = 2 * time.Millisecond

// pauseTime is what a pause frame asks for, in units of 512 bit times. The end of
// the pause is sent too, when the FIFO has drained.
const pauseTime = 0xFFFF

// inBand reports whether the PHY interface carries the link state to the MAC.
func (c *Core) inBand() bool {
	return c.limits.phy == gmac3.ActPHYRGMII || c.limits.phy == gmac3.ActPHYSGMII || c.limits.phy == gmac3.ActPHYSMII
}

// Link implements mac.Core.Link with the in-band status of RGMII, SGMII and SMII
// (SGMII_RGMII_SMII_Control_Status). Reading it clears the link interrupt.
func (c *Core) Link() (link mac.Link, ok bool) {
	if !c.inBand() {
		return mac.Link{}, false
	}
	return dwmac.InBand(c.regs.Read32(gmac3.MACRGSMII)), true
}

const speedBits = gmac3.ConfigPS | gmac3.ConfigFES | gmac3.ConfigDM

// linkConfig is PS, FES and DM of MAC_Configuration for a link that is up.
func linkConfig(l mac.Link) (uint32, bool) {
	var v uint32
	switch l.Speed {
	case 10:
		v = gmac3.ConfigPS
	case 100:
		v = gmac3.ConfigPS | gmac3.ConfigFES
	case 1000:
	default:
		return 0, false
	}
	if l.FullDuplex {
		v |= gmac3.ConfigDM
	}
	return v, true
}

// SetLink implements mac.Core.SetLink.
func (c *Core) SetLink(l mac.Link) error {
	if !l.Up {
		l = mac.Link{}
	} else if err := c.checkLink(l); err != nil {
		return err
	}
	c.link = l
	if c.started {
		return c.applyLink()
	}
	return nil
}

func (c *Core) checkLink(l mac.Link) error {
	if _, ok := linkConfig(l); !ok {
		return fmt.Errorf("dwmac1000: link at %d Mbit/s: takes 10, 100 and 1000: %w", l.Speed, mac.ErrConfig)
	}
	gigabit := l.Speed == 1000
	switch {
	case gigabit && !c.limits.gmii, !gigabit && !c.limits.mii:
		return fmt.Errorf("dwmac1000: link at %d Mbit/s: the core was not built for it: %w", l.Speed, mac.ErrUnsupported)
	case !l.FullDuplex && !c.limits.hd:
		return fmt.Errorf("dwmac1000: half-duplex link: the core was not built for it: %w", mac.ErrUnsupported)
	}
	return nil
}

// applyLink programs c.link. Speed and duplex change only while transmitter and
// receiver are off and nothing is on the wire.
func (c *Core) applyLink() error {
	c.enable(0)
	l := c.link
	if l.Up {
		bits, _ := linkConfig(l)
		if c.config&speedBits != bits {
			c.waitMACIdle()
			c.config = c.config&^speedBits | bits
			c.enable(0)
		}
		if c.platform.SetSpeed != nil {
			if err := c.platform.SetSpeed(l.Speed); err != nil {
				return fmt.Errorf("dwmac1000: %s: transmit clock for %d Mbit/s: %w", c.name, l.Speed, err)
			}
		}
	}
	c.writePause(l)
	if l.Up {
		c.enable(gmac3.ConfigTE | gmac3.ConfigRE)
	}
	return nil
}

// enable writes MAC_Configuration with these of TE and RE.
func (c *Core) enable(bits uint32) {
	c.enabled = bits
	c.regs.Write32(gmac3.MACConfig, c.config|bits)
}

// waitMACIdle waits for the frames on the wire. When the clock has gone with the
// link they never end, and it goes on all the same.
func (c *Core) waitMACIdle() {
	const busy = gmac3.DebugTPE | gmac3.DebugRPE | gmac3.DebugTFC
	dwmac.Wait(context.Background(), c.regs, gmac3.MACDebug, macIdleLimit, func(v uint32) bool { return v&busy == 0 })
}

// writePause programs flow control, which half duplex does not have.
func (c *Core) writePause(l mac.Link) {
	var v uint32
	if l.Up && l.FullDuplex && l.RXPause {
		v |= gmac3.FlowRFE
	}
	if l.Up && l.FullDuplex && l.TXPause {
		v |= gmac3.FlowTFE | field.Put(gmac3.FlowPT, pauseTime)
	}
	c.regs.Write32(gmac3.MACFlow, v)
}
