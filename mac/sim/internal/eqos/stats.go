package eqos

import (
	"sync/atomic"
)

// counts are what no register shows.
type counts struct {
	rx, tx                                 [maxChannels]atomic.Uint64
	filtered, noQueue, overflow            atomic.Uint64
	watchdog, ioc                          atomic.Uint64
	tsoFrames, tsoSegments, checksums, mss atomic.Uint64
}

// Stats are counts of the model's own, for tests.
type Stats struct {
	// RX and TX are frames by DMA channel; TX counts segments.
	RX, TX [maxChannels]uint64
	// Filtered frames did not pass the packet filter, NoQueue ones met a queue
	// that MAC_RxQ_Ctrl0 leaves off, Overflow ones a full FIFO.
	Filtered, NoQueue, Overflow uint64
	// Watchdog and IOC are receive interrupts by their reason.
	Watchdog, IOC uint64
	// TSOFrames were cut into TSOSegments. Checksums is how many frames had any
	// inserted, MSSContexts how many context descriptors set an MSS.
	TSOFrames, TSOSegments, Checksums, MSSContexts uint64
}

func (m *Engine) stats() (s Stats) {
	for c := range s.RX {
		s.RX[c], s.TX[c] = m.stat.rx[c].Load(), m.stat.tx[c].Load()
	}
	s.Filtered, s.NoQueue, s.Overflow = m.stat.filtered.Load(), m.stat.noQueue.Load(), m.stat.overflow.Load()
	s.Watchdog, s.IOC = m.stat.watchdog.Load(), m.stat.ioc.Load()
	s.TSOFrames, s.TSOSegments = m.stat.tsoFrames.Load(), m.stat.tsoSegments.Load()
	s.Checksums, s.MSSContexts = m.stat.checksums.Load(), m.stat.mss.Load()
	return s
}
