package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/eqos"
)

// RegisterName implements sim.Described.
func (m *Model) RegisterName(off uint32) string { return gmac4.RegName(off) }

// Read32 implements mac.Registers. Registers that do not exist read 0.
func (m *Model) Read32(off uint32) uint32 {
	if off%4 != 0 || off >= gmac4.WindowSize || m.chip.Closed() {
		return 0
	}
	return m.chip.read(off)
}

// Write32 implements mac.Registers. Writes to registers that do not exist, or
// that cannot be written, change nothing.
func (m *Model) Write32(off, v uint32) {
	if off%4 == 0 && off < gmac4.WindowSize && !m.chip.Closed() {
		m.chip.write(off, v)
	}
}

func (m *chip) read(off uint32) uint32 {
	if c, r, ok := eqos.Split(off, gmac4.ChanBase(0), 0x80, gmac4.MaxChannels); ok {
		return m.ReadChannel(c, r)
	}
	if q, r, ok := eqos.Split(off, gmac4.QueueBase(0), 0x40, gmac4.MaxQueues); ok {
		return m.ReadQueue(q, r)
	}
	if off >= gmac4.MMC && off < gmac4.MMC+dwregs.MMCSize {
		return m.mmc.Read(off - gmac4.MMC)
	}
	switch off {
	case gmac4.MACIntStatus:
		return m.macStatus()
	case gmac4.MACRxTxStatus:
		return m.ClearBits(off, ^uint32(0))
	case gmac4.MACPHYIF:
		m.ClearBits(gmac4.MACIntStatus, gmac4.MACIntRGSMII)
	case gmac4.MACDebug:
		return m.macDebug()
	case gmac4.MACMDIOAddr:
		return m.MDIO.ReadAddr()
	case gmac4.MACMDIOData:
		return m.MDIO.ReadData()
	case gmac4.MTLIntStatus:
		m.Line.Mu.Lock()
		defer m.Line.Mu.Unlock()
		return m.mtlStatus()
	case gmac4.DMAIntStatus:
		return m.dmaStatus()
	case gmac4.DMADebug0, gmac4.DMADebug1, gmac4.DMADebug2:
		return m.States(off)
	}
	return m.Load(off)
}

// macDebug is MAC_Debug.
func (m *chip) macDebug() uint32 {
	switch {
	case m.Sending():
		return gmac4.DebugTPESTS | field.Put(gmac4.DebugTFCSTS, 3)
	case m.Paused():
		return field.Put(gmac4.DebugTFCSTS, 2)
	}
	return 0
}

func (m *chip) write(off, v uint32) {
	if c, r, ok := eqos.Split(off, gmac4.ChanBase(0), 0x80, gmac4.MaxChannels); ok {
		m.WriteChannel(c, r, v)
		return
	}
	switch off {
	case gmac4.DMAMode:
		m.WriteMode(v)
		return
	case gmac4.MACMDIOAddr:
		m.mdioStart(v)
		return
	case gmac4.MACMDIOData:
		m.MDIO.WriteData(v)
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

// writeCommon is a write outside the channels. kick asks for both engines to
// look again. m.Write is held.
func (m *chip) writeCommon(off, v uint32) (kick bool) {
	if q, r, ok := eqos.Split(off, gmac4.QueueBase(0), 0x40, gmac4.MaxQueues); ok {
		return q < m.cfg.Queues && m.writeQueue(q, r, v)
	}
	if off >= gmac4.MMC && off < gmac4.MMC+dwregs.MMCSize {
		m.mmc.Write(off-gmac4.MMC, v)
		return false
	}
	switch off {
	case gmac4.MACConfig:
		m.checkConfig(m.Load(off), v)
		if m.cfg.NoRXChecksum {
			v &^= gmac4.ConfigIPC
		}
		m.Store(off, v)
		return true
	case gmac4.MACIntStatus, gmac4.MACRxTxStatus, gmac4.MACVersion, gmac4.MACDebug, gmac4.MACFeature0, gmac4.MACFeature1,
		gmac4.MACFeature2, gmac4.MACFeature3, gmac4.MTLIntStatus, gmac4.DMAIntStatus, gmac4.DMADebug0,
		gmac4.DMADebug1, gmac4.DMADebug2:
		return false
	case gmac4.MACPHYIF:
		m.Store(off, m.Load(off)&^0xffff|v&0xffff)
		return false
	case gmac4.MACIntEnable:
		m.SetInt(off, v)
		return false
	case gmac4.MTLRxQDMAMap0, gmac4.MTLRxQDMAMap1:
		m.Store(off, v)
		return true
	case gmac4.MTLOpMode:
		if v&gmac4.OpModeCNTCLR != 0 {
			for q := range m.cfg.Queues {
				m.Store(gmac4.QueueBase(q)+gmac4.RxQMissed, 0)
				m.Store(gmac4.QueueBase(q)+gmac4.TxQUnderflow, 0)
			}
		}
		m.Store(off, v&^(gmac4.OpModeCNTCLR|gmac4.OpModeCNTPRST))
		return false
	}
	return m.WriteMAC(off, v)
}

// checkConfig records a change of speed or duplex while the MAC runs.
func (m *chip) checkConfig(old, v uint32) {
	const speed = gmac4.ConfigPS | gmac4.ConfigFES | gmac4.ConfigDM
	if !m.cfg.AnyLinkChange && (old^v)&speed != 0 && old&(gmac4.ConfigTE|gmac4.ConfigRE) != 0 {
		m.Bad.Record("speed or duplex changed while the MAC runs: MAC_Config %#x to %#x", old, v)
	}
}

func (m *chip) writeQueue(q int, r, v uint32) (kick bool) {
	if r != gmac4.QInt {
		return m.WriteQueue(q, r, v)
	}
	off := gmac4.QueueBase(q) + r
	m.Line.Mu.Lock()
	defer m.Line.Mu.Unlock()
	status := m.Load(off) & gmac4.QIntStatus &^ v
	m.Store(off, v&^gmac4.QIntStatus|status)
	m.UpdateLine()
	return false
}

// Reset implements eqos.MAC.
func (m *chip) Reset() {
	m.mmc.Reset()
	m.Store(gmac4.MACVersion, 0x1000|uint32(m.cfg.Version))
	f := m.cfg.features()
	m.Store(gmac4.MACFeature0, f[0])
	m.Store(gmac4.MACFeature1, f[1])
	m.Store(gmac4.MACFeature2, f[2])
	m.Store(gmac4.MACFeature3, f[3])
	m.Store(gmac4.MACLPITimers, 0x03e80000)
	m.Store(gmac4.MAC1usTic, uint32(max(m.cfg.ClockHz/1_000_000-1, 0)))
	if m.cfg.Queues == 1 {
		m.Store(gmac4.QueueBase(0)+gmac4.TxQOpMode, field.Put(gmac4.TxQOpTXQEN, gmac4.TxQEnabled)|
			field.Put(gmac4.TxQOpTQS, uint32(max(m.cfg.TXFIFO/256-1, 0))))
		m.Store(gmac4.QueueBase(0)+gmac4.RxQOpMode, field.Put(gmac4.RxQOpRQS, uint32(max(m.cfg.RXFIFO/256-1, 0))))
	}
	if m.cfg.InBandLink {
		m.setInBand()
	}
}
