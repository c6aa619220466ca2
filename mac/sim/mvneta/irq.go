package mvneta

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
)

// updateLine brings the interrupt line in step with causes and mask.
func (m *Model) updateLine() {
	level := m.causes()&m.load(neta.CauseMask) != 0
	if level == m.line.level {
		if !level && m.line.irq != nil && m.faults.Hit(sim.SpuriousInterrupt) {
			m.line.irq(true)
			m.line.irq(false)
		}
		return
	}
	m.line.level = level
	if m.line.irq != nil && !(level && m.faults.Hit(sim.LostInterrupt)) {
		m.line.irq(level)
	}
}

// visible is what of cause and mask the CPU that asks can see: the queues of its
// map. The next access is the next CPU's.
func (m *Model) visible() uint32 {
	queues := m.load(neta.CPUMap(m.line.cpu))
	m.line.cpu = (m.line.cpu + 1) % m.cfg.CPUs
	rx, tx := queues&0xFF, queues>>8&0xFF
	return field.Put(neta.CauseRX, rx) | field.Put(neta.CauseFree, rx) | field.Put(neta.CauseTX, tx) | 0xFF00_0000
}

// causes is the cause register: what follows the counters, and the summary of
// what is latched in Misc_Cause.
func (m *Model) causes() (v uint32) {
	for q := range neta.MaxQueues {
		r, t := &m.rxq[q], &m.txq[q]
		threshold := m.load(neta.RXThreshold(q))
		if r.occupied > int(field.Get(neta.RXThreshOccupied, threshold)) || r.expired {
			v |= field.Put(neta.CauseRX, 1<<q)
		}
		if free := int(field.Get(neta.RXThreshFree, threshold)); free > 0 && r.free < free {
			v |= field.Put(neta.CauseFree, 1<<q)
		}
		if t.sent > int(field.Get(neta.TXThresh, m.load(neta.TXRingSize(q)))) {
			v |= field.Put(neta.CauseTX, 1<<q)
		}
	}
	enable := m.load(neta.InterruptEnable)
	v &^= field.Put(neta.CauseRX, ^enable) | field.Put(neta.CauseTX, ^enable>>8)
	if m.load(neta.MiscCause)&m.load(neta.MiscMask) != 0 {
		v |= neta.CauseMisc
	}
	return v
}

// misc latches causes.
func (m *Model) misc(bits uint32) {
	m.or(neta.MiscCause, bits)
	m.updateLine()
}

// Raise latches bits of Misc_Cause as hardware would, for tests of a driver's
// interrupt handling.
func (m *Model) Raise(bits uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.misc(bits)
}
