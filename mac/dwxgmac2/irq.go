package dwxgmac2

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// causes are those of a channel in use.
func causes() dwmac.Causes {
	return dwmac.Causes{
		RX: xgmac2.IntRI | xgmac2.IntRBU, Starved: xgmac2.IntRBU,
		TX:    xgmac2.IntTI,
		Fatal: xgmac2.IntFBE | xgmac2.IntRPS, TXStopped: xgmac2.IntTPS,
		Summary: xgmac2.StatusNIS | xgmac2.StatusAIS,
	}
}

// closeIRQs masks everything on every channel and queue there is, then in the MAC,
// and clears what was pending.
func (c *Core) closeIRQs() {
	for ch := range c.limits.channels {
		c.irq[ch].Close()
	}
	for q := range max(c.limits.channels, c.limits.fifos) {
		c.clearQueue(q)
	}
	c.regs.Write32(xgmac2.MACIntEnable, 0)
}

// clearQueue masks and clears the interrupts of a queue.
func (c *Core) clearQueue(q int) {
	base := xgmac2.QueueBase(q)
	c.regs.Write32(base+xgmac2.QIntEnable, 0)
	c.regs.Write32(base+xgmac2.QIntStatus, c.regs.Read32(base+xgmac2.QIntStatus))
}

// Interrupt implements mac.Core.Interrupt.
func (c *Core) Interrupt() mac.Events {
	var ev mac.Events
	top := c.regs.Read32(xgmac2.DMAIntStatus)
	if top == 0xFFFFFFFF { // the device is gone: the reset that follows says so
		ev.Fatal = 1<<c.info.RXQueues - 1
		return ev
	}
	for ch := range c.limits.channels {
		if top&(1<<ch) != 0 {
			c.irq[ch].Interrupt(&ev)
		}
	}
	if top&xgmac2.DMAIntMTL != 0 {
		// Nothing of it is enabled; overflows and underflows are counted by the hardware.
		status := c.regs.Read32(xgmac2.MTLIntStatus)
		for q := range max(c.limits.channels, c.limits.fifos) {
			if status&(1<<q) != 0 {
				c.clearQueue(q)
			}
		}
	}
	if top&xgmac2.DMAIntMAC != 0 {
		c.macInterrupt(&ev)
	}
	return ev
}

// macInterrupt clears each cause that is pending, by reading what it comes from, and
// masks them all: none is in use. A cause that nobody knows how to clear is reported,
// once.
func (c *Core) macInterrupt(ev *mac.Events) {
	const mmc = xgmac2.MACIntMMCRx | xgmac2.MACIntMMCTx
	status := c.regs.Read32(xgmac2.MACIntStatus) &^ xgmac2.MACIntLSS
	unknown := status &^ (mmc | xgmac2.MACIntLS | xgmac2.MACIntSMI)
	for _, clear := range [...]struct{ cause, reg uint32 }{
		{xgmac2.MACIntPMT, xgmac2.MACPMT},
		{xgmac2.MACIntLPI, xgmac2.MACLPI},
		{xgmac2.MACIntTS, xgmac2.MACTSStatus},
	} {
		unknown &^= clear.cause
		if status&clear.cause != 0 {
			c.regs.Read32(clear.reg)
		}
	}
	if status&mmc != 0 {
		c.maskMMC()
	}
	c.regs.Write32(xgmac2.MACIntEnable, 0)
	ev.Unknown = unknown &^ c.unknown
	c.unknown |= unknown
}

// Ack implements mac.Core.Ack.
func (c *Core) Ack(q int) { c.irq[q].Ack() }

// Unmask implements mac.Core.Unmask.
func (c *Core) Unmask(q int) { c.irq[q].UnmaskRX() }

// UnmaskTX implements mac.Core.UnmaskTX. A mark sent before may interrupt at
// once.
func (c *Core) UnmaskTX(q int) { c.irq[q].UnmaskTX() }
