package sun8i

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/ring"
)

// resetLimit bounds a soft reset. Linux found 10 ms too short for a board without
// a cable, and takes 100. After resetPatience the PHY is woken once more.
const (
	resetLimit    = time.Second
	resetPatience = 20 * time.Millisecond
)

// maxMTU is what open drivers run the core with: it has a bit for jumbo frames,
// and nobody sets it. headerRoom is what a frame has beside its MTU before the
// FCS: Ethernet header and two VLAN tags.
const (
	minMTU     = 68 // IPv4's own limit
	maxMTU     = 1500
	headerRoom = 14 + 2*4
	fcsLen     = 4
)

// Modes of the two DMA engines. Both store a frame before they forward it, which
// checksums need. Bad frames are forwarded, runts among them: with no counters in
// the hardware the ring is where they are counted, and one whose payload checksum
// is wrong is left for software to judge. Frames for which there is no buffer wait
// in the receive FIFO, which asks for a pause when 3 KiB are left: two frames that
// the partner may have sent before it hears of it.
const (
	txMode = emac.TxCtl1MD | emac.TxCtl1NextFrm
	rxMode = emac.RxCtl1NoFlush | emac.RxCtl1MD | emac.RxCtl1Err | emac.RxCtl1Runt | emac.RxCtl1FlowEn | 2<<20 | 3<<22
)

// Reset implements mac.Core.Reset: it gives the core its clock, stops DMA wherever
// a crash left it, selects and wakes the PHY, and does a soft reset, which needs
// the PHY's clock. It is the reset that connects the PHY which was selected: one
// that the core did not reach before is woken while the reset waits for it.
func (c *Core) Reset(ctx context.Context) error {
	c.glue.clockOn()
	// Failing to stop is no reason to stop here: the reset is the remedy.
	_ = c.quiesce()
	c.glue.selectPHY()
	c.wakePHYs()
	c.regs.Write32(emac.BasicCtl1, emac.Ctl1Reset|emac.Ctl1SoftRst)
	done := func(v uint32) bool { return v&emac.Ctl1SoftRst == 0 }
	if !dwmac.Wait(ctx, c.regs, emac.BasicCtl1, resetPatience, done) {
		c.wakePHYs()
	}
	if !dwmac.Wait(ctx, c.regs, emac.BasicCtl1, resetLimit, done) {
		c.glue.powered = false // the next try resets the internal PHY, too
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("sun8i: %s: %w: %w", c.name, mac.ErrReset, err)
		}
		return fmt.Errorf("sun8i: %s: after %v: no clock from the PHY (%v)? %w", c.name, resetLimit, c.glue.iface, mac.ErrReset)
	}
	c.started, c.link = false, mac.Link{}
	return nil
}

// Configure implements mac.Core.Configure.
func (c *Core) Configure(s mac.Setup) error {
	if err := c.check(s); err != nil {
		return err
	}
	c.setup = s
	c.regs.Write32(emac.BasicCtl1, emac.Ctl1Reset) // bursts of 8
	c.regs.Write32(emac.IntEn, 0)
	c.regs.Write32(emac.TxCtl1, txMode)
	c.regs.Write32(emac.RxCtl1, rxMode)
	c.regs.Write32(emac.TxCtl0, 0)
	c.regs.Write32(emac.RxCtl0, c.rxControl())
	c.regs.Write32(emac.TxFlowCtl, 0)
	c.resetFilter()
	c.filter.SetAddress(s.Address)
	if c.rx != nil {
		c.rx.checksum = s.RXChecksum
	}
	return nil
}

// rxControl is RX_CTL0 but for the receiver itself and pause. The FCS is not
// stripped, so that every frame ends in it.
func (c *Core) rxControl() uint32 {
	if c.setup.RXChecksum {
		return emac.RxCtl0Check
	}
	return 0
}

func (c *Core) check(s mac.Setup) error {
	switch {
	case s.RXQueues != 1 || s.TXQueues != 1:
		return fmt.Errorf("sun8i: %d receive and %d transmit queues: the core has one of each: %w", s.RXQueues, s.TXQueues, mac.ErrConfig)
	case s.MTU < minMTU || s.MTU > maxMTU:
		return fmt.Errorf("sun8i: MTU %d: the core takes %d to %d: %w", s.MTU, minMTU, maxMTU, mac.ErrConfig)
	}
	return checkBuffer(s.BufferSize)
}

// SetMTU implements mac.Core.SetMTU. The core cuts frames off at 2048 bytes
// whatever the MTU; the ring drops what is longer than that allows.
func (c *Core) SetMTU(mtu int) error {
	s := c.setup
	s.MTU = mtu
	if err := c.check(s); err != nil {
		return err
	}
	c.setup = s
	return nil
}

// SetAddress implements mac.Core.SetAddress.
func (c *Core) SetAddress(a mac.HardwareAddr) error {
	if !a.Usable() {
		return fmt.Errorf("sun8i: address %s: neither zero nor a group can be a station: %w", a, mac.ErrConfig)
	}
	c.filter.SetAddress(a)
	return nil
}

// SetWatchdog implements mac.Core.SetWatchdog: the core has none.
func (c *Core) SetWatchdog(_ int, usecs int) (actual int, err error) {
	if usecs == 0 {
		return 0, nil
	}
	return 0, fmt.Errorf("sun8i: rx-usecs %d: the core has no receive watchdog: %w", usecs, ring.ErrCoalesce)
}

// Start implements mac.Core.Start. Writing a list address takes the device back to
// slot 0.
func (c *Core) Start() error {
	switch {
	case c.started:
		return fmt.Errorf("sun8i: start: running already: stop it first: %w", mac.ErrConfig)
	case c.rx == nil || c.tx == nil:
		return fmt.Errorf("sun8i: start: a ring is missing: make both: %w", mac.ErrConfig)
	}
	c.openIRQ()
	c.tx.start(emac.TxDescList)
	c.rx.start(emac.RxDescList)
	c.started = true
	c.applyLink()
	return nil
}
