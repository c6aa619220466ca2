package ravb

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
)

// rxQueue is one receive queue. The next descriptor is read ahead when it is empty
// already, and is not looked at again then.
type rxQueue struct {
	queue
	fetched bool
	control uint32 // of the descriptor that has been fetched
	pointer uint32
}

func (q *rxQueue) load(base uint64) {
	q.queue = queue{cur: base}
	q.fetched = false
}

// stride is the size of a descriptor of queue q in bytes. Those with a timestamp are
// longer; network control frames always have one.
func (m *Model) stride(q int) uint64 {
	if m.cfg.Variant != GbEth && (q == etheravb.NetworkControl || m.load(etheravb.RCR)&etheravb.RCRETS0 != 0) {
		return etheravb.ExtendedSize
	}
	return etheravb.DescriptorSize
}

// fetch has the next empty descriptor of queue q, or reports false.
func (m *Model) fetch(q int) bool {
	r := &m.rx.q[q]
	if r.dead {
		return false
	}
	if r.fetched {
		return true
	}
	w, control, ok := m.next(&r.queue, etheravb.TableRX+q)
	if !ok || field.Get(etheravb.DescDT, control) != etheravb.DTFEmpty || control&etheravb.DescDS == 0 {
		return false
	}
	r.fetched, r.control, r.pointer = true, control, w[1]
	return true
}

// transfer moves a frame to memory. One that finds no empty descriptor is lost, and
// so is the rest of one that runs out of them. rx.mu is held.
func (m *Model) transfer(q int, b []byte, msc uint32) {
	if !m.moving() {
		m.stat.lost.Add(1)
		return
	}
	f := rxFrame{
		msc: msc, noLast: m.faults.Hit(sim.Truncated), noFirst: m.faults.Hit(sim.MissingFirst),
		badLength: m.faults.Hit(sim.BadLength),
	}
	if m.faults.Hit(sim.Overflow) {
		b, f.truncated = b[:len(b)/2], true
		m.raise(etheravb.RIS2, etheravb.RIS2RFFF)
	}
	for first := true; first || len(b) > 0; first = false {
		if !m.fetch(q) {
			if !m.rx.q[q].dead {
				m.stat.full.Add(1)
				m.raise(etheravb.RIS2, 1<<q)
			}
			return
		}
		n := min(len(b), int(m.rx.q[q].control&etheravb.DescDS))
		if !m.fill(q, b[:n], f, first, n == len(b)) {
			return
		}
		b = b[n:]
	}
	m.stat.rx[q].Add(1)
	m.raise(etheravb.RIS0, 1<<q)
	m.fetch(q)
}

// rxFrame is what becomes of a frame besides its bytes.
type rxFrame struct {
	msc                        uint32
	noFirst, noLast, badLength bool
	truncated                  bool
}

// fill writes bytes to the buffer of the fetched descriptor of queue q and writes
// that back.
func (m *Model) fill(q int, b []byte, f rxFrame, first, last bool) bool {
	r := &m.rx.q[q]
	entry, stride := etheravb.TableRX+q, m.stride(q)
	if buf, err := m.mem.Slice(uint64(r.pointer), len(b), true); err != nil || m.faults.Hit(sim.RXBusError) {
		m.queueError(&r.queue, entry, etheravb.ErrDataWrite)
		return false
	} else {
		copy(buf, b)
	}
	w := m.words(r.cur, int(stride)/4, true)
	if w == nil {
		m.queueError(&r.queue, entry, etheravb.ErrDescWrite)
		return false
	}
	m.rx.junk = junk(m.rx.junk)
	control := r.control&etheravb.DescDIE | uint32(m.rx.junk)&etheravb.DescPS | uint32(len(b))
	if last {
		control |= f.msc
		if f.truncated {
			control |= etheravb.DescTR | etheravb.DescEI
		}
		if f.msc&etheravb.MSCErrors != 0 {
			control |= etheravb.DescEI
		}
		if f.badLength {
			control = control&^etheravb.DescDS | uint32(m.rx.junk>>20)&etheravb.DescDS
		}
	}
	for i := 2; i < len(w); i++ {
		w[i] = uint32(m.rx.junk >> i)
	}
	r.fetched = false
	r.cur += stride
	control |= etheravb.Type(frameType(first && !f.noFirst, last && !f.noLast))
	atomic.StoreUint32(&w[0], control)
	m.described(control)
	return true
}

// frameType is the type of a descriptor for a part of a frame.
func frameType(first, last bool) uint32 {
	switch {
	case first && last:
		return etheravb.DTFSingle
	case first:
		return etheravb.DTFStart
	case last:
		return etheravb.DTFEnd
	}
	return etheravb.DTFMid
}

// resetRX is the receiver's part of a reset.
func (m *Model) resetRX() {
	for q := range m.rx.q {
		m.rx.q[q].load(0)
	}
}

// junk steps a generator of unlikely values.
func junk(s uint64) uint64 {
	s ^= s << 13
	s ^= s >> 7
	s ^= s << 17
	return s
}
