package dwmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// Stop implements mac.Core.Stop.
func (c *Core) Stop() error {
	if err := c.quiesce(); err != nil {
		return fmt.Errorf("dwmac4: %s: stop: %w", c.name, err)
	}
	return nil
}

// quiesce stops the core from whatever state it is in, in the manual's order:
// transmit DMA, transmit FIFO, transmitter; receiver, receive FIFO, receive DMA.
// A FIFO that does not drain (no link, no buffers) is flushed. It trusts no copy
// of a register, since a crash may have left others.
func (c *Core) quiesce() error {
	c.closeIRQs()
	config := c.regs.Read32(gmac4.MACConfig)
	for ch := range c.limits.channels {
		dwmac.ClearBits(c.regs, gmac4.ChanBase(ch)+gmac4.ChanTxControl, gmac4.TxControlST)
	}
	for q := range c.limits.channels {
		reg, _, tps := gmac4.DebugState(q)
		dwmac.DrainTX(c.regs, gmac4.QueueBase(q), config&gmac4.ConfigTE != 0, reg, tps)
	}
	config &^= gmac4.ConfigTE
	c.regs.Write32(gmac4.MACConfig, config)
	config &^= gmac4.ConfigRE
	c.regs.Write32(gmac4.MACConfig, config)
	c.enabled, c.started = 0, false
	for q := range c.limits.channels {
		reg, rps, _ := gmac4.DebugState(q)
		dwmac.DrainRX(c.regs, gmac4.QueueBase(q)+gmac4.RxQDebug, reg, rps)
	}
	for ch := range c.limits.channels {
		reg := gmac4.ChanBase(ch) + gmac4.ChanRxControl
		v := c.regs.Read32(reg)
		if v&gmac4.RxControlSR != 0 {
			c.regs.Write32(reg, v&^gmac4.RxControlSR|gmac4.RxControlRPF)
		}
	}
	for ch := range c.limits.channels {
		reg, rps, tps := gmac4.DebugState(ch)
		if err := dwmac.WaitStopped(c.regs, ch, reg, rps, tps); err != nil {
			return err
		}
	}
	return nil
}
