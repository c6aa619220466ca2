package ring

import (
	"errors"
	"fmt"
)

// Coalesce says how often a queue interrupts. The names and meanings are those
// of ethtool -C and of Linux's NAPI. The zero value of a field means what the
// field's comment says; DefaultCoalesce gives the values a device starts with.
type Coalesce struct {
	// RXFrames (rx-frames) asks for an interrupt with every RXFrames-th receive
	// descriptor. 0 leaves interrupting to the watchdog alone; on a core without
	// a watchdog 0 means 1.
	RXFrames int `json:"rx_frames"`
	// RXUsecs (rx-usecs) is the receive watchdog: how long, in microseconds, a
	// received frame may wait for an interrupt. 0 switches it off, and then
	// RXFrames 0 means 1. Where the core has none, the poll loop stands in for it:
	// the first frame interrupts at once, and those after it wait up to RXUsecs for
	// the next poll, with interrupts still masked.
	RXUsecs int `json:"rx_usecs"`
	// TXFrames (tx-frames) counts packets: every TXFrames-th packet carries an
	// interrupt request and so marks how far the ring can be reaped with one
	// descriptor read. 0 means a quarter of the ring. The interrupt itself stays
	// masked unless a sender waits for space.
	TXFrames int `json:"tx_frames"`
	// TXUsecs (tx-usecs) bounds, in microseconds, how long a sender that found
	// the ring full waits before it looks again without an interrupt. 0 means it
	// does not wait: the packet is dropped and counted. To TCP a drop is a loss, so
	// the time should do for the ring to move: 512 full-size frames take 6 ms at
	// 1 Gbit/s.
	TXUsecs int `json:"tx_usecs"`
	// DeferIRQs (napi_defer_hard_irqs) is how many empty polls in a row must
	// pass before interrupts are unmasked. 0 means 1.
	DeferIRQs int `json:"defer_irqs"`
	// PollUsecs (gro_flush_timeout) is the pause, in microseconds, before the
	// next poll after one that found work, with interrupts still masked. 0 polls
	// again at once, and so does a poll that has used up its budget.
	PollUsecs int `json:"poll_usecs"`
}

// Limits of Coalesce. The frame counts are bounded by the ring as well; a
// watchdog has limits of its own per core, checked by the core.
const (
	MaxCoalesceFrames = 1024
	MaxCoalesceUsecs  = 100_000
)

// ErrCoalesce is wrapped by every error about coalescing values.
var ErrCoalesce = errors.New("coalescing value refused")

// DefaultCoalesce is what a device starts with: receive interrupts by the
// watchdog alone, a reap mark every 32 packets.
func DefaultCoalesce() Coalesce {
	return Coalesce{RXFrames: 0, RXUsecs: 200, TXFrames: 32, TXUsecs: 10_000, DeferIRQs: 1}
}

// Validate reports the first value that is out of range.
func (c Coalesce) Validate() error {
	for _, v := range []struct {
		name  string
		value int
		max   int
	}{
		{"rx-frames", c.RXFrames, MaxCoalesceFrames},
		{"rx-usecs", c.RXUsecs, MaxCoalesceUsecs},
		{"tx-frames", c.TXFrames, MaxCoalesceFrames},
		{"tx-usecs", c.TXUsecs, MaxCoalesceUsecs},
		{"defer-irqs", c.DeferIRQs, 1000},
		{"poll-usecs", c.PollUsecs, MaxCoalesceUsecs},
	} {
		if v.value < 0 || v.value > v.max {
			return fmt.Errorf("ring: %s %d: must be 0 to %d: %w", v.name, v.value, v.max, ErrCoalesce)
		}
	}
	return nil
}
