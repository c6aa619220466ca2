package dwmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Limits of the rings.
const (
	minSlots = 4
	maxSlots = 1024 // DMA_CHi_*Desc_Ring_Length has 10 bits

	// reserve keeps one slot empty: a tail pointer equal to the device's own
	// position means "nothing to do".
	reserve = 1

	// bufferAlign is the widest bus: the low bits of RBSZ below the bus width are
	// ignored. maxPiece and maxBuffer are multiples of it.
	bufferAlign = 16
	maxBuffer   = gmac4.MaxRxBuffer &^ (bufferAlign - 1)
	maxPiece    = gmac4.MaxPiece &^ (bufferAlign - 1)
)

// descRing is what the two codecs share: descriptor memory and its doorbell.
type descRing struct {
	regs  mac.Registers
	words *ring.Words
	base  uint64 // device address of slot 0
	slots int
	tail  uint32 // offset of the tail pointer register
}

func newDescRing(regs mac.Registers, desc pagepool.Memory, slots int, tail uint32) (descRing, error) {
	if slots < minSlots || slots > maxSlots {
		return descRing{}, fmt.Errorf("dwmac4: ring of %d slots: takes %d to %d: %w", slots, minSlots, maxSlots, mac.ErrConfig)
	}
	size := slots * gmac4.DescriptorSize
	if have := len(desc.Bytes()); have < size {
		return descRing{}, fmt.Errorf("dwmac4: descriptor memory of %d bytes for %d slots: need %d: %w", have, slots, size, mac.ErrConfig)
	}
	first, last := desc.DeviceAddr(), desc.DeviceAddr()+uint64(size)-1
	if first>>32 != last>>32 {
		return descRing{}, fmt.Errorf("dwmac4: ring at %#x to %#x crosses a multiple of 4 GiB: tail pointers have 32 bits: %w", first, last, mac.ErrConfig)
	}
	words, err := ring.NewWords(desc)
	if err != nil {
		return descRing{}, fmt.Errorf("dwmac4: descriptor memory: %w: %w", err, mac.ErrConfig)
	}
	return descRing{regs: regs, words: words, base: first, slots: slots, tail: tail}, nil
}

// Kick implements ring.RXCodec.Kick and ring.TXCodec.Kick. The tail pointer is
// the first slot that the device may not touch; it is written even when it has
// not changed, since a suspended receive DMA goes on only then.
func (r *descRing) Kick(next int) {
	r.words.DoorbellBarrier()
	r.regs.Write32(r.tail, r.tailAt(next))
}

func (r *descRing) tailAt(slot int) uint32 {
	return uint32(r.base) + uint32(slot)*gmac4.DescriptorSize
}

// clear writes zeros to every descriptor.
func (r *descRing) clear() {
	for i := range r.slots * gmac4.DescriptorWords {
		r.words.Store(i, 0)
	}
}

// rxRing is the receive codec of a queue. Like the ring it belongs to it has one
// owner.
type rxRing struct {
	descRing
	bufferSize int
	checksum   bool // the device writes verdicts
	next       int  // slot after the last one posted, for Start
}

var _ ring.RXCodec = (*rxRing)(nil)

// Post implements ring.RXCodec.Post.
func (r *rxRing) Post(from int, bufs []ring.Buffer) {
	if len(bufs) == 0 {
		return
	}
	slot := from
	for i := range bufs {
		w := slot * gmac4.DescriptorWords
		r.words.Store(w, uint32(bufs[i].Addr))
		r.words.Store(w+1, uint32(bufs[i].Addr>>32))
		r.words.Store(w+2, 0)
		if slot++; slot == r.slots {
			slot = 0
		}
	}
	r.next = slot
	// One barrier for all: no OWN bit is stored before the last address.
	r.words.WriteBarrier()
	slot = from
	for i := range bufs {
		r.words.Publish(slot*gmac4.DescriptorWords+3, rxOwn(bufs[i].Interrupt))
		if slot++; slot == r.slots {
			slot = 0
		}
	}
}

// Harvest implements ring.RXCodec.Harvest. It loads RDES3 of each completed
// descriptor and then, behind one barrier for the batch, RDES1 of those that
// end a good frame and have a checksum verdict.
func (r *rxRing) Harvest(from int, out []ring.Completion) int {
	n, slot := 0, from
	var flags ring.Flags
	for n < len(out) {
		w3 := r.words.Load(slot*gmac4.DescriptorWords + 3)
		if w3&gmac4.RDES3OWN != 0 {
			break
		}
		out[n] = decodeRX(w3)
		flags |= out[n].Flags
		n++
		if slot++; slot == r.slots {
			slot = 0
		}
	}
	if n == 0 {
		return 0
	}
	r.words.ReadBarrier()
	if flags&needVerdict != 0 {
		r.verdicts(from, out[:n])
	}
	return n
}

func (r *rxRing) verdicts(from int, out []ring.Completion) {
	for i := range out {
		if out[i].Flags&needVerdict == 0 {
			continue
		}
		out[i].Flags &^= needVerdict
		if r.checksum {
			slot := (from + i) % r.slots
			out[i].Flags |= decodeVerdict(r.words.Load(slot*gmac4.DescriptorWords + 1))
		}
	}
}

// Reset implements ring.RXCodec.Reset.
func (r *rxRing) Reset() {
	r.clear()
	r.next = 0
}

// txRing is the transmit codec of a queue. Like the ring it belongs to it has
// one owner at a time.
type txRing struct {
	descRing
	mss uint16 // what the device remembers; 0 when not known

	// pending holds the OWN words of a batch until the rest of it is written.
	pending [txKinds][]ownWord
}

// Descriptors are given to the device in this order: with everything of a frame
// in place, a context goes last, since the device starts with it.
const (
	txRest = iota
	txHead
	txCtx
	txKinds
)

type ownWord struct {
	index int
	word  uint32
}

var _ ring.TXCodec = (*txRing)(nil)

// Fill implements ring.TXCodec.Fill.
//
// The MSS, header lengths and total length of a frame to be segmented are within
// gmac4.MinMSS and MaxMSS, MaxHeader and MaxPayload; fields are cut to their
// width otherwise.
func (t *txRing) Fill(at int, frames []ring.TXFrame) {
	slot := at
	for i := range frames {
		f := &frames[i]
		f.Slots = 0
		var sent uint32
		if segmented(f) {
			if f.MSS != t.mss {
				t.mss = f.MSS
				slot = t.put(slot, txContext(f.MSS), txCtx, f)
			}
			slot = t.put(slot, txHeader(f), txHead, f)
			sent = uint32(f.HeaderLen)
		} else {
			sent = min(f.Len, maxPiece)
			slot = t.put(slot, txFirst(f, sent), txHead, f)
		}
		for sent < f.Len {
			n := min(f.Len-sent, maxPiece)
			piece := txPiece(f.Addr+uint64(sent), n, sent+n == f.Len, f.Interrupt)
			slot = t.put(slot, piece, txRest, f)
			sent += n
		}
	}
	for kind := range t.pending {
		if len(t.pending[kind]) == 0 {
			continue
		}
		t.words.WriteBarrier()
		for _, p := range t.pending[kind] {
			t.words.Publish(p.index, p.word)
		}
		t.pending[kind] = t.pending[kind][:0]
	}
}

// put writes all of d but its OWN word, which it keeps for later, and returns the
// next slot.
func (t *txRing) put(slot int, d descriptor, kind int, f *ring.TXFrame) int {
	w := slot * gmac4.DescriptorWords
	t.words.Store(w, d.w0)
	t.words.Store(w+1, d.w1)
	t.words.Store(w+2, d.w2)
	t.pending[kind] = append(t.pending[kind], ownWord{w + 3, d.w3})
	f.Slots++
	if slot++; slot == t.slots {
		slot = 0
	}
	return slot
}

// Done implements ring.TXCodec.Done: one load, of the descriptor at mark.
func (t *txRing) Done(from, mark, _ int) int {
	if t.words.Load(mark*gmac4.DescriptorWords+3)&gmac4.TDES3OWN != 0 {
		return 0
	}
	n := mark - from
	if n < 0 {
		n += t.slots
	}
	return n + 1
}

// Reset implements ring.TXCodec.Reset.
func (t *txRing) Reset() {
	t.clear()
	t.mss = 0
}

// NewRX implements mac.Core.NewRX.
func (c *Core) NewRX(q int, desc pagepool.Memory, slots, bufferSize int) (ring.RXCodec, error) {
	if q < 0 || q >= c.info.RXQueues {
		return nil, fmt.Errorf("dwmac4: receive queue %d: the core has %d: %w", q, c.info.RXQueues, mac.ErrConfig)
	}
	if bufferSize < bufferAlign || bufferSize > maxBuffer || bufferSize%bufferAlign != 0 {
		return nil, fmt.Errorf("dwmac4: receive buffers of %d bytes: take %d to %d in steps of %d: %w", bufferSize, bufferAlign, maxBuffer, bufferAlign, mac.ErrConfig)
	}
	d, err := newDescRing(c.regs, desc, slots, gmac4.ChanBase(q)+gmac4.ChanRxTail)
	if err != nil {
		return nil, err
	}
	// Verdicts are read once Configure has switched the engine on.
	r := &rxRing{descRing: d, bufferSize: bufferSize, checksum: c.setup.RXChecksum}
	r.Reset()
	c.rx[q] = r
	return r, nil
}

// NewTX implements mac.Core.NewTX.
func (c *Core) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	if q < 0 || q >= c.info.TXQueues {
		return nil, fmt.Errorf("dwmac4: transmit queue %d: the core has %d: %w", q, c.info.TXQueues, mac.ErrConfig)
	}
	d, err := newDescRing(c.regs, desc, slots, gmac4.ChanBase(q)+gmac4.ChanTxTail)
	if err != nil {
		return nil, err
	}
	t := &txRing{descRing: d}
	for kind := range t.pending {
		t.pending[kind] = make([]ownWord, 0, slots)
	}
	t.Reset()
	c.tx[q] = t
	return t, nil
}
