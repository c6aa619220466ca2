package dwmac1000

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

// counters reads the management counters (MMC) and that of missed frames, all of
// which clear when read.
type counters struct {
	present bool // the core has MMC counters
	running bool // Configure has set them up

	mmc dwmac.Counters
	// missed and overflow are of the DMA, saved as those of mmc are.
	missed, overflow uint64
}

// startCounters clears the counters.
func (c *Core) startCounters() {
	if c.counters.present {
		dwmac.StartMMC(c.regs, gmac3.MMC)
	}
	c.regs.Read32(gmac3.DMAMissed)
	c.counters.running = true
}

// saveCounters fetches the counters before a reset clears them.
func (c *Core) saveCounters() {
	k := &c.counters
	if !k.running || c.regs.Read32(gmac3.MACVersion) == 0xFFFFFFFF {
		return // not ours yet, or gone: all ones are no counts
	}
	if k.present {
		k.mmc.Save()
	}
	v := c.regs.Read32(gmac3.DMAMissed)
	k.missed += uint64(field.Get(gmac3.MissedNoBuffer, v))
	k.overflow += uint64(field.Get(gmac3.MissedOverflow, v))
}

// Counters implements mac.Core.Counters. RXMissed are frames that the DMA threw
// away for want of a descriptor, RXOverflow frames that found the FIFO full: from
// MMC, or, without that, from the DMA.
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

// SetWatchdog implements mac.Core.SetWatchdog (Receive_Interrupt_Watchdog_Timer).
func (c *Core) SetWatchdog(q int, usecs int) (actual int, err error) {
	if q != 0 {
		return 0, fmt.Errorf("dwmac1000: watchdog of receive queue %d: the core has one queue: %w", q, mac.ErrConfig)
	}
	if !c.info.Watchdog {
		return 0, fmt.Errorf("dwmac1000: version %s on this platform has no receive watchdog: %w", c.info.Version, mac.ErrUnsupported)
	}
	count, _, actual, err := dwmac.Watchdog(usecs, c.clockHz, 0)
	if err != nil {
		return 0, fmt.Errorf("dwmac1000: %w", err)
	}
	c.regs.Write32(gmac3.DMAWatchdog, field.Put(gmac3.WatchdogRIWT, count))
	return actual, nil
}
