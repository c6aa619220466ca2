package sun8i

import (
	"sync"

	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/sim"
)

// line is the core's interrupt line. mu guards INT_STA and INT_EN.
type line struct {
	mu    sync.Mutex
	irq   func(level bool)
	level bool
}

// RaiseStatus sets bits of INT_STA as hardware would, for tests of a driver's
// interrupt handling.
func (m *Model) RaiseStatus(bits uint32) { m.raise(bits) }

func (m *Model) raise(bits uint32) {
	m.line.mu.Lock()
	m.orLocked(emac.IntSta, bits)
	m.line.mu.Unlock()
}

func (m *Model) orLocked(off, bits uint32) {
	m.store(off, m.load(off)|bits)
	m.updateLine()
}

// clearStatus is a write to INT_STA.
func (m *Model) clearStatus(bits uint32) {
	m.line.mu.Lock()
	defer m.line.mu.Unlock()
	m.store(emac.IntSta, m.load(emac.IntSta)&^bits)
	m.updateLine()
}

// setEnable is a write to INT_EN.
func (m *Model) setEnable(v uint32) {
	m.line.mu.Lock()
	defer m.line.mu.Unlock()
	m.store(emac.IntEn, v)
	m.updateLine()
}

// updateLine brings the line in step with causes and enables. line.mu is held.
func (m *Model) updateLine() {
	level := m.load(emac.IntSta)&m.load(emac.IntEn) != 0
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
