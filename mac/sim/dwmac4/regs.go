package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
)

func (m *Model) load(off uint32) uint32     { return m.regs[off/4].Load() }
func (m *Model) store(off uint32, v uint32) { m.regs[off/4].Store(v) }

// channel is register off of channel c.
func (m *Model) channel(c int, off uint32) uint32 { return m.load(gmac4.ChanBase(c) + off) }

// queue is register off of queue q.
func (m *Model) queue(q int, off uint32) uint32 { return m.load(gmac4.QueueBase(q) + off) }

// RegisterName implements sim.Described.
func (m *Model) RegisterName(off uint32) string { return gmac4.RegName(off) }

// Doorbell implements sim.Described.
func (m *Model) Doorbell(off uint32) bool {
	_, r, ok := split(off, gmac4.ChanBase(0), 0x80, gmac4.MaxChannels)
	return ok && (r == gmac4.ChanTxTail || r == gmac4.ChanRxTail)
}

// split finds the index and offset of a register in a block of n equal parts.
func split(off, base, stride, n uint32) (i int, reg uint32, ok bool) {
	if off < base || off >= base+n*stride {
		return 0, 0, false
	}
	return int((off - base) / stride), (off - base) % stride, true
}

// Read32 implements mac.Registers. Registers that do not exist read 0.
func (m *Model) Read32(off uint32) uint32 {
	if off%4 != 0 || off >= gmac4.WindowSize || m.closed.Load() {
		return 0
	}
	if c, r, ok := split(off, gmac4.ChanBase(0), 0x80, gmac4.MaxChannels); ok {
		return m.readChannel(c, r)
	}
	if q, r, ok := split(off, gmac4.QueueBase(0), 0x40, gmac4.MaxQueues); ok {
		return m.readQueue(q, r)
	}
	if off >= gmac4.MMC && off < gmac4.MMC+dwregs.MMCSize {
		return m.mmc.Read(off - gmac4.MMC)
	}
	switch off {
	case gmac4.MACIntStatus:
		return m.macStatus()
	case gmac4.MACRxTxStatus:
		return m.clearBits(off, ^uint32(0))
	case gmac4.MACPHYIF:
		m.clearBits(gmac4.MACIntStatus, gmac4.MACIntRGSMII)
	case gmac4.MACDebug:
		return m.macDebug()
	case gmac4.MACMDIOAddr:
		return m.mdio.readAddr()
	case gmac4.MACMDIOData:
		return m.mdio.readData()
	case gmac4.MTLIntStatus:
		m.line.Mu.Lock()
		defer m.line.Mu.Unlock()
		return m.mtlStatus()
	case gmac4.DMAIntStatus:
		return m.dmaStatus()
	case gmac4.DMADebug0, gmac4.DMADebug1, gmac4.DMADebug2:
		return m.dmaDebug(off)
	}
	return m.load(off)
}

func (m *Model) readChannel(c int, r uint32) uint32 {
	if c >= m.cfg.Queues {
		return 0
	}
	off := gmac4.ChanBase(c) + r
	if r == gmac4.ChanMissed {
		return m.regs[off/4].Swap(0)
	}
	return m.load(off)
}

func (m *Model) readQueue(q int, r uint32) uint32 {
	if q >= m.cfg.Queues {
		return 0
	}
	off := gmac4.QueueBase(q) + r
	switch r {
	case gmac4.TxQUnderflow, gmac4.RxQMissed:
		return m.regs[off/4].Swap(0)
	case gmac4.TxQDebug:
		return m.txDebug(q)
	case gmac4.RxQDebug:
		return m.rxDebug(q)
	}
	return m.load(off)
}

// dmaDebug builds the states of the channels in one of DMA_Debug_Status0 to 2.
func (m *Model) dmaDebug(off uint32) (v uint32) {
	for c := range m.cfg.Queues {
		if reg, rps, tps := gmac4.DebugState(c); reg == off {
			v |= field.Put(rps, m.rxState(c)) | field.Put(tps, m.txState(c))
		}
	}
	return v
}

// macDebug is MAC_Debug.
func (m *Model) macDebug() (v uint32) {
	for c := range m.cfg.Queues {
		if m.tx.ch[c].busy.Load() {
			v |= gmac4.DebugTPESTS | field.Put(gmac4.DebugTFCSTS, 3)
		}
	}
	if v == 0 && m.tx.pausedUntil.Load() != 0 {
		v = field.Put(gmac4.DebugTFCSTS, 2)
	}
	return v
}

// Write32 implements mac.Registers. Writes to registers that do not exist, or
// that cannot be written, change nothing.
func (m *Model) Write32(off, v uint32) {
	if off%4 != 0 || off >= gmac4.WindowSize || m.closed.Load() {
		return
	}
	if c, r, ok := split(off, gmac4.ChanBase(0), 0x80, gmac4.MaxChannels); ok {
		if c < m.cfg.Queues && !m.resetting.Load() {
			m.writeChannel(c, r, v)
		}
		return
	}
	switch off {
	case gmac4.DMAMode:
		m.writeMode(v)
		return
	case gmac4.MACMDIOAddr:
		m.mdioStart(v)
		return
	case gmac4.MACMDIOData:
		m.mdio.writeData(v)
		return
	}
	if m.resetting.Load() {
		return
	}
	m.write.Lock()
	kick := m.writeCommon(off, v)
	m.write.Unlock()
	if kick {
		m.txEngine.Kick()
		m.rxEngine.Kick()
	}
}

// writeCommon is a write outside the channels. kick asks for both engines to
// look again. m.write is held.
func (m *Model) writeCommon(off, v uint32) (kick bool) {
	if q, r, ok := split(off, gmac4.QueueBase(0), 0x40, gmac4.MaxQueues); ok {
		return q < m.cfg.Queues && m.writeQueue(q, r, v)
	}
	if off >= gmac4.MMC && off < gmac4.MMC+dwregs.MMCSize {
		m.mmc.Write(off-gmac4.MMC, v)
		return false
	}
	if off >= gmac4.AddrHigh(0) && off <= gmac4.AddrLow(127) {
		m.writeAddress(off, v)
		return false
	}
	if i, _, ok := split(off, gmac4.TxFlow(0), 4, gmac4.MaxQueues); ok {
		if v&gmac4.TxFlowFCB != 0 && i == 0 {
			m.tx.pause.Store(pauseOn)
		}
		m.store(off, v&^gmac4.TxFlowFCB)
		return v&gmac4.TxFlowFCB != 0
	}
	switch off {
	case gmac4.MACConfig:
		m.checkConfig(m.load(off), v)
		if m.cfg.NoRXChecksum {
			v &^= gmac4.ConfigIPC
		}
		m.store(off, v)
		return true
	case gmac4.MACIntStatus, gmac4.MACRxTxStatus, gmac4.MACVersion, gmac4.MACDebug, gmac4.MACFeature0, gmac4.MACFeature1,
		gmac4.MACFeature2, gmac4.MACFeature3, gmac4.MTLIntStatus, gmac4.DMAIntStatus, gmac4.DMADebug0,
		gmac4.DMADebug1, gmac4.DMADebug2:
	case gmac4.MACPHYIF:
		m.store(off, m.load(off)&^0xffff|v&0xffff)
	case gmac4.MACIntEnable:
		m.setInt(off, v)
	case gmac4.MACRxQCtrl0:
		m.store(off, v)
		m.checkFIFO()
		return true
	case gmac4.MTLRxQDMAMap0, gmac4.MTLRxQDMAMap1:
		m.store(off, v)
		return true
	case gmac4.MTLOpMode:
		if v&gmac4.OpModeCNTCLR != 0 {
			for q := range m.cfg.Queues {
				m.store(gmac4.QueueBase(q)+gmac4.RxQMissed, 0)
				m.store(gmac4.QueueBase(q)+gmac4.TxQUnderflow, 0)
			}
		}
		m.store(off, v&^(gmac4.OpModeCNTCLR|gmac4.OpModeCNTPRST))
	default:
		if i, _, ok := split(off, gmac4.HashTable(0), 4, 8); ok && i >= m.cfg.HashBins/32 {
			return false
		}
		m.store(off, v)
	}
	return false
}

// checkConfig records a change of speed or duplex while the MAC runs.
func (m *Model) checkConfig(old, v uint32) {
	const speed = gmac4.ConfigPS | gmac4.ConfigFES | gmac4.ConfigDM
	if !m.cfg.AnyLinkChange && (old^v)&speed != 0 && old&(gmac4.ConfigTE|gmac4.ConfigRE) != 0 {
		m.bad.Record("speed or duplex changed while the MAC runs: MAC_Config %#x to %#x", old, v)
	}
}

func (m *Model) writeQueue(q int, r, v uint32) (kick bool) {
	off := gmac4.QueueBase(q) + r
	switch r {
	case gmac4.TxQUnderflow, gmac4.TxQDebug, gmac4.RxQMissed, gmac4.RxQDebug:
		return false
	case gmac4.QInt:
		m.line.Mu.Lock()
		status := m.load(off) & gmac4.QIntStatus &^ v
		m.store(off, v&^gmac4.QIntStatus|status)
		m.updateLine()
		m.line.Mu.Unlock()
		return false
	case gmac4.TxQOpMode:
		if v&gmac4.TxQOpFTQ != 0 {
			m.flushTX(q)
			v &^= gmac4.TxQOpFTQ
		}
		if m.cfg.Queues == 1 {
			const fixed = gmac4.TxQOpTQS | gmac4.TxQOpTXQEN
			v = v&^fixed | m.load(off)&fixed
		}
	}
	m.store(off, v)
	if r == gmac4.RxQOpMode {
		m.checkFIFO()
	}
	return true
}

// checkFIFO records receive queues that are together larger than the FIFO. Those
// that are off take no part: their size may be what the reset has left.
func (m *Model) checkFIFO() {
	sum := 0
	for q := range m.cfg.Queues {
		if m.load(gmac4.MACRxQCtrl0)&gmac4.RxQEnable(q) != 0 {
			sum += m.rxFIFO(q)
		}
	}
	if sum > m.cfg.RXFIFO {
		m.bad.Record("receive queues of %d bytes in a FIFO of %d", sum, m.cfg.RXFIFO)
	}
}

// busMask cuts the bits of an address or size that the 64-bit bus ignores.
const busMask = ^uint32(7)

func (m *Model) writeChannel(c int, r, v uint32) {
	off := gmac4.ChanBase(c) + r
	switch r {
	case gmac4.ChanTxTail:
		m.store(off, v&busMask)
		m.tx.ch[c].tailWritten.Store(true)
		m.txEngine.Kick()
	case gmac4.ChanRxTail:
		m.store(off, v&busMask)
		ch := &m.rx.ch[c]
		ch.tailWritten.Store(true)
		if m.cfg.CheckArmed {
			m.checkArmed(c)
		}
		if ch.waiting.Load() || m.cfg.Inline {
			m.rxEngine.Kick()
		}
	case gmac4.ChanStatus:
		m.clearBits(off, v)
	case gmac4.ChanIntEnable:
		m.setInt(off, v)
	case gmac4.ChanTxListHigh, gmac4.ChanTxList:
		m.setTXList(c, r, v)
	case gmac4.ChanRxListHigh, gmac4.ChanRxList:
		m.setRXList(c, r, v)
	case gmac4.ChanTxControl:
		m.setTXControl(c, v)
	case gmac4.ChanRxControl:
		m.setRXControl(c, v&^field.Put(gmac4.RxControlRBSZ, 7))
	case gmac4.ChanTxRingLen, gmac4.ChanRxRingLen:
		m.store(off, v&gmac4.RingLenMask)
	case gmac4.ChanRxWatchdog:
		if v &= gmac4.WatchdogRWT | gmac4.WatchdogRWTU; m.cfg.Version < 0x41 {
			v &= gmac4.WatchdogRWT
		}
		m.store(off, v)
	case gmac4.ChanCurTxDesc, gmac4.ChanCurRxDesc, gmac4.ChanCurTxBuf, gmac4.ChanCurTxBufH, gmac4.ChanCurRxBuf,
		gmac4.ChanCurRxBufH, gmac4.ChanMissed:
	default:
		m.store(off, v)
	}
}

// writeMode is a write to DMA_Mode.
func (m *Model) writeMode(v uint32) {
	if v&gmac4.DMAModeSWR == 0 {
		if !m.resetting.Load() {
			m.setInt(gmac4.DMAMode, v)
		}
		return
	}
	m.write.Lock()
	defer m.write.Unlock()
	m.rx.mu.Lock()
	m.tx.mu.Lock()
	m.setReset()
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	m.resets++
	slow, dead := m.faults.Hit(sim.SlowReset), m.faults.Hit(sim.DeadReset)
	if !slow && !dead {
		m.resetting.Store(false)
		return
	}
	m.resetting.Store(true)
	m.store(gmac4.DMAMode, gmac4.DMAModeSWR)
	if dead {
		return
	}
	this := m.resets
	m.clock.AfterFunc(m.cfg.SlowReset, func() {
		m.write.Lock()
		defer m.write.Unlock()
		if m.resets == this {
			m.store(gmac4.DMAMode, 0)
			m.resetting.Store(false)
		}
	})
}

// setReset puts every register and engine into its state after a reset. The
// caller holds write, rx.mu and tx.mu, or nobody else knows the model yet.
func (m *Model) setReset() {
	m.stopTimers()
	m.resetTX()
	m.resetRX()
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	for i := range m.regs {
		m.regs[i].Store(0)
	}
	m.mmc.Reset()
	m.store(gmac4.MACVersion, 0x1000|uint32(m.cfg.Version))
	f := m.cfg.features()
	m.store(gmac4.MACFeature0, f[0])
	m.store(gmac4.MACFeature1, f[1])
	m.store(gmac4.MACFeature2, f[2])
	m.store(gmac4.MACFeature3, f[3])
	m.store(gmac4.MACLPITimers, 0x03e80000)
	m.store(gmac4.MAC1usTic, uint32(max(m.cfg.ClockHz/1_000_000-1, 0)))
	for n := range m.cfg.PerfectSlots + 1 {
		m.store(gmac4.AddrHigh(n), 0xffff)
		m.store(gmac4.AddrLow(n), 0xffffffff)
	}
	m.store(gmac4.AddrHigh(0), dwregs.AddrHighAE|0xffff)
	m.loadSlots()
	for q := range m.cfg.Queues {
		m.store(gmac4.QueueBase(q)+gmac4.TxQOpMode, 0)
	}
	if m.cfg.Queues == 1 {
		m.store(gmac4.QueueBase(0)+gmac4.TxQOpMode, field.Put(gmac4.TxQOpTXQEN, gmac4.TxQEnabled)|
			field.Put(gmac4.TxQOpTQS, uint32(max(m.cfg.TXFIFO/256-1, 0))))
		m.store(gmac4.QueueBase(0)+gmac4.RxQOpMode, field.Put(gmac4.RxQOpRQS, uint32(max(m.cfg.RXFIFO/256-1, 0))))
	}
	if m.cfg.InBandLink {
		m.setInBand()
	}
	m.updateLine()
}

// stopTimers ends what runs on the clock. rx.mu and tx.mu are held.
func (m *Model) stopTimers() {
	for c := range m.rx.ch {
		m.rx.ch[c].stopWatchdog()
	}
	m.tx.pausedUntil.Store(0)
	if m.tx.resume != nil {
		m.tx.resume.Stop()
	}
}
