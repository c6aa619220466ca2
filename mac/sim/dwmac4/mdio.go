package dwmac4

import (
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/phy"
)

// mdio is the station management port. A bus with a PHY is behind it.
//
// A transfer is busy until MAC_MDIO_Address has been read once, so that a driver
// must poll; its data are there only then.
type mdio struct {
	bus *phy.Bus
	phy *phy.PHY // nil: none

	mu         sync.Mutex
	addr, data uint32
	busy       bool
	state      transferState // while busy
	result     uint32
}

type transferState uint8

const (
	underWay transferState = iota
	complete
	failed // the bus is broken: busy until it is not
)

// connectPHY puts the PHY on the bus, and the link that it makes into the core.
func (m *Model) connectPHY() {
	m.mdio.bus = phy.NewBus()
	if m.cfg.PHYAddress < 0 {
		return
	}
	p := phy.New(m.cfg.PHY)
	m.mdio.phy = p
	m.mdio.bus.Attach(m.cfg.PHYAddress, p)
	p.SetLink(*m.link.Load())
	p.OnLink(func(mac.Link) { m.linkChanged(p.Link()) })
}

// PHY is the PHY at Config.PHYAddress, nil when there is none. What it makes of
// its cable is the link of the core.
func (m *Model) PHY() *phy.PHY { return m.mdio.phy }

// MDIO is the bus behind the core's management port, to put more on it or to
// break it. While it is broken the port stays busy.
func (m *Model) MDIO() *phy.Bus { return m.mdio.bus }

// mdioStart is a write to MAC_MDIO_Address.
func (m *Model) mdioStart(v uint32) {
	p := &m.mdio
	p.mu.Lock()
	addr, data, busy := v&^gmac4.MDIOGB, p.data, p.busy
	if !busy {
		p.addr, p.busy, p.state = addr, v&gmac4.MDIOGB != 0, underWay
	}
	p.mu.Unlock()
	switch {
	case busy:
		m.bad.Record("MAC_MDIO_Address written with %#x while a transfer is busy", v)
	case v&gmac4.MDIOGB != 0:
		p.transfer(addr, data)
	}
}

// transfer does what the registers say. No lock is held: what is written to the
// PHY may bring the link up, and then frames leave.
func (p *mdio) transfer(addr, data uint32) {
	var (
		at  = int(field.Get(gmac4.MDIOPA, addr))
		dev = int(field.Get(gmac4.MDIORDA, addr))
		reg = uint16(field.Get(gmac4.MDIODataRA, data))
		v   = uint16(data)
		err error
	)
	write, c45 := field.Get(gmac4.MDIOGOC, addr) == gmac4.MDIOWrite, addr&gmac4.MDIOC45E != 0
	switch {
	case write && c45:
		err = p.bus.Write45(at, dev, reg, v)
	case write:
		err = p.bus.Write(at, dev, v)
	case c45:
		v, err = p.bus.Read45(at, dev, reg)
	default:
		v, err = p.bus.Read(at, dev)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result, p.state = data, complete
	if !write {
		p.result = uint32(v)
	}
	if err != nil {
		p.state = failed
	}
}

func (p *mdio) readAddr() uint32 {
	p.mu.Lock()
	addr, data := p.addr, p.data
	busy, again := p.busy, p.busy && p.state == failed
	switch {
	case again:
		p.state = underWay
	case busy && p.state == complete:
		p.busy, p.data = false, p.result
	}
	p.mu.Unlock()
	if again {
		p.transfer(addr, data)
	}
	if busy {
		addr |= gmac4.MDIOGB
	}
	return addr
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
