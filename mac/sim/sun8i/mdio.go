package sun8i

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/phy"
)

// internalID is what the PHY inside an H3 reads in registers 2 and 3.
const internalID = 0x00441400

// connectPHYs makes the PHYs, and has the one that is connected tell its link.
func (m *Model) connectPHYs() {
	link := *m.link.Load()
	changed := func(internal bool) func(mac.Link) {
		return func(l mac.Link) {
			if m.glue.internal.Load() == internal {
				m.linkChanged(l)
			}
			m.phyChanged()
		}
	}
	m.mdio.Init(emac.MIIBusy, transferOf, m.cfg.PHYAddress, m.cfg.PHY, link, changed(false))
	m.mdio.Bus.Clause22Only()
	if m.soc.InternalPHY {
		cfg := m.cfg.PHY
		cfg.ID, cfg.Modes = internalID, phy.UpTo100
		p := phy.New(cfg)
		link.Speed = 100
		p.SetLink(link)
		p.OnLink(func(mac.Link) { changed(true)(p.Link()) })
		m.glue.phy = p
	}
}

// transferOf is what MII_CMD asks for.
func transferOf(cmd, _ uint32) dwmac.Transfer {
	return dwmac.Transfer{
		Write:    cmd&emac.MIIWrite != 0,
		PHY:      int(field.Get(emac.MIIPHY, cmd)),
		Register: int(field.Get(emac.MIIReg, cmd)),
	}
}

// writeMIICmd is a write to MII_CMD. What it writes to a PHY may let a reset end.
func (m *Model) writeMIICmd(v uint32) {
	if div := min(field.Get(emac.MIIDiv, v), 3); v&emac.MIIBusy != 0 && m.cfg.ClockHz>>(4+div) > 2_500_000 {
		m.bad.Record("MII_CMD %#x: MDC of %d Hz", v, m.cfg.ClockHz>>(4+div))
	}
	if !m.mdio.WriteAddr(v) {
		m.bad.Record("MII_CMD written with %#x while a transfer is busy", v)
	}
	m.phyChanged()
}

// connectMDIO puts on the bus what is connected: the external PHY, or the one in
// the SoC at the address that it has been given, if it answers. write is held.
func (m *Model) connectMDIO() {
	g, bus := &m.glue, m.mdio.Bus
	if g.attached >= 0 {
		bus.Attach(g.attached, nil)
	}
	g.attached = -1
	switch {
	case !g.internal.Load():
		if g.attached = m.cfg.PHYAddress; g.attached >= 0 {
			bus.Attach(g.attached, m.mdio.PHY)
		}
	case m.internalAnswers():
		g.attached = int(field.Get(emac.EPHYAddr, m.load(m.clkReg())))
		bus.Attach(g.attached, g.phy)
	}
}

// PHY is the PHY that is connected, nil when there is none. What it makes of its
// cable is the link of the core.
func (m *Model) PHY() *phy.PHY {
	if m.glue.internal.Load() {
		return m.glue.phy
	}
	return m.mdio.PHY
}

// MDIO is the bus behind the core's management port, to put more on it or to break
// it. While it is broken the port stays busy.
func (m *Model) MDIO() *phy.Bus { return m.mdio.Bus }
