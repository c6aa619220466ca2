package dwmac1000

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Limits of the rings. The core has no register for their length: the last slot
// says that it is the last, or every slot where the next one is. Nor are there tail
// pointers, so that a ring can be full.
const (
	minSlots = 4
	maxSlots = 1024
)

// descRing is what the two codecs share: descriptor memory and its doorbell.
type descRing struct {
	format
	regs  mac.Registers
	list  *ring.Words
	base  uint32 // device address of slot 0
	slots int
	poll  uint32 // offset of the poll demand register
}

func (c *Core) newDescRing(desc pagepool.Memory, slots int, poll uint32) (descRing, error) {
	if slots < minSlots || slots > maxSlots {
		return descRing{}, fmt.Errorf("dwmac1000: ring of %d slots: takes %d to %d: %w", slots, minSlots, maxSlots, mac.ErrConfig)
	}
	size := slots * c.format.size()
	if have := len(desc.Bytes()); have < size {
		return descRing{}, fmt.Errorf("dwmac1000: descriptor memory of %d bytes for %d slots: need %d: %w", have, slots, size, mac.ErrConfig)
	}
	first := desc.DeviceAddr()
	if last := first + uint64(size) - 1; last>>32 != 0 || first%4 != 0 {
		return descRing{}, fmt.Errorf("dwmac1000: ring at %#x to %#x: need it aligned and below 4 GiB: %w", first, last, mac.ErrConfig)
	}
	words, err := ring.NewWords(desc)
	if err != nil {
		return descRing{}, fmt.Errorf("dwmac1000: descriptor memory: %w: %w", err, mac.ErrConfig)
	}
	return descRing{format: c.format, regs: c.regs, list: words, base: uint32(first), slots: slots, poll: poll}, nil
}

// Kick implements ring.RXCodec.Kick and ring.TXCodec.Kick: a poll demand, which has
// a suspended DMA look at its current descriptor again. It is written even when
// nothing has been posted: receive can stay suspended for ever otherwise.
func (r *descRing) Kick(int) {
	r.list.DoorbellBarrier()
	r.regs.Write32(r.poll, 1)
}

// next is the slot after slot, and word 3 of slot: where the next descriptor is,
// when they are chained.
func (r *descRing) next(slot int) (next int, word3 uint32) {
	if next = slot + 1; next == r.slots {
		next = 0
	}
	if r.chained {
		word3 = r.base + uint32(next*r.size())
	}
	return next, word3
}

// clear writes zeros to every descriptor.
func (r *descRing) clear() {
	for i := range r.slots * r.words {
		r.list.Store(i, 0)
	}
}

// rxRing is the receive codec. Like the ring it belongs to it has one owner.
type rxRing struct {
	descRing
	bufferSize int
	checksum   bool // the device writes verdicts
}

var _ ring.RXCodec = (*rxRing)(nil)

// Post implements ring.RXCodec.Post.
func (r *rxRing) Post(from int, bufs []ring.Buffer) {
	slot := from
	for i := range bufs {
		w := slot * r.words
		next, link := r.next(slot)
		r.list.Store(w+1, r.rxControl(r.bufferSize, bufs[i].Interrupt, next == 0))
		r.list.Store(w+2, uint32(bufs[i].Addr))
		r.list.Store(w+3, link)
		slot = next
	}
	// One barrier for all: no OWN bit is stored before the last address.
	r.list.WriteBarrier()
	slot = from
	for range bufs {
		r.list.Publish(slot*r.words, gmac3.RDES0OWN)
		if slot++; slot == r.slots {
			slot = 0
		}
	}
}

// Harvest implements ring.RXCodec.Harvest. It loads word 0 of each completed
// descriptor and then, behind one barrier for the batch, word 4 of those that end a
// good frame and have it.
func (r *rxRing) Harvest(from int, out []ring.Completion) int {
	n, slot := 0, from
	var flags ring.Flags
	for n < len(out) {
		w0 := r.list.Load(slot * r.words)
		if w0&gmac3.RDES0OWN != 0 {
			break
		}
		out[n] = r.decodeRX(w0, r.checksum)
		flags |= out[n].Flags
		n++
		if slot++; slot == r.slots {
			slot = 0
		}
	}
	if n == 0 {
		return 0
	}
	r.list.ReadBarrier()
	if flags&needVerdict != 0 {
		r.verdicts(from, out[:n])
	}
	return n
}

func (r *rxRing) verdicts(from int, out []ring.Completion) {
	for i := range out {
		if out[i].Flags&needVerdict != 0 {
			slot := (from + i) % r.slots
			out[i].Flags = out[i].Flags&^needVerdict | decodeExtended(r.list.Load(slot*r.words+4))
		}
	}
}

// Reset implements ring.RXCodec.Reset.
func (r *rxRing) Reset() { r.clear() }

// txRing is the transmit codec. Like the ring it belongs to it has one owner at a
// time.
type txRing struct {
	descRing

	// heads and rest hold the OWN words of a batch until everything else of it is
	// written. Those of the frames' first descriptors go last.
	heads, rest []ownWord
}

type ownWord struct {
	index int
	word  uint32
}

var _ ring.TXCodec = (*txRing)(nil)

// Fill implements ring.TXCodec.Fill.
func (t *txRing) Fill(at int, frames []ring.TXFrame) {
	slot := at
	for i := range frames {
		f := &frames[i]
		f.Slots = 0
		for sent := uint32(0); sent < f.Len || f.Slots == 0; f.Slots++ {
			n := min(f.Len-sent, uint32(t.maxPiece))
			control := uint32(0)
			if sent+n == f.Len {
				control = t.tx.last
				if f.Interrupt {
					control |= t.tx.interrupt
				}
			}
			if sent == 0 {
				control |= t.tx.first
				if f.Checksum == ring.ChecksumFull {
					control |= t.tx.cic // both bits: CICFull
				}
			}
			next, link := t.next(slot)
			w := slot * t.words
			w0, w1 := t.txWords(control, n, next == 0)
			t.list.Store(w+1, w1)
			t.list.Store(w+2, uint32(f.Addr)+sent)
			t.list.Store(w+3, link)
			if sent == 0 {
				t.heads = append(t.heads, ownWord{w, w0})
			} else {
				t.rest = append(t.rest, ownWord{w, w0})
			}
			sent += n
			slot = next
		}
	}
	t.rest = t.publish(t.rest)
	t.heads = t.publish(t.heads)
}

// publish gives descriptors to the device, behind a barrier.
func (t *txRing) publish(own []ownWord) []ownWord {
	if len(own) > 0 {
		t.list.WriteBarrier()
		for _, o := range own {
			t.list.Publish(o.index, o.word)
		}
	}
	return own[:0]
}

// Done implements ring.TXCodec.Done: one load, of the descriptor at mark.
func (t *txRing) Done(from, mark, _ int) int {
	if t.list.Load(mark*t.words)&gmac3.TDES0OWN != 0 {
		return 0
	}
	n := mark - from
	if n < 0 {
		n += t.slots
	}
	return n + 1
}

// Reset implements ring.TXCodec.Reset.
func (t *txRing) Reset() { t.clear() }

// NewRX implements mac.Core.NewRX.
func (c *Core) NewRX(q int, desc pagepool.Memory, slots, bufferSize int) (ring.RXCodec, error) {
	if q != 0 {
		return nil, fmt.Errorf("dwmac1000: receive queue %d: the core has one: %w", q, mac.ErrConfig)
	}
	if err := c.checkBuffer(bufferSize); err != nil {
		return nil, err
	}
	d, err := c.newDescRing(desc, slots, gmac3.DMARxPoll)
	if err != nil {
		return nil, err
	}
	// Verdicts are read once Configure has switched the engine on.
	r := &rxRing{descRing: d, bufferSize: bufferSize, checksum: c.setup.RXChecksum}
	r.Reset()
	c.rx = r
	return r, nil
}

func (c *Core) checkBuffer(size int) error {
	if size < busWidth || size > c.format.maxBuffer || size%busWidth != 0 {
		return fmt.Errorf("dwmac1000: receive buffers of %d bytes: take %d to %d in steps of %d: %w", size, busWidth, c.format.maxBuffer, busWidth, mac.ErrConfig)
	}
	return nil
}

// NewTX implements mac.Core.NewTX.
func (c *Core) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	if q != 0 {
		return nil, fmt.Errorf("dwmac1000: transmit queue %d: the core has one: %w", q, mac.ErrConfig)
	}
	d, err := c.newDescRing(desc, slots, gmac3.DMATxPoll)
	if err != nil {
		return nil, err
	}
	t := &txRing{descRing: d, heads: make([]ownWord, 0, slots), rest: make([]ownWord, 0, slots)}
	t.Reset()
	c.tx = t
	return t, nil
}
