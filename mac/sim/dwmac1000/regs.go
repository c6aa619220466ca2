package dwmac1000

import (
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
)

func (m *Model) load(off uint32) uint32     { return m.regs[off/4].Load() }
func (m *Model) store(off uint32, v uint32) { m.regs[off/4].Store(v) }

// RegisterName implements sim.Described.
func (m *Model) RegisterName(off uint32) string { return gmac3.RegName(off) }

// Doorbell implements sim.Described.
func (m *Model) Doorbell(off uint32) bool { return off == gmac3.DMATxPoll || off == gmac3.DMARxPoll }

// Read32 implements mac.Registers. Registers that do not exist read 0.
func (m *Model) Read32(off uint32) uint32 {
	if off%4 != 0 || off >= gmac3.WindowSize || m.closed.Load() {
		return 0
	}
	if off >= gmac3.MMC && off < gmac3.MMC+dwregs.MMCSize {
		return m.mmc.Read(off - gmac3.MMC)
	}
	switch off {
	case gmac3.MACIntStatus:
		return m.macStatus()
	case gmac3.MACRGSMII:
		m.clearBits(gmac3.MACIntStatus, gmac3.MACIntRGSMII)
	case gmac3.MACDebug:
		return m.debug()
	case gmac3.MACMIIAddr:
		return m.mdio.ReadAddr()
	case gmac3.MACMIIData:
		return m.mdio.ReadData()
	case gmac3.DMAStatus:
		return m.status()
	case gmac3.DMAMissed:
		return m.regs[off/4].Swap(0)
	}
	return m.load(off)
}

// status is the status register of the DMA.
func (m *Model) status() uint32 {
	m.line.Mu.Lock()
	v := m.load(gmac3.DMAStatus) | m.macCauses()
	m.line.Mu.Unlock()
	return v | field.Put(gmac3.StatusRS, m.rxState()) | field.Put(gmac3.StatusTS, m.txState())
}

// debug is the debug register, which versions before 3.50 do not have.
func (m *Model) debug() (v uint32) {
	if m.cfg.Version < 0x35 {
		return 0
	}
	if m.tx.busy.Load() {
		v |= gmac3.DebugTPE | field.Put(gmac3.DebugTFC, 3)
	} else if m.tx.hold.Active() {
		v |= gmac3.DebugTPAU | field.Put(gmac3.DebugTFC, 2)
	}
	if m.tx.holding.Load() {
		v |= gmac3.DebugTXF | field.Put(gmac3.DebugTRC, 1)
	}
	return v | m.rxDebug()
}

// Write32 implements mac.Registers. Writes to registers that do not exist, or that
// cannot be written, change nothing.
func (m *Model) Write32(off, v uint32) {
	if off%4 != 0 || off >= gmac3.WindowSize || m.closed.Load() {
		return
	}
	switch off {
	case gmac3.DMABusMode:
		m.writeBusMode(v)
		return
	case gmac3.MACMIIAddr:
		if !m.mdio.WriteAddr(v) {
			m.bad.Record("MAC_MIIAddr written with %#x while a transfer is busy", v)
		}
		return
	case gmac3.MACMIIData:
		m.mdio.WriteData(v & 0xFFFF)
		return
	}
	switch {
	case m.resetting.Load():
	case off == gmac3.DMATxPoll:
		m.tx.polled.Store(true)
		m.txEngine.Kick()
	case off == gmac3.DMARxPoll:
		if m.cfg.CheckArmed {
			m.checkArmed()
		}
		m.rx.polled.Store(true)
		if m.rx.waiting.Load() || m.cfg.Inline {
			m.rxEngine.Kick()
		}
	case off >= gmac3.DMABusMode && off < gmac3.WindowSize:
		m.writeDMA(off, v)
	default:
		m.write.Lock()
		kick := m.writeMAC(off, v)
		m.write.Unlock()
		if kick {
			m.txEngine.Kick()
			m.rxEngine.Kick()
		}
	}
}

// writeMAC is a write below the DMA. kick asks for both engines to look again.
// m.write is held.
func (m *Model) writeMAC(off, v uint32) (kick bool) {
	switch {
	case off >= gmac3.MMC && off < gmac3.MMC+dwregs.MMCSize:
		m.mmc.Write(off-gmac3.MMC, v)
		return false
	case off >= gmac3.AddrHigh(0) && off <= gmac3.AddrLow(15), off >= gmac3.AddrHigh(16) && off <= gmac3.AddrLow(gmac3.MaxAddrs-1):
		m.writeAddress(off, v)
		return false
	}
	switch off {
	case gmac3.MACConfig:
		const speed = gmac3.ConfigPS | gmac3.ConfigFES | gmac3.ConfigDM
		if old := m.load(off); !m.cfg.AnyLinkChange && (old^v)&speed != 0 && old&(gmac3.ConfigTE|gmac3.ConfigRE) != 0 {
			m.bad.Record("speed or duplex changed while the MAC runs: MAC_Config %#x to %#x", old, v)
		}
		if m.cfg.RXChecksum < 0 {
			v &^= gmac3.ConfigIPC
		}
		m.store(off, v)
		return true
	case gmac3.MACFlow:
		if v&gmac3.FlowFCB != 0 {
			m.tx.pause.Store(pauseOn)
		}
		m.store(off, v&^gmac3.FlowFCB)
		return v&gmac3.FlowFCB != 0
	case gmac3.MACIntMask:
		m.setInt(off, v&gmac3.MACIntMaskable)
	case gmac3.MACVersion, gmac3.MACDebug, gmac3.MACIntStatus, gmac3.MACRGSMII:
	case gmac3.MACHashLow, gmac3.MACHashHigh:
		if m.cfg.HashBins == 64 {
			m.store(off, v)
		}
	default:
		if n := off - gmac3.MACExtHash; n < 0x20 && (m.cfg.HashBins <= 64 || int(n/4) >= m.cfg.HashBins/32) {
			return false
		}
		m.store(off, v)
	}
	return false
}

// busMask cuts the bits of an address or size that the 64-bit bus ignores.
const busMask = ^uint32(7)

func (m *Model) writeDMA(off, v uint32) {
	switch off {
	case gmac3.DMAStatus:
		m.clearBits(off, v&gmac3.IntAll)
	case gmac3.DMAIntEnable:
		m.setInt(off, v&gmac3.IntAll)
	case gmac3.DMARxList:
		m.setRXList(v & busMask)
	case gmac3.DMATxList:
		m.setTXList(v & busMask)
	case gmac3.DMAOpMode:
		m.writeOpMode(v)
	case gmac3.DMAWatchdog:
		if m.facts.Watchdog {
			m.store(off, v&gmac3.WatchdogRIWT)
		}
	case gmac3.DMAMissed, gmac3.DMAFeature, gmac3.DMAAXIStatus, gmac3.DMACurTxDesc, gmac3.DMACurRxDesc, gmac3.DMACurTxBuf, gmac3.DMACurRxBuf:
	default:
		m.store(off, v)
	}
}

// writeOpMode is a write to Operation_Mode.
func (m *Model) writeOpMode(v uint32) {
	m.write.Lock()
	old := m.load(gmac3.DMAOpMode)
	const fixed = gmac3.OpTSF
	if old&gmac3.OpST != 0 && (old^v)&fixed != 0 {
		m.bad.Record("transmit store and forward changed while DMA runs: DMA_OpMode %#x to %#x", old, v)
	}
	flush := v&gmac3.OpFTF != 0
	v &^= gmac3.OpFTF
	m.rx.mu.Lock()
	m.tx.mu.Lock()
	m.store(gmac3.DMAOpMode, v)
	if flush {
		m.flushTX()
	}
	if (old^v)&v&gmac3.OpSR != 0 {
		m.rx.start()
	}
	if (old^v)&v&gmac3.OpST != 0 {
		m.tx.start()
	}
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	if off := old &^ v; off&gmac3.OpSR != 0 {
		m.rx.mu.Lock()
		m.rx.fetched = false
		m.rx.mu.Unlock()
		m.raise(gmac3.IntRPS)
	}
	if off := old &^ v; off&gmac3.OpST != 0 {
		m.raise(gmac3.IntTPS)
	}
	m.write.Unlock()
	m.txEngine.Kick()
	m.rxEngine.Kick()
}

// writeBusMode is a write to Bus_Mode.
func (m *Model) writeBusMode(v uint32) {
	if v&gmac3.BusSWR == 0 {
		if !m.resetting.Load() {
			if m.cfg.NormalDescriptors || !m.facts.Extended {
				v &^= gmac3.BusATDS
			}
			m.store(gmac3.DMABusMode, v)
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
	m.store(gmac3.DMABusMode, m.load(gmac3.DMABusMode)|gmac3.BusSWR)
	if dead {
		return
	}
	this := m.resets
	m.clock.AfterFunc(m.cfg.SlowReset, func() {
		m.write.Lock()
		defer m.write.Unlock()
		if m.resets == this {
			m.store(gmac3.DMABusMode, m.load(gmac3.DMABusMode)&^gmac3.BusSWR)
			m.resetting.Store(false)
		}
	})
}

// setReset puts every register and engine into its state after a reset. The caller
// holds write, rx.mu and tx.mu, or nobody else knows the model yet.
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
	m.store(gmac3.MACVersion, 0x1000|uint32(m.cfg.Version))
	m.store(gmac3.DMAFeature, m.cfg.features())
	m.store(gmac3.DMABusMode, field.Put(gmac3.BusPBL, 1)|field.Put(gmac3.BusRPBL, 1))
	m.store(gmac3.MACLPITimers, 0x03e80000)
	for n := range m.cfg.PerfectSlots + 1 {
		m.store(gmac3.AddrHigh(n), 0xffff)
		m.store(gmac3.AddrLow(n), 0xffffffff)
	}
	m.store(gmac3.AddrHigh(0), dwregs.AddrHighAE|0xffff)
	m.loadSlots()
	if m.cfg.InBandLink {
		m.setInBand()
	}
	m.updateLine()
}

// stopTimers ends what runs on the clock. rx.mu and tx.mu are held.
func (m *Model) stopTimers() {
	m.rx.watchdog.Stop()
	m.tx.hold.End()
}
