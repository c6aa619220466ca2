package dwmac1000

import "github.com/barewire/barewire/mac/internal/gmac3"

// RaiseStatus sets bits of the DMA status register as hardware would, for tests of
// a driver's interrupt handling.
func (m *Model) RaiseStatus(bits uint32) { m.raise(bits) }

// raise sets causes of the DMA.
func (m *Model) raise(bits uint32) {
	m.line.Mu.Lock()
	m.orLocked(gmac3.DMAStatus, bits)
	m.line.Mu.Unlock()
}

func (m *Model) orLocked(off, bits uint32) {
	m.store(off, m.load(off)|bits)
	m.updateLine()
}

// clearBits is a write-one-to-clear write, or a clear on read: it returns what was
// there.
func (m *Model) clearBits(off, bits uint32) uint32 {
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	old := m.load(off)
	m.store(off, old&^bits)
	m.updateLine()
	return old
}

// setInt writes an enable or mask register.
func (m *Model) setInt(off, v uint32) {
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	m.store(off, v)
	m.updateLine()
}

// updateLine brings the summaries and the line in step with causes and enables.
// line.Mu is held.
func (m *Model) updateLine() {
	en := m.load(gmac3.DMAIntEnable)
	on := m.load(gmac3.DMAStatus) & en
	normal, abnormal := on&gmac3.IntNormal != 0, on&gmac3.IntAbnormal != 0
	if normal {
		m.store(gmac3.DMAStatus, m.load(gmac3.DMAStatus)|gmac3.IntNIS)
	}
	if abnormal {
		m.store(gmac3.DMAStatus, m.load(gmac3.DMAStatus)|gmac3.IntAIS)
	}
	m.line.Drive(normal && en&gmac3.IntNIS != 0 || abnormal && en&gmac3.IntAIS != 0 || m.macCauses() != 0)
}

// macCauses are the bits of the DMA status register for what comes from elsewhere.
func (m *Model) macCauses() (v uint32) {
	mac := m.load(gmac3.MACIntStatus) &^ m.load(gmac3.MACIntMask)
	if mac&(gmac3.MACIntRGSMII|gmac3.MACIntPCSLK|gmac3.MACIntPCSAN) != 0 {
		v |= gmac3.StatusGLI
	}
	if mac&gmac3.MACIntPMT != 0 {
		v |= gmac3.StatusGPI
	}
	if mac&gmac3.MACIntTS != 0 {
		v |= gmac3.StatusTTI
	}
	if mac&gmac3.MACIntLPI != 0 {
		v |= gmac3.StatusLPI
	}
	if rx, tx, ipc := m.mmc.Pending(); rx || tx || ipc {
		v |= gmac3.StatusGMI
	}
	return v
}

// macStatus is Interrupt_Status.
func (m *Model) macStatus() uint32 {
	v := m.load(gmac3.MACIntStatus)
	rx, tx, ipc := m.mmc.Pending()
	if rx {
		v |= gmac3.MACIntMMCRx | gmac3.MACIntMMC
	}
	if tx {
		v |= gmac3.MACIntMMCTx | gmac3.MACIntMMC
	}
	if ipc {
		v |= gmac3.MACIntMMCIPC | gmac3.MACIntMMC
	}
	return v
}

// busError stops an engine until the next reset. what is StatusEB.
func (m *Model) busError(what uint32) {
	m.line.Mu.Lock()
	m.store(gmac3.DMAStatus, m.load(gmac3.DMAStatus)&^gmac3.StatusEB)
	m.orLocked(gmac3.DMAStatus, gmac3.IntFBI|what)
	m.line.Mu.Unlock()
}
