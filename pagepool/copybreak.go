package pagepool

import (
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
)

const (
	// breakMin and breakMax bound a measured copy break. Below breakMin a page
	// must not be lent whatever the CPU says: netstack charges a socket the
	// payload only, so tiny datagrams would pin pages almost for nothing.
	breakMin = 256
	breakMax = 16384
	// breakDefault is used where the clock is too coarse to measure.
	breakDefault = 4096
	// breakRounds are made of breakLoops steps each; the fastest one counts.
	breakRounds = 5
	breakLoops  = 64
	// breakViews is how often netstack clones and releases a view on its way
	// to the reader: when it is lent, when TCP or UDP queues the packet, when the
	// reader reads.
	breakViews = 3
)

// breakEven measures from which length on lending a page costs less than copying
// out of it. It compares the reference counting of one loan with a copy from mem
// into a gVisor buffer, so the answer follows the memory: the slower it is to
// read, the sooner lending wins.
func (l *lender) breakEven(mem []byte) int {
	lend := fastest(func(i int) {
		master := &l.masters[i%len(l.masters)]
		var views [breakViews]*buffer.View
		for k := range views {
			views[k] = master.Clone()
		}
		for _, v := range views {
			v.Release()
		}
	})
	if lend <= 0 {
		return breakDefault
	}
	dst := make([]byte, buffer.MaxChunkSize)
	shorter, below := 0, time.Duration(0)
	for n := breakMin; n <= min(breakMax, len(mem)); n *= 2 {
		took := fastest(func(i int) {
			from, to := i%(len(mem)/n)*n, i%(len(dst)/n)*n
			clear(dst[to : to+n]) // gVisor clears a new buffer before it is filled
			copy(dst[to:to+n], mem[from:])
		})
		if took >= lend {
			return interpolate(shorter, n, below, took, lend)
		}
		shorter, below = n, took
	}
	return breakMax
}

// interpolate returns the length between shorter and longer at which the time
// between below and above reaches want, rounded up to a line.
func interpolate(shorter, longer int, below, above, want time.Duration) int {
	n := longer
	if above > below {
		n = shorter + int(int64(longer-shorter)*int64(want-below)/int64(above-below))
	}
	n = (n + lineSize - 1) / lineSize * lineSize
	return max(n, breakMin)
}

// fastest is the time of the fastest round of step.
func fastest(step func(i int)) time.Duration {
	best := time.Duration(1<<63 - 1)
	for range breakRounds {
		start := time.Now()
		for i := range breakLoops {
			step(i)
		}
		best = min(best, time.Since(start))
	}
	return best
}
