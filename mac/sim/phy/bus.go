package phy

import (
	"fmt"
	"sync"

	"github.com/barewire/barewire/mac"
)

// Absent is what a read gives when nobody answers it.
type Absent uint8

const (
	// Ones: the pull-up of the data line. All buses with one do so.
	Ones Absent = iota
	// Zeros: a pull-down, or a management interface without a clock.
	Zeros
	// Stale: what the data register was left with.
	Stale
)

// Bus is an MDIO bus, which does what a MAC's management interface does with it.
// Models of MACs put their registers before it; it is also a mac.MDIO by itself.
// Its methods may be called from any goroutine.
type Bus struct {
	mu       sync.Mutex
	phys     [32]*PHY
	absent   Absent
	last     uint16
	err      error
	no45     bool
	accesses uint64
}

var _ mac.MDIO = (*Bus)(nil)

// NewBus returns a bus with nothing on it.
func NewBus() *Bus { return &Bus{} }

// Attach has p answer at an address, 0 to 31, beside those where it does so
// already: a PHY may take 0 for a broadcast, or not look at all bits. nil takes
// away what is there.
func (b *Bus) Attach(address int, p *PHY) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phys[address&31] = p
}

// SetAbsent says what reads give where there is no PHY.
func (b *Bus) SetAbsent(a Absent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.absent = a
}

// Break has every access fail with err, as when the interface stays busy. nil
// ends that.
func (b *Bus) Break(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// Clause22Only makes the interface one that has no clause 45 frames.
func (b *Bus) Clause22Only() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.no45 = true
}

// Accesses is how many there have been.
func (b *Bus) Accesses() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accesses
}

// at is the PHY at an address, or nil.
func (b *Bus) at(address int, clause45 bool) (*PHY, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accesses++
	switch {
	case b.err != nil:
		return nil, b.err
	case clause45 && b.no45:
		return nil, fmt.Errorf("phy: no clause 45 frames here: %w", mac.ErrUnsupported)
	case address < 0 || address > 31:
		return nil, fmt.Errorf("phy: address %d: they go from 0 to 31: %w", address, mac.ErrConfig)
	}
	p := b.phys[address]
	if p != nil && (clause45 && p.cfg.NoMMD || !clause45 && p.cfg.NoClause22) {
		p = nil // it does not hear such frames
	}
	return p, nil
}

// nobody is what a read of an absent PHY gives, answered notes what one of a
// present PHY gave.
func (b *Bus) nobody() uint16 {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.absent {
	case Zeros:
		return 0
	case Stale:
		return b.last
	}
	return 0xffff
}

func (b *Bus) answered(v uint16) uint16 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = v
	return v
}

// Read implements mac.MDIO.Read.
func (b *Bus) Read(address, reg int) (uint16, error) {
	p, err := b.at(address, false)
	switch {
	case err != nil:
		return 0, err
	case p == nil:
		return b.nobody(), nil
	}
	return b.answered(p.Read(reg)), nil
}

// Write implements mac.MDIO.Write.
func (b *Bus) Write(address, reg int, v uint16) error {
	p, err := b.at(address, false)
	if err == nil {
		b.answered(v)
	}
	if p != nil {
		p.Write(reg, v)
	}
	return err
}

// Read45 implements mac.MDIO.Read45.
func (b *Bus) Read45(address, dev int, reg uint16) (uint16, error) {
	p, err := b.at(address, true)
	switch {
	case err != nil:
		return 0, err
	case p == nil:
		return b.nobody(), nil
	}
	return b.answered(p.Read45(dev, reg)), nil
}

// Write45 implements mac.MDIO.Write45.
func (b *Bus) Write45(address, dev int, reg, v uint16) error {
	p, err := b.at(address, true)
	if err == nil {
		b.answered(v)
	}
	if p != nil {
		p.Write45(dev, reg, v)
	}
	return err
}
