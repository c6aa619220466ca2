package ravb

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
)

// queue is where a queue of descriptors stands.
type queue struct {
	cur  uint64
	dead bool // after an error, until the queue is loaded again
}

// maxLinks bounds the links followed for one descriptor.
const maxLinks = 4

// words are n words of the descriptor at addr, or nil on a bus error.
func (m *Model) words(addr uint64, n int, write bool) []uint32 {
	if m.faults.Hit(sim.DescriptorBusError) {
		return nil
	}
	b, err := m.mem.Slice(addr, 4*n, write)
	if err != nil {
		return nil
	}
	w, _ := sim.Words(b)
	return w
}

// next follows links until the queue stands at a descriptor that is none, and
// returns its control word. entry is the queue's place in the table, for errors.
func (m *Model) next(q *queue, entry int) (w []uint32, control uint32, ok bool) {
	for range maxLinks {
		if w = m.words(q.cur, 2, false); w == nil {
			m.queueError(q, entry, etheravb.ErrDescRead)
			return nil, 0, false
		}
		control = atomic.LoadUint32(&w[0])
		switch field.Get(etheravb.DescDT, control) {
		case etheravb.DTLink:
			atomic.StoreUint32(&w[0], control&^etheravb.DescDT|etheravb.Type(etheravb.DTLEmpty))
			fallthrough
		case etheravb.DTLinkFix:
			q.cur = uint64(w[1])
		default:
			m.store(etheravb.CDAR(entry), uint32(q.cur))
			return w, control, true
		}
	}
	m.bad.Record("queue of entry %d: links without an end", entry)
	m.queueError(q, entry, etheravb.ErrDescType)
	return nil, 0, false
}

// queueError stops a queue and says why.
func (m *Model) queueError(q *queue, entry int, kind uint32) {
	q.dead = true
	esr := field.Put(etheravb.ESREQN, uint32(entry)) | field.Put(etheravb.ESRET, kind)
	if m.load(etheravb.EIS)&etheravb.EISQEF != 0 {
		esr = m.load(etheravb.ESR) | etheravb.ESREIL // the first one stays
	}
	m.store(etheravb.ESR, esr)
	m.raise(etheravb.EIS, etheravb.EISQEF)
}

// described raises the interrupt that a descriptor asks for (DIE).
func (m *Model) described(control uint32) {
	if n := field.Get(etheravb.DescDIE, control); n != 0 {
		m.raise(etheravb.DIS, 1<<n)
	}
}
