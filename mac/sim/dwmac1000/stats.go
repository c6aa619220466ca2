package dwmac1000

import "sync/atomic"

// stats count what no register shows.
type stats struct {
	rx, tx, filtered, overflow, watchdog, ri, checksums atomic.Uint64
}

// Stats are counts of the model's own, for tests.
type Stats struct {
	RX, TX uint64 // frames
	// Filtered frames did not pass the frame filter, Overflow ones met a full FIFO.
	Filtered, Overflow uint64
	// Watchdog and RI are receive interrupts by their reason: the watchdog, or a
	// descriptor that asked for one.
	Watchdog, RI uint64
	// Checksums is how many frames had any inserted.
	Checksums uint64
}

// Stats is a snapshot.
func (m *Model) Stats() Stats {
	s := &m.stat
	return Stats{
		RX: s.rx.Load(), TX: s.tx.Load(), Filtered: s.filtered.Load(), Overflow: s.overflow.Load(),
		Watchdog: s.watchdog.Load(), RI: s.ri.Load(), Checksums: s.checksums.Load(),
	}
}
