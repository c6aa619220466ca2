package sun8i

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
)

func (m *Model) load(off uint32) uint32     { return m.regs[off/4].Load() }
func (m *Model) store(off uint32, v uint32) { m.regs[off/4].Store(v) }

// RegisterName implements sim.Described.
func (m *Model) RegisterName(off uint32) string {
	switch {
	case off == m.clkReg():
		return "EMAC_CLK"
	case off >= ccuBase:
		return fmt.Sprintf("CCU_%#x", off-ccuBase)
	case off >= syscBase:
		return fmt.Sprintf("SYSCON_%#x", off-syscBase)
	}
	return emac.RegName(off)
}

// Doorbell implements sim.Described.
func (m *Model) Doorbell(off uint32) bool {
	switch off {
	case emac.TxCtl1:
		return m.load(off)&emac.TxCtl1DMAEn != 0
	case emac.RxCtl1:
		return m.load(off)&emac.RxCtl1DMAEn != 0
	}
	return false
}

// Read32 implements mac.Registers. Registers that do not exist read 0, and so does
// the whole core without its clock.
func (m *Model) Read32(off uint32) uint32 {
	if off%4 != 0 || int64(off) >= int64(m.WindowSize()) || m.closed.Load() {
		return 0
	}
	if off < coreSize && !m.clocked() {
		return 0
	}
	switch off {
	case emac.MIICmd:
		return m.mdio.ReadAddr()
	case emac.MIIData:
		return m.mdio.ReadData()
	case emac.TxDMASta:
		return m.txState()
	case emac.RxDMASta:
		return m.rxState()
	}
	return m.load(off)
}

// Write32 implements mac.Registers. Writes to registers that do not exist, or that
// cannot be written, change nothing.
func (m *Model) Write32(off, v uint32) {
	switch {
	case off%4 != 0 || int64(off) >= int64(m.WindowSize()) || m.closed.Load():
	case off >= coreSize:
		m.writeGlue(off, v)
	case !m.clocked():
	case off == emac.MIIData:
		m.mdio.WriteData(v & 0xFFFF)
	case off == emac.MIICmd:
		m.writeMIICmd(v)
	case off == emac.BasicCtl1:
		m.writeBasic1(v)
	case !m.resetting.Load():
		m.writeCore(off, v)
	}
}

func (m *Model) writeCore(off, v uint32) {
	switch off {
	case emac.IntSta:
		m.clearStatus(v)
	case emac.IntEn:
		m.setEnable(v)
	case emac.TxCtl1:
		m.setTXControl(v)
	case emac.RxCtl1:
		m.setRXControl(v)
	case emac.TxDescList:
		m.setTXList(v)
	case emac.RxDescList:
		m.setRXList(v)
	case emac.BasicCtl0:
		m.write.Lock()
		m.checkSpeed(v)
		m.store(off, v)
		m.write.Unlock()
		m.kickTX()
	case emac.TxCtl0:
		m.store(off, v)
		m.kickTX()
	case emac.TxFlowCtl, emac.RxCtl0, emac.RxFrmFlt, emac.RxHash0, emac.RxHash1:
		m.store(off, v)
	default:
		if off >= emac.AddrHigh(0) && off < emac.AddrHigh(emac.AddrSlots) {
			m.rx.mu.Lock()
			m.store(off, v)
			m.loadSlots()
			m.rx.mu.Unlock()
		}
	}
}

// checkSpeed records a change of speed or duplex while the MAC runs, and a speed
// that there is not.
func (m *Model) checkSpeed(v uint32) {
	const speed = emac.Ctl0Speed | emac.Ctl0Duplex
	old := m.load(emac.BasicCtl0)
	running := m.load(emac.TxCtl0)&emac.TxCtl0En != 0 || m.load(emac.RxCtl0)&emac.RxCtl0En != 0
	if !m.cfg.AnyLinkChange && (old^v)&speed != 0 && running {
		m.bad.Record("speed or duplex changed while the MAC runs: BASIC_CTL0 %#x to %#x", old, v)
	}
	if field.Get(emac.Ctl0Speed, v) == 1 {
		m.bad.Record("BASIC_CTL0 %#x: no such speed", v)
	}
}

// writeBasic1 is a write to BASIC_CTL1.
func (m *Model) writeBasic1(v uint32) {
	m.write.Lock()
	defer m.write.Unlock()
	if v&emac.Ctl1SoftRst == 0 {
		if !m.resetting.Load() {
			m.store(emac.BasicCtl1, v)
		}
		return
	}
	m.sampleMux()
	m.rx.mu.Lock()
	m.tx.mu.Lock()
	m.setReset()
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	m.resets++
	slow, dead := m.faults.Hit(sim.SlowReset), m.faults.Hit(sim.DeadReset)
	m.resetting.Store(true)
	m.waiting = !slow && !dead
	m.store(emac.BasicCtl1, emac.Ctl1Reset|emac.Ctl1SoftRst)
	switch {
	case dead:
	case slow:
		this := m.resets
		m.clock.AfterFunc(m.cfg.SlowReset, func() {
			m.write.Lock()
			defer m.write.Unlock()
			if m.resets == this {
				m.waiting = true
				m.endReset()
			}
		})
	default:
		m.endReset()
	}
}

// endReset ends a reset that waits for nothing but the PHY's clock. write is held.
func (m *Model) endReset() {
	if m.waiting && m.phyClock() {
		m.waiting = false
		m.store(emac.BasicCtl1, emac.Ctl1Reset)
		m.resetting.Store(false)
	}
}

// phyChanged looks whether a reset can end now. No lock is held.
func (m *Model) phyChanged() {
	if !m.resetting.Load() {
		return
	}
	m.write.Lock()
	defer m.write.Unlock()
	m.endReset()
}

// setReset puts every register of the core and the engines into their state after
// a reset. The caller holds write, rx.mu and tx.mu, or nobody else knows the model
// yet.
func (m *Model) setReset() {
	m.tx.hold.End()
	m.resetTX()
	m.resetRX()
	m.line.Mu.Lock()
	defer m.line.Mu.Unlock()
	for off := uint32(0); off < emac.WindowSize; off += 4 {
		m.store(off, 0)
	}
	m.store(emac.BasicCtl1, emac.Ctl1Reset)
	for n := range emac.AddrSlots {
		m.store(emac.AddrHigh(n), emac.AddrHighBytes)
		m.store(emac.AddrLow(n), 0xFFFFFFFF)
	}
	m.store(emac.AddrHigh(0), emac.AddrHighEn|emac.AddrHighBytes)
	m.loadSlots()
	if m.cfg.InBandLink {
		m.setInBand()
	}
	m.updateLine()
}
