package ring

import (
	"fmt"

	"github.com/barewire/barewire/pagepool"
)

// txBatch is how many frames are handed to the codec at once.
const txBatch = 64

// arenaAlign is the alignment of a frame in the transmit arena, in bytes: a cache
// line, so that the sync of one frame never touches another.
const arenaAlign = 64

// TXConfig describes a transmit ring.
type TXConfig struct {
	Codec TXCodec

	// Arena is where frames are gathered. It holds at least one frame of the
	// largest size that Reserve is asked for.
	Arena pagepool.Memory

	// Slots is the number of descriptors, 2 or more. Reserve of them always stay
	// empty.
	Slots, Reserve int

	// MaxPiece is the largest buffer of one descriptor in bytes; longer frames
	// take several. ContextSlots is how many more slots a frame may take.
	MaxPiece, ContextSlots int

	// MinFrame is the shortest frame that the device sends, in bytes without FCS:
	// shorter ones are filled up with zeros. 0 where the device does that.
	MinFrame int

	// MarkFrames is how many frames lie between two marks. A mark is a frame with
	// an interrupt request; the ring is reaped from mark to mark.
	MarkFrames int
}

// TX is the engine of one transmit ring and its arena.
//
// TX has one owner at a time; senders serialise with a lock of their own. The
// slots from tail on, used many, belong to the device until Reap finds them
// done. The arena is a FIFO byte ring: a frame's bytes are free when its slots
// are.
//
// A sender calls Reserve, fills the bytes and calls Commit, as often as it has
// frames, and then Flush. No frame is sent before Flush.
type TX struct {
	cfg   TXConfig
	limit int

	head, tail int // next slot to fill; oldest slot in use
	used       int // slots in use by the device

	// Frames committed and not yet filled, and the most slots they can take.
	batch      []TXFrame
	batchEnd   []int // arena position after each frame of the batch
	batchSlots int
	rung       bool // no slot was filled since the last doorbell

	arena      []byte
	arenaAddr  uint64
	arenaHead  int // next free byte; the length of the arena at its end
	arenaUsed  int
	reserved   int // bytes of the frame being written; 0 when none
	reservedAt int // where in the arena
	coherent   bool
	ends       []frameEnd // per slot; valid where a frame in use by the device ends

	marks     []int // slots of marked frames in flight, oldest first, a FIFO ring
	markAt    int
	markCount int
	sinceMark struct{ frames, slots, bytes int }
	sinceReap int  // frames committed since the last look at the device
	vain      bool // that look found nothing

	filled uint64 // frames ever handed to the codec
	done   uint64 // those of them found done, or forgotten by Reset
	stats  TXStats
}

// frameEnd is what is to be known of a frame when the device is done with it.
type frameEnd struct {
	arena int    // arenaHead as it was after the frame
	frame uint64 // TX.filled as it was after the frame
}

// TXStats counts what a transmit ring has done since it was made.
type TXStats struct {
	Frames    uint64 `json:"frames"`
	Bytes     uint64 `json:"bytes"`
	Slots     uint64 `json:"descriptors"`
	Doorbells uint64 `json:"doorbells"`
	// Marks counts frames that carried an interrupt request.
	Marks uint64 `json:"marks"`
	// Reaps counts looks at the device's progress: descriptor reads, on cores
	// that show it in descriptors.
	Reaps uint64 `json:"reaps"`
	// Full counts frames that found no slot or no arena space.
	Full uint64 `json:"full"`
}

// NewTX makes an engine with all slots empty.
func NewTX(cfg TXConfig) (*TX, error) {
	switch {
	case cfg.Codec == nil || cfg.Arena == nil:
		return nil, fmt.Errorf("ring: transmit ring needs a codec and an arena")
	case cfg.Slots < 2 || cfg.Reserve < 0 || cfg.Slots-cfg.Reserve < 1+cfg.ContextSlots:
		return nil, fmt.Errorf("ring: %d transmit slots with %d reserved: a frame needs %d", cfg.Slots, cfg.Reserve, 1+cfg.ContextSlots)
	case cfg.MaxPiece < 1:
		return nil, fmt.Errorf("ring: largest piece %d: need at least 1 byte", cfg.MaxPiece)
	case len(cfg.Arena.Bytes()) < arenaAlign:
		return nil, fmt.Errorf("ring: transmit arena of %d bytes: need at least %d", len(cfg.Arena.Bytes()), arenaAlign)
	}
	size := len(cfg.Arena.Bytes()) / arenaAlign * arenaAlign
	t := &TX{
		cfg:       cfg,
		limit:     cfg.Slots - cfg.Reserve,
		batch:     make([]TXFrame, 0, min(txBatch, cfg.Slots)),
		batchEnd:  make([]int, 0, min(txBatch, cfg.Slots)),
		rung:      true,
		arena:     cfg.Arena.Bytes()[:size:size],
		arenaAddr: cfg.Arena.DeviceAddr(),
		coherent:  cfg.Arena.Coherent(),
		ends:      make([]frameEnd, cfg.Slots),
		marks:     make([]int, cfg.Slots),
	}
	t.SetMarkFrames(cfg.MarkFrames)
	return t, nil
}

// SetMarkFrames changes the distance of marks in frames. It is never more than a
// quarter of the ring, so that a full ring always has a mark to wait for; 0
// means a quarter of the ring.
func (t *TX) SetMarkFrames(n int) {
	quarter := max(1, t.limit/4)
	if n <= 0 || n > quarter {
		n = quarter
	}
	t.cfg.MarkFrames = n
}

// Slots is the largest number of slots that a frame of n bytes takes.
func (t *TX) Slots(n int) int {
	return (n+t.cfg.MaxPiece-1)/t.cfg.MaxPiece + t.cfg.ContextSlots
}

// InUse is the number of slots that the device has not been found done with.
// Capacity is its upper bound.
func (t *TX) InUse() int { return t.used + t.batchSlots }

// Capacity is the largest number of slots in use at once.
func (t *TX) Capacity() int { return t.limit }

// MaxFrame is the longest frame that an empty ring takes, in bytes.
func (t *TX) MaxFrame() int {
	return min(len(t.arena), (t.limit-t.cfg.ContextSlots)*t.cfg.MaxPiece)
}

// Stats returns the counts so far.
func (t *TX) Stats() TXStats { return t.stats }

// Reserve returns n contiguous bytes of the arena for the next frame, n being 1
// to MaxFrame, or nil when the ring or the arena is full. The bytes hold
// whatever was there: the caller overwrites all of them. A frame that is
// reserved and never committed is forgotten with the next Reserve.
//
// Only when it finds no space does it look for what the device is done with:
// reaping is lazy, and each look costs descriptor reads. A caller that waits for
// space calls Flush first.
func (t *TX) Reserve(n int) []byte {
	if n < 1 || n > t.MaxFrame() {
		return nil
	}
	length := max(n, t.cfg.MinFrame)
	slots, size := t.Slots(length), align(length)
	if !t.fits(slots, size) && (t.Reap() == 0 || !t.fits(slots, size)) {
		t.stats.Full++
		return nil
	}
	at := t.arenaHead
	if len(t.arena)-at < size {
		at = 0
	}
	t.reserved, t.reservedAt = length, at
	clear(t.arena[at+n : at+length])
	return t.arena[at : at+n : at+n]
}

// fits reports whether slots and size contiguous arena bytes are free. Bytes left
// over at the end of the arena, when too few, are passed over and count as used.
func (t *TX) fits(slots, size int) bool {
	if t.arenaUsed == 0 {
		t.arenaHead = 0
	}
	if end := len(t.arena) - t.arenaHead; end < size {
		size += end
	}
	return t.limit-t.InUse() >= slots && len(t.arena)-t.arenaUsed >= size
}

func align(n int) int { return (n + arenaAlign - 1) &^ (arenaAlign - 1) }

// Commit queues the frame whose bytes Reserve gave out. f says what the device
// is to do with it; Addr, Len, Data, Interrupt and Slots are set here.
func (t *TX) Commit(f TXFrame) {
	n, off := t.reserved, t.reservedAt
	if n == 0 {
		panic("ring: Commit without Reserve")
	}
	t.reserved = 0
	if !t.coherent {
		t.cfg.Arena.SyncForDevice(off, n)
	}
	size, slots := align(n), t.Slots(n)
	if off != t.arenaHead { // the bytes at the end of the arena were too few
		t.arenaUsed += len(t.arena) - t.arenaHead
	}
	t.arenaUsed += size
	t.arenaHead = off + size
	f.Addr, f.Len, f.Slots = t.arenaAddr+uint64(off), uint32(n), 0
	f.Data = t.arena[off : off+n : off+n]
	f.Interrupt = t.mark(slots, size)
	t.batch = append(t.batch, f)
	t.batchEnd = append(t.batchEnd, t.arenaHead)
	t.batchSlots += slots
	t.stats.Frames++
	t.stats.Bytes += uint64(n)
	if len(t.batch) == cap(t.batch) {
		t.fillBatch()
	}
}

// mark decides whether the frame being committed is a mark: every MarkFrames-th
// frame, and sooner when large frames would leave less than four marks in a full
// ring or arena.
func (t *TX) mark(slots, bytes int) bool {
	s := &t.sinceMark
	t.sinceReap++
	s.frames++
	s.slots += slots
	s.bytes += bytes
	if s.frames < t.cfg.MarkFrames && s.slots < t.limit/4 && s.bytes < len(t.arena)/4 {
		return false
	}
	s.frames, s.slots, s.bytes = 0, 0, 0
	t.stats.Marks++
	return true
}

// fillBatch writes descriptors for the frames committed so far.
func (t *TX) fillBatch() {
	if len(t.batch) == 0 {
		return
	}
	t.cfg.Codec.Fill(t.head, t.batch)
	for i := range t.batch {
		f := &t.batch[i]
		last := (t.head + f.Slots - 1) % t.cfg.Slots
		t.filled++
		t.ends[last] = frameEnd{arena: t.batchEnd[i], frame: t.filled}
		if f.Interrupt {
			t.marks[(t.markAt+t.markCount)%t.cfg.Slots] = last
			t.markCount++
		}
		t.head = (last + 1) % t.cfg.Slots
		t.used += f.Slots
		t.stats.Slots += uint64(f.Slots)
	}
	t.batch, t.batchEnd, t.batchSlots = t.batch[:0], t.batchEnd[:0], 0
	t.rung = false
}

// Flush gives all committed frames to the device and rings the doorbell once. It
// does nothing when there are none.
func (t *TX) Flush() {
	t.fillBatch()
	if !t.rung {
		t.Kick()
	}
}

// Post gives all committed frames to the device without a doorbell: the next
// Flush rings it.
func (t *TX) Post() { t.fillBatch() }

// Kick rings the doorbell for all that is filled, even when it was rung before:
// a core that suspends wants it again.
func (t *TX) Kick() {
	t.rung = true
	t.stats.Doorbells++
	t.cfg.Codec.Kick(t.head)
}

// Marked reports whether a marked frame is in flight, that is, whether an
// interrupt can say when there is more space.
func (t *TX) Marked() bool { return t.markCount > 0 }

// Reap frees slots and arena space that the device is done with and reports how
// many slots it freed. It asks about the oldest mark in flight. When that is done,
// and the last look was not in vain, it asks about the middle one of the others:
// so a device that keeps up costs two reads for half a ring, and one that does not
// one read for MarkFrames frames and one for each look in vain. When no mark is in
// flight, it asks about the newest frame: a large frame may find too little space
// behind a few small ones.
func (t *TX) Reap() int {
	t.sinceReap = 0
	switch {
	case t.used == 0:
		return 0
	case t.markCount == 0:
		return t.reapTo((t.head + t.cfg.Slots - 1) % t.cfg.Slots)
	}
	freed := t.reapTo(t.marks[t.markAt])
	if freed > 0 && t.markCount > 0 && !t.vain {
		freed += t.reapTo(t.marks[(t.markAt+t.markCount/2)%t.cfg.Slots])
	}
	t.vain = freed == 0
	return freed
}

// ReapDue reaps when enough frames have been committed since the last look for it
// to pay. The poll loop calls it in every pass, whatever receive is doing.
func (t *TX) ReapDue() int {
	if t.sinceReap < t.cfg.MarkFrames || t.InUse() < t.limit/4 {
		return 0
	}
	return t.Reap()
}

// reapTo asks the device about the frame that ends in slot last and releases what
// is done, in steps that end with a mark or that frame.
func (t *TX) reapTo(last int) int {
	t.stats.Reaps++
	want := t.distance(last)
	done := t.cfg.Codec.Done(t.tail, last, t.used)
	freed := 0
	for t.markCount > 0 {
		n := t.distance(t.marks[t.markAt])
		if freed+n > done {
			return freed
		}
		t.release(t.marks[t.markAt])
		t.markAt = (t.markAt + 1) % t.cfg.Slots
		t.markCount--
		freed += n
	}
	if freed < want && want <= done {
		t.release(last)
		freed = want
	}
	return freed
}

// distance is the number of slots from tail to slot, both included.
func (t *TX) distance(slot int) int {
	d := slot - t.tail
	if d < 0 {
		d += t.cfg.Slots
	}
	return d + 1
}

// release frees everything up to and including the frame that ends in slot last.
func (t *TX) release(last int) {
	t.used -= t.distance(last)
	t.tail = (last + 1) % t.cfg.Slots
	t.done = t.ends[last].frame
	// What is in use in the arena now runs from the end of this frame to
	// arenaHead. It is less than all, since this frame was in there, too.
	t.arenaUsed = t.arenaHead - t.ends[last].arena
	if t.arenaUsed < 0 {
		t.arenaUsed += len(t.arena)
	}
}

// Reset forgets every frame that a stopped device has not sent and empties the
// ring and the arena. It returns how many frames those are; frames sent since the
// last mark that Reap found done are among them.
func (t *TX) Reset() int {
	lost := int(t.filled-t.done) + len(t.batch)
	t.done = t.filled
	t.head, t.tail, t.used = 0, 0, 0
	t.batch, t.batchEnd, t.batchSlots = t.batch[:0], t.batchEnd[:0], 0
	t.rung = true
	t.arenaHead, t.arenaUsed, t.reserved = 0, 0, 0
	t.markAt, t.markCount = 0, 0
	t.sinceMark.frames, t.sinceMark.slots, t.sinceMark.bytes = 0, 0, 0
	t.sinceReap, t.vain = 0, false
	t.cfg.Codec.Reset()
	return lost
}
