package pagepool

const (
	// scanMax bounds the pages that one Reclaim looks at. A look costs about a
	// nanosecond, as the reference counts lie side by side.
	scanMax = 512
	// scanYield is how many looks one page found may cost. A scan that finds
	// fewer makes Reclaim skip its next calls, so that pages come home in the
	// meantime and the next scan pays again.
	scanYield = 16
	// skipMax bounds how many calls in a row are skipped.
	skipMax = 8
)

// scan is where Reclaim goes on.
type scan struct {
	next int // index in Pool.lent
	skip int // calls still to skip
	last int // calls skipped after the last poor scan
}

// Reclaim frees the lent pages that have come home: those whose views were all
// released. Call it once per batch, before refilling; early and last-in
// first-out is what keeps pages warm.
//
// It is bounded: it looks at 512 pages at most, going round, and after a scan
// that found less than one page in 16 it does nothing for the next 1, 2, 4 and
// then 8 calls. ReclaimAll has no bounds.
func (p *Pool) Reclaim() {
	if len(p.lent) == 0 {
		return
	}
	if p.scan.skip > 0 {
		p.scan.skip--
		return
	}
	looks := min(len(p.lent), scanMax)
	if p.reclaim(looks)*scanYield >= looks {
		p.scan.last = 0
		return
	}
	p.scan.last = min(max(1, 2*p.scan.last), skipMax)
	p.scan.skip = p.scan.last
}

// ReclaimAll looks at every lent page, whatever the bounds of Reclaim, and
// returns how many stay lent. It is for a queue that falls idle, for tests and
// for shutting down.
func (p *Pool) ReclaimAll() int {
	p.reclaim(len(p.lent))
	p.scan = scan{}
	return len(p.lent)
}

// reclaim looks at the given number of lent pages, len(p.lent) at most, frees
// those that are home and returns how many that were.
func (p *Pool) reclaim(looks int) (found int) {
	i := p.scan.next
	if looks == len(p.lent) {
		i = 0 // from the start no page is looked at twice and none is missed
	}
	for range looks {
		if i >= len(p.lent) {
			i = 0
		}
		pg := p.lent[i]
		if !p.lender.home(pg) {
			i++
			continue
		}
		last := len(p.lent) - 1
		p.lent[i] = p.lent[last]
		p.lent = p.lent[:last]
		p.toFree(pg)
		found++
	}
	p.scan.next = i
	p.stats.scanned += uint64(looks)
	p.stats.recycleRing += uint64(found)
	return found
}
