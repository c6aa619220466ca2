package dwmac4

import "github.com/barewire/barewire/mac/internal/gmac4"

// macStatus is MAC_Interrupt_Status.
func (m *chip) macStatus() uint32 {
	v := m.Load(gmac4.MACIntStatus)
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

func (m *chip) macLine() bool {
	return m.macStatus()&(m.Load(gmac4.MACIntEnable)|mmcBits) != 0
}

// mtlStatus is MTL_Interrupt_Status.
func (m *chip) mtlStatus() (v uint32) {
	for q := range m.cfg.Queues {
		r := m.Queue(q, gmac4.QInt)
		if r&gmac4.QIntRXOVF != 0 && r&gmac4.QIntRXOIE != 0 || r&gmac4.QIntTXUNF != 0 && r&gmac4.QIntTXUIE != 0 {
			v |= 1 << q
		}
	}
	return v
}

// Level implements eqos.MAC.
func (m *chip) Level() bool { return m.macLine() || m.mtlStatus() != 0 }

// dmaStatus is DMA_Interrupt_Status.
func (m *chip) dmaStatus() (v uint32) {
	m.Line.Mu.Lock()
	defer m.Line.Mu.Unlock()
	v = m.ChannelLines()
	if m.mtlStatus() != 0 {
		v |= gmac4.DMAIntMTL
	}
	if m.macLine() {
		v |= gmac4.DMAIntMAC
	}
	return v
}
