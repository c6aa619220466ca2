package sun8i

import "github.com/barewire/barewire/mac/internal/emac"

// RaiseStatus sets bits of INT_STA as hardware would, for tests of a driver's
// interrupt handling.
func (m *Model) RaiseStatus(bits uint32) { m.raise(bits) }

func (m *Model) raise(bits uint32) {
	m.line.Mu.Lock()
	m.orLocked(emac.IntSta, bits)
	m.line.Mu.Unlock()
}

func (m *Model) orLocked(off, bits uint32) {
	m.store(off, m.load(off)|bits)
	m.updateLine()
}

// clearStatus is a write to INT_STA.
func (m *Model) clearStatus(bits uint32) {
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	m.store(emac.IntSta, m.load(emac.IntSta)&^bits)
	m.updateLine()
}

// setEnable is a write to INT_EN.
func (m *Model) setEnable(v uint32) {
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	m.store(emac.IntEn, v)
	m.updateLine()
}

// updateLine brings the line in step with causes and enables. line.Mu is held.
func (m *Model) updateLine() {
	m.line.Drive(m.load(emac.IntSta)&m.load(emac.IntEn) != 0)
}
