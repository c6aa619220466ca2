package dwxgmac2

import "github.com/barewire/barewire/mac/internal/xgmac2"

// macStatus is MAC_Interrupt_Status.
func (m *chip) macStatus() uint32 {
	v := m.Load(xgmac2.MACIntStatus)
	rx, tx := m.mmc.pending()
	if rx {
		v |= xgmac2.MACIntMMCRx
	}
	if tx {
		v |= xgmac2.MACIntMMCTx
	}
	return v
}

// mmcBits are raised whatever MAC_Interrupt_Enable says: the MMC has enables of its
// own.
const mmcBits = xgmac2.MACIntMMCRx | xgmac2.MACIntMMCTx

func (m *chip) macLine() bool {
	return m.macStatus()&(m.Load(xgmac2.MACIntEnable)|mmcBits) != 0
}

// mtlStatus is MTL_Interrupt_Status.
func (m *chip) mtlStatus() (v uint32) {
	for q := range max(m.cfg.Queues, m.cfg.RXQueues) {
		if m.Queue(q, xgmac2.QIntStatus)&m.Queue(q, xgmac2.QIntEnable) != 0 {
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
		v |= xgmac2.DMAIntMTL
	}
	if m.macLine() {
		v |= xgmac2.DMAIntMAC
	}
	return v
}
