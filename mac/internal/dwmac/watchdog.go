package dwmac

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/ring"
)

// maxCount is the largest count of the watchdog: 8 bits.
const maxCount = 255

// assumedHz stands in for an application clock that the bus does not know. The
// watchdog then runs as much longer or shorter as the real clock is slower or
// faster.
const assumedHz = 100e6

// Watchdog is the count of the receive watchdog nearest to usecs at an application
// clock of hz (0: unknown, 100 MHz is assumed), and the time that it really is. It
// counts units of 256 clocks, or of 256 << shift for a shift up to maxShift where
// the core can and the time does not fit otherwise. The error wraps
// ring.ErrCoalesce and names the range.
func Watchdog(usecs, hz int, maxShift uint) (count, shift uint32, actual int, err error) {
	if usecs == 0 {
		return 0, 0, 0, nil
	}
	if hz <= 0 {
		hz = assumedHz
	}
	// Times are in microseconds times hertz, where they are exact.
	const half = dwregs.WatchdogUnit / 2 * 1e6
	clock := int64(hz)
	low := (half + clock - 1) / clock
	high := ((2*maxCount+1)*half<<maxShift - 1) / clock
	if t := int64(usecs); t < low || t > high {
		return 0, 0, 0, fmt.Errorf("rx-usecs %d: at %d Hz takes 0 or %d to %d: %w", usecs, hz, low, high, ring.ErrCoalesce)
	}
	for ; ; shift++ {
		unit := int64(2*half) << shift
		if n := (int64(usecs)*clock + unit/2) / unit; n <= maxCount {
			return uint32(n), shift, int(max(1, (n*unit+clock/2)/clock)), nil
		}
	}
}
