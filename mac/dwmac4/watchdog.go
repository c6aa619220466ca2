package dwmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// probeWatchdog finds out whether the core has RWTU (the unit is 256 << RWTU
// clocks), which early versions do not and no feature bit tells.
func (c *Core) probeWatchdog() {
	reg := gmac4.ChanBase(0) + gmac4.ChanRxWatchdog
	c.regs.Write32(reg, gmac4.WatchdogRWTU)
	if c.regs.Read32(reg)&gmac4.WatchdogRWTU == gmac4.WatchdogRWTU {
		c.maxShift = 3
	}
	c.regs.Write32(reg, 0)
}

// SetWatchdog implements mac.Core.SetWatchdog (DMA_CHi_Rx_Interrupt_Watchdog_Timer).
func (c *Core) SetWatchdog(q int, usecs int) (actual int, err error) {
	if q < 0 || q >= c.info.RXQueues {
		return 0, fmt.Errorf("dwmac4: watchdog of receive queue %d: the core has %d: %w", q, c.info.RXQueues, mac.ErrConfig)
	}
	count, shift, actual, err := dwmac.Watchdog(usecs, c.clockHz, c.maxShift)
	if err != nil {
		return 0, fmt.Errorf("dwmac4: %w", err)
	}
	c.regs.Write32(gmac4.ChanBase(q)+gmac4.ChanRxWatchdog, field.Put(gmac4.WatchdogRWTU, shift)|field.Put(gmac4.WatchdogRWT, count))
	return actual, nil
}
