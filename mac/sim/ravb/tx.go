package ravb

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
)

// transmitter is the transmit half. mu guards all of it but the atomics, and is not
// held while a frame is on its way through out. running says that somebody runs the
// engine; others leave it to him, since he looks again after each frame for which he
// let go of mu.
type transmitter struct {
	mu      sync.Mutex
	running bool
	q       [etheravb.MaxQueues]txQueue
	out     func(frame []byte)

	requests    atomic.Uint32 // TCCR.TSRQ
	pausedUntil atomic.Int64  // by the partner, in nanoseconds; 0 = not
	resume      sim.Timer     // guarded by rx.mu
}

// txQueue is one transmit queue.
type txQueue struct {
	queue
	epoch uint64 // changes with every load of the queue
	busy  atomic.Bool

	frame []byte
	parts []uint64 // descriptors of the frame
	// stuck are descriptors that were never given back (sim.StuckOwn): met again
	// unchanged they are no new frames.
	stuck map[uint64]uint32
}

func (t *txQueue) load(base uint64) {
	t.queue = queue{cur: base}
	t.epoch++
	clear(t.stuck)
}

// pumpTX is the transmit engine: it sends what the queues hold, network control
// first.
func (m *Model) pumpTX() {
	t := &m.tx
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		return
	}
	t.running = true
	for more := true; more && !m.closed.Load(); {
		more = false
		for q := m.cfg.Variant.queues() - 1; q >= 0 && !more; q-- {
			more = m.sendOne(q)
		}
	}
	t.running = false
}

// blocked reports whether no frame may leave: transmitter off, link down, or paused
// by the partner.
func (m *Model) blocked() bool {
	loop := m.load(etheravb.CCC)&etheravb.CCCLBME != 0
	return m.load(etheravb.ECMR)&etheravb.ECMRTE == 0 || !m.link.Load().Up && !loop || m.tx.pausedUntil.Load() != 0
}

// sendOne sends the next frame of queue q and reports whether there was one.
func (m *Model) sendOne(q int) bool {
	t := &m.tx.q[q]
	if !m.moving() || m.tx.requests.Load()>>q&1 == 0 || t.dead || m.blocked() {
		return false
	}
	t.busy.Store(true)
	defer t.busy.Store(false)
	if !m.gather(q) {
		return false
	}
	epoch := t.epoch
	m.insert(t.frame)
	m.emit(q, t.frame)
	if t.epoch != epoch || t.dead {
		return true
	}
	return m.finish(q)
}

// gather collects the next frame of queue q. A descriptor that is none of a frame
// ends the request, unless that has been made again in the meantime.
func (m *Model) gather(q int) bool {
	t := &m.tx.q[q]
	m.tx.requests.And(^uint32(1 << q)) // a doorbell from here on is a new one
	w, control, ok := m.next(&t.queue, q)
	if !ok {
		return false
	}
	typ := field.Get(etheravb.DescDT, control)
	if old, met := t.stuck[t.cur]; met && old == control {
		return false
	}
	if typ == etheravb.DTEOS {
		atomic.StoreUint32(&w[0], control&^etheravb.DescDT|etheravb.Type(etheravb.DTEEmpty))
		t.cur += etheravb.DescriptorSize
		return false
	}
	if typ != etheravb.DTFSingle && typ != etheravb.DTFStart {
		if typ == etheravb.DTFMid || typ == etheravb.DTFEnd {
			m.bad.Record("transmit queue %d goes on a frame that has not started", q)
			m.queueError(&t.queue, q, etheravb.ErrDescType)
		}
		return false
	}
	t.frame, t.parts = t.frame[:0], t.parts[:0]
	for {
		if !m.part(q, w, control) {
			return false
		}
		if typ == etheravb.DTFSingle || typ == etheravb.DTFEnd {
			break
		}
		t.cur += etheravb.DescriptorSize
		if w, control, ok = m.next(&t.queue, q); !ok {
			return false
		}
		typ = field.Get(etheravb.DescDT, control)
		if typ != etheravb.DTFMid && typ != etheravb.DTFEnd {
			m.bad.Record("transmit queue %d: the start of a frame is given away before its end: type %#x follows", q, typ)
			m.queueError(&t.queue, q, etheravb.ErrDescType)
			return false
		}
	}
	m.tx.requests.Or(1 << q)
	if n := len(t.frame); n < minFrame-fcsLen {
		m.wrongSize(q, n)
		return false
	}
	return true
}

func (m *Model) wrongSize(q, n int) {
	m.bad.Record("transmit queue %d: frame of %d bytes: takes %d to %d", q, n, minFrame-fcsLen, m.cfg.Variant.maxFrame())
	m.queueError(&m.tx.q[q].queue, q, etheravb.ErrFrameSize)
}

// part adds the buffer of a descriptor to the frame.
func (m *Model) part(q int, w []uint32, control uint32) bool {
	t := &m.tx.q[q]
	addr, n := uint64(w[1]), int(control&etheravb.DescDS)
	switch {
	case n == 0:
		m.bad.Record("transmit queue %d: descriptor without bytes", q)
		m.queueError(&t.queue, q, etheravb.ErrDescType)
		return false
	case len(t.frame)+n > m.cfg.Variant.maxFrame(): // also one without an end
		m.wrongSize(q, len(t.frame)+n)
		return false
	case m.cfg.Variant.aligned() && addr%4 != 0:
		m.bad.Record("transmit queue %d: buffer at %#x is not aligned to 4 bytes", q, addr)
	}
	b, err := m.mem.Slice(addr, n, false)
	if err != nil || m.faults.Hit(sim.TXBusError) {
		m.queueError(&t.queue, q, etheravb.ErrDataRead)
		return false
	}
	t.frame = append(t.frame, b...)
	t.parts = append(t.parts, t.cur)
	return true
}

// emit puts a frame on the wire with the lock released.
func (m *Model) emit(q int, f []byte) {
	t := &m.tx
	m.stat.tx[q].Add(1)
	out, loop := t.out, m.load(etheravb.CCC)&etheravb.CCCLBME != 0
	t.mu.Unlock()
	switch {
	case loop:
		m.rx.mu.Lock()
		m.arrive(f, true)
		m.rx.mu.Unlock()
	case out != nil && m.onWire():
		out(f)
	}
	t.mu.Lock()
}

// finish gives the descriptors of a frame back. What they say besides their type
// stays.
func (m *Model) finish(q int) bool {
	t := &m.tx.q[q]
	for _, addr := range t.parts {
		w := m.words(addr, 2, true)
		if w == nil {
			m.queueError(&t.queue, q, etheravb.ErrDescWrite)
			return false
		}
		control := atomic.LoadUint32(&w[0])
		if m.faults.Hit(sim.StuckOwn) {
			if t.stuck == nil {
				t.stuck = make(map[uint64]uint32)
			}
			t.stuck[addr] = control
			continue
		}
		delete(t.stuck, addr)
		atomic.StoreUint32(&w[0], control&^etheravb.DescDT|etheravb.Type(etheravb.DTFEmpty))
		m.described(control)
	}
	t.cur += etheravb.DescriptorSize
	m.raise(etheravb.TIS, 1<<q)
	return true
}

// resetTX is the transmitter's part of a reset.
func (m *Model) resetTX() {
	m.tx.requests.Store(0)
	for q := range m.tx.q {
		m.tx.q[q].load(0)
	}
}
