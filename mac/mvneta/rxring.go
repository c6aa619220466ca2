package mvneta

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Limits of the rings.
const (
	minSlots = 4
	maxSlots = 4096 // the counters have 14 bits; more has no use

	bufferAlign = 64 // a cache line; the size field counts by eight
	maxBuffer   = 16320
)

// descRing is what the two codecs share.
type descRing struct {
	regs  mac.Registers
	words *ring.Words
	base  uint32 // device address of slot 0
	slots int
	// live: the queue has been started, and its registers take updates.
	live bool
}

// rxRing is the receive codec of a queue. Like the ring it belongs to it has one
// owner.
type rxRing struct {
	descRing
	queue int
	decoder
	ready int // filled by the device, as far as the counter was read, and not harvested
	taken int // harvested, not yet taken off the counter
	added int // posted, not yet added to the other

	pool    *pool    // nil: the buffers stand in the descriptors
	waiting []uint32 // buffers that go to the pool when it has been started
}

var _ ring.RXCodec = (*rxRing)(nil)

// Post implements ring.RXCodec.Post. What tells that the device has filled a
// descriptor is made to say that it has not.
func (r *rxRing) Post(from int, bufs []ring.Buffer) {
	slot := from
	for i := range bufs {
		w := slot * neta.DescriptorWords
		r.words.Store(w+neta.RXStatus, unwritten)
		r.words.Store(w+neta.RXSize, unwritten)
		if r.pool == nil {
			r.words.Store(w+neta.RXBuffer, uint32(bufs[i].Addr))
		}
		if slot++; slot == r.slots {
			slot = 0
		}
	}
	r.added += len(bufs)
	if r.pool == nil {
		return
	}
	if !r.live {
		for i := range bufs {
			r.waiting = append(r.waiting, uint32(bufs[i].Addr))
		}
		return
	}
	// The buffers are the device's with the writes that follow.
	r.words.DoorbellBarrier()
	for i := range bufs {
		r.pool.put(uint32(bufs[i].Addr))
	}
}

// Kick implements ring.RXCodec.Kick: one register write takes what was harvested
// off one counter and adds what was posted to the other.
func (r *rxRing) Kick(int) {
	if !r.live {
		return // Start does it
	}
	r.words.DoorbellBarrier()
	for r.taken > 0 || r.added > 0 {
		taken, added := min(r.taken, neta.MaxUpdate), min(r.added, neta.MaxUpdate)
		r.regs.Write32(neta.RXUpdate(r.queue), field.Put(neta.RXUpdateTaken, uint32(taken))|field.Put(neta.RXUpdateAdded, uint32(added)))
		r.taken -= taken
		r.added -= added
	}
}

// Harvest implements ring.RXCodec.Harvest. The counter is read once, and not at
// all when enough is known to be there. Of each descriptor the size is loaded, and
// behind one barrier for the batch its status, and with the buffer manager the
// buffer's address.
func (r *rxRing) Harvest(from int, out []ring.Completion) int {
	if !r.live {
		return 0
	}
	if r.ready < len(out) {
		occupied := field.Get(neta.RXStatusOccupied, r.regs.Read32(neta.RXQStatus(r.queue)))
		r.ready = max(int(occupied)-r.taken, 0)
	}
	n, slot := 0, from
	for n < min(r.ready, len(out)) {
		size := r.words.Load(slot*neta.DescriptorWords + neta.RXSize)
		if size == unwritten && !r.goesOn(slot) {
			break // the counter is ahead
		}
		out[n].Len = size
		n++
		if slot++; slot == r.slots {
			slot = 0
		}
	}
	if n == 0 {
		return 0
	}
	r.words.ReadBarrier()
	slot = from
	for i := range out[:n] {
		w := slot * neta.DescriptorWords
		out[i] = r.next(r.words.Load(w+neta.RXStatus), out[i].Len)
		if r.pool != nil {
			out[i].Addr = uint64(r.words.Load(w + neta.RXBuffer))
		}
		if slot++; slot == r.slots {
			slot = 0
		}
	}
	r.ready -= n
	r.taken += n
	return n
}

// goesOn reports whether a descriptor without a size has been filled all the same: as
// a later one of a frame, of which no source says that the device writes its size.
func (r *rxRing) goesOn(slot int) bool {
	status := r.words.Load(slot*neta.DescriptorWords + neta.RXStatus)
	return status != unwritten && status&neta.RXFirst == 0
}

// Reset implements ring.RXCodec.Reset.
func (r *rxRing) Reset() {
	for i := range r.slots * neta.DescriptorWords {
		v := uint32(0)
		if word := i % neta.DescriptorWords; word == neta.RXStatus || word == neta.RXSize {
			v = unwritten
		}
		r.words.Store(i, v)
	}
	r.ready, r.taken, r.added, r.left, r.verdict = 0, 0, 0, 0, 0
	r.waiting = r.waiting[:0]
}

// newDescRing checks descriptor memory. extra is what of it lies behind the ring.
func (c *Core) newDescRing(q, queues int, desc pagepool.Memory, slots, extra int) (descRing, error) {
	if q < 0 || q >= queues {
		return descRing{}, fmt.Errorf("mvneta: queue %d: the port has %d: %w", q, queues, mac.ErrConfig)
	}
	if slots < minSlots || slots > maxSlots {
		return descRing{}, fmt.Errorf("mvneta: ring of %d slots: takes %d to %d: %w", slots, minSlots, maxSlots, mac.ErrConfig)
	}
	size := slots*neta.DescriptorSize + extra
	if have := len(desc.Bytes()); have < size {
		return descRing{}, fmt.Errorf("mvneta: descriptor memory of %d bytes for %d slots: need %d: %w", have, slots, size, mac.ErrConfig)
	}
	if addr := desc.DeviceAddr(); !c.reaches(addr, uint64(size)) {
		return descRing{}, fmt.Errorf("mvneta: ring at %#x: no address window of the port leads there (Options.Windows): %w", addr, mac.ErrConfig)
	}
	words, err := ring.NewWords(desc)
	if err != nil {
		return descRing{}, fmt.Errorf("mvneta: descriptor memory: %w: %w", err, mac.ErrConfig)
	}
	return descRing{regs: c.regs, words: words, base: uint32(desc.DeviceAddr()), slots: slots}, nil
}

// NewRX implements mac.Core.NewRX.
func (c *Core) NewRX(q int, desc pagepool.Memory, slots, bufferSize int) (ring.RXCodec, error) {
	if bufferSize < bufferAlign || bufferSize > maxBuffer || bufferSize%bufferAlign != 0 {
		return nil, fmt.Errorf("mvneta: receive buffers of %d bytes: take %d to %d in steps of %d: %w", bufferSize, bufferAlign, maxBuffer, bufferAlign, mac.ErrConfig)
	}
	d, err := c.newDescRing(q, c.info.RXQueues, desc, slots, c.info.Ring.Extra)
	if err != nil {
		return nil, err
	}
	// Verdicts are believed once Configure has been told to.
	r := &rxRing{descRing: d, queue: q, decoder: decoder{buffer: uint32(bufferSize), checksum: c.setup.RXChecksum}}
	if c.bm != nil {
		// The pool's own ring lies behind that of the descriptors.
		r.pool = c.bm.newPool(q, d.base+uint32(slots)*neta.DescriptorSize, slots)
		r.waiting = make([]uint32, 0, slots)
	}
	r.Reset()
	c.rx[q] = r
	return r, nil
}
