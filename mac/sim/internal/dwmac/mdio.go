package dwmac

import (
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim/phy"
)

// MDIO is a station management port of two registers, address and data. A bus with
// a PHY is behind it.
//
// A transfer is busy until the address register has been read once, so that a
// driver must poll; its data are there only then.
type MDIO struct {
	Bus *phy.Bus
	PHY *phy.PHY // nil: none

	busyBit uint32
	decode  func(addr, data uint32) Transfer

	mu         sync.Mutex
	addr, data uint32
	busy       bool
	state      transferState // while busy
	result     uint32
}

// Transfer is what the registers of a port ask for. Register is one of clause 22,
// or of a clause 45 device.
type Transfer struct {
	Write, Clause45       bool
	PHY, Device, Register int
}

type transferState uint8

const (
	underWay transferState = iota
	complete
	failed // the bus is broken: busy until it is not
)

// Init says which bit of the address register starts a transfer, and what the
// registers say. It puts a PHY on the bus at address at, unless that is less than
// 0, and tells onLink of the link that it makes.
func (p *MDIO) Init(busy uint32, decode func(addr, data uint32) Transfer, at int, cfg phy.Config, link mac.Link, onLink func(mac.Link)) {
	p.busyBit, p.decode = busy, decode
	p.Bus = phy.NewBus()
	if at < 0 {
		return
	}
	f := phy.New(cfg)
	p.PHY = f
	p.Bus.Attach(at, f)
	f.SetLink(link)
	f.OnLink(func(mac.Link) { onLink(f.Link()) })
}

// WriteAddr is a write to the address register. It reports false when a transfer
// is busy, which the write does not change.
func (p *MDIO) WriteAddr(v uint32) bool {
	p.mu.Lock()
	addr, data, busy := v&^p.busyBit, p.data, p.busy
	start := v&p.busyBit != 0
	if !busy {
		p.addr, p.busy, p.state = addr, start, underWay
	}
	p.mu.Unlock()
	if !busy && start {
		p.transfer(addr, data)
	}
	return !busy
}

// transfer does what the registers say. No lock is held: what is written to the
// PHY may bring the link up, and then frames leave.
func (p *MDIO) transfer(addr, data uint32) {
	t, v := p.decode(addr, data), uint16(data)
	var err error
	switch {
	case t.Write && t.Clause45:
		err = p.Bus.Write45(t.PHY, t.Device, uint16(t.Register), v)
	case t.Write:
		err = p.Bus.Write(t.PHY, t.Register, v)
	case t.Clause45:
		v, err = p.Bus.Read45(t.PHY, t.Device, uint16(t.Register))
	default:
		v, err = p.Bus.Read(t.PHY, t.Register)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result, p.state = data, complete
	if !t.Write {
		p.result = uint32(v)
	}
	if err != nil {
		p.state = failed
	}
}

// ReadAddr is a read of the address register.
func (p *MDIO) ReadAddr() uint32 {
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
		addr |= p.busyBit
	}
	return addr
}

// ReadData and WriteData are accesses to the data register.
func (p *MDIO) ReadData() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.data
}

func (p *MDIO) WriteData(v uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = v
}
