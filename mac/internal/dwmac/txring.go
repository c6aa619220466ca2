package dwmac

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// TXRing is the transmit codec of a queue of GMAC4 and XGMAC. Like the ring it
// belongs to it has one owner at a time.
type TXRing struct {
	Ring
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

var _ ring.TXCodec = (*TXRing)(nil)

// NewTXRing is NewRing for a transmit queue. All descriptors are cleared.
func NewTXRing(core string, regs mac.Registers, desc pagepool.Memory, slots, maxSlots int, tail uint32) (*TXRing, error) {
	r, err := NewRing(core, regs, desc, slots, maxSlots, tail)
	if err != nil {
		return nil, err
	}
	t := &TXRing{Ring: r}
	for kind := range t.pending {
		t.pending[kind] = make([]ownWord, 0, slots)
	}
	t.Reset()
	return t, nil
}

// Fill implements ring.TXCodec.Fill.
//
// The MSS, header lengths and total length of a frame to be segmented are within
// dwregs.MinMSS and MaxMSS, MaxHeader and MaxPayload; fields are cut to their
// width otherwise.
func (t *TXRing) Fill(at int, frames []ring.TXFrame) {
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
			sent = min(f.Len, MaxPiece)
			slot = t.put(slot, txFirst(f, sent), txHead, f)
		}
		for sent < f.Len {
			n := min(f.Len-sent, MaxPiece)
			piece := txPiece(f.Addr+uint64(sent), n, sent+n == f.Len, f.Interrupt)
			slot = t.put(slot, piece, txRest, f)
			sent += n
		}
	}
	for kind := range t.pending {
		if len(t.pending[kind]) == 0 {
			continue
		}
		t.Words.WriteBarrier()
		for _, p := range t.pending[kind] {
			t.Words.Publish(p.index, p.word)
		}
		t.pending[kind] = t.pending[kind][:0]
	}
}

// put writes all of d but its OWN word, which it keeps for later, and returns the
// next slot.
func (t *TXRing) put(slot int, d descriptor, kind int, f *ring.TXFrame) int {
	w := slot * dwregs.DescriptorWords
	t.Words.Store(w, d.w0)
	t.Words.Store(w+1, d.w1)
	t.Words.Store(w+2, d.w2)
	t.pending[kind] = append(t.pending[kind], ownWord{w + 3, d.w3})
	f.Slots++
	if slot++; slot == t.Slots {
		slot = 0
	}
	return slot
}

// Done implements ring.TXCodec.Done: one load, of the descriptor at mark.
func (t *TXRing) Done(from, mark, _ int) int {
	if t.Words.Load(mark*dwregs.DescriptorWords+3)&dwregs.TDES3OWN != 0 {
		return 0
	}
	n := mark - from
	if n < 0 {
		n += t.Slots
	}
	return n + 1
}

// Reset implements ring.TXCodec.Reset.
func (t *TXRing) Reset() {
	t.Clear()
	t.ForgetMSS()
}

// ForgetMSS says that the device does not remember the last MSS: its channel is
// about to be started.
func (t *TXRing) ForgetMSS() { t.mss = 0 }
