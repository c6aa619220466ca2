package ravb

import (
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/sim"
)

func (m *Model) load(off uint32) uint32     { return m.regs[off/4].Load() }
func (m *Model) store(off uint32, v uint32) { m.regs[off/4].Store(v) }

// RegisterName implements sim.Described.
func (m *Model) RegisterName(off uint32) string { return etheravb.RegName(off) }

// Doorbell implements sim.Described.
func (m *Model) Doorbell(off uint32) bool { return off == etheravb.TCCR }

// inEMAC reports whether a register belongs to E-MAC or checksum engine.
func inEMAC(off uint32) bool { return off >= 0x0500 }

// isCounter reports whether a register is a counter of the E-MAC.
func isCounter(off uint32) bool { return off >= etheravb.TROCR && off < etheravb.TOE0 }

// Read32 implements mac.Registers. Registers that do not exist read 0, and so does
// everything of the E-MAC in RESET.
func (m *Model) Read32(off uint32) uint32 {
	if off%4 != 0 || off >= etheravb.WindowSize || m.closed.Load() {
		return 0
	}
	if inEMAC(off) && m.ops.Load() == etheravb.OPCReset {
		return 0
	}
	switch off {
	case etheravb.CSR:
		return m.status()
	case etheravb.TCCR:
		return m.load(off) | m.tx.requests.Load()
	case etheravb.EIS:
		return m.errors()
	case etheravb.ISS:
		return m.summary()
	case etheravb.PIR:
		return m.mdio.read()
	case etheravb.PSR:
		if m.link.Load().Up {
			return etheravb.PSRLMON
		}
		return 0
	}
	if isCounter(off) && m.load(etheravb.ECMR)&etheravb.ECMRTRCCM != 0 {
		return m.regs[off/4].Swap(0)
	}
	return m.load(off)
}

// status is CSR. Leaving OPERATION takes as long as the frames in the engines.
func (m *Model) status() (v uint32) {
	ops := m.ops.Load()
	for q := range m.cfg.Variant.queues() {
		if m.tx.q[q].busy.Load() {
			v |= 1 << (16 + q)
		}
	}
	if v != 0 && ops == etheravb.OPCConfig {
		ops = etheravb.OPCOperation
	}
	if m.load(etheravb.CCC)&etheravb.CCCDTSR != 0 {
		v |= etheravb.CSRDTS
	}
	return v | 1<<ops
}

// Write32 implements mac.Registers. Writes to registers that do not exist, or that
// cannot be written, change nothing.
func (m *Model) Write32(off, v uint32) {
	if off%4 != 0 || off >= etheravb.WindowSize || m.closed.Load() {
		return
	}
	m.write.Lock()
	kick := m.writeLocked(off, v)
	m.write.Unlock()
	if kick {
		m.kickTX()
	}
}

// writeLocked is a write; kick asks for the transmit engine to look again. m.write
// is held.
func (m *Model) writeLocked(off, v uint32) (kick bool) {
	if off == etheravb.CCC {
		return m.setMode(v)
	}
	if m.ops.Load() == etheravb.OPCReset {
		if isCounter(off) {
			return false // Linux clears them after everything has been
		}
		m.bad.Record("%s written with %#x in RESET", etheravb.RegName(off), v)
		return false
	}
	if isCounter(off) {
		m.store(off, 0)
		return false
	}
	switch off {
	case etheravb.CSR, etheravb.ESR, etheravb.TSR, etheravb.ISS, etheravb.PSR:
	case etheravb.DBAT, etheravb.RCR, etheravb.RTC, etheravb.TGC, etheravb.CIE, etheravb.DIL:
		if m.ops.Load() != etheravb.OPCConfig {
			m.bad.Record("%s written with %#x outside of CONFIG", etheravb.RegName(off), v)
		}
		m.setControl(off, v)
	case etheravb.DLR:
		m.loadQueues(v)
	case etheravb.TCCR:
		m.store(off, v&etheravb.TCCRTFEN)
		m.tx.requests.Or(v & etheravb.TCCRTSRQ)
		return v&etheravb.TCCRTSRQ != 0
	case etheravb.GCCR:
		m.store(off, v&^etheravb.GCCRRequests)
	case etheravb.PIR:
		m.mdio.write(v)
	case etheravb.ECMR:
		m.checkLinkChange((m.load(off)^v)&(etheravb.ECMRDM|etheravb.ECMRRCSC), m.load(off)&v)
		m.store(off, v)
		return true
	case etheravb.GECMR:
		m.checkLinkChange(m.load(off)^v, m.load(etheravb.ECMR))
		m.store(off, v)
		return true
	case etheravb.TOE1, etheravb.TOE2:
		on := etheravb.TOE0TPE
		if off == etheravb.TOE2 {
			on = etheravb.TOE0RPE
		}
		if m.load(etheravb.TOE0)&on != 0 && m.load(off) != v {
			m.bad.Record("%s changed with the checksum engine on", etheravb.RegName(off))
		}
		m.store(off, v)
	default:
		if !m.writeInterrupt(off, v) {
			m.store(off, v)
		}
	}
	return false
}

// checkLinkChange records a change of speed, duplex or receive sum while the E-MAC
// runs.
func (m *Model) checkLinkChange(changed, ecmr uint32) {
	if !m.cfg.AnyLinkChange && changed != 0 && ecmr&(etheravb.ECMRTE|etheravb.ECMRRE) != 0 {
		m.bad.Record("speed, duplex or receive sum changed while the E-MAC runs")
	}
}

// setMode is a write to CCC.
func (m *Model) setMode(v uint32) (kick bool) {
	opc, from := v&etheravb.CCCOPC, m.ops.Load()
	const gptp = etheravb.CCCGAC | etheravb.CCCCSEL
	if old := m.load(etheravb.CCC); old&etheravb.CCCGAC != 0 && from != etheravb.OPCReset && opc != etheravb.OPCReset && (old^v)&gptp != 0 {
		m.bad.Record("clock of gPTP changed from %#x to %#x while it runs", old&gptp, v&gptp)
	}
	m.store(etheravb.CCC, v)
	m.changes++
	switch {
	case opc == etheravb.OPCReset:
		m.reset(v)
	case opc == from:
		return true // DTSR may have ended
	case opc == etheravb.OPCOperation && from == etheravb.OPCConfig:
		m.ops.Store(opc)
		m.loadQueues(1<<etheravb.TableEntries - 1)
	case opc == etheravb.OPCConfig:
		m.rx.mu.Lock()
		m.tx.mu.Lock()
		m.ops.Store(opc)
		m.tx.requests.Store(0)
		m.tx.mu.Unlock()
		m.rx.mu.Unlock()
	default:
		m.bad.Record("operating mode %d asked for in mode %d", opc, from)
	}
	return false
}

// reset is a write of RESET to CCC. While a reset is slow or never ends CSR says
// CONFIG.
func (m *Model) reset(v uint32) {
	slow, dead := m.faults.Hit(sim.SlowReset), m.faults.Hit(sim.DeadReset)
	m.rx.mu.Lock()
	m.tx.mu.Lock()
	m.setReset()
	m.store(etheravb.CCC, v)
	if slow || dead {
		m.ops.Store(etheravb.OPCConfig)
	}
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	if !slow || dead {
		return
	}
	this := m.changes
	m.clock.AfterFunc(m.cfg.SlowReset, func() {
		m.write.Lock()
		defer m.write.Unlock()
		if m.changes == this {
			m.ops.Store(etheravb.OPCReset)
		}
	})
}

// setReset puts every register and engine into its state after a reset. The caller
// holds write, rx.mu and tx.mu, or nobody else knows the model yet.
func (m *Model) setReset() {
	m.stopTimers()
	m.resetTX()
	m.resetRX()
	m.mdio.reset()
	m.line.mu.Lock()
	defer m.line.mu.Unlock()
	for i := range m.regs {
		m.regs[i].Store(0)
	}
	m.ops.Store(etheravb.OPCReset)
	m.updateLine()
}

// loadQueues has the queues of these entries of the table begin at their base
// again. The entry is followed when the queue needs its next descriptor.
func (m *Model) loadQueues(entries uint32) {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	m.tx.mu.Lock()
	defer m.tx.mu.Unlock()
	base := uint64(m.load(etheravb.DBAT))
	for q := range m.cfg.Variant.queues() {
		if entries>>q&1 != 0 {
			m.tx.q[q].load(base + uint64(q)*etheravb.DescriptorSize)
		}
		if e := etheravb.TableRX + q; entries>>e&1 != 0 {
			m.rx.q[q].load(base + uint64(e)*etheravb.DescriptorSize)
		}
	}
}

// moving reports whether the AVB-DMAC moves data: in OPERATION and not suspended.
func (m *Model) moving() bool {
	return m.ops.Load() == etheravb.OPCOperation && m.load(etheravb.CCC)&etheravb.CCCDTSR == 0
}

// stopTimers ends what runs on the clock. rx.mu is held.
func (m *Model) stopTimers() {
	m.tx.pausedUntil.Store(0)
	if m.tx.resume != nil {
		m.tx.resume.Stop()
	}
}
