package dwxgmac2

import (
	"fmt"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// pauseTime is what a pause frame asks for, in units of 512 bit times. The end of
// the pause is sent too, when the FIFO has drained.
const pauseTime = 0xFFFF

// Link implements mac.Core.Link: the core knows none by itself.
func (c *Core) Link() (link mac.Link, ok bool) { return mac.Link{}, false }

// speedCode is MAC_Tx_Configuration.SS for a speed. At 2.5 Gbit/s it depends on the
// interface: GMII clocked up (2500BASE-X, SGMII) or XGMII (USXGMII and the rest).
func (c *Core) speedCode(speed int) (code uint32, err error) {
	overGMII := speed <= 1000
	switch speed {
	case 10_000:
		code = xgmac2.Speed10G
	case 5000:
		code = xgmac2.Speed5000XGMII
	case 2500:
		code = xgmac2.Speed2500XGMII
		if c.phyMode == "sgmii" || c.phyMode == "2500base-x" || strings.HasPrefix(c.phyMode, "gmii") {
			code, overGMII = xgmac2.Speed2500GMII, true
		}
	case 1000:
		code = xgmac2.Speed1000GMII
	case 100:
		code = xgmac2.Speed100MII
	case 10:
		code = xgmac2.Speed10MII
	default:
		return 0, fmt.Errorf("dwxgmac2: link at %d Mbit/s: takes 10, 100, 1000, 2500, 5000 and 10000: %w", speed, mac.ErrConfig)
	}
	if overGMII && !c.limits.gmii || speed < 1000 && !c.facts.Slow {
		return 0, fmt.Errorf("dwxgmac2: link at %d Mbit/s: the core was not built for it: %w", speed, mac.ErrUnsupported)
	}
	return code, nil
}

// SetLink implements mac.Core.SetLink.
func (c *Core) SetLink(l mac.Link) error {
	if !l.Up {
		l = mac.Link{}
	} else if _, err := c.speedCode(l.Speed); err != nil {
		return err
	} else if !l.FullDuplex {
		return fmt.Errorf("dwxgmac2: half-duplex link: the core has full duplex only: %w", mac.ErrUnsupported)
	}
	c.link = l
	if c.started {
		c.applyLink()
	}
	return nil
}

// applyLink programs c.link. The speed changes only while transmitter and receiver are
// off.
func (c *Core) applyLink() {
	c.enable(false)
	l := c.link
	if l.Up {
		code, _ := c.speedCode(l.Speed) // checked by SetLink
		c.txConfig = c.txConfig&^xgmac2.TxConfigSS | field.Put(xgmac2.TxConfigSS, code)
		c.enable(false)
	}
	c.writePause(l)
	if l.Up {
		c.enable(true)
	}
}

// enable writes the MAC's configuration with transmitter and receiver on or off. The
// receiver goes off first and on last.
func (c *Core) enable(on bool) {
	c.enabled = on
	tx := c.txConfig
	if on {
		tx |= xgmac2.TxConfigTE
	}
	if !on {
		c.writeRxConfig()
	}
	c.regs.Write32(xgmac2.MACTxConfig, tx)
	if on {
		c.writeRxConfig()
	}
}

func (c *Core) writeRxConfig() {
	v := c.rxConfig
	if c.enabled {
		v |= xgmac2.RxConfigRE
	}
	c.regs.Write32(xgmac2.MACRxConfig, v)
}

// writePause programs flow control, off as well as on: the registers keep what they
// have over everything but a reset.
func (c *Core) writePause(l mac.Link) {
	var rx, tx uint32
	if l.Up && l.RXPause {
		rx = xgmac2.RxFlowRFE
	}
	if l.Up && l.TXPause {
		tx = xgmac2.TxFlowTFE | field.Put(xgmac2.TxFlowPT, pauseTime)
	}
	c.regs.Write32(xgmac2.MACRxFlow, rx)
	for q := range min(c.setup.TXQueues, xgmac2.MaxTxFlow) {
		c.regs.Write32(xgmac2.TxFlow(q), tx)
	}
}
