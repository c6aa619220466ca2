// Package pagepool holds the receive pages of one queue and lends them to
// netstack without copying.
//
// # States
//
// A page is in one of four states, and the four counts always add up to the
// size of the pool:
//
//	        Alloc            Claim            Lend
//	free ----------> posted -------> held ----------> lent
//	  ^                ^    Repost    | |               |
//	  |                +--------------+ |               |
//	  +----------- Recycle -------------+               |
//	  +----------- Reclaim (last reference dropped) ----+
//
// Posted pages belong to the device, held pages to the queue that assembles a
// frame, lent pages to netstack and the application. A change that does not
// start in the state it needs (a page recycled twice, a claim of a page that
// was never posted) is a bug of the caller after which DMA would write into
// somebody else's data. It panics, with the page and both states in the
// message. A device cannot cause it: it names ring slots, never pages.
//
// # Ownership
//
// A Pool has one owner, the poll goroutine of its queue, and no lock: one pool
// per queue. Everybody else touches only the views made by Lend. Those may be
// cloned, read and released from any goroutine, at any time, also after Close.
//
// # Lending
//
// gVisor has no public way to wrap memory that it did not allocate. So each page
// has a reference-counted gVisor chunk whose bytes are the page, made once and
// kept for ever by a master view. Lend hands out a clone of the master; the
// page is home again when the chunk's reference count is back to one. That count
// is the only signal that can be trusted: PacketBufferOptions.OnRelease runs
// while clones of the packet still sit in socket queues.
//
// netstack copies a shared view as soon as it parses a header in it. A lent
// frame is therefore split: its headers, exactly, in a small view of their own
// and its payload from the page, joined with buffer.Buffer.Merge (Append would
// copy payload into the spare room behind the headers).
//
// Field positions are found by reflection and proved by a self-test in New. When
// gVisor's layout changes, CanLend says so, Lend refuses and callers copy.
//
// # Never starving the ring
//
// Lend refuses beyond Config.MaxLent. While MaxLent is at most Pages minus the
// slots of the ring, Alloc always finds a page for an empty slot, however slow a
// reader is.
package pagepool
