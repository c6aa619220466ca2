package sun8i

import (
	"sync"

	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim/phy"
)

// mdio is the station management port. Behind it is the bus outside of the SoC, or
// the one with the internal PHY.
//
// A transfer is busy until MII_CMD has been read once, so that a driver must poll;
// its data are there only then.
type mdio struct {
	bus, inside *phy.Bus
	phy         *phy.PHY // on bus; nil: none

	mu        sync.Mutex
	cmd, data uint32
	busy      bool
	state     transferState // while busy
	result    uint32
}

type transferState uint8

const (
	underWay transferState = iota
	complete
	failed // the bus is broken: busy until it is not
)

// mdioStart is a write to MII_CMD.
func (m *Model) mdioStart(v uint32) {
	p := &m.mdio
	p.mu.Lock()
	cmd, data, busy := v&^emac.MIIBusy, p.data, p.busy
	if !busy {
		p.cmd, p.busy, p.state = cmd, v&emac.MIIBusy != 0, underWay
	}
	p.mu.Unlock()
	switch {
	case busy:
		m.bad.Record("MII_CMD written with %#x while a transfer is busy", v)
	case v&emac.MIIBusy != 0:
		m.checkMDC(v)
		m.mdioTransfer(cmd, data)
	}
}

// checkMDC records an MDC of more than 2.5 MHz.
func (m *Model) checkMDC(v uint32) {
	div := min(field.Get(emac.MIIDiv, v), 3)
	if hz := m.cfg.ClockHz >> (4 + div); hz > 2_500_000 {
		m.bad.Record("MII_CMD %#x: MDC of %d Hz", v, hz)
	}
}

// mdioBus is the bus that the port is connected to.
func (m *Model) mdioBus() *phy.Bus {
	if !m.glue.internal.Load() {
		return m.mdio.bus
	}
	clk := m.load(m.clkReg())
	for a := range 32 {
		m.mdio.inside.Attach(a, nil)
	}
	if m.internalAnswers() {
		m.mdio.inside.Attach(int(field.Get(emac.EPHYAddr, clk)), m.glue.phy)
	}
	return m.mdio.inside
}

// mdioTransfer does what the registers say. No lock is held: what is written to the
// PHY may bring the link up, and then frames leave.
func (m *Model) mdioTransfer(cmd, data uint32) {
	var (
		p   = &m.mdio
		bus = m.mdioBus()
		at  = int(field.Get(emac.MIIPHY, cmd))
		reg = int(field.Get(emac.MIIReg, cmd))
		v   = uint16(data)
		err error
	)
	write := cmd&emac.MIIWrite != 0
	if write {
		err = bus.Write(at, reg, v)
	} else {
		v, err = bus.Read(at, reg)
	}
	p.mu.Lock()
	p.result, p.state = data, complete
	if !write {
		p.result = uint32(v)
	}
	if err != nil {
		p.state = failed
	}
	p.mu.Unlock()
	if write {
		m.phyChanged()
	}
}

func (m *Model) readMIICmd() uint32 {
	p := &m.mdio
	p.mu.Lock()
	cmd, data := p.cmd, p.data
	busy, again := p.busy, p.busy && p.state == failed
	switch {
	case again:
		p.state = underWay
	case busy && p.state == complete:
		p.busy, p.data = false, p.result
	}
	p.mu.Unlock()
	if again {
		m.mdioTransfer(cmd, data)
	}
	if busy {
		cmd |= emac.MIIBusy
	}
	return cmd
}

func (p *mdio) readData() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.data
}

func (p *mdio) writeData(v uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = v
}
