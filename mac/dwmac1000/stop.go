package dwmac1000

import (
	"context"
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

// Stop implements mac.Core.Stop.
func (c *Core) Stop() error {
	if err := c.quiesce(); err != nil {
		return fmt.Errorf("dwmac1000: %s: stop: %w", c.name, err)
	}
	return nil
}

// quiesce stops the core from whatever state it is in, in the manual's order:
// transmit DMA, transmit FIFO, transmitter; receiver, receive FIFO, receive DMA. A
// FIFO that does not drain (no link, no buffers) is flushed or left for the reset.
// It trusts no copy of a register, since a crash may have left others.
func (c *Core) quiesce() error {
	c.closeIRQ()
	config, mode := c.regs.Read32(gmac3.MACConfig), c.regs.Read32(gmac3.DMAOpMode)
	if mode&gmac3.OpST != 0 {
		mode &^= gmac3.OpST
		c.regs.Write32(gmac3.DMAOpMode, mode)
	}
	c.drainTX(mode, config&gmac3.ConfigTE != 0)
	config &^= gmac3.ConfigTE
	c.regs.Write32(gmac3.MACConfig, config)
	config &^= gmac3.ConfigRE
	c.regs.Write32(gmac3.MACConfig, config)
	c.enabled, c.started = 0, false
	c.drainRX()
	if mode&gmac3.OpSR != 0 {
		c.regs.Write32(gmac3.DMAOpMode, mode&^gmac3.OpSR)
	}
	const states = gmac3.StatusRS | gmac3.StatusTS
	if !dwmac.Wait(context.Background(), c.regs, gmac3.DMAStatus, idleLimit, func(v uint32) bool { return v&states == 0 }) {
		v := c.regs.Read32(gmac3.DMAStatus)
		return fmt.Errorf("receive state %d, transmit state %d after %v: reset the core: %w",
			field.Get(gmac3.StatusRS, v), field.Get(gmac3.StatusTS, v), idleLimit, mac.ErrNotIdle)
	}
	return nil
}

// drainTX lets the transmitter, when it is on, send the frame that DMA is at and what
// the FIFO still holds, and flushes the rest. DMA stops when it has the status of its
// last frame: on cores without the debug register that is all there is to see.
func (c *Core) drainTX(mode uint32, sending bool) {
	empty := func() bool { return c.regs.Read32(gmac3.MACDebug)&(gmac3.DebugTXF|gmac3.DebugTRC) == 0 }
	drained := func(status uint32) bool { return status&gmac3.StatusTS == 0 && empty() }
	ctx := context.Background()
	if sending && dwmac.Wait(ctx, c.regs, gmac3.DMAStatus, drainLimit, drained) || empty() {
		return
	}
	c.regs.Write32(gmac3.DMAOpMode, mode|gmac3.OpFTF)
	dwmac.Wait(ctx, c.regs, gmac3.DMAOpMode, drainLimit, func(v uint32) bool { return v&gmac3.OpFTF == 0 })
}

// drainRX lets the DMA take what the FIFO still holds. A DMA that is suspended for
// want of buffers, or stopped, takes nothing.
func (c *Core) drainRX() {
	empty := func(v uint32) bool {
		if v&(gmac3.DebugRXF|gmac3.DebugRRC) == 0 {
			return true
		}
		state := field.Get(gmac3.StatusRS, c.regs.Read32(gmac3.DMAStatus))
		return state == gmac3.StateStopped || state == gmac3.RxStateSuspended
	}
	dwmac.Wait(context.Background(), c.regs, gmac3.MACDebug, drainLimit, empty)
}
