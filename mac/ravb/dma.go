package ravb

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Limits of the rings.
const (
	minSlots = 4
	maxSlots = 4096 // ours: a ring is as long as its link says

	// bufferAlign is what public drivers have used; the manual's is not known.
	bufferAlign = 64
	maxBuffer   = etheravb.MaxData &^ (bufferAlign - 1)

	// maxPiece is the largest buffer of a transmit descriptor. No frame needs two.
	//
	// Gen2 and GbEth want transmit buffers aligned to 4 bytes, for which Linux splits
	// every frame: its first bytes go through an aligned copy of their own. Here
	// frames begin at cache lines of the arena, and a further piece at a multiple of
	// maxPiece behind, so that nothing needs to be split or copied for it.
	maxPiece = etheravb.MaxData &^ 63

	// minFrame is the shortest frame on a wire. Public drivers leave filling up to
	// nobody but themselves.
	minFrame = 60

	// extraBytes is what follows the slots of each ring: the link back to the first
	// one, and, in receive queue 0, the table of rings on a cache line of its own.
	extraBytes = etheravb.ExtendedSize + 63 + etheravb.TableSize
)

func validBuffer(n int) bool { return n >= bufferAlign && n <= maxBuffer && n%bufferAlign == 0 }

// descRing is what the two codecs share: slots of stride words and a link behind
// them.
type descRing struct {
	words  *ring.Words
	base   uint64 // device address of slot 0
	slots  int
	stride int // in words
}

func newDescRing(desc pagepool.Memory, slots, size int) (descRing, error) {
	if slots < minSlots || slots > maxSlots {
		return descRing{}, fmt.Errorf("ravb: ring of %d slots: takes %d to %d: %w", slots, minSlots, maxSlots, mac.ErrConfig)
	}
	need := slots*size + extraBytes
	if have := len(desc.Bytes()); have < need {
		return descRing{}, fmt.Errorf("ravb: descriptor memory of %d bytes for %d slots: need %d: %w", have, slots, need, mac.ErrConfig)
	}
	if last := desc.DeviceAddr() + uint64(need) - 1; last>>32 != 0 {
		return descRing{}, fmt.Errorf("ravb: ring ends at %#x: addresses have 32 bits: %w", last, mac.ErrConfig)
	}
	words, err := ring.NewWords(desc)
	if err != nil {
		return descRing{}, fmt.Errorf("ravb: descriptor memory: %w: %w", err, mac.ErrConfig)
	}
	return descRing{words: words, base: desc.DeviceAddr(), slots: slots, stride: size / 4}, nil
}

// Reset implements ring.RXCodec.Reset and ring.TXCodec.Reset. The device stops at
// an empty slot, and follows the link without ever rewriting it.
func (r *descRing) Reset() {
	for i := range r.slots * r.stride {
		v := uint32(0)
		if i%r.stride == 0 {
			v = etheravb.Type(etheravb.DTEEmpty)
		}
		r.words.Store(i, v)
	}
	control, pointer := link(r.base)
	r.words.Store(r.slots*r.stride+1, pointer)
	r.words.Store(r.slots*r.stride, control)
}

// table is where the table of rings lies, in words from the first slot.
func (r *descRing) table() int { return ((r.slots+1)*r.stride*4 + 63) &^ 63 / 4 }

// writeTable writes the table of rings behind receive queue 0 and gives it to the
// core. Queues that are not used end at once.
func (c *Core) writeTable() {
	r := &c.rx[0].descRing
	at := r.table()
	entry := func(i int, control, pointer uint32) {
		r.words.Store(at+2*i+1, pointer)
		r.words.Store(at+2*i, control)
	}
	for i := range etheravb.TableEntries {
		entry(i, etheravb.Type(etheravb.DTEOS), 0)
	}
	for q := range c.setup.TXQueues {
		control, pointer := link(c.tx[q].base)
		entry(q, control, pointer)
	}
	for q := range c.setup.RXQueues {
		control, pointer := link(c.rx[q].base)
		entry(etheravb.TableRX+q, control, pointer)
	}
	r.words.DoorbellBarrier()
	c.regs.Write32(etheravb.DBAT, uint32(r.base)+4*uint32(at))
}

// rxRing is the receive codec of a queue. Like the ring it belongs to it has one
// owner.
type rxRing struct {
	descRing
	bufferSize int
	trailer    uint8 // bytes that the device appends to a frame
}

var (
	_ ring.RXCodec = (*rxRing)(nil)
	_ ring.Judge   = (*rxRing)(nil)
)

// Post implements ring.RXCodec.Post.
func (r *rxRing) Post(from int, bufs []ring.Buffer) {
	slot := from
	for i := range bufs {
		r.words.Store(slot*r.stride+1, uint32(bufs[i].Addr))
		if slot++; slot == r.slots {
			slot = 0
		}
	}
	// One barrier for all: no type is stored before the last pointer.
	r.words.WriteBarrier()
	slot = from
	for range bufs {
		r.words.Publish(slot*r.stride, rxEmpty(r.bufferSize))
		if slot++; slot == r.slots {
			slot = 0
		}
	}
}

// Kick implements ring.RXCodec.Kick. There is no doorbell: the device looks at the
// next slot when a frame arrives. The barrier has the slots seen by then.
func (r *rxRing) Kick(int) { r.words.DoorbellBarrier() }

// Harvest implements ring.RXCodec.Harvest: one load for each descriptor.
func (r *rxRing) Harvest(from int, out []ring.Completion) int {
	n, slot := 0, from
	for n < len(out) {
		w := r.words.Load(slot * r.stride)
		if posted(w) {
			break
		}
		out[n] = decodeRX(w, r.trailer)
		n++
		if slot++; slot == r.slots {
			slot = 0
		}
	}
	if n > 0 {
		r.words.ReadBarrier()
	}
	return n
}

// NewRX implements mac.Core.NewRX.
func (c *Core) NewRX(q int, desc pagepool.Memory, slots, bufferSize int) (ring.RXCodec, error) {
	if q < 0 || q >= c.info.RXQueues {
		return nil, fmt.Errorf("ravb: receive queue %d: the core has %d: %w", q, c.info.RXQueues, mac.ErrConfig)
	}
	if !validBuffer(bufferSize) {
		return nil, fmt.Errorf("ravb: receive buffers of %d bytes: take %d to %d in steps of %d: %w", bufferSize, bufferAlign, maxBuffer, bufferAlign, mac.ErrConfig)
	}
	d, err := newDescRing(desc, slots, c.v.rxDesc)
	if err != nil {
		return nil, err
	}
	r := &rxRing{descRing: d, bufferSize: bufferSize, trailer: c.trailer()}
	r.Reset()
	c.rx[q] = r
	return r, nil
}

// txRing is the transmit codec of a queue. Like the ring it belongs to it has one
// owner at a time.
type txRing struct {
	descRing
	regs  mac.Registers
	start uint32 // TCCR: the queue's start request
	piece uint32

	// heads holds the control words of first descriptors of a batch until everything
	// behind them is written.
	heads []control
	rest  []control
}

type control struct {
	index int
	word  uint32
}

var _ ring.TXCodec = (*txRing)(nil)

// Fill implements ring.TXCodec.Fill. A running device that meets the start of a
// frame goes on to its end at once, so the types of later descriptors are published
// before that of the first: FEND before FSTART.
func (t *txRing) Fill(at int, frames []ring.TXFrame) {
	slot := at
	for i := range frames {
		f := &frames[i]
		f.Slots = 0
		for off := uint32(0); off < f.Len; {
			n := min(f.Len-off, t.piece)
			t.words.Store(slot*t.stride+1, uint32(f.Addr)+off)
			w := control{slot * t.stride, txControl(n, off == 0, off+n == f.Len)}
			if off == 0 {
				t.heads = append(t.heads, w)
			} else {
				t.rest = append(t.rest, w)
			}
			off += n
			f.Slots++
			if slot++; slot == t.slots {
				slot = 0
			}
		}
	}
	t.publish(&t.rest)
	t.publish(&t.heads)
}

func (t *txRing) publish(words *[]control) {
	if len(*words) == 0 {
		return
	}
	t.words.WriteBarrier()
	for _, w := range *words {
		t.words.Publish(w.index, w.word)
	}
	*words = (*words)[:0]
}

// Kick implements ring.TXCodec.Kick. Zeros in TCCR.TSRQ have no effect, so nothing
// is read first.
func (t *txRing) Kick(int) {
	t.words.DoorbellBarrier()
	t.regs.Write32(etheravb.TCCR, t.start)
}

// Done implements ring.TXCodec.Done: one load, of the descriptor at mark.
func (t *txRing) Done(from, mark, _ int) int {
	if !sent(t.words.Load(mark * t.stride)) {
		return 0
	}
	n := mark - from
	if n < 0 {
		n += t.slots
	}
	return n + 1
}

// NewTX implements mac.Core.NewTX.
func (c *Core) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	if q < 0 || q >= c.info.TXQueues {
		return nil, fmt.Errorf("ravb: transmit queue %d: the core has %d: %w", q, c.info.TXQueues, mac.ErrConfig)
	}
	d, err := newDescRing(desc, slots, etheravb.DescriptorSize)
	if err != nil {
		return nil, err
	}
	t := &txRing{
		descRing: d, regs: c.regs, start: 1 << q, piece: uint32(c.info.Ring.MaxPiece),
		heads: make([]control, 0, slots), rest: make([]control, 0, slots),
	}
	t.Reset()
	c.tx[q] = t
	return t, nil
}
