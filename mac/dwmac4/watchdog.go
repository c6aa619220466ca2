package dwmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/ring"
)

// assumedHz stands in for an application clock that the bus does not know. The
// watchdog then runs as much longer or shorter as the real clock is slower or
// faster.
const assumedHz = 100e6

// watchdogState is what probeWatchdog found.
type watchdogState struct {
	maxShift uint // largest RWTU: the unit is 256 << RWTU clocks
}

// probeWatchdog finds out whether the core has RWTU, which early versions do not
// and no feature bit tells.
func (c *Core) probeWatchdog() {
	reg := gmac4.ChanBase(0) + gmac4.ChanRxWatchdog
	c.regs.Write32(reg, gmac4.WatchdogRWTU)
	if c.regs.Read32(reg)&gmac4.WatchdogRWTU == gmac4.WatchdogRWTU {
		c.watchdog.maxShift = 3
	}
	c.regs.Write32(reg, 0)
}

// SetWatchdog implements mac.Core.SetWatchdog (DMA_CHi_Rx_Interrupt_Watchdog_Timer).
// It counts in units of 256 clocks, or of 512 to 2048 where the core can and the
// time does not fit otherwise. With an unknown clock 100 MHz is assumed.
func (c *Core) SetWatchdog(q int, usecs int) (actual int, err error) {
	if q < 0 || q >= c.info.RXQueues {
		return 0, fmt.Errorf("dwmac4: watchdog of receive queue %d: the core has %d: %w", q, c.info.RXQueues, mac.ErrConfig)
	}
	hz := c.clockHz
	if hz <= 0 {
		hz = assumedHz
	}
	reg, actual, err := watchdogValue(usecs, hz, c.watchdog.maxShift)
	if err != nil {
		return 0, err
	}
	c.regs.Write32(gmac4.ChanBase(q)+gmac4.ChanRxWatchdog, reg)
	return actual, nil
}

// watchdogValue is the register value nearest to usecs at a clock of hz, and the
// time that it really is.
func watchdogValue(usecs, hz int, maxShift uint) (reg uint32, actual int, err error) {
	if usecs == 0 {
		return 0, 0, nil
	}
	// Times are in microseconds times hertz, where they are exact.
	const half = gmac4.WatchdogUnit / 2 * 1e6
	clock := int64(hz)
	low := (half + clock - 1) / clock
	high := (511*half<<maxShift - 1) / clock
	if t := int64(usecs); t < low || t > high {
		return 0, 0, fmt.Errorf("dwmac4: rx-usecs %d: at %d Hz takes 0 or %d to %d: %w", usecs, hz, low, high, ring.ErrCoalesce)
	}
	for shift := uint(0); ; shift++ {
		unit := int64(2*half) << shift
		if n := (int64(usecs)*clock + unit/2) / unit; n <= 255 {
			reg = gmac4.Put(gmac4.WatchdogRWTU, uint32(shift)) | gmac4.Put(gmac4.WatchdogRWT, uint32(n))
			return reg, int(max(1, (n*unit+clock/2)/clock)), nil
		}
	}
}
