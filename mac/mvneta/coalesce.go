package mvneta

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/ring"
)

// assumedHz stands in for a core clock that the bus does not know. The watchdog
// then runs as much longer or shorter as the real clock is slower or faster.
const assumedHz = 200e6

// SetWatchdog implements mac.Core.SetWatchdog: the time from the first frame that
// waits, in cycles of the core clock. 0 becomes the longest time there is, since
// what the hardware makes of 0 is not known.
func (c *Core) SetWatchdog(q int, usecs int) (actual int, err error) {
	if q < 0 || q >= c.info.RXQueues {
		return 0, fmt.Errorf("mvneta: watchdog of receive queue %d: the port has %d: %w", q, c.info.RXQueues, mac.ErrConfig)
	}
	hz := c.clockHz
	if hz <= 0 {
		hz = assumedHz
	}
	cycles, actual, err := watchdogCycles(usecs, hz)
	if err != nil {
		return 0, err
	}
	c.regs.Write32(neta.RXTime(q), cycles)
	return actual, nil
}

// watchdogCycles is the register value for usecs at a clock of hz, and the time
// that it really is.
func watchdogCycles(usecs, hz int) (cycles uint32, actual int, err error) {
	if usecs == 0 {
		return neta.RXTimeMask, 0, nil
	}
	clock, most := int64(hz), int64(neta.RXTimeMask)
	n := (int64(usecs)*clock + 500_000) / 1_000_000
	if usecs < 0 || n < 1 || n > most {
		return 0, 0, fmt.Errorf("mvneta: rx-usecs %d: at %d Hz takes 0 or %d to %d: %w", usecs, hz, (clock+999_999)/clock, most*1_000_000/clock, ring.ErrCoalesce)
	}
	return uint32(n), int((n*1_000_000 + clock/2) / clock), nil
}

// SetRXFrames implements mac.FrameCoalescer. The cause is up when more descriptors
// wait than the threshold says.
func (c *Core) SetRXFrames(q, n int) error {
	if q < 0 || q >= c.info.RXQueues || n < 0 {
		return fmt.Errorf("mvneta: rx-frames %d of receive queue %d: the port has %d: %w", n, q, c.info.RXQueues, ring.ErrCoalesce)
	}
	slots := maxSlots
	if r := c.rx[q]; r != nil {
		slots = r.slots
	}
	c.regs.Write32(neta.RXThreshold(q), threshold(n, slots))
	return nil
}

// threshold is the register value for n waiting descriptors of a ring of slots. It
// is never more than half of the ring, so that the port interrupts before it runs
// out; with n 0 the watchdog does.
func threshold(n, slots int) uint32 {
	if n == 0 {
		return neta.RXThreshOccupied
	}
	return field.Put(neta.RXThreshOccupied, uint32(min(n, max(slots/2, 1))-1))
}
