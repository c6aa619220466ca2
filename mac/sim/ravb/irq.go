package ravb

import (
	"sync"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/sim"
)

// Lines of a Gen3 that are modelled, by index, with their names in device trees.
// The others are for stream queues.
const (
	lineRX0    = iota // ch0
	lineRX1           // ch1
	lineTX0           // ch18
	lineTX1           // ch19
	lineCommon        // ch22: everything else, and everything while CIE is 0
	lineEMAC          // ch24
	lineCount
)

// line holds the core's interrupt lines. mu guards all status and control registers
// that decide their levels.
type line struct {
	mu    sync.Mutex
	irq   func(line int, level bool) // line is an index as above
	level [lineCount]bool
}

// Connect implements sim.Device. irq is the only line, and ch22 of a Gen3.
func (m *Model) Connect(mem sim.DMA, irq func(level bool)) {
	m.connect(mem, func(line int, level bool) {
		if line == lineCommon {
			irq(level)
		}
	})
}

// Lines implements sim.MultiLine: ch0, ch1, ch18, ch19, ch22 and ch24 of a Gen3.
func (m *Model) Lines() int {
	if m.cfg.Variant == Gen3 {
		return lineCount
	}
	return 1
}

// ConnectLines implements sim.MultiLine.
func (m *Model) ConnectLines(mem sim.DMA, irq func(line int, level bool)) {
	if m.Lines() == 1 {
		m.Connect(mem, func(level bool) { irq(0, level) })
		return
	}
	m.connect(mem, irq)
}

func (m *Model) connect(mem sim.DMA, irq func(line int, level bool)) {
	m.mem = mem
	m.line.mu.Lock()
	m.line.irq = irq
	m.line.mu.Unlock()
	if !m.cfg.Inline {
		m.workers.Go(m.work)
	}
}

// status is a status register of the AVB-DMAC: the control register beside it, and
// the bits that take zeros only.
type status struct{ control, reserved uint32 }

func statusOf(off uint32) (s status, ok bool) {
	switch off {
	case etheravb.DIS:
		return status{etheravb.DIC, etheravb.DISReserved}, true
	case etheravb.EIS:
		return status{etheravb.EIC, etheravb.EISReserved}, true
	case etheravb.RIS0:
		return status{etheravb.RIC0, etheravb.RIS0Reserved}, true
	case etheravb.RIS1:
		return status{etheravb.RIC1, 0}, true
	case etheravb.RIS2:
		return status{etheravb.RIC2, etheravb.RIS2Reserved}, true
	case etheravb.TIS:
		return status{etheravb.TIC, etheravb.TISReserved}, true
	case etheravb.GIS:
		return status{etheravb.GIC, 0x3F << 10}, true
	}
	return status{}, false
}

// writeInterrupt is a write to a register that takes part in interrupts. It reports
// false for others.
func (m *Model) writeInterrupt(off, v uint32) bool {
	if s, ok := statusOf(off); ok {
		if v&s.reserved != 0 {
			m.bad.Record("reserved bits of %s written with %#x", etheravb.RegName(off), v)
		}
		m.change(off, ^v, 0)
		return true
	}
	for _, r := range [...]struct{ set, clear, control uint32 }{
		{etheravb.RIE0, etheravb.RID0, etheravb.RIC0}, {etheravb.RIE2, etheravb.RID2, etheravb.RIC2},
		{etheravb.TIE, etheravb.TID, etheravb.TIC}, {etheravb.GIE, etheravb.GID, etheravb.GIC},
	} {
		if off != r.set && off != r.clear {
			continue
		}
		switch {
		case m.cfg.Variant != Gen3:
			m.bad.Record("%s written with %#x: the core has none", etheravb.RegName(off), v)
		case off == r.set:
			m.change(r.control, 0, v)
		default:
			m.change(r.control, v, 0)
		}
		return true
	}
	switch off {
	case etheravb.ECSR:
		m.change(off, v, 0)
	case etheravb.DIC, etheravb.EIC, etheravb.RIC0, etheravb.RIC1, etheravb.RIC2, etheravb.TIC, etheravb.GIC, etheravb.ECSIPR:
		m.setControl(off, v)
	default:
		return false
	}
	return true
}

// RaiseStatus sets bits of a status register as hardware would, for tests of a
// driver's interrupt handling.
func (m *Model) RaiseStatus(off, bits uint32) { m.raise(off, bits) }

// raise sets bits of a status register.
func (m *Model) raise(off, bits uint32) { m.change(off, 0, bits) }

// change clears and sets bits of a register that takes part in interrupts.
func (m *Model) change(off, clear, set uint32) {
	m.line.mu.Lock()
	defer m.line.mu.Unlock()
	m.store(off, m.load(off)&^clear|set)
	if off == etheravb.RIS2 && set&m.load(etheravb.RIC2) != 0 {
		m.store(etheravb.EIS, m.load(etheravb.EIS)|etheravb.EISQFS)
	}
	m.updateLine()
}

// setControl writes such a register.
func (m *Model) setControl(off, v uint32) { m.change(off, ^uint32(0), v) }

// pending are the enabled bits of a status register.
func (m *Model) pending(statusOff, control uint32) uint32 {
	return m.load(statusOff) & m.load(control)
}

// errors is EIS. QFS is set while something is pending in RIS2, and stays set behind
// that until it is cleared, as Linux does.
func (m *Model) errors() uint32 {
	v := m.load(etheravb.EIS)
	if m.pending(etheravb.RIS2, etheravb.RIC2) != 0 {
		v |= etheravb.EISQFS
	}
	return v
}

// summary is ISS.
func (m *Model) summary() (v uint32) {
	for _, s := range [...]struct {
		bit uint32
		on  bool
	}{
		{etheravb.ISSFRS, m.pending(etheravb.RIS0, etheravb.RIC0) != 0},
		{etheravb.ISSFTS, m.pending(etheravb.TIS, etheravb.TIC)&etheravb.TISFTF != 0},
		{etheravb.ISSTFUS, m.pending(etheravb.TIS, etheravb.TIC)&etheravb.TISTFUF != 0},
		{etheravb.ISSES, m.errors()&(m.load(etheravb.EIC)|etheravb.EISQFS) != 0},
		{etheravb.ISSMS, m.pending(etheravb.ECSR, etheravb.ECSIPR) != 0},
		{etheravb.ISSRFWS, m.pending(etheravb.RIS1, etheravb.RIC1) != 0},
		{etheravb.ISSCGIS, m.pending(etheravb.GIS, etheravb.GIC) != 0},
	} {
		if s.on {
			v |= s.bit
		}
	}
	return v | m.pending(etheravb.DIS, etheravb.DIC)&0xFFFE<<16
}

// levels are the levels of the lines. A core with one line has it all on that.
func (m *Model) levels() (l [lineCount]bool) {
	sum := m.summary()
	if m.cfg.Variant != Gen3 {
		l[lineCommon] = sum != 0
		return l
	}
	cie := m.load(etheravb.CIE)
	if cie&etheravb.CIECRIE != 0 {
		rx := m.pending(etheravb.RIS0, etheravb.RIC0)
		l[lineRX0], l[lineRX1] = rx&1 != 0 && cie&etheravb.CIECL0M != 0, rx&2 != 0
		if rx&1 == 0 || cie&etheravb.CIECL0M != 0 {
			sum &^= etheravb.ISSFRS
		}
	}
	if cie&etheravb.CIECTIE != 0 {
		tx := m.pending(etheravb.TIS, etheravb.TIC)
		l[lineTX0], l[lineTX1] = tx&1 != 0, tx&2 != 0
		sum &^= etheravb.ISSFTS
	}
	l[lineEMAC] = sum&etheravb.ISSMS != 0
	l[lineCommon] = sum&^etheravb.ISSMS != 0
	return l
}

// updateLine brings the lines in step with causes and controls. line.mu is held.
func (m *Model) updateLine() {
	was := m.line.level
	m.line.level = m.levels()
	if m.line.irq == nil {
		return
	}
	for i, level := range m.line.level {
		if level != was[i] && !(level && m.faults.Hit(sim.LostInterrupt)) {
			m.line.irq(i, level)
		}
	}
	if m.line.level == was && !m.line.level[lineCommon] && m.faults.Hit(sim.SpuriousInterrupt) {
		m.line.irq(lineCommon, true)
		m.line.irq(lineCommon, false)
	}
}
