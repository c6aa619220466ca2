package cable

import "sync/atomic"

// Stats are the counts of one direction since Connect.
type Stats struct {
	// Queued frames were taken from the sender; Delivered and Bytes were handed
	// to the receiver.
	Queued    uint64 `json:"queued"`
	Delivered uint64 `json:"delivered"`
	Bytes     uint64 `json:"bytes"`
	// Waited counts frames whose sender had to wait for space.
	Waited uint64 `json:"waited"`
	// Dropped frames found the FIFO or the delay line full, or a queue that Close
	// had just closed.
	Dropped uint64 `json:"dropped"`
	// TooLong frames exceeded MaxFrame, LinkDown ones were sent while the link
	// was down or the cable unplugged, Discarded ones were under way when it was.
	TooLong   uint64 `json:"too_long"`
	LinkDown  uint64 `json:"link_down"`
	Discarded uint64 `json:"discarded"`
	// Pauses are pause frames that the sender had the cable obey.
	Pauses uint64 `json:"pauses"`
	// What the impairments did.
	Lost       uint64 `json:"lost"`
	Corrupted  uint64 `json:"corrupted"`
	Duplicated uint64 `json:"duplicated"`
	Swapped    uint64 `json:"swapped"`
	Delayed    uint64 `json:"delayed"`
}

type counters struct {
	queued, delivered, bytes, waited, dropped         atomic.Uint64
	tooLong, linkDown, discarded, pauses              atomic.Uint64
	lost, corrupted, duplicated, swapped, delayedSent atomic.Uint64
}

// Stats returns the counts of a direction.
func (c *Cable) Stats(dir Direction) Stats {
	s := &c.dirs[dir&1].stats
	return Stats{
		Queued:     s.queued.Load(),
		Delivered:  s.delivered.Load(),
		Bytes:      s.bytes.Load(),
		Waited:     s.waited.Load(),
		Dropped:    s.dropped.Load(),
		TooLong:    s.tooLong.Load(),
		LinkDown:   s.linkDown.Load(),
		Discarded:  s.discarded.Load(),
		Pauses:     s.pauses.Load(),
		Lost:       s.lost.Load(),
		Corrupted:  s.corrupted.Load(),
		Duplicated: s.duplicated.Load(),
		Swapped:    s.swapped.Load(),
		Delayed:    s.delayedSent.Load(),
	}
}
