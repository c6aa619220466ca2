package dwmac4

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// macIdleLimit bounds the wait for the frame that is on the wire when the link
// changes: 1.2 ms for 1522 bytes at 10 Mbit/s.
const macIdleLimit = 2 * time.Millisecond

// pauseTime is what a pause frame asks for, in units of 512 bit times. The end of
// the pause is sent too, when the FIFO has drained.
const pauseTime = 0xFFFF

// inBand reports whether the PHY interface carries the link state to the MAC.
func (c *Core) inBand() bool {
	return c.limits.phy == gmac4.ActPHYRGMII || c.limits.phy == gmac4.ActPHYSGMII
}

// Link implements mac.Core.Link with the in-band status of RGMII and SGMII
// (MAC_PHYIF_Control_Status). Reading it clears the link interrupt.
func (c *Core) Link() (link mac.Link, ok bool) {
	if !c.inBand() {
		return mac.Link{}, false
	}
	return dwmac.InBand(c.regs.Read32(gmac4.MACPHYIF) >> 16), true
}

const speedBits = gmac4.ConfigPS | gmac4.ConfigFES | gmac4.ConfigDM

// linkConfig is PS, FES and DM of MAC_Configuration for a link that is up. 2500
// is 1000 with a faster clock, which the SoC sees to.
func linkConfig(l mac.Link) (uint32, bool) {
	var v uint32
	switch l.Speed {
	case 10:
		v = gmac4.ConfigPS
	case 100:
		v = gmac4.ConfigPS | gmac4.ConfigFES
	case 1000:
	case 2500:
		v = gmac4.ConfigFES
	default:
		return 0, false
	}
	if l.FullDuplex {
		v |= gmac4.ConfigDM
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
		c.applyLink()
	}
	return nil
}

func (c *Core) checkLink(l mac.Link) error {
	if _, ok := linkConfig(l); !ok {
		return fmt.Errorf("dwmac4: link at %d Mbit/s: takes 10, 100, 1000 and 2500: %w", l.Speed, mac.ErrConfig)
	}
	gigabit := l.Speed >= 1000
	switch {
	case gigabit && !c.limits.gmii, !gigabit && !c.limits.mii:
		return fmt.Errorf("dwmac4: link at %d Mbit/s: the core was not built for it: %w", l.Speed, mac.ErrUnsupported)
	case !l.FullDuplex && !c.limits.hd:
		return fmt.Errorf("dwmac4: half-duplex link: the core was not built for it: %w", mac.ErrUnsupported)
	case !l.FullDuplex && c.setup.TXQueues > 1:
		return fmt.Errorf("dwmac4: half-duplex link: queue 0 alone transmits then: open the device with one queue: %w", mac.ErrUnsupported)
	}
	return nil
}

// applyLink programs c.link. Speed and duplex change only while transmitter and
// receiver are off and nothing is on the wire.
func (c *Core) applyLink() {
	c.enable(0)
	l := c.link
	if l.Up {
		bits, _ := linkConfig(l)
		if c.config&speedBits != bits {
			c.waitMACIdle()
			c.config = c.config&^speedBits | bits
			c.enable(0)
		}
	}
	c.writePause(l)
	if l.Up {
		c.enable(gmac4.ConfigTE | gmac4.ConfigRE)
	}
}

// enable writes MAC_Configuration with these of TE and RE.
func (c *Core) enable(bits uint32) {
	c.enabled = bits
	c.regs.Write32(gmac4.MACConfig, c.config|bits)
}

// waitMACIdle waits for the frames on the wire. When the clock has gone with the
// link they never end, and it goes on all the same.
func (c *Core) waitMACIdle() {
	const busy = gmac4.DebugTPESTS | gmac4.DebugRPESTS | gmac4.DebugTFCSTS
	dwmac.Wait(context.Background(), c.regs, gmac4.MACDebug, macIdleLimit, func(v uint32) bool { return v&busy == 0 })
}

// writePause programs flow control, which half duplex does not have.
func (c *Core) writePause(l mac.Link) {
	var rx, tx uint32
	if l.Up && l.FullDuplex && l.RXPause {
		rx = gmac4.RxFlowRFE
	}
	if l.Up && l.FullDuplex && l.TXPause {
		tx = gmac4.TxFlowTFE | field.Put(gmac4.TxFlowPT, pauseTime)
	}
	c.regs.Write32(gmac4.MACRxFlow, rx)
	for q := range c.setup.TXQueues {
		c.regs.Write32(gmac4.TxFlow(q), tx)
	}
}
