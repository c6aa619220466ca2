package dwxgmac2

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// Stop implements mac.Core.Stop.
func (c *Core) Stop() error {
	if err := c.quiesce(); err != nil {
		return fmt.Errorf("dwxgmac2: %s: stop: %w", c.name, err)
	}
	return nil
}

// quiesce stops the core from whatever state it is in (amd-xgbe's order). Transmit:
// DMA of each channel, its FIFO queue, the queue itself, and only when all of them
// stand the transmitter, which is one for all. Receive: the receiver, FIFO, queues,
// DMA. It trusts no copy of a register, since a crash may have left others.
func (c *Core) quiesce() error {
	c.closeIRQs()
	sending := c.regs.Read32(xgmac2.MACTxConfig)&xgmac2.TxConfigTE != 0
	for ch := range c.limits.channels {
		dwmac.ClearBits(c.regs, xgmac2.ChanBase(ch)+xgmac2.ChanTxControl, xgmac2.TxControlST)
	}
	for q := range c.limits.channels {
		reg, _, tps := xgmac2.DebugState(q)
		dwmac.DrainTX(c.regs, xgmac2.QueueBase(q), sending, reg, tps)
		dwmac.ClearBits(c.regs, xgmac2.QueueBase(q)+xgmac2.TxQOpMode, xgmac2.TxQOpTXQEN)
	}
	dwmac.ClearBits(c.regs, xgmac2.MACTxConfig, xgmac2.TxConfigTE)
	dwmac.ClearBits(c.regs, xgmac2.MACRxConfig, xgmac2.RxConfigRE)
	c.enabled, c.started = false, false
	for q := range c.limits.fifos {
		c.drainRX(q)
	}
	c.regs.Write32(xgmac2.MACRxQCtrl0, 0)
	for ch := range c.limits.channels {
		dwmac.ClearBits(c.regs, xgmac2.ChanBase(ch)+xgmac2.ChanRxControl, xgmac2.RxControlSR)
	}
	for ch := range c.limits.channels {
		reg, rps, tps := xgmac2.DebugState(ch)
		if err := dwmac.WaitStopped(c.regs, ch, reg, rps, tps); err != nil {
			return err
		}
	}
	return nil
}

// drainRX lets DMA take what receive queue q still holds. The frame at its head may be
// for any channel, so each one that takes something gets its time.
func (c *Core) drainRX(q int) {
	for ch := range c.limits.channels {
		reg, rps, _ := xgmac2.DebugState(ch)
		dwmac.DrainRX(c.regs, xgmac2.QueueBase(q)+xgmac2.RxQDebug, reg, rps)
	}
}
