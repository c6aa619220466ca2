package sun8i

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
)

// pauseTime is what a pause frame asks for, in units of 512 bit times: half a
// millisecond at 1 Gbit/s, as FreeBSD has it. That the end of a pause is sent, too,
// no open driver shows.
const pauseTime = 0x400

// Link implements mac.Core.Link with the in-band status of RGMII (RGMII_STA). Not
// every PHY sends it; one that does not looks like a link that is down. With any
// other interface the core knows nothing.
func (c *Core) Link() (link mac.Link, ok bool) {
	if c.glue.iface != RGMII {
		return mac.Link{}, false
	}
	v := c.regs.Read32(emac.RGMIISta)
	if v&emac.RGMIILink == 0 || v == 0xFFFFFFFF {
		return mac.Link{}, true
	}
	link = mac.Link{Up: true, FullDuplex: v&emac.RGMIIDuplex != 0}
	switch field.Get(emac.RGMIISpeed, v) {
	case emac.RGMIISpeed10:
		link.Speed = 10
	case emac.RGMIISpeed100:
		link.Speed = 100
	case emac.RGMIISpeed1000:
		link.Speed = 1000
	default:
		return mac.Link{}, true
	}
	return link, true
}

// linkControl is BASIC_CTL0 for a link that is up. It has the loopback bit off,
// which can have set itself.
func linkControl(l mac.Link) (v uint32, ok bool) {
	switch l.Speed {
	case 10:
		v = field.Put(emac.Ctl0Speed, emac.Speed10)
	case 100:
		v = field.Put(emac.Ctl0Speed, emac.Speed100)
	case 1000:
		v = field.Put(emac.Ctl0Speed, emac.Speed1000)
	default:
		return 0, false
	}
	if l.FullDuplex {
		v |= emac.Ctl0Duplex
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
	if _, ok := linkControl(l); !ok {
		return fmt.Errorf("sun8i: link at %d Mbit/s: takes 10, 100 and 1000: %w", l.Speed, mac.ErrConfig)
	}
	if i := c.glue.iface; l.Speed == 1000 && i != RGMII && i != AsFound {
		return fmt.Errorf("sun8i: link at 1000 Mbit/s: needs RGMII, the interface is %v: %w", i, mac.ErrUnsupported)
	}
	return nil
}

// applyLink programs c.link, transmitter and receiver off meanwhile. Flow control
// is for full duplex only.
func (c *Core) applyLink() {
	l := c.link
	c.regs.Write32(emac.TxCtl0, 0)
	c.regs.Write32(emac.RxCtl0, c.rxControl())
	if !l.Up {
		c.regs.Write32(emac.TxFlowCtl, 0)
		return
	}
	v, _ := linkControl(l)
	c.regs.Write32(emac.BasicCtl0, v)
	rx, flow := c.rxControl(), uint32(0)
	if l.FullDuplex && l.RXPause {
		rx |= emac.RxCtl0FlowEn
	}
	if l.FullDuplex && l.TXPause {
		flow = emac.TxFlowEn | field.Put(emac.TxFlowTime, pauseTime)
	}
	c.regs.Write32(emac.TxFlowCtl, flow)
	c.regs.Write32(emac.TxCtl0, emac.TxCtl0En)
	c.regs.Write32(emac.RxCtl0, rx|emac.RxCtl0En)
}
