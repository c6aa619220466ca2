package sun8i

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Limits of the rings. A chain may have any length; it may be full to the last
// slot, since OWN tells it from an empty one.
const (
	minSlots = 2
	maxSlots = 1024

	// bufferAlign and maxBuffer: U-Boot's receive buffers are multiples of 4 bytes,
	// and 2048 does not fit the field.
	bufferAlign = 4
	minBuffer   = 64
	maxBuffer   = emac.MaxBuffer &^ (bufferAlign - 1)
)

func checkBuffer(size int) error {
	if size < minBuffer || size > maxBuffer || size%bufferAlign != 0 {
		return fmt.Errorf("sun8i: receive buffers of %d bytes: take %d to %d in steps of %d: %w", size, minBuffer, maxBuffer, bufferAlign, mac.ErrConfig)
	}
	return nil
}

// chain is what the two codecs share: descriptor memory and its doorbell.
type chain struct {
	regs  mac.Registers
	words *ring.Words
	base  uint32 // device address of slot 0
	slots int

	// doorbell is the control register whose write has the device look at its
	// descriptors, mode the rest of what it holds: nobody else writes it while DMA
	// runs. It is not written from Stop to Start: that would start DMA.
	doorbell, mode uint32
	running        bool
}

func newChain(regs mac.Registers, desc pagepool.Memory, slots int, doorbell, mode uint32) (chain, error) {
	if slots < minSlots || slots > maxSlots {
		return chain{}, fmt.Errorf("sun8i: ring of %d slots: takes %d to %d: %w", slots, minSlots, maxSlots, mac.ErrConfig)
	}
	size := slots * emac.DescriptorSize
	if have := len(desc.Bytes()); have < size {
		return chain{}, fmt.Errorf("sun8i: descriptor memory of %d bytes for %d slots: need %d: %w", have, slots, size, mac.ErrConfig)
	}
	if last := desc.DeviceAddr() + uint64(size) - 1; last>>32 != 0 {
		return chain{}, fmt.Errorf("sun8i: ring ends at %#x: the core reaches 4 GiB: %w", last, mac.ErrConfig)
	}
	words, err := ring.NewWords(desc)
	if err != nil {
		return chain{}, fmt.Errorf("sun8i: descriptor memory: %w: %w", err, mac.ErrConfig)
	}
	return chain{regs: regs, words: words, base: uint32(desc.DeviceAddr()), slots: slots, doorbell: doorbell, mode: mode}, nil
}

// Kick implements ring.RXCodec.Kick and ring.TXCodec.Kick. A suspended DMA goes on
// with it.
func (c *chain) Kick(int) {
	if c.running {
		c.words.DoorbellBarrier()
		c.regs.Write32(c.doorbell, c.mode|dmaStart)
	}
}

// dmaStart enables DMA and has it look at its descriptors, in both control
// registers.
const dmaStart = emac.TxCtl1DMAEn | emac.TxCtl1Start

// start has the device begin at slot 0.
func (c *chain) start(list uint32) {
	c.regs.Write32(list, c.base)
	c.running = true
	c.Kick(0)
}

// Reset implements ring.RXCodec.Reset and ring.TXCodec.Reset. It links each
// descriptor to the next and the last to the first; the device never writes the
// link, so that nobody needs to write it again.
func (c *chain) Reset() {
	for slot := range c.slots {
		w := slot * emac.DescriptorWords
		c.words.Store(w+emac.DescStatus, 0)
		c.words.Store(w+emac.DescCtl, 0)
		c.words.Store(w+emac.DescAddr, 0)
		c.words.Store(w+emac.DescNext, c.base+uint32((slot+1)%c.slots)*emac.DescriptorSize)
	}
}

// next is the slot after slot.
func (c *chain) next(slot int) int {
	if slot++; slot < c.slots {
		return slot
	}
	return 0
}

// rxRing is the receive codec. Like the ring it belongs to it has one owner.
type rxRing struct {
	chain
	bufferSize int
	checksum   bool // the device writes verdicts
}

var _ ring.RXCodec = (*rxRing)(nil)

// Post implements ring.RXCodec.Post. The device has overwritten nothing but the
// status, but each post writes all that depends on it.
func (r *rxRing) Post(from int, bufs []ring.Buffer) {
	if len(bufs) == 0 {
		return
	}
	slot := from
	for i := range bufs {
		w := slot * emac.DescriptorWords
		r.words.Store(w+emac.DescCtl, rxDescControl(r.bufferSize))
		r.words.Store(w+emac.DescAddr, uint32(bufs[i].Addr))
		slot = r.next(slot)
	}
	// One barrier for all: no OWN bit is stored before the last address.
	r.words.WriteBarrier()
	slot = from
	for range bufs {
		r.words.Publish(slot*emac.DescriptorWords+emac.DescStatus, emac.DescOwn)
		slot = r.next(slot)
	}
}

// Harvest implements ring.RXCodec.Harvest with one load for each descriptor.
func (r *rxRing) Harvest(from int, out []ring.Completion) int {
	n, slot := 0, from
	for n < len(out) {
		status := r.words.Load(slot*emac.DescriptorWords + emac.DescStatus)
		if status&emac.DescOwn != 0 {
			break
		}
		out[n] = decodeRX(status, r.checksum)
		n++
		slot = r.next(slot)
	}
	if n > 0 {
		r.words.ReadBarrier()
	}
	return n
}

// txRing is the transmit codec. Like the ring it belongs to it has one owner at a
// time.
type txRing struct {
	chain
	heads []int // slots of first descriptors whose OWN bits wait for the rest
}

var _ ring.TXCodec = (*txRing)(nil)

// Fill implements ring.TXCodec.Fill. The device walks the chain all the time: the
// first descriptor of a frame is given away when all others have been.
func (t *txRing) Fill(at int, frames []ring.TXFrame) {
	slot, pieces := at, false
	t.heads = t.heads[:0]
	for i := range frames {
		f := &frames[i]
		f.Slots = 0
		t.heads = append(t.heads, slot)
		for sent := uint32(0); sent < f.Len; {
			n := min(f.Len-sent, emac.MaxBuffer)
			w := slot * emac.DescriptorWords
			t.words.Store(w+emac.DescCtl, txDescControl(f, n, sent == 0, sent+n == f.Len))
			t.words.Store(w+emac.DescAddr, uint32(f.Addr)+sent)
			pieces = pieces || sent > 0
			sent += n
			f.Slots++
			slot = t.next(slot)
		}
	}
	if pieces {
		t.words.WriteBarrier()
		for i := range frames {
			slot := t.heads[i]
			for range frames[i].Slots - 1 {
				slot = t.next(slot)
				t.words.Publish(slot*emac.DescriptorWords+emac.DescStatus, emac.DescOwn)
			}
		}
	}
	t.words.WriteBarrier()
	for _, head := range t.heads {
		t.words.Publish(head*emac.DescriptorWords+emac.DescStatus, emac.DescOwn)
	}
}

// Done implements ring.TXCodec.Done: one load, of the descriptor at mark.
func (t *txRing) Done(from, mark, _ int) int {
	if t.words.Load(mark*emac.DescriptorWords+emac.DescStatus)&emac.DescOwn != 0 {
		return 0
	}
	n := mark - from
	if n < 0 {
		n += t.slots
	}
	return n + 1
}

// NewRX implements mac.Core.NewRX.
func (c *Core) NewRX(q int, desc pagepool.Memory, slots, bufferSize int) (ring.RXCodec, error) {
	if q != 0 {
		return nil, fmt.Errorf("sun8i: receive queue %d: the core has one: %w", q, mac.ErrConfig)
	}
	if err := checkBuffer(bufferSize); err != nil {
		return nil, err
	}
	ch, err := newChain(c.regs, desc, slots, emac.RxCtl1, rxMode)
	if err != nil {
		return nil, err
	}
	// Verdicts are read once Configure has switched the engine on.
	r := &rxRing{chain: ch, bufferSize: bufferSize, checksum: c.setup.RXChecksum}
	r.Reset()
	c.rx = r
	return r, nil
}

// NewTX implements mac.Core.NewTX.
func (c *Core) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	if q != 0 {
		return nil, fmt.Errorf("sun8i: transmit queue %d: the core has one: %w", q, mac.ErrConfig)
	}
	ch, err := newChain(c.regs, desc, slots, emac.TxCtl1, txMode)
	if err != nil {
		return nil, err
	}
	t := &txRing{chain: ch, heads: make([]int, 0, slots)}
	t.Reset()
	c.tx = t
	return t, nil
}
