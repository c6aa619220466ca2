package ravb

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/etheravb"
)

// stats count what no register shows.
type stats struct {
	rx, tx                                    [etheravb.MaxQueues]atomic.Uint64
	filtered, full, lost, checksums, verdicts atomic.Uint64
}

// Stats are counts of the model's own, for tests.
type Stats struct {
	// RX and TX are frames by queue.
	RX, TX [etheravb.MaxQueues]uint64
	// Filtered frames were for others, Full ones met a queue without an empty
	// descriptor, Lost ones came while the AVB-DMAC did not move data.
	Filtered, Full, Lost uint64
	// Checksums is how many frames had any checksum inserted, Verdicts for
	// how many the engine looked at the payload.
	Checksums, Verdicts uint64
}

// Stats is a snapshot.
func (m *Model) Stats() (s Stats) {
	for q := range s.RX {
		s.RX[q], s.TX[q] = m.stat.rx[q].Load(), m.stat.tx[q].Load()
	}
	s.Filtered, s.Full, s.Lost = m.stat.filtered.Load(), m.stat.full.Load(), m.stat.lost.Load()
	s.Checksums, s.Verdicts = m.stat.checksums.Load(), m.stat.verdicts.Load()
	return s
}
