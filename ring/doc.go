// Package ring is the descriptor ring engine that every core shares: it knows
// who owns each slot and each page, and nothing of a descriptor's layout.
//
// RX and TX are concrete types. What differs per core is a small codec
// (RXCodec, TXCodec) that works on batches. Both engines keep everything they
// must remember in ordinary Go memory beside the ring: descriptors are
// write-only but for one status read when they complete, since descriptor
// memory may be uncached and every read of it stalls.
//
// # Ownership
//
// A receive slot is in one of three states: empty (no buffer), posted (the
// device may write to its buffer) or done (the device has handed it back and its
// status has not been read yet). Empty slots and the others form two runs around
// the ring, held as an index and a count in Go memory, so "OWN is clear" alone
// never makes a slot full.
//
// An RX has one owner, the poll goroutine of its queue. A TX has one owner at a
// time: callers serialise with a lock of their own. Handing a ring over and
// back takes named steps: sync, barrier, OWN, doorbell.
package ring
