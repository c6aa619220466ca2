package pagepool

import "fmt"

// Stats are a pool's counters and gauges. The first five carry the names of
// Linux's page_pool statistics, with the nearest meaning.
type Stats struct {
	// AllocFast counts pages that Alloc took from the free list.
	AllocFast uint64 `json:"alloc_fast"`
	// AllocSlow counts those that Alloc first had to reclaim.
	AllocSlow uint64 `json:"alloc_slow"`
	// AllocEmpty counts calls of Alloc that found no page.
	AllocEmpty uint64 `json:"alloc_empty"`
	// RecycleCached counts pages that the owner freed itself.
	RecycleCached uint64 `json:"recycle_cached"`
	// RecycleRing counts lent pages that came home.
	RecycleRing uint64 `json:"recycle_ring"`
	// ReclaimScanned counts looks at lent pages; RecycleRing of them found one
	// that was home.
	ReclaimScanned uint64 `json:"reclaim_scanned"`
	// CopiedShort counts payloads copied because of the copy break, CopiedLimit
	// those that Lend refused.
	CopiedShort uint64 `json:"copied_short"`
	CopiedLimit uint64 `json:"copied_limit"`

	// Pages is the size of the pool: Free + Posted + Held + Lent. Lent includes
	// pages that are home but were not reclaimed yet.
	Pages  int `json:"pages"`
	Free   int `json:"free"`
	Posted int `json:"posted"`
	Held   int `json:"held"`
	Lent   int `json:"lent"`
	// LentHighWater is the most pages that were ever lent at one time.
	LentHighWater int `json:"lent_high_water"`
}

// counters are what Stats cannot work out.
type counters struct {
	allocFast, allocSlow, allocEmpty uint64
	recycleCached, recycleRing       uint64
	scanned                          uint64
	copiedShort, copiedLimit         uint64
	lentHighWater                    int
}

// Stats returns the counters and gauges. Owner only: plain counters are what
// keeps the path of a frame free of atomics. An owner that others ask publishes
// a copy now and then.
func (p *Pool) Stats() Stats {
	return Stats{
		AllocFast:      p.stats.allocFast,
		AllocSlow:      p.stats.allocSlow,
		AllocEmpty:     p.stats.allocEmpty,
		RecycleCached:  p.stats.recycleCached,
		RecycleRing:    p.stats.recycleRing,
		ReclaimScanned: p.stats.scanned,
		CopiedShort:    p.stats.copiedShort,
		CopiedLimit:    p.stats.copiedLimit,
		Pages:          len(p.state),
		Free:           len(p.free),
		Posted:         p.posted,
		Held:           p.held,
		Lent:           len(p.lent),
		LentHighWater:  p.stats.lentHighWater,
	}
}

// Check proves the page sum: each page is in exactly one state, and the lists
// and counts agree with it. With Config.Poison it also proves that nobody wrote
// to a free page. It costs a walk over all pages and is meant for tests.
func (p *Pool) Check() error {
	var count [lent + 1]int
	for _, s := range p.state {
		count[s]++
	}
	want := [...]int{free: len(p.free), posted: p.posted, held: p.held, lent: len(p.lent)}
	if count != want {
		return fmt.Errorf("pagepool: check: pages by state (free, posted, held, lent) are %v, counted %v", count, want)
	}
	seen := make([]bool, len(p.state))
	for _, l := range []struct {
		s     state
		pages []Page
	}{{free, p.free}, {lent, p.lent}} {
		for _, pg := range l.pages {
			if int(pg) >= len(seen) || seen[pg] || p.state[pg] != l.s {
				return fmt.Errorf("pagepool: check: page %d is twice or wrongly in the list of %v pages", pg, l.s)
			}
			seen[pg] = true
		}
	}
	if !p.poison || p.mem == nil {
		return nil
	}
	for _, pg := range p.free {
		for i, b := range p.Bytes(pg) {
			if b != poisonByte {
				return fmt.Errorf("pagepool: check: byte %d of free page %d was written: is %#02x, want %#02x", i, pg, b, poisonByte)
			}
		}
	}
	return nil
}
