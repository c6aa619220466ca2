package pagepool

import "time"

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
// to the Go heap, so the answer follows the memory: the slower it is to read, the
// sooner lending wins.
func (l *lender) breakEven(mem []byte) int {
	pages := len(l.masters)
	lend := fastest(func(i int) {
		var v [breakViews]interface{ Release() }
		first := l.masters[i%pages].Clone()
		v[0] = first
		for k := 1; k < breakViews; k++ {
			v[k] = first.Clone()
		}
		for k := range v {
			v[k].Release()
		}
	})
	if lend <= 0 {
		return breakDefault
	}
	dst := make([]byte, breakMax)
	shorter, below := 0, time.Duration(0)
	for n := breakMin; n <= min(breakMax, len(mem)); n *= 2 {
		slots := len(mem) / n
		took := fastest(func(i int) { copy(dst[:n], mem[i%slots*n:]) })
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
