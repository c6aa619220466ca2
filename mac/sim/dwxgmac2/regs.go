package dwxgmac2

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim/internal/eqos"
)

// RegisterName implements sim.Described.
func (m *Model) RegisterName(off uint32) string { return xgmac2.RegName(off) }

// Read32 implements mac.Registers. Registers that do not exist read 0.
func (m *Model) Read32(off uint32) uint32 {
	if off%4 != 0 || off >= xgmac2.WindowSize || m.chip.Closed() {
		return 0
	}
	return m.chip.read(off)
}

// Write32 implements mac.Registers. Writes to registers that do not exist, or
// that cannot be written, change nothing.
func (m *Model) Write32(off, v uint32) {
	if off%4 == 0 && off < xgmac2.WindowSize && !m.chip.Closed() {
		m.chip.write(off, v)
	}
}

func (m *chip) read(off uint32) uint32 {
	if c, r, ok := eqos.Split(off, xgmac2.ChanBase(0), xgmac2.ChanStride, xgmac2.MaxChannels); ok {
		return m.ReadChannel(c, r)
	}
	if q, r, ok := eqos.Split(off, xgmac2.QueueBase(0), xgmac2.QueueStride, xgmac2.MaxQueues); ok {
		return m.ReadQueue(q, r)
	}
	if off >= xgmac2.MMC && off < xgmac2.MMC+xgmac2.MMCSize {
		return m.mmc.read(off - xgmac2.MMC)
	}
	switch off {
	case xgmac2.MACIntStatus:
		return m.macStatus()
	case xgmac2.MACRxTxStatus:
		return m.ClearBits(off, ^uint32(0))
	case xgmac2.MACMDIOData:
		return m.readCommand()
	case xgmac2.MACRSSAddr:
		v := m.Load(off) &^ xgmac2.RSSAddrOB
		if m.rss.done() {
			v |= xgmac2.RSSAddrOB
		}
		return v
	case xgmac2.MTLIntStatus:
		m.Line.Mu.Lock()
		defer m.Line.Mu.Unlock()
		return m.mtlStatus()
	case xgmac2.DMAIntStatus:
		return m.dmaStatus()
	}
	if off >= xgmac2.DMADebug0 && off <= xgmac2.DMADebug4 {
		return m.States(off)
	}
	return m.Load(off)
}

func (m *chip) write(off, v uint32) {
	if c, r, ok := eqos.Split(off, xgmac2.ChanBase(0), xgmac2.ChanStride, xgmac2.MaxChannels); ok {
		m.WriteChannel(c, r, v)
		return
	}
	switch off {
	case xgmac2.DMAMode:
		m.WriteMode(v)
		return
	case xgmac2.MACMDIOData:
		m.writeCommand(v)
		return
	}
	if m.Resetting() {
		return
	}
	m.Write.Lock()
	kick := m.writeCommon(off, v)
	m.Write.Unlock()
	if kick {
		m.Kick()
	}
}

// writeCommon is a write outside the channels. kick asks for both engines to look
// again. m.Write is held.
func (m *chip) writeCommon(off, v uint32) (kick bool) {
	if q, r, ok := eqos.Split(off, xgmac2.QueueBase(0), xgmac2.QueueStride, xgmac2.MaxQueues); ok {
		return q < max(m.cfg.Queues, m.cfg.RXQueues) && m.writeQueue(q, r, v)
	}
	if off >= xgmac2.MMC && off < xgmac2.MMC+xgmac2.MMCSize {
		m.mmc.write(off-xgmac2.MMC, v)
		return false
	}
	switch off {
	case xgmac2.MACTxConfig:
		m.checkConfig(m.Load(off), v)
		m.Store(off, v)
		return true
	case xgmac2.MACRxConfig:
		if m.cfg.NoRXChecksum {
			v &^= xgmac2.RxConfigIPC
		}
		m.Store(off, v)
		return true
	case xgmac2.MACIntStatus, xgmac2.MACRxTxStatus, xgmac2.MACVersion, xgmac2.MACDebug, xgmac2.MACFeature0, xgmac2.MACFeature1,
		xgmac2.MACFeature2, xgmac2.MACFeature3, xgmac2.MACFeature4, xgmac2.MTLIntStatus, xgmac2.DMAIntStatus:
		return false
	case xgmac2.MACIntEnable:
		m.SetInt(off, v)
		return false
	case xgmac2.MACRSSAddr:
		data, ok := m.rss.access(v, m.Load(xgmac2.MACRSSData))
		if !ok {
			m.Bad.Record("MAC_RSS_Address written with %#x while an access is busy", v)
			return false
		}
		m.Store(off, v)
		m.Store(xgmac2.MACRSSData, data)
		return false
	}
	if off >= xgmac2.MTLRxQDMAMap0 && off <= xgmac2.RxQDMAMap(xgmac2.MaxQueues-1) {
		m.Store(off, v)
		return true
	}
	if off >= xgmac2.DMADebug0 && off <= xgmac2.DMADebug4 {
		return false
	}
	return m.WriteMAC(off, v)
}

// checkConfig records a change of speed while the MAC runs.
func (m *chip) checkConfig(old, v uint32) {
	running := old&xgmac2.TxConfigTE != 0 || m.Load(xgmac2.MACRxConfig)&xgmac2.RxConfigRE != 0
	if !m.cfg.AnyLinkChange && running && (old^v)&xgmac2.TxConfigSS != 0 {
		m.Bad.Record("speed changed while the MAC runs: MAC_TxConfig %#x to %#x", old, v)
	}
}

func (m *chip) writeQueue(q int, r, v uint32) (kick bool) {
	off := xgmac2.QueueBase(q) + r
	switch r {
	case xgmac2.QIntStatus:
		m.ClearBits(off, v)
		return false
	case xgmac2.QIntEnable:
		m.SetInt(off, v)
		return false
	}
	return m.WriteQueue(q, r, v)
}

// Reset implements eqos.MAC.
func (m *chip) Reset() {
	m.mmc.reset()
	m.rss.reset()
	m.Store(xgmac2.MACVersion, m.version())
	f := m.cfg.features()
	m.Store(xgmac2.MACFeature0, f[0])
	m.Store(xgmac2.MACFeature1, f[1])
	m.Store(xgmac2.MACFeature2, f[2])
	if max(m.cfg.Queues, m.cfg.RXQueues) == 1 {
		m.Store(xgmac2.QueueBase(0)+xgmac2.TxQOpMode, field.Put(xgmac2.TxQOpTXQEN, xgmac2.TxQEnabled)|
			field.Put(xgmac2.TxQOpTQS, uint32(max(m.cfg.TXFIFO/256-1, 0))))
		m.Store(xgmac2.QueueBase(0)+xgmac2.RxQOpMode, field.Put(xgmac2.RxQOpRQS, uint32(max(m.cfg.RXFIFO/256-1, 0))))
	}
}
