package mvneta

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
)

// Bounds of the waits: a frame of 9700 bytes takes 8 ms at 10 Mbit/s.
const (
	queueLimit = 50 * time.Millisecond
	drainLimit = 20 * time.Millisecond
)

// Stop implements mac.Core.Stop.
func (c *Core) Stop() error {
	if err := c.quiesce(); err != nil {
		return fmt.Errorf("mvneta: %s: stop: %w", c.name, err)
	}
	return nil
}

// quiesce stops the port from whatever state it is in: the queues, the MAC, DMA.
// What was sent is counted before the counters go. It trusts no copy of a
// register, since a crash may have left others.
func (c *Core) quiesce() error {
	c.closeIRQs()
	err := c.stopQueues()
	if !c.mode.inBand {
		c.change(neta.AN, neta.ANForceUp, neta.ANForceDown)
	}
	c.clear(neta.GMAC0, neta.GMAC0Enable)
	for _, t := range c.tx {
		if t != nil {
			t.take()
			t.live = false
		}
	}
	for _, r := range c.rx {
		if r != nil {
			r.live = false
		}
	}
	c.started = false
	// While DMA is held in reset the queues take no update; afterwards their
	// positions and counters are zero.
	c.regs.Write32(neta.RXDMAReset, neta.DMAReset)
	c.regs.Write32(neta.TXDMAReset, neta.DMAReset)
	if c.bm != nil {
		c.bm.drain()
	}
	c.regs.Write32(neta.TXDMAReset, 0)
	c.regs.Write32(neta.RXDMAReset, 0)
	for q := range neta.MaxQueues {
		c.regs.Write32(neta.RXBase(q), 0)
		c.regs.Write32(neta.RXRingSize(q), 0)
		c.regs.Write32(neta.TXBase(q), 0)
		c.regs.Write32(neta.TXRingSize(q), 0)
		c.regs.Write32(neta.TokenConfig(q), 0)
		c.regs.Write32(neta.TokenCount(q), 0)
	}
	return err
}

// stopQueues disables all queues and waits until they are: a queue ends the frame
// that it is at.
func (c *Core) stopQueues() error {
	err := errors.Join(c.stopQueue(neta.RXCommand, "receive"), c.stopQueue(neta.TXCommandReg, "transmit"))
	// The MAC sends what it has taken from memory. What the partner's pause holds
	// back is lost with the reset of DMA, and is no reason to fail.
	idle := func(v uint32) bool { return v&neta.StatusTXBusy == 0 && v&neta.StatusTXEmpty != 0 }
	wait(context.Background(), c.regs, neta.PortStatus, drainLimit, idle)
	return err
}

func (c *Core) stopQueue(reg uint32, what string) error {
	on := field.Get(neta.CommandEnable, c.regs.Read32(reg))
	if on == 0 {
		return nil
	}
	c.regs.Write32(reg, field.Put(neta.CommandDisable, on))
	if !wait(context.Background(), c.regs, reg, queueLimit, func(v uint32) bool { return v&neta.CommandEnable == 0 }) {
		return fmt.Errorf("%s queues %#x still on after %v: reset the port: %w", what, field.Get(neta.CommandEnable, c.regs.Read32(reg)), queueLimit, mac.ErrNotIdle)
	}
	return nil
}
