package dwmac4

import (
	"sync"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/phy"
)

// mdio is the station management port. The PHY is behind it.
//
// A transfer is busy until MAC_MDIO_Address has been read once, so that a driver
// must poll; its data are there only then.
type mdio struct {
	phy        *phy.PHY
	mu         sync.Mutex
	addr, data uint32
	busy       bool
	result     uint32
}

// mdioStart is a write to MAC_MDIO_Address.
func (m *Model) mdioStart(v uint32) {
	p := &m.mdio
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		m.bad.Record("MAC_MDIO_Address written with %#x while a transfer is busy", v)
		return
	}
	p.addr = v &^ gmac4.MDIOGB
	if v&gmac4.MDIOGB == 0 {
		return
	}
	p.busy, p.result = true, p.data
	dev, here := field.Get(gmac4.MDIORDA, v), int(field.Get(gmac4.MDIOPA, v)) == m.cfg.PHYAddress
	c45 := v&gmac4.MDIOC45E != 0
	reg := uint16(field.Get(gmac4.MDIODataRA, p.data))
	switch op := field.Get(gmac4.MDIOGOC, v); {
	case op == gmac4.MDIOWrite && here && c45:
		p.phy.Write45(int(dev), reg, uint16(p.data))
	case op == gmac4.MDIOWrite && here:
		p.phy.Write(int(dev), uint16(p.data))
	case op == gmac4.MDIOWrite:
	case !here:
		p.result = 0xffff
	case c45:
		p.result = uint32(p.phy.Read45(int(dev), reg))
	default:
		p.result = uint32(p.phy.Read(int(dev)))
	}
}

func (p *mdio) readAddr() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		p.busy, p.data = false, p.result
		return p.addr | gmac4.MDIOGB
	}
	return p.addr
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
