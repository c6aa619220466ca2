package sun8i

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/emac"
)

// Bounds of the waits. Two frames of 1526 bytes take 2.5 ms at 10 Mbit/s, and a
// collision may put that off.
const (
	drainLimit = 20 * time.Millisecond
	idleLimit  = 50 * time.Millisecond
)

// Stop implements mac.Core.Stop.
func (c *Core) Stop() error {
	if err := c.quiesce(); err != nil {
		return fmt.Errorf("sun8i: %s: stop: %w", c.name, err)
	}
	return nil
}

// quiesce stops the core from whatever state it is in: transmit DMA, then the
// transmitter; the receiver, then receive DMA once it has taken what the FIFO
// holds. It trusts no copy of a register, since a crash may have left others.
//
// No register shows what the FIFOs hold. A transmit DMA that does not stop waits
// for a frame that cannot leave, with the link down say: its FIFO is flushed. A
// receive DMA that waits for a frame has none in its FIFO.
func (c *Core) quiesce() error {
	ctx := context.Background()
	if c.started {
		c.overflows.look(c.regs)
	}
	c.irq.Close()
	c.started = false
	if c.rx != nil {
		c.rx.running = false
	}
	if c.tx != nil {
		c.tx.running = false
	}

	tx := c.regs.Read32(emac.TxCtl1) &^ (emac.TxCtl1DMAEn | emac.TxCtl1Start)
	c.regs.Write32(emac.TxCtl1, tx)
	stopped := func(v uint32) bool { return v&emac.DMAState == emac.DMAStopped }
	if !dwmac.Wait(ctx, c.regs, emac.TxDMASta, drainLimit, stopped) {
		c.regs.Write32(emac.TxCtl1, tx|emac.TxCtl1Flush)
	}
	c.regs.Write32(emac.TxCtl0, c.regs.Read32(emac.TxCtl0)&^emac.TxCtl0En)

	c.regs.Write32(emac.RxCtl0, c.regs.Read32(emac.RxCtl0)&^emac.RxCtl0En)
	dwmac.Wait(ctx, c.regs, emac.RxDMASta, drainLimit, func(v uint32) bool {
		s := v & emac.DMAState
		return s == emac.RxWaitFrame || s == emac.RxSuspended || s == emac.DMAStopped
	})
	c.regs.Write32(emac.RxCtl1, c.regs.Read32(emac.RxCtl1)&^(emac.RxCtl1DMAEn|emac.RxCtl1Start))

	for _, reg := range []uint32{emac.TxDMASta, emac.RxDMASta} {
		if !dwmac.Wait(ctx, c.regs, reg, idleLimit, stopped) {
			return fmt.Errorf("%s reads %#x after %v: reset the core: %w", emac.RegName(reg), c.regs.Read32(reg), idleLimit, mac.ErrNotIdle)
		}
	}
	return nil
}
