package ring

import (
	"fmt"

	"github.com/barewire/barewire/pagepool"
)

// minFrame is the shortest frame that is delivered, in bytes without FCS: an
// Ethernet header. Shorter ones are counted as bad lengths.
const minFrame = 14

// refillBatch is how many slots must be empty before Refill posts, so that a
// trickle of frames does not cost a doorbell each.
const refillBatch = 16

// RXConfig describes a receive ring.
type RXConfig struct {
	Codec RXCodec
	Pool  *pagepool.Pool

	// Slots is the number of descriptors, 2 or more. Reserve of them always stay
	// empty (RXCodec cores that cannot tell full from empty need one).
	Slots, Reserve int

	// Headroom is where in a page the device starts to write, BufferSize how many
	// bytes it may write there. Both together fit a page.
	Headroom, BufferSize int

	// MaxFrame is the longest frame accepted, in bytes with the Ethernet header
	// and VLAN tags, without FCS.
	MaxFrame int

	// TotalLength says that Completion.Len is the frame's length and comes with
	// its last descriptor; the others are full.
	TotalLength bool

	// Skip is how many bytes the device puts before each frame, in its first
	// buffer (the Marvell header). Completion.Len includes them.
	Skip int

	// Pooled says that the device keeps posted buffers in a pool of its own and
	// takes any of them for any slot: Completion.Addr tells which one. The ring is
	// the only one to post pages of Pool then.
	Pooled bool
}

// RX is the engine of one receive ring. It owns the pages that are posted and
// those of a frame still in assembly.
//
// RX has one owner, the poll goroutine of its queue; nothing here is locked.
//
// The slots from head on, posted many, belong to the device until their status
// says otherwise; the rest are empty. Whether a posted slot is done is known
// only from its status word, which is read once. A harvested slot is empty at
// once: its page has left it for a frame, or for the pool when the frame is
// dropped. So a dropped frame's slot is re-armed the way every slot is, by
// Refill, which writes the whole descriptor.
type RX struct {
	cfg    RXConfig
	judge  Judge // the codec, when it is one
	limit  int   // most slots posted at once
	batch  int   // fewest slots worth a doorbell
	head   int   // oldest posted slot
	fill   int   // next slot to post
	posted int
	pages  []pagepool.Page // per slot; valid while posted, and unless Pooled

	completions []Completion
	buffers     []Buffer

	// Pieces of the frames of one Harvest, then of the frame in assembly.
	pieces   []Piece
	start    int // first piece of the frame in assembly
	open     bool
	length   uint32 // bytes of the frame in assembly, Trim included
	skipping bool   // the rest of this frame is to be dropped

	every int // ask for an interrupt with every n-th slot; 0 never
	since int // slots posted since the last one that asked

	stats RXStats
}

// Piece is a part of a received frame: Len bytes at Off in Page.
type Piece struct {
	Page pagepool.Page
	Off  uint32
	Len  uint32
}

// Frame is a received frame, without FCS. Its pages are held by the receiver,
// who lends or recycles each of them.
type Frame struct {
	// Pieces is valid until the next Harvest.
	Pieces []Piece
	// Len is the sum of the pieces, at least 14.
	Len uint32
	// Flags holds ChecksumGood or ChecksumBad when the device has checked, and
	// Trailer when Trailer is valid.
	Flags Flags
	// Trailer is what followed the frame's bytes, the first byte lowest.
	Trailer uint32
}

// RXStats counts what a receive ring has done since it was made.
type RXStats struct {
	Frames      uint64 `json:"frames"`
	Bytes       uint64 `json:"bytes"`
	Descriptors uint64 `json:"descriptors"`
	Doorbells   uint64 `json:"doorbells"`
	// NoPage counts refills that ended for want of a free page.
	NoPage uint64 `json:"no_page"`
	// Abandoned counts frames given up half received, because their pages were
	// the last ones and the device had none left to end them with.
	Abandoned uint64 `json:"abandoned"`
	// Frames dropped, by reason. The device said so:
	CRC      uint64 `json:"crc"`
	Length   uint64 `json:"length"`
	Overflow uint64 `json:"overflow"`
	Framing  uint64 `json:"framing"`
	Receive  uint64 `json:"receive"`
	// Found by the ring itself: a length the device cannot have meant; frames
	// longer than MaxFrame; descriptors without a first one; frames without a
	// last one.
	BadLength    uint64 `json:"bad_length"`
	TooLong      uint64 `json:"too_long"`
	MissingFirst uint64 `json:"missing_first"`
	MissingLast  uint64 `json:"missing_last"`
	// UnknownBuffer counts frames in a buffer that the device did not have, with
	// RXConfig.Pooled. The one that it did take stays posted until Reset.
	UnknownBuffer uint64 `json:"unknown_buffer"`
}

// Dropped is the number of frames dropped for any reason.
func (s RXStats) Dropped() uint64 {
	return s.Abandoned + s.CRC + s.Length + s.Overflow + s.Framing + s.Receive + s.BadLength + s.TooLong + s.MissingFirst + s.MissingLast + s.UnknownBuffer
}

// NewRX makes an engine with all slots empty.
func NewRX(cfg RXConfig) (*RX, error) {
	switch {
	case cfg.Codec == nil || cfg.Pool == nil:
		return nil, fmt.Errorf("ring: receive ring needs a codec and a pool")
	case cfg.Slots < 2 || cfg.Reserve < 0 || cfg.Slots-cfg.Reserve < 1:
		return nil, fmt.Errorf("ring: %d receive slots with %d reserved: need at least 2, one of them usable", cfg.Slots, cfg.Reserve)
	case cfg.Headroom < 0 || cfg.BufferSize < 1 || cfg.Headroom+cfg.BufferSize > cfg.Pool.PageSize():
		return nil, fmt.Errorf("ring: headroom %d and buffer size %d do not fit a page of %d bytes", cfg.Headroom, cfg.BufferSize, cfg.Pool.PageSize())
	case cfg.Skip < 0 || cfg.Skip >= cfg.BufferSize:
		return nil, fmt.Errorf("ring: %d bytes before each frame do not fit a buffer of %d", cfg.Skip, cfg.BufferSize)
	case cfg.MaxFrame < minFrame:
		return nil, fmt.Errorf("ring: longest frame %d: need at least %d", cfg.MaxFrame, minFrame)
	}
	r := &RX{cfg: cfg, limit: cfg.Slots - cfg.Reserve}
	r.judge, _ = cfg.Codec.(Judge)
	r.batch = max(1, min(refillBatch, r.limit/4))
	r.pages = make([]pagepool.Page, cfg.Slots)
	r.completions = make([]Completion, min(cfg.Slots, 64))
	r.buffers = make([]Buffer, min(cfg.Slots, 64))
	// One call meets each posted slot once; pieces carried in from the last call
	// are at most one frame's, which has framePieces at most.
	r.pieces = make([]Piece, 0, cfg.Slots+r.framePieces())
	return r, nil
}

// maxWire is the longest frame with everything that may be trimmed from it.
func (r *RX) maxWire() uint32 { return uint32(r.cfg.Skip+r.cfg.MaxFrame) + 255 }

// framePieces bounds the pieces of one frame: those of the longest, and one more
// that may be short. Without it a device could take every page for one frame by
// filling a byte of each.
func (r *RX) framePieces() int { return int(r.maxWire())/r.cfg.BufferSize + 2 }

// SetMaxFrame changes the longest frame accepted, in bytes without FCS.
func (r *RX) SetMaxFrame(n int) {
	r.cfg.MaxFrame = max(n, minFrame)
	if need := r.cfg.Slots + r.framePieces(); cap(r.pieces) < need {
		p := make([]Piece, len(r.pieces), need)
		copy(p, r.pieces)
		r.pieces = p
	}
}

// SetInterrupts asks for an interrupt with every n-th slot posted from now on;
// 0 asks for none. n is never more than half of the ring, so that a device
// without a watchdog interrupts before it runs out of posted slots.
func (r *RX) SetInterrupts(n int) { r.every, r.since = min(n, max(1, r.limit/2)), 0 }

// Posted is the number of slots that the device owns or has handed back
// unharvested. Capacity is its upper bound.
func (r *RX) Posted() int { return r.posted }

// Capacity is the largest number of slots posted at once.
func (r *RX) Capacity() int { return r.limit }

// Assembling is the number of pages held by a frame whose last descriptor has
// not come yet.
func (r *RX) Assembling() int { return len(r.pieces) - r.start }

// Stats returns the counts so far.
func (r *RX) Stats() RXStats { return r.stats }

// Harvest takes what the device has handed back and fills frames with it. It
// returns the number of frames, fewer than len(frames) only when the device has
// no more. Dropped frames are counted and take no place. A frame of which only
// some descriptors are done goes on in the next call.
func (r *RX) Harvest(frames []Frame) int {
	// The frames of the last call are gone; what is in assembly moves to the
	// front.
	r.pieces = append(r.pieces[:0], r.pieces[r.start:]...)
	r.start = 0

	n := 0
	for n < len(frames) && r.posted > 0 {
		// A completion ends at most one frame, so this never yields too many.
		want := min(len(frames)-n, r.posted, len(r.completions))
		got := r.cfg.Codec.Harvest(r.head, r.completions[:want])
		for i := range r.completions[:got] {
			page, ok := r.take(&r.completions[i])
			switch {
			case !ok:
				r.unknown(&r.completions[i])
			case r.accept(page, &r.completions[i], &frames[n]):
				n++
			}
		}
		r.stats.Descriptors += uint64(got)
		if got < want {
			break
		}
	}
	if r.judge != nil && n > 0 {
		r.judge.Judge(r.cfg.Pool, frames[:n])
	}
	return n
}

// take empties the oldest posted slot and returns the page that the device has
// filled for it. ok is false when the device names one that it was not given.
func (r *RX) take(c *Completion) (page pagepool.Page, ok bool) {
	page = r.pages[r.head]
	if r.head++; r.head == r.cfg.Slots {
		r.head = 0
	}
	r.posted--
	if r.cfg.Pooled {
		if page, ok = r.cfg.Pool.Posted(c.Addr - uint64(r.cfg.Headroom)); !ok {
			return 0, false
		}
	}
	r.cfg.Pool.Claim(page)
	return page, true
}

// Refill posts free pages into the empty slots and rings the doorbell once. It
// does nothing while only a few slots are empty. ok is false when the pool ran
// out of pages before the ring was full: since no interrupt may come any more,
// the owner must call again when pages may have come home.
//
// When not even one slot can be posted and a frame in assembly holds pages, it
// is given up: the device has no buffer left to end it with.
func (r *RX) Refill() (ok bool) {
	if r.limit-r.posted < r.batch {
		return true
	}
	before := r.posted
	ok = r.post()
	if r.posted == 0 && r.Assembling() > 0 {
		r.drop(&r.stats.Abandoned)
		ok = r.post()
	}
	if !ok {
		r.stats.NoPage++
	}
	if r.posted > before {
		r.Kick()
	}
	return ok
}

// post fills empty slots until there are none, or no pages, which it reports as
// false.
func (r *RX) post() bool {
	for r.posted < r.limit {
		n := min(r.limit-r.posted, len(r.buffers))
		got := r.allocate(n)
		if got > 0 {
			r.cfg.Codec.Post(r.fill, r.buffers[:got])
			r.fill = (r.fill + got) % r.cfg.Slots
			r.posted += got
		}
		if got < n {
			return false
		}
	}
	return true
}

// allocate puts up to n free pages into the slots from fill on and describes
// them in r.buffers.
func (r *RX) allocate(n int) int {
	slot := r.fill
	for i := range n {
		page, ok := r.cfg.Pool.Alloc()
		if !ok {
			return i
		}
		r.cfg.Pool.SyncForDevice(page, r.cfg.Headroom, r.cfg.BufferSize)
		r.pages[slot] = page
		if slot++; slot == r.cfg.Slots {
			slot = 0
		}
		r.since++
		interrupt := r.every > 0 && r.since >= r.every
		if interrupt {
			r.since = 0
		}
		r.buffers[i] = Buffer{Addr: r.cfg.Pool.Addr(page) + uint64(r.cfg.Headroom), Interrupt: interrupt}
	}
	return n
}

// Kick rings the doorbell for all that is posted. Refill does so by itself;
// a core that suspends on an empty ring wants it again although nothing moved.
func (r *RX) Kick() {
	r.stats.Doorbells++
	r.cfg.Codec.Kick(r.fill)
}

// Reset takes every page back from a device that has been stopped and empties
// the ring. The frame in assembly is dropped.
func (r *RX) Reset() {
	if r.cfg.Pooled {
		r.cfg.Pool.Unpost()
		r.posted = 0
	}
	for r.posted > 0 {
		page, _ := r.take(nil)
		r.cfg.Pool.Recycle(page)
	}
	if r.open && !r.skipping {
		r.drop(&r.stats.MissingLast)
	}
	r.open, r.skipping = false, false
	r.head, r.fill, r.since = 0, 0, 0
	r.cfg.Codec.Reset()
}
