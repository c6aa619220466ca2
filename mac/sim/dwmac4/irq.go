package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// RaiseStatus sets bits of DMA_CHc_Status as hardware would, for tests of a
// driver's interrupt handling.
func (m *Model) RaiseStatus(c int, bits uint32) { m.raise(c, bits) }

// raise sets causes of channel c.
func (m *Model) raise(c int, bits uint32) {
	m.line.Mu.Lock()
	m.orLocked(gmac4.ChanBase(c)+gmac4.ChanStatus, bits)
	m.line.Mu.Unlock()
}

// or sets bits of any register that takes part in interrupts.
func (m *Model) or(off, bits uint32) {
	m.line.Mu.Lock()
	m.orLocked(off, bits)
	m.line.Mu.Unlock()
}

func (m *Model) orLocked(off, bits uint32) {
	m.store(off, m.load(off)|bits)
	m.updateLine()
}

// clearBits is a write-one-to-clear write, or a clear on read: it returns what
// was there.
func (m *Model) clearBits(off, bits uint32) uint32 {
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	old := m.load(off)
	m.store(off, old&^bits)
	m.updateLine()
	return old
}

// setInt writes an enable register.
func (m *Model) setInt(off, v uint32) {
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	m.store(off, v)
	m.updateLine()
}

// updateLine brings the summaries and the line in step with causes and enables.
// line.Mu is held.
func (m *Model) updateLine() {
	level := m.macLine() || m.mtlStatus() != 0
	for c := range m.cfg.Queues {
		st := gmac4.ChanBase(c) + gmac4.ChanStatus
		normal, abnormal := m.causes(c)
		if normal != 0 {
			m.store(st, m.load(st)|gmac4.StatusNIS)
		}
		if abnormal != 0 {
			m.store(st, m.load(st)|gmac4.StatusAIS)
		}
		level = level || m.channelLine(c)
	}
	m.line.Drive(level)
}

// causes are the enabled causes of channel c.
func (m *Model) causes(c int) (normal, abnormal uint32) {
	on := m.load(gmac4.ChanBase(c)+gmac4.ChanStatus) & m.load(gmac4.ChanBase(c)+gmac4.ChanIntEnable)
	return on & gmac4.IntNormal, on & gmac4.IntAbnormal
}

// channelLine is what channel c contributes to the common line. With INTM set
// receive and transmit have lines of their own, which this model does not have.
func (m *Model) channelLine(c int) bool {
	normal, abnormal := m.causes(c)
	if m.load(gmac4.DMAMode)&gmac4.DMAModeINTM != 0 {
		normal &^= gmac4.IntRI | gmac4.IntTI
	}
	en := m.load(gmac4.ChanBase(c) + gmac4.ChanIntEnable)
	return normal != 0 && en&m.facts.IntNIE != 0 || abnormal != 0 && en&m.facts.IntAIE != 0
}

// macStatus is MAC_Interrupt_Status.
func (m *Model) macStatus() uint32 {
	v := m.load(gmac4.MACIntStatus)
	rx, tx, ipc := m.mmc.Pending()
	if rx {
		v |= gmac4.MACIntMMCRx | gmac4.MACIntMMC
	}
	if tx {
		v |= gmac4.MACIntMMCTx | gmac4.MACIntMMC
	}
	if ipc {
		v |= gmac4.MACIntMMCIPC | gmac4.MACIntMMC
	}
	return v
}

// mmcBits are raised whatever MAC_Interrupt_Enable says: the MMC has masks of
// its own.
const mmcBits = gmac4.MACIntMMC | gmac4.MACIntMMCRx | gmac4.MACIntMMCTx | gmac4.MACIntMMCIPC

func (m *Model) macLine() bool {
	return m.macStatus()&(m.load(gmac4.MACIntEnable)|mmcBits) != 0
}

// mtlStatus is MTL_Interrupt_Status.
func (m *Model) mtlStatus() (v uint32) {
	for q := range m.cfg.Queues {
		r := m.load(gmac4.QueueBase(q) + gmac4.QInt)
		if r&gmac4.QIntRXOVF != 0 && r&gmac4.QIntRXOIE != 0 || r&gmac4.QIntTXUNF != 0 && r&gmac4.QIntTXUIE != 0 {
			v |= 1 << q
		}
	}
	return v
}

// dmaStatus is DMA_Interrupt_Status.
func (m *Model) dmaStatus() (v uint32) {
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	for c := range m.cfg.Queues {
		if m.channelLine(c) {
			v |= 1 << c
		}
	}
	if m.mtlStatus() != 0 {
		v |= gmac4.DMAIntMTL
	}
	if m.macLine() {
		v |= gmac4.DMAIntMAC
	}
	return v
}
