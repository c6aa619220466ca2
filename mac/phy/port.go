package phy

import (
	"fmt"
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
)

// port is how the registers at one address are reached.
type port struct {
	bus  mac.MDIO
	addr int
	// only45: the PHY does not answer clause 22.
	only45 bool
	// point keeps the accesses together that reach a clause 45 register through
	// registers 13 and 14.
	point *sync.Mutex
}

func newPort(bus mac.MDIO, addr int, only45 bool) port {
	return port{bus: bus, addr: addr, only45: only45, point: new(sync.Mutex)}
}

func (p port) read(reg int) (uint16, error) {
	v, err := p.bus.Read(p.addr, reg)
	if err != nil {
		return 0, fmt.Errorf("phy: address %d: read register %d: %w", p.addr, reg, err)
	}
	return v, nil
}

func (p port) write(reg int, v uint16) error {
	if err := p.bus.Write(p.addr, reg, v); err != nil {
		return fmt.Errorf("phy: address %d: write register %d: %w", p.addr, reg, err)
	}
	return nil
}

// read45 reads a clause 45 register. A PHY that answers clause 22 has them behind
// registers 13 and 14, whether or not the MAC has clause 45 frames.
func (p port) read45(dev int, reg uint16) (uint16, error) {
	if p.only45 {
		v, err := p.bus.Read45(p.addr, dev, reg)
		return v, p.wrap45(err, "read", dev, reg)
	}
	p.point.Lock()
	defer p.point.Unlock()
	if err := p.point45(dev, reg); err != nil {
		return 0, err
	}
	return p.read(mii.MMDD)
}

func (p port) write45(dev int, reg, v uint16) error {
	if p.only45 {
		return p.wrap45(p.bus.Write45(p.addr, dev, reg, v), "write", dev, reg)
	}
	p.point.Lock()
	defer p.point.Unlock()
	if err := p.point45(dev, reg); err != nil {
		return err
	}
	return p.write(mii.MMDD, v)
}

func (p port) wrap45(err error, do string, dev int, reg uint16) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("phy: address %d: %s register %d.%d: %w", p.addr, do, dev, reg, err)
}

// point45 makes register 14 the clause 45 register (802.3 annex 22D). The caller
// holds point.
func (p port) point45(dev int, reg uint16) error {
	if err := p.write(mii.MMDC, mii.MMDAddress|uint16(dev&31)); err != nil {
		return err
	}
	if err := p.write(mii.MMDD, reg); err != nil {
		return err
	}
	return p.write(mii.MMDC, mii.MMDData|uint16(dev&31))
}

// readAN and writeAN are ANAR, wherever it is.
func (p port) readAN() (uint16, error) {
	if p.only45 {
		return p.read45(mii.DevAN, mii.ANAdvertise)
	}
	return p.read(mii.ANAR)
}

func (p port) writeAN(v uint16) error {
	if p.only45 {
		return p.write45(mii.DevAN, mii.ANAdvertise, v)
	}
	return p.write(mii.ANAR, v)
}
