package mvneta

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
)

func (m *Model) load(off uint32) uint32     { return m.regs[off/4] }
func (m *Model) store(off uint32, v uint32) { m.regs[off/4] = v }
func (m *Model) or(off, bits uint32)        { m.regs[off/4] |= bits }

// RegisterName implements sim.Described.
func (m *Model) RegisterName(off uint32) string { return neta.RegName(off) }

// Doorbell implements sim.Described.
func (m *Model) Doorbell(off uint32) bool {
	_, rx := index(off, neta.RXUpdate(0), 4, neta.MaxQueues)
	_, tx := index(off, neta.TXUpdate(0), 4, neta.MaxQueues)
	return rx || tx
}

// index finds which of n registers from base on off is.
func index(off, base, stride, n uint32) (i int, ok bool) {
	if off < base || off >= base+n*stride || (off-base)%stride != 0 {
		return 0, false
	}
	return int((off - base) / stride), true
}

// Read32 implements mac.Registers. Registers that do not exist read 0.
func (m *Model) Read32(off uint32) uint32 {
	if off%4 != 0 || m.closed.Load() {
		return 0
	}
	if off == neta.SMI {
		return m.smi.readRegister()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case off >= neta.BPPIOffset:
		return m.takeBuffer(off - neta.BPPIOffset)
	case off >= neta.BMOffset:
		return m.readBM(off - neta.BMOffset)
	case off >= neta.WindowSize:
		return 0
	}
	if q, ok := index(off, neta.RXQStatus(0), 4, neta.MaxQueues); ok {
		r := &m.rxq[q]
		return field.Put(neta.RXStatusOccupied, uint32(r.occupied)) | field.Put(neta.RXStatusFree, uint32(r.free))
	}
	if q, ok := index(off, neta.TXQStatus(0), 4, neta.MaxQueues); ok {
		t := &m.txq[q]
		return field.Put(neta.TXStatusPending, uint32(t.pending)) | field.Put(neta.TXStatusSent, uint32(t.sent))
	}
	if q, ok := index(off, neta.RXIndex(0), 4, neta.MaxQueues); ok {
		return uint32(m.rxq[q].index)
	}
	if q, ok := index(off, neta.TXIndex(0), 4, neta.MaxQueues); ok {
		return uint32(m.txq[q].index)
	}
	if off >= neta.MIB && off <= neta.MIBLast || off == neta.Discarded || off == neta.Overrun {
		v := m.load(off)
		m.store(off, 0)
		return v
	}
	switch off {
	case neta.Cause:
		return m.causes() & m.visible()
	case neta.CauseMask:
		return m.load(off) & m.visible()
	case neta.GMAC2:
		v := m.load(off)
		if m.reset.busy {
			v |= neta.GMAC2Reset
		}
		return v
	case neta.GMACStat:
		return m.gmacStatus()
	case neta.PortStatus:
		return m.portStatus()
	case neta.RXUpdate(0), neta.TXUpdate(0):
		return 0
	}
	return m.load(off)
}

// portStatus tells whether frames are on their way.
func (m *Model) portStatus() uint32 {
	v := neta.StatusTXEmpty
	for q := range m.txq {
		if m.txq[q].busy {
			v = neta.StatusTXBusy
		}
	}
	if m.fifo.bytes == 0 {
		v |= neta.StatusRXEmpty
	}
	return v
}

// Write32 implements mac.Registers. Writes to registers that do not exist, or
// that cannot be written, change nothing.
func (m *Model) Write32(off, v uint32) {
	if off%4 != 0 || m.closed.Load() {
		return
	}
	if off == neta.SMI {
		if !m.smi.writeRegister(v) {
			m.bad.Record("SMI written with %#x while a transfer is busy", v)
		}
		return
	}
	m.mu.Lock()
	m.write(off, v)
	m.updateLine()
	kick := m.tx.wanted
	m.tx.wanted = false
	m.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

func (m *Model) write(off, v uint32) {
	switch {
	case off >= neta.BPPIOffset:
		m.putBuffer(off-neta.BPPIOffset, v)
		return
	case off >= neta.BMOffset:
		m.writeBM(off-neta.BMOffset, v)
		return
	case off >= neta.WindowSize:
		return
	}
	if m.writeQueue(off, v) {
		return
	}
	switch off {
	case neta.TXCommandReg:
		m.commandTX(v)
	case neta.RXCommand:
		m.commandRX(v)
	case neta.RXDMAReset, neta.TXDMAReset:
		m.store(off, v&neta.DMAReset)
		m.resetDMA(off)
	case neta.Cause, neta.OldCause:
		// The thresholds' bits follow the counters.
	case neta.MiscCause, neta.UnitCause:
		m.store(off, m.load(off)&v)
	case neta.CauseMask:
		seen := m.visible()
		m.store(off, m.load(off)&^seen|v&seen)
	case neta.GMAC0:
		m.writeGMAC0(v)
	case neta.GMAC2:
		m.writeGMAC2(v)
	case neta.AN:
		m.writeAN(v)
	case neta.PortStatus, neta.GMACStat, neta.Version, neta.Discarded, neta.Overrun, neta.ErrorAddr:
	case neta.PortMTU:
		m.store(off, v&neta.PortMTUMask)
	default:
		if off < neta.MIB || off > neta.MIBLast {
			m.store(off, v)
		}
	}
}

// writeQueue is a write to the registers of one queue.
func (m *Model) writeQueue(off, v uint32) bool {
	for _, r := range [...]struct {
		base    uint32
		command uint32 // 0: may be written while the queue runs
		do      func(q int, v uint32)
	}{
		{neta.RXUpdate(0), 0, m.updateRX},
		{neta.TXUpdate(0), 0, m.updateTX},
		{neta.RXBase(0), neta.RXCommand, nil},
		{neta.RXRingSize(0), neta.RXCommand, nil},
		{neta.RXConfig(0), neta.RXCommand, nil},
		{neta.TXBase(0), neta.TXCommandReg, nil},
	} {
		q, ok := index(off, r.base, 4, neta.MaxQueues)
		if !ok {
			continue
		}
		if r.do != nil {
			r.do(q, v)
			return true
		}
		if m.load(r.command)>>q&1 != 0 && v != m.load(off) {
			m.bad.Record("%s written with %#x while the queue runs", neta.RegName(off), v)
		}
		m.store(off, v)
		return true
	}
	for _, base := range [...]uint32{neta.RXQStatus(0), neta.TXQStatus(0), neta.RXIndex(0), neta.TXIndex(0)} {
		if _, ok := index(off, base, 4, neta.MaxQueues); ok {
			return true
		}
	}
	return false
}

// writeGMAC0 enables or disables the port.
func (m *Model) writeGMAC0(v uint32) {
	if v&neta.GMAC0MIB == 0 {
		m.bad.Record("GMAC_Control0 written with %#x: bit 15 must stay 1", v)
	}
	m.checkMode(m.load(neta.GMAC0)^v, neta.GMAC0BaseX)
	m.store(neta.GMAC0, v)
	m.tx.wanted = true
}

// writeGMAC2 is a reset of the MAC, or a change of mode.
func (m *Model) writeGMAC2(v uint32) {
	was := m.load(neta.GMAC2)
	m.checkMode(was^v, neta.GMAC2InBand|neta.GMAC2PCS)
	m.store(neta.GMAC2, v)
	if was&neta.GMAC2Reset == 0 || v&neta.GMAC2Reset != 0 {
		return
	}
	m.reset.count++
	m.tx.gen++
	m.dead = false
	slow, dead := m.faults.Hit(sim.SlowReset), m.faults.Hit(sim.DeadReset)
	if m.reset.busy = slow || dead; !slow || dead {
		return
	}
	this := m.reset.count
	m.clock.AfterFunc(m.cfg.SlowReset, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.reset.count == this {
			m.reset.busy = false
		}
	})
}

// checkMode records a change of mode while the link is not forced down.
func (m *Model) checkMode(changed, bits uint32) {
	if changed&bits != 0 && m.load(neta.AN)&neta.ANForceDown == 0 {
		m.bad.Record("mode of the interface changed while the link is not forced down")
	}
}

// writeAN is a write to GMAC_AN.
func (m *Model) writeAN(v uint32) {
	const forced = neta.ANMII | neta.ANGMII | neta.ANFull
	was := m.load(neta.AN)
	if was&v&neta.ANForceUp != 0 && (was^v)&forced != 0 && was&neta.ANForceDown == 0 {
		m.bad.Record("speed or duplex changed from %#x to %#x while the link is forced up", was, v)
	}
	if (was^v)&neta.ANInBand != 0 && was&neta.ANForceDown == 0 {
		m.bad.Record("negotiation in band switched while the link is not forced down")
	}
	m.store(neta.AN, v&^neta.ANRestart)
	m.tx.wanted = true
}
