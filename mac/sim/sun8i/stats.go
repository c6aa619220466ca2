package sun8i

import "sync/atomic"

// stats count what no register shows, which is everything.
type stats struct {
	rx, tx, filtered, missed, overflow, checksums atomic.Uint64
}

// Stats are counts of the model's own, for tests.
type Stats struct {
	// RX and TX are frames written to memory and put on the wire.
	RX, TX uint64
	// Filtered frames did not pass the address filter; Missed ones came while there
	// was no buffer and the FIFO did not keep them; Overflow ones met a full FIFO.
	Filtered, Missed, Overflow uint64
	// Checksums is how many frames had any inserted.
	Checksums uint64
}

// Stats is a snapshot.
func (m *Model) Stats() Stats {
	s := &m.stat
	return Stats{
		RX: s.rx.Load(), TX: s.tx.Load(), Filtered: s.filtered.Load(), Missed: s.missed.Load(),
		Overflow: s.overflow.Load(), Checksums: s.checksums.Load(),
	}
}
