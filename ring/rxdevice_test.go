package ring_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Sizes of most receive tests: small, so that frames take several buffers and the
// poison of a page is checked quickly.
const (
	rxBase     = 0x4000_0000
	rxPage     = 256
	rxHeadroom = 64
	rxBuffer   = 192
	rxMaxFrame = 1522
)

// rxDevice is the codec and the device of a receive ring. It keeps its
// descriptors in Go memory, takes no more than it was given, overwrites what it
// hands back and fails the test on every breach of the RXCodec contract.
type rxDevice struct {
	t    testing.TB
	mem  []byte
	junk uint32 // state of a small generator for what the device need not say

	slots   []rxSlot
	armed   map[uint64]int // page address to slot
	reserve int

	post, device, harvest int // next slot to post, written, harvested
	unrung, avail, handed int // slots posted and not rung, the device's, handed back

	kicks, reads int
	asked        []bool // Interrupt of every buffer ever posted
}

type rxSlot struct {
	own  bool
	done bool
	addr uint64
	c    ring.Completion
}

var _ ring.RXCodec = (*rxDevice)(nil)

func (d *rxDevice) Post(from int, bufs []ring.Buffer) {
	if d.post != from || len(bufs) == 0 {
		d.t.Fatalf("%d slots posted at %d instead of %d", len(bufs), from, d.post)
	}
	for _, b := range bufs {
		s := &d.slots[d.post]
		if s.own || s.done {
			d.t.Fatalf("slot %d was posted while in use", d.post)
		}
		off := b.Addr - rxBase
		if off%rxPage != rxHeadroom || off+rxBuffer > uint64(len(d.mem)) {
			d.t.Fatalf("slot %d was armed with address %#x", d.post, b.Addr)
		}
		if other, ok := d.armed[b.Addr]; ok {
			d.t.Fatalf("slots %d and %d are armed with the same page", other, d.post)
		}
		d.armed[b.Addr] = d.post
		*s = rxSlot{own: true, addr: b.Addr}
		d.asked = append(d.asked, b.Interrupt)
		d.unrung++
		d.post = d.next(d.post)
	}
	if n := d.unrung + d.avail + d.handed; n > len(d.slots)-d.reserve {
		d.t.Fatalf("%d slots in use of %d with %d reserved", n, len(d.slots), d.reserve)
	}
}

func (d *rxDevice) Kick(next int) {
	if d.post != next {
		d.t.Fatalf("the doorbell says %d, posted up to %d", next, d.post)
	}
	d.avail, d.unrung = d.avail+d.unrung, 0
	d.kicks++
}

func (d *rxDevice) Harvest(from int, out []ring.Completion) int {
	if d.harvest != from || len(out) > d.unrung+d.avail+d.handed {
		d.t.Fatalf("looks at %d slots from %d: %d are posted from %d", len(out), from, d.unrung+d.avail+d.handed, d.harvest)
	}
	n := 0
	for n < len(out) {
		s := &d.slots[d.harvest]
		d.reads++
		if s.own {
			break
		}
		if !s.done {
			d.t.Fatalf("slot %d was harvested and is empty", d.harvest)
		}
		out[n] = s.c
		*s = rxSlot{}
		d.handed--
		d.harvest = d.next(d.harvest)
		n++
	}
	return n
}

func (d *rxDevice) Reset() {
	clear(d.slots)
	clear(d.armed)
	d.post, d.device, d.harvest = 0, 0, 0
	d.unrung, d.avail, d.handed = 0, 0, 0
}

func (d *rxDevice) next(slot int) int { return (slot + 1) % len(d.slots) }

func (d *rxDevice) random() uint32 {
	d.junk = d.junk*1664525 + 1013904223
	return d.junk
}

// complete writes data to the next buffer and hands it back with c. It reports
// false when the device has no buffer: the data is lost.
func (d *rxDevice) complete(data []byte, c ring.Completion) bool {
	if d.avail == 0 {
		return false
	}
	s := &d.slots[d.device]
	if !s.own || len(data) > rxBuffer {
		d.t.Fatalf("the device ran into slot %d, which it does not own", d.device)
	}
	copy(d.mem[s.addr-rxBase:], data)
	delete(d.armed, s.addr)
	*s = rxSlot{done: true, addr: uint64(d.random())<<32 | uint64(d.random()), c: c}
	d.avail--
	d.handed++
	d.device = d.next(d.device)
	return true
}

// receive is complete for a whole frame as it came from the wire, trailer and
// all. It reports false when the device ran out of buffers on the way.
func (d *rxDevice) receive(wire []byte, total bool, trim int, flags ring.Flags) bool {
	for off := 0; off < len(wire); off += rxBuffer {
		piece := wire[off:min(off+rxBuffer, len(wire))]
		c := ring.Completion{Len: uint32(len(piece))}
		if total {
			c.Len = d.random() // says nothing before the last descriptor
		}
		if off == 0 {
			c.Flags |= ring.First
		}
		if off+len(piece) == len(wire) {
			c.Flags |= ring.Last | flags
			c.Trim = uint8(trim)
			if total {
				c.Len = uint32(len(wire))
			}
		}
		if !d.complete(piece, c) {
			return false
		}
	}
	return true
}

// rxRig is a receive ring, its pool and its device.
type rxRig struct {
	t     testing.TB
	total bool
	pool  *pagepool.Pool
	dev   *rxDevice
	rx    *ring.RX
	out   []ring.Frame
}

type rxOptions struct {
	slots, reserve, pages int
	total                 bool
	maxFrame              int
}

func newRXRig(t testing.TB, o rxOptions) *rxRig {
	t.Helper()
	if o.pages == 0 {
		o.pages = 2 * o.slots
	}
	if o.maxFrame == 0 {
		o.maxFrame = rxMaxFrame
	}
	mem := pagepool.NewHeap(o.pages*rxPage, rxBase)
	pool, err := pagepool.New(mem, pagepool.Config{PageSize: rxPage, CopyBreak: pagepool.LendAlways, Poison: true})
	require.NoError(t, err)
	dev := &rxDevice{t: t, mem: mem.Bytes(), slots: make([]rxSlot, o.slots), armed: map[uint64]int{}, reserve: o.reserve, junk: 1}
	rx, err := ring.NewRX(ring.RXConfig{
		Codec: dev, Pool: pool, Slots: o.slots, Reserve: o.reserve,
		Headroom: rxHeadroom, BufferSize: rxBuffer, MaxFrame: o.maxFrame, TotalLength: o.total,
	})
	require.NoError(t, err)
	return &rxRig{t: t, total: o.total, pool: pool, dev: dev, rx: rx, out: make([]ring.Frame, 64)}
}

// check proves the page sum: posted by the ring, in assembly, held by the
// receiver, free.
func (r *rxRig) check(held int) {
	if err := r.pool.Check(); err != nil {
		r.t.Fatal(err)
	}
	s := r.pool.Stats()
	if slots := r.dev.unrung + r.dev.avail + r.dev.handed; s.Posted != r.rx.Posted() || slots != s.Posted || s.Held != r.rx.Assembling()+held {
		r.t.Fatalf("%d pages posted, %d held; in the device %d; in the ring %d posted, %d in assembly; %d held by the receiver",
			s.Posted, s.Held, slots, r.rx.Posted(), r.rx.Assembling(), held)
	}
}

// refill refills and checks.
func (r *rxRig) refill() bool {
	ok := r.rx.Refill()
	r.check(0)
	return ok
}

// send has the device receive frame with a trailer of trim bytes.
func (r *rxRig) send(frame []byte, trim int, flags ring.Flags) bool {
	wire := append(append([]byte(nil), frame...), 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6)[:len(frame)+trim]
	return r.dev.receive(wire, r.total, trim, flags)
}

// harvest takes at most budget frames, copies their bytes and recycles their
// pages.
func (r *rxRig) harvest(budget int) [][]byte {
	n := r.rx.Harvest(r.out[:budget])
	held := 0
	for i := range n {
		held += len(r.out[i].Pieces)
	}
	r.check(held)
	var got [][]byte
	for i := range n {
		got = append(got, r.read(&r.out[i]))
	}
	for i := range n {
		r.recycle(&r.out[i])
	}
	r.check(0)
	return got
}

func (r *rxRig) read(f *ring.Frame) []byte {
	var b []byte
	for _, p := range f.Pieces {
		if p.Len == 0 || p.Off+p.Len > rxPage {
			r.t.Fatalf("piece %+v", p)
		}
		b = append(b, r.pool.Bytes(p.Page)[p.Off:p.Off+p.Len]...)
	}
	if len(b) != int(f.Len) {
		r.t.Fatalf("frame of %d bytes: its pieces have %d", f.Len, len(b))
	}
	return b
}

func (r *rxRig) recycle(f *ring.Frame) {
	for _, p := range f.Pieces {
		r.pool.Recycle(p.Page)
	}
}

// pattern is a frame of n bytes that no other seed makes.
func pattern(seed, n int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}
