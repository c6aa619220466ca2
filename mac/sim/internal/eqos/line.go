package eqos

import "github.com/barewire/barewire/mac/internal/gmac4"

// Raise sets bits of DMA_CHc_Status.
func (m *Engine) Raise(c int, bits uint32) { m.Or(m.at.Channel(c)+gmac4.ChanStatus, bits) }

// Or sets bits of any register that takes part in interrupts.
func (m *Engine) Or(off, bits uint32) {
	m.Line.Mu.Lock()
	m.orLocked(off, bits)
	m.Line.Mu.Unlock()
}

func (m *Engine) orLocked(off, bits uint32) {
	m.Store(off, m.Load(off)|bits)
	m.UpdateLine()
}

// ClearBits is a write-one-to-clear write, or a clear on read: it returns what
// was there.
func (m *Engine) ClearBits(off, bits uint32) uint32 {
	m.Line.Mu.Lock()
	defer m.Line.Mu.Unlock()
	old := m.Load(off)
	m.Store(off, old&^bits)
	m.UpdateLine()
	return old
}

// SetInt writes an enable register.
func (m *Engine) SetInt(off, v uint32) {
	m.Line.Mu.Lock()
	defer m.Line.Mu.Unlock()
	m.Store(off, v)
	m.UpdateLine()
}

// UpdateLine brings the summaries and the line in step with causes and enables.
// Line.Mu is held.
func (m *Engine) UpdateLine() {
	level := m.mac.Level()
	for c := range m.cfg.Channels {
		st := m.at.Channel(c) + gmac4.ChanStatus
		normal, abnormal := m.causes(c)
		if normal != 0 {
			m.Store(st, m.Load(st)|gmac4.StatusNIS)
		}
		if abnormal != 0 {
			m.Store(st, m.Load(st)|gmac4.StatusAIS)
		}
		level = level || m.channelLine(c)
	}
	m.Line.Drive(level)
}

// causes are the enabled causes of channel c.
func (m *Engine) causes(c int) (normal, abnormal uint32) {
	on := m.Channel(c, gmac4.ChanStatus) & m.Channel(c, m.at.ChanIntEnable)
	return on & gmac4.IntNormal, on & gmac4.IntAbnormal
}

// channelLine is what channel c contributes to the common line. With INTM set
// receive and transmit have lines of their own, which these models do not have.
func (m *Engine) channelLine(c int) bool {
	normal, abnormal := m.causes(c)
	if m.Load(m.at.Mode)&m.at.INTM != 0 {
		normal &^= gmac4.IntRI | gmac4.IntTI
	}
	en := m.Channel(c, m.at.ChanIntEnable)
	return normal != 0 && en&m.at.NIE != 0 || abnormal != 0 && en&m.at.AIE != 0
}

// ChannelLines has a bit for each channel that asks for an interrupt. Line.Mu is
// held.
func (m *Engine) ChannelLines() (v uint32) {
	for c := range m.cfg.Channels {
		if m.channelLine(c) {
			v |= 1 << c
		}
	}
	return v
}
