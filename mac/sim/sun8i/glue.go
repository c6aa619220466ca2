package sun8i

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/mii"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// The register space: the core, the system control and the clock control unit. The
// core has as much room as device trees give it. What the last two have no use for
// here just holds what is written.
const (
	coreSize  = 0x8000
	syscBase  = coreSize
	syscSize  = 0x1000
	ccuBase   = syscBase + syscSize
	ccuSize   = 0x1000
	spaceSize = ccuBase + ccuSize
)

// Windows implements sim.Windowed.
func (m *Model) Windows() []sim.Window {
	w := []sim.Window{{Offset: 0, Size: coreSize}}
	if m.cfg.Windows {
		w = append(w, sim.Window{Offset: syscBase, Size: syscSize}, sim.Window{Offset: ccuBase, Size: ccuSize})
	}
	return w
}

// WindowSize implements sim.Device.
func (m *Model) WindowSize() int {
	if m.cfg.Windows {
		return spaceSize
	}
	return coreSize
}

// glue is what the core knows of the SoC around it.
type glue struct {
	internal atomic.Bool // the internal PHY is connected, as of the last reset
	stale    atomic.Bool // it gives no clock before its next reset
	phy      *phy.PHY    // nil: the SoC has none
	attached int         // address on the MDIO bus of the one that is connected; -1: none
}

// windowBase is where register window i starts.
func windowBase(i int) uint32 {
	if i == emac.WindowCCU {
		return ccuBase
	}
	return syscBase
}

// clkReg is the EMAC clock register.
func (m *Model) clkReg() uint32 { return windowBase(m.soc.ClkWindow) + m.soc.ClkReg }

// powerOn sets the registers around the core as power-on or firmware leaves them.
func (m *Model) powerOn() {
	clk := m.soc.Default
	m.store(ccuBase+emac.CCUPLL, 0x90001000) // on, H3's reset value otherwise
	if !m.cfg.Cold {
		for _, b := range []emac.CCUBit{m.soc.Gate, m.soc.Reset, m.soc.EPHYGate, m.soc.EPHYReset} {
			m.store(ccuBase+b.Reg, m.load(ccuBase+b.Reg)|b.Mask)
		}
		if m.cfg.InBandLink && m.soc.RGMII {
			clk = clk&^emac.EPHYSelect | emac.ClkRGMII | emac.TCSRGMII
		} else if m.soc.InternalPHY {
			clk = clk&^emac.EPHYShutdown | field.Put(emac.EPHYAddr, 1)
		}
	}
	m.store(m.clkReg(), clk)
	m.glue.stale.Store(m.cfg.StalePHY)
}

// sampleMux takes over which PHY is connected, and its link: a reset of the core
// does so.
func (m *Model) sampleMux() {
	m.glue.internal.Store(m.soc.InternalPHY && m.load(m.clkReg())&emac.EPHYSelect != 0)
	if p := m.PHY(); p != nil {
		l := p.Link()
		m.link.Store(&l)
	}
	m.connectMDIO()
}

func (m *Model) has(b emac.CCUBit) bool { return m.load(ccuBase+b.Reg)&b.Mask == b.Mask }

// clocked reports whether the core has its clock and is let out of reset.
func (m *Model) clocked() bool { return m.has(m.soc.Gate) && m.has(m.soc.Reset) }

// internalAnswers reports whether the internal PHY has power and clock.
func (m *Model) internalAnswers() bool {
	return m.load(m.clkReg())&emac.EPHYShutdown == 0 && m.has(m.soc.EPHYGate) && m.has(m.soc.EPHYReset)
}

// phyClock reports whether the PHY gives the core the clock that a reset needs.
func (m *Model) phyClock() bool {
	p := m.PHY()
	if p == nil {
		return true
	}
	if m.glue.internal.Load() && (!m.internalAnswers() || m.glue.stale.Load()) {
		return false
	}
	return p.Read(mii.BMCR)&(mii.BMCRPowerDown|mii.BMCRIsolate) == 0
}

// writeGlue is a write to the windows around the core.
func (m *Model) writeGlue(off, v uint32) {
	m.write.Lock()
	if r := m.soc.EPHYReset; off == ccuBase+r.Reg && m.load(off)&r.Mask == 0 && v&r.Mask != 0 {
		m.glue.stale.Store(false)
	}
	m.store(off, v)
	m.connectMDIO()
	m.write.Unlock()
	m.phyChanged()
}
