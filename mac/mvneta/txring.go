package mvneta

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// txRing is the transmit codec of a queue. Like the ring it belongs to it has one
// owner at a time.
type txRing struct {
	descRing
	queue int
	head  int // next slot to fill
	added int // filled, not yet added to the counter
	// given is how many slots the device has, or has done and not been found to.
	given int
	marks []bool // per slot: a marked frame ends here
	// armed: the transmit interrupt is unmasked, and its threshold follows the
	// counter. Changed with the mask, under its lock.
	armed atomic.Bool
}

var _ ring.TXCodec = (*txRing)(nil)

// Fill implements ring.TXCodec.Fill. The doorbell gives descriptors away, so
// their order does not matter here, and nothing but three words of each is
// written.
func (t *txRing) Fill(at int, frames []ring.TXFrame) {
	slot := at
	for i := range frames {
		f := &frames[i]
		f.Slots = 0
		cmd := command(f)
		for sent := uint32(0); sent < f.Len; {
			n := min(f.Len-sent, neta.MaxPiece)
			last := sent+n == f.Len
			if last {
				cmd |= neta.TXLast | neta.TXPad
			}
			w := slot * neta.DescriptorWords
			t.words.Store(w+neta.TXCommand, cmd)
			t.words.Store(w+neta.TXSize, field.Put(neta.TXSizeBytes, n))
			t.words.Store(w+neta.TXBuffer, uint32(f.Addr)+sent)
			t.marks[slot] = last && f.Interrupt
			cmd = 0
			sent += n
			f.Slots++
			if slot++; slot == t.slots {
				slot = 0
			}
		}
		t.added += f.Slots
		t.given += f.Slots
	}
	t.head = slot
}

// Kick implements ring.TXCodec.Kick.
func (t *txRing) Kick(int) {
	if !t.live {
		return
	}
	t.words.DoorbellBarrier()
	for t.added > 0 {
		n := min(t.added, neta.MaxUpdate)
		t.regs.Write32(neta.TXUpdate(t.queue), field.Put(neta.TXUpdateAdded, uint32(n)))
		t.added -= n
	}
}

// Done implements ring.TXCodec.Done with one look at the counter, or none when the
// last look has told enough. No descriptor is read.
func (t *txRing) Done(from, mark, pending int) int {
	want := mark - from
	if want < 0 {
		want += t.slots
	}
	if known := pending - t.given; known > want {
		return known
	}
	t.take()
	return pending - t.given
}

// take takes what the device has sent off its counter.
func (t *txRing) take() {
	if !t.live {
		return
	}
	sent := field.Get(neta.TXStatusSent, t.regs.Read32(neta.TXQStatus(t.queue)))
	// Not more than it has been given: the counter is the device's word.
	n := min(int(sent), t.given-t.added)
	if n == 0 {
		return
	}
	t.given -= n
	t.words.DoorbellBarrier() // the register is a doorbell, too
	for n > 0 {
		k := min(n, neta.MaxUpdate)
		t.regs.Write32(neta.TXUpdate(t.queue), field.Put(neta.TXUpdateTaken, uint32(k)))
		n -= k
	}
	if t.armed.Load() {
		t.arm()
	}
}

// arm has the counter interrupt when the oldest marked frame has been sent: when
// more are sent than the slots before its last one. Without a mark it is the
// newest frame. The threshold says "more than" (Linux).
func (t *txRing) arm() {
	threshold := max(t.given-1, 0)
	slot := (t.head - t.given + t.slots) % t.slots
	for i := range t.given {
		if t.marks[slot] {
			threshold = i
			break
		}
		if slot++; slot == t.slots {
			slot = 0
		}
	}
	t.writeSize(threshold)
}

func (t *txRing) writeSize(threshold int) {
	t.regs.Write32(neta.TXRingSize(t.queue), field.Put(neta.TXSizeSlots, uint32(t.slots))|field.Put(neta.TXThresh, uint32(threshold)))
}

// Reset implements ring.TXCodec.Reset.
func (t *txRing) Reset() {
	for i := range t.slots * neta.DescriptorWords {
		t.words.Store(i, 0)
	}
	t.head, t.added, t.given = 0, 0, 0
	t.armed.Store(false)
	clear(t.marks)
}

// NewTX implements mac.Core.NewTX.
func (c *Core) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	d, err := c.newDescRing(q, c.info.TXQueues, desc, slots, 0)
	if err != nil {
		return nil, err
	}
	t := &txRing{descRing: d, queue: q, marks: make([]bool, slots)}
	t.Reset()
	c.tx[q] = t
	return t, nil
}
