package ravb

import (
	"context"
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
)

// Stop implements mac.Core.Stop.
func (c *Core) Stop() error {
	if err := c.quiesce(); err != nil {
		return fmt.Errorf("ravb: %s: stop: %w", c.name, err)
	}
	return nil
}

// quiesce stops the core from whatever state it is in: transmit queues as far as
// they drain, transmitter and receiver, data transfer, and then the AVB-DMAC, which
// is idle in CONFIG. It trusts no copy of a register, since a crash may have left
// others. In RESET and CONFIG there is nothing to stop.
func (c *Core) quiesce() error {
	ctx := context.Background()
	ops := c.regs.Read32(etheravb.CSR) & etheravb.CSROPS
	if ops == 1<<etheravb.OPCReset {
		return nil
	}
	c.closeIRQs()
	ecmr := c.regs.Read32(etheravb.ECMR)
	if ops == 1<<etheravb.OPCOperation && ecmr&etheravb.ECMRTE != 0 {
		// What is on the wire ends; what cannot leave stays behind.
		_ = c.wait(ctx, etheravb.TCCR, drainLimit, func(v uint32) bool { return v&etheravb.TCCRTSRQ == 0 }) &&
			c.wait(ctx, etheravb.CSR, drainLimit, func(v uint32) bool { return v&etheravb.CSRTPO == 0 })
	}
	c.regs.Write32(etheravb.ECMR, ecmr&^(etheravb.ECMRTE|etheravb.ECMRRE))
	c.enabled, c.started = 0, false
	if ops != 1<<etheravb.OPCOperation {
		return nil
	}
	c.wait(ctx, etheravb.CSR, drainLimit, func(v uint32) bool { return v&etheravb.CSRRPO == 0 })
	ccc := c.regs.Read32(etheravb.CCC)&^etheravb.CCCOPC | etheravb.CCCDTSR
	c.regs.Write32(etheravb.CCC, ccc|field.Put(etheravb.CCCOPC, etheravb.OPCOperation))
	c.wait(ctx, etheravb.CSR, drainLimit, func(v uint32) bool { return v&etheravb.CSRDTS != 0 })
	if !c.setMode(ctx, etheravb.OPCConfig, ccc, modeLimit) {
		return fmt.Errorf("CSR reads %#x: not in CONFIG after %v: reset the core: %w", c.regs.Read32(etheravb.CSR), modeLimit, mac.ErrNotIdle)
	}
	c.regs.Write32(etheravb.CCC, ccc&^etheravb.CCCDTSR|field.Put(etheravb.CCCOPC, etheravb.OPCConfig))
	return nil
}
