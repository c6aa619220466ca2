package dwmac4

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// counters reads the management counters (MMC) and those of the receive queues,
// all of which clear when read.
type counters struct {
	present bool // the core has MMC counters
	running bool // Configure has set them up

	mmc dwmac.Counters
	// missed and overflow are of the receive queues, saved as those of mmc are.
	missed, overflow uint64
}

// startCounters clears the counters.
func (c *Core) startCounters() {
	if c.counters.present {
		dwmac.StartMMC(c.regs, gmac4.MMC)
	}
	for q := range c.info.RXQueues {
		c.regs.Read32(gmac4.QueueBase(q) + gmac4.RxQMissed)
	}
	c.counters.running = true
}

// saveCounters fetches the counters before a reset clears them.
func (c *Core) saveCounters() {
	k := &c.counters
	if !k.running || c.regs.Read32(gmac4.MACVersion) == 0xFFFFFFFF {
		return // not ours yet, or gone: all ones are no counts
	}
	if k.present {
		k.mmc.Save()
	}
	for q := range c.setup.RXQueues {
		v := c.regs.Read32(gmac4.QueueBase(q) + gmac4.RxQMissed)
		k.missed += uint64(field.Get(gmac4.RxQMissedMissed, v))
		k.overflow += uint64(field.Get(gmac4.RxQMissedOverflow, v))
	}
}

// Counters implements mac.Core.Counters. RXMissed are frames flushed from a
// queue's FIFO, RXOverflow frames that found it full: from MMC, or, without that,
// from the queues.
func (c *Core) Counters(out *mac.Counters) {
	c.saveCounters()
	k := &c.counters
	k.mmc.Take(out)
	out.RXMissed += k.missed
	if !k.present {
		out.RXOverflow += k.overflow
	}
	k.missed, k.overflow = 0, 0
}
