package mvneta

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
)

// miscErrors end in a repair and stay masked once reported.
const (
	miscErrors = neta.MiscInternalAddr | neta.MiscTXError
	miscLink   = neta.MiscPHY | neta.MiscLink
)

func rxCause(q int) uint32 { return field.Put(neta.CauseRX, 1<<q) }
func txCause(q int) uint32 { return field.Put(neta.CauseTX, 1<<q) }

// unmask sets a bit of the mask. irq.mu is held.
func (c *Core) unmask(bit uint32) {
	if !c.irq.open {
		return // masked by Stop; a late caller must not unmask
	}
	c.irq.mask |= bit
	c.regs.Write32(neta.CauseMask, c.irq.mask)
}

// openIRQ unmasks everything but transmit.
func (c *Core) openIRQ() {
	c.irq.mu.Lock()
	defer c.irq.mu.Unlock()
	c.regs.Write32(neta.MiscCause, 0)
	c.irq.open = true
	c.irq.misc = miscErrors
	if c.mode.inBand {
		c.irq.misc |= miscLink
	}
	c.regs.Write32(neta.MiscMask, c.irq.misc)
	c.irq.mask = neta.CauseMisc
	c.irq.queues = 1<<c.setup.RXQueues - 1
	c.irq.mask |= field.Put(neta.CauseRX, c.irq.queues)
	c.regs.Write32(neta.CauseMask, c.irq.mask)
}

// closeIRQs masks everything and clears what is latched. A mask that is not
// visible to this CPU cannot be written, so the maps come first: every CPU sees
// every queue, and so does a thread that moves. They stay like that.
func (c *Core) closeIRQs() {
	c.irq.mu.Lock()
	defer c.irq.mu.Unlock()
	c.irq.open, c.irq.mask, c.irq.misc = false, 0, 0
	for cpu := range neta.MaxCPUs {
		c.regs.Write32(neta.CPUMap(cpu), neta.AllQueues)
	}
	c.regs.Write32(neta.CauseMask, 0)
	c.regs.Write32(neta.MiscMask, 0)
	c.regs.Write32(neta.OldMask, 0)
	c.regs.Write32(neta.MiscCause, 0)
}

// Interrupt implements mac.Core.Interrupt. Causes of queues follow their counters
// and are masked here; only those of MISC are latched.
func (c *Core) Interrupt() mac.Events {
	var ev mac.Events
	c.irq.mu.Lock()
	defer c.irq.mu.Unlock()
	cause := c.regs.Read32(neta.Cause)
	if cause == 0xFFFFFFFF { // the device is gone: the reset that follows says so
		ev.Fatal = 1<<c.info.RXQueues - 1
		return ev
	}
	seen := cause & c.irq.mask
	ev.RX, ev.TX = field.Get(neta.CauseRX, seen), field.Get(neta.CauseTX, seen)
	if seen&neta.CauseMisc != 0 {
		c.misc(&ev)
	}
	for bits, q := ev.TX, 0; bits != 0; bits, q = bits>>1, q+1 {
		if bits&1 != 0 {
			c.tx[q].armed.Store(false)
		}
	}
	// With nothing seen this puts our own bits back: a cause that somebody else has
	// unmasked cannot go on.
	c.irq.mask &^= seen & (neta.CauseRX | neta.CauseTX)
	c.regs.Write32(neta.CauseMask, c.irq.mask)
	return ev
}

// misc handles what is latched in Misc_Cause. Bits are cleared by writing 0.
func (c *Core) misc(ev *mac.Events) {
	misc := c.regs.Read32(neta.MiscCause)
	c.regs.Write32(neta.MiscCause, ^misc)
	ev.Link = misc&miscLink != 0
	if misc&neta.MiscInternalAddr != 0 {
		// DMA of some queue has met an address that is not there; which queue it is,
		// nobody says.
		ev.Fatal = c.irq.queues
	}
	ev.TXStopped = field.Get(neta.MiscTXError, misc)
	c.irq.misc &^= misc & miscErrors
	c.regs.Write32(neta.MiscMask, c.irq.misc)
}

// Ack implements mac.Core.Ack: the cause follows the counter, there is nothing to
// acknowledge.
func (c *Core) Ack(int) {}

// Unmask implements mac.Core.Unmask. What was harvested since the last refill is
// taken off the counter first, or the cause would still be up.
func (c *Core) Unmask(q int) {
	if r := c.rx[q]; r.taken > 0 {
		r.Kick(0)
	}
	c.irq.mu.Lock()
	defer c.irq.mu.Unlock()
	c.unmask(rxCause(q))
}

// UnmaskTX implements mac.Core.UnmaskTX. The caller has the transmit ring.
func (c *Core) UnmaskTX(q int) {
	t := c.tx[q]
	if t.live {
		t.arm()
	}
	c.irq.mu.Lock()
	defer c.irq.mu.Unlock()
	t.armed.Store(t.live)
	c.unmask(txCause(q))
}
