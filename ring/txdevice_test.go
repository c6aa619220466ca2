package ring_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

const (
	txBase  = 0x8000_0000
	txPiece = 256
)

// txDevice is the codec and the device of a transmit ring. Frames are read from
// the arena when they are sent, not when they are filled in, and it fails the
// test on every breach of the TXCodec contract.
type txDevice struct {
	t       testing.TB
	arena   []byte
	piece   int
	context int // slots a frame with an MSS takes beside its pieces
	reserve int
	counter func(done int) int // nil: progress is read from descriptors

	slots      []txSlot
	fill, send int // next slot to fill, to send
	unrung     int // slots filled and not rung
	ready      int // slots rung and not sent
	answered   int // first slot that Done has not answered for
	used       int // slots that Done has not answered for

	kicks, reads int
	sent         [][]byte
	marks        []bool // Interrupt of every frame ever filled
	filled       int    // bytes of frames filled
}

type txSlot struct {
	state txState
	last  bool
	frame ring.TXFrame
}

type txState uint8

const (
	txFree  txState = iota // never used, or Done has said so
	txOwned                // the device's
	txSent
)

var _ ring.TXCodec = (*txDevice)(nil)

func (d *txDevice) Fill(at int, frames []ring.TXFrame) {
	if d.fill != at || len(frames) == 0 {
		d.t.Fatalf("%d frames filled in at %d instead of %d", len(frames), at, d.fill)
	}
	for i := range frames {
		f := &frames[i]
		off := f.Addr - txBase
		if off%64 != 0 || f.Len == 0 || off+uint64(f.Len) > uint64(len(d.arena)) || f.Slots != 0 ||
			len(f.Data) != int(f.Len) || &f.Data[0] != &d.arena[off] {
			d.t.Fatalf("frame %+v", *f)
		}
		f.Slots = (int(f.Len) + d.piece - 1) / d.piece
		if f.MSS != 0 {
			f.Slots += d.context
		}
		for range f.Slots {
			s := &d.slots[d.fill]
			if s.state != txFree {
				d.t.Fatalf("slot %d was filled while in use", d.fill)
			}
			*s = txSlot{state: txOwned}
			d.fill = d.next(d.fill)
			d.unrung++
			d.used++
		}
		last := &d.slots[(d.fill+len(d.slots)-1)%len(d.slots)]
		last.last, last.frame = true, *f
		d.marks = append(d.marks, f.Interrupt)
		d.filled += int(f.Len)
	}
	if d.used > len(d.slots)-d.reserve {
		d.t.Fatalf("%d slots in use of %d with %d reserved", d.used, len(d.slots), d.reserve)
	}
}

func (d *txDevice) Kick(next int) {
	if d.fill != next {
		d.t.Fatalf("the doorbell says %d, filled up to %d", next, d.fill)
	}
	d.ready, d.unrung = d.ready+d.unrung, 0
	d.kicks++
}

func (d *txDevice) Done(from, mark, pending int) int {
	d.reads++
	distance := (mark-from+len(d.slots))%len(d.slots) + 1
	switch {
	case pending > len(d.slots)-d.reserve || (from+pending)%len(d.slots) != d.fill:
		d.t.Fatalf("%d slots in use from %d, filled up to %d", pending, from, d.fill)
	case distance > pending || !d.slots[mark].last:
		d.t.Fatalf("slot %d is not the last of a frame among %d from %d", mark, pending, from)
	}
	known := (d.answered - from + len(d.slots)) % len(d.slots) // said before and not taken
	if d.slots[from].state == txFree && known == 0 {
		known = pending
	}
	done := known
	for done < pending && d.slots[(from+done)%len(d.slots)].state == txSent {
		done++
	}
	switch {
	case d.counter != nil:
		done = max(known, d.counter(done))
	case done >= distance:
		done = distance
	default:
		done = 0
	}
	for i := known; i < done; i++ {
		d.slots[d.answered].state = txFree
		d.used--
		d.answered = d.next(d.answered)
	}
	return done
}

func (d *txDevice) Reset() {
	clear(d.slots)
	d.fill, d.send, d.unrung, d.ready, d.answered, d.used = 0, 0, 0, 0, 0, 0
}

func (d *txDevice) next(slot int) int { return (slot + 1) % len(d.slots) }

// transmit sends up to n frames that were rung for and reports how many it sent.
func (d *txDevice) transmit(n int) int {
	for i := range n {
		if d.ready == 0 {
			return i
		}
		for done := false; !done; d.send = d.next(d.send) {
			s := &d.slots[d.send]
			if s.state != txOwned {
				d.t.Fatalf("the device ran into slot %d, which it does not own", d.send)
			}
			s.state = txSent
			d.ready--
			if done = s.last; done {
				off := s.frame.Addr - txBase
				d.sent = append(d.sent, append([]byte(nil), d.arena[off:off+uint64(s.frame.Len)]...))
			}
		}
	}
	return n
}

// txRig is a transmit ring and its device.
type txRig struct {
	t   testing.TB
	dev *txDevice
	tx  *ring.TX
	n   int // frames committed
}

type txOptions struct {
	slots, reserve, arena, context, marks, piece, min int
	counter                                           func(int) int
}

func newTXRig(t testing.TB, o txOptions) *txRig {
	t.Helper()
	if o.arena == 0 {
		o.arena = 2048 * o.slots
	}
	if o.piece == 0 {
		o.piece = txPiece
	}
	mem := pagepool.NewHeap(o.arena, txBase)
	dev := &txDevice{
		t: t, arena: mem.Bytes(), piece: o.piece, context: o.context, reserve: o.reserve,
		counter: o.counter, slots: make([]txSlot, o.slots),
	}
	tx, err := ring.NewTX(ring.TXConfig{
		Codec: dev, Arena: mem, Slots: o.slots, Reserve: o.reserve,
		MaxPiece: o.piece, MinFrame: o.min, ContextSlots: o.context, MarkFrames: o.marks,
	})
	require.NoError(t, err)
	return &txRig{t: t, dev: dev, tx: tx}
}

// reserve is Reserve, with what must hold whatever it answers.
func (r *txRig) reserve(n int) []byte {
	b := r.tx.Reserve(n)
	if r.tx.InUse() > r.tx.Capacity() {
		r.t.Fatalf("%d slots in use of %d", r.tx.InUse(), r.tx.Capacity())
	}
	if b != nil && (len(b) != n || cap(b) != n) {
		r.t.Fatalf("reserved %d bytes, got %d of %d", n, len(b), cap(b))
	}
	return b
}

// put queues the next frame, of n bytes, and reports whether there was space.
func (r *txRig) put(n int) bool {
	b := r.reserve(n)
	if b == nil {
		return false
	}
	copy(b, pattern(r.n, n))
	r.tx.Commit(ring.TXFrame{})
	r.n++
	return true
}

// drain has the device send everything and the ring reap it.
func (r *txRig) drain() {
	r.tx.Flush()
	r.dev.transmit(len(r.dev.slots))
	for r.tx.Reap() > 0 {
	}
	require.Zero(r.t, r.tx.InUse())
}

// arrived checks that the frames put so far were sent as they were put, in order,
// and nothing twice.
func (r *txRig) arrived() {
	require.Len(r.t, r.dev.sent, r.n)
	for i, b := range r.dev.sent {
		if !bytes.Equal(pattern(i, len(b)), b) {
			r.t.Fatalf("frame %d arrived spoiled or in the wrong place", i)
		}
	}
}
