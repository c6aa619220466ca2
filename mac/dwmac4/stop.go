package dwmac4

import (
	"context"
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
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
		c.clearBits(gmac4.ChanBase(ch)+gmac4.ChanTxControl, gmac4.TxControlST)
	}
	for q := range c.limits.channels {
		c.drainTX(q, config&gmac4.ConfigTE != 0)
	}
	config &^= gmac4.ConfigTE
	c.regs.Write32(gmac4.MACConfig, config)
	config &^= gmac4.ConfigRE
	c.regs.Write32(gmac4.MACConfig, config)
	c.enabled, c.started = 0, false
	for q := range c.limits.channels {
		c.drainRX(q)
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
		stopped := func(v uint32) bool { return v&(rps|tps) == 0 }
		if !dwmac.Wait(context.Background(), c.regs, reg, idleLimit, stopped) {
			v := c.regs.Read32(reg)
			return fmt.Errorf("channel %d: receive state %d, transmit state %d after %v: reset the core: %w",
				ch, field.Get(rps, v), field.Get(tps, v), idleLimit, mac.ErrNotIdle)
		}
	}
	return nil
}

func (c *Core) clearBits(reg, bits uint32) {
	if v := c.regs.Read32(reg); v&bits != 0 {
		c.regs.Write32(reg, v&^bits)
	}
}

// drainTX lets the transmitter, when it is on, send what the FIFO of queue q
// still holds, and flushes the rest.
func (c *Core) drainTX(q int, sending bool) {
	base := gmac4.QueueBase(q)
	drained := func(v uint32) bool {
		return field.Get(gmac4.TxQDebugTRC, v) != gmac4.TRCRead && v&gmac4.TxQDebugTXQ == 0
	}
	if drained(c.regs.Read32(base + gmac4.TxQDebug)) {
		return
	}
	ctx := context.Background()
	if sending && dwmac.Wait(ctx, c.regs, base+gmac4.TxQDebug, drainLimit, drained) {
		return
	}
	c.regs.Write32(base+gmac4.TxQOpMode, c.regs.Read32(base+gmac4.TxQOpMode)|gmac4.TxQOpFTQ)
	dwmac.Wait(ctx, c.regs, base+gmac4.TxQOpMode, drainLimit, func(v uint32) bool { return v&gmac4.TxQOpFTQ == 0 })
}

// drainRX lets the DMA take what the FIFO of queue q still holds. A DMA that is
// suspended for want of buffers, or stopped, takes nothing.
func (c *Core) drainRX(q int) {
	reg, rps, _ := gmac4.DebugState(q)
	empty := func(v uint32) bool {
		if v&(gmac4.RxQDebugPRXQ|gmac4.RxQDebugRXQ) == 0 {
			return true
		}
		state := field.Get(rps, c.regs.Read32(reg))
		return state == gmac4.StateStopped || state == gmac4.RxStateSuspended
	}
	dwmac.Wait(context.Background(), c.regs, gmac4.QueueBase(q)+gmac4.RxQDebug, drainLimit, empty)
}
