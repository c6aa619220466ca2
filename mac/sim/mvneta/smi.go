package mvneta

import (
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim/phy"
)

// smi is the SMI register. A bus with a PHY is behind it.
//
// A transfer is busy until the register has been read once, so that a driver must
// poll; its data are there only then. While the bus is broken it stays busy.
type smi struct {
	bus *phy.Bus
	phy *phy.PHY // nil: none

	mu      sync.Mutex
	command uint32
	data    uint16
	busy    bool
	done    bool // the transfer is over, and the next read shows it
}

// connectPHY puts the PHY on the bus, and the link that it makes into the port.
func (m *Model) connectPHY() {
	m.smi.bus = phy.NewBus()
	if m.cfg.PHYAddress < 0 {
		return
	}
	cfg := m.cfg.PHY
	if cfg.Modes == 0 && m.cfg.Fast {
		cfg.Modes = phy.UpTo1000 | phy.Mode2500
	}
	p := phy.New(cfg)
	m.smi.phy = p
	m.smi.bus.Attach(m.cfg.PHYAddress, p)
	p.SetLink(m.link)
	p.OnLink(func(mac.Link) { m.linkChanged(p.Link()) })
}

// PHY is the PHY at Config.PHYAddress, nil when there is none. What it makes of
// its cable is the link of the port.
func (m *Model) PHY() *phy.PHY { return m.smi.phy }

// MDIO is the bus behind the SMI register, to put more on it or to break it.
func (m *Model) MDIO() *phy.Bus { return m.smi.bus }

// writeRegister begins a transfer. It reports false when one is still busy.
func (s *smi) writeRegister(v uint32) bool {
	s.mu.Lock()
	if s.busy {
		s.mu.Unlock()
		return false
	}
	s.busy, s.done = true, false
	s.command, s.data = v&(neta.SMIPHY|neta.SMIReg|neta.SMIRead), uint16(v)
	s.mu.Unlock()
	s.transfer()
	return true
}

// transfer does what the register says. No lock is held: what is written to the
// PHY may bring the link up, and then frames leave.
func (s *smi) transfer() {
	s.mu.Lock()
	command, data := s.command, s.data
	s.mu.Unlock()
	at, reg := int(field.Get(neta.SMIPHY, command)), int(field.Get(neta.SMIReg, command))
	var err error
	if command&neta.SMIRead != 0 {
		data, err = s.bus.Read(at, reg)
	} else {
		err = s.bus.Write(at, reg, data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.done = data, err == nil
}

func (s *smi) readRegister() uint32 {
	s.mu.Lock()
	busy, broken := s.busy, s.busy && !s.done
	if busy && s.done {
		s.busy = false
	}
	v := s.command | uint32(s.data)
	s.mu.Unlock()
	switch {
	case broken:
		s.transfer()
		return v | neta.SMIBusy
	case busy:
		return v&^neta.SMIData | neta.SMIBusy
	case v&neta.SMIRead != 0:
		v |= neta.SMIValid
	}
	return v
}
