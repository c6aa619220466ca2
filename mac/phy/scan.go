package phy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
)

// addresses is how many there are on an MDIO bus.
const addresses = 32

// Found is a PHY on an MDIO bus.
type Found struct {
	// Address is 0 to 31.
	Address int
	// ID is its identifier: manufacturer, model and revision.
	ID uint32
	// Clause45 says that it answers clause 45 accesses alone.
	Clause45 bool
}

// String names the PHY for errors and logs.
func (f Found) String() string { return fmt.Sprintf("%d (id 0x%08x)", f.Address, f.ID) }

// ScanBus looks for the PHYs on a bus, each of them once and by its own address.
//
// Answers are not believed as they come. Nobody is there when all bits of an
// identifier are ones or zeros, when all registers read alike (a data register
// that still holds the last transfer), when the status register claims no ability,
// or when the access fails. One PHY may answer at several addresses: 0 may be a
// broadcast, and some do not look at all bits. Two that have the same identifier
// are told apart by a pause bit of the advertisement, which is put back and has no
// effect before the next negotiation.
//
// The error is that of the bus when no address at all could be read.
func ScanBus(bus mac.MDIO) ([]Found, error) {
	if bus == nil {
		return nil, fmt.Errorf("phy: the core has no MDIO bus: %w", mac.ErrUnsupported)
	}
	found, failed, err := scan(bus, false)
	if len(found) == 0 { // clause 45 frames are not for a bus that answers others
		found, _, _ = scan(bus, true)
	}
	if len(found) == 0 && failed == addresses {
		return nil, fmt.Errorf("phy: nothing on the MDIO bus can be read, is its clock on? %w", err)
	}
	return distinct(bus, found), nil
}

// scan asks all addresses. failed is how many could not be read, err why.
func scan(bus mac.MDIO, only45 bool) (found []Found, failed int, err error) {
	for addr := range addresses {
		f, ferr := identify(newPort(bus, addr, only45))
		switch {
		case ferr == nil:
			found = append(found, f)
		case !errors.Is(ferr, mac.ErrNoDevice):
			failed, err = failed+1, ferr
		}
	}
	return found, failed, err
}

// identify finds out whether there is a PHY.
func identify(p port) (Found, error) {
	nobody := fmt.Errorf("phy: address %d: no PHY: %w", p.addr, mac.ErrNoDevice)
	read := p.read
	regs := [4]int{mii.PHYID1, mii.PHYID2, mii.BMSR, mii.BMCR}
	if p.only45 {
		read = func(reg int) (uint16, error) { return p.read45(mii.DevPMA, uint16(reg)) }
		regs = [4]int{mii.ID1, mii.ID2, mii.Devices1, mii.Status1}
	}
	var v [4]uint16
	for i, reg := range regs {
		var err error
		if v[i], err = read(reg); err != nil {
			return Found{}, err
		}
		if i == 0 && v[0] == 0xffff {
			return Found{}, nobody
		}
	}
	f := Found{Address: p.addr, ID: uint32(v[0])<<16 | uint32(v[1]), Clause45: p.only45}
	switch {
	case f.ID == 0, f.ID&0x1fffffff == 0x1fffffff:
	case v[0] == v[1] && v[1] == v[2] && v[2] == v[3]:
	case v[2] == 0xffff, v[3] == 0xffff:
	case !p.only45 && v[2]&mii.BMSRAbilities == 0:
	case p.only45 && (v[2]&mii.HasPMA == 0 || v[2]&mii.HasAN == 0):
	default:
		return f, nil
	}
	return Found{}, nobody
}

// distinct leaves out further addresses of the same PHY. 0 is looked at last,
// since it is the one that may be a broadcast.
func distinct(bus mac.MDIO, found []Found) []Found {
	slices.SortStableFunc(found, func(a, b Found) int { return (a.Address+31)%addresses - (b.Address+31)%addresses })
	var kept []Found
	for _, f := range found {
		alias := func(k Found) bool { return k.ID == f.ID && k.Clause45 == f.Clause45 && same(bus, k, f) }
		if !slices.ContainsFunc(kept, alias) {
			kept = append(kept, f)
		}
	}
	slices.SortFunc(kept, func(a, b Found) int { return a.Address - b.Address })
	return kept
}

// same reports whether a and b, which look alike, are one PHY: what is written to
// a is then read at b. Those that cannot be told apart are one.
func same(bus mac.MDIO, a, b Found) bool {
	pa, pb := newPort(bus, a.Address, a.Clause45), newPort(bus, b.Address, b.Clause45)
	was, err := pa.readAN()
	if err != nil {
		return true
	}
	there, err := pb.readAN()
	if err != nil || there != was {
		return err != nil
	}
	defer pa.writeAN(was)
	if err := pa.writeAN(was ^ mii.ANPause); err != nil {
		return true
	}
	now, err := pa.readAN()
	if err != nil || now == was {
		return true
	}
	there, err = pb.readAN()
	return err != nil || there == now
}

// find is the PHY that Options ask for.
func find(bus mac.MDIO, addr int) (Found, error) {
	if addr < Scan || addr >= addresses {
		return Found{}, fmt.Errorf("phy: address %d: they go from 0 to 31, and %d looks for one: %w", addr, Scan, mac.ErrConfig)
	}
	if addr != Scan && bus != nil {
		for _, only45 := range []bool{false, true} {
			f, err := identify(newPort(bus, addr, only45))
			if err == nil {
				return f, nil
			}
		}
	}
	found, err := ScanBus(bus)
	if err != nil {
		return Found{}, err
	}
	var names []string
	for _, f := range found {
		names = append(names, f.String())
	}
	list := strings.Join(names, ", ")
	switch {
	case len(found) == 0:
		return Found{}, fmt.Errorf("phy: no PHY on the MDIO bus: is it powered, clocked and out of reset? %w", mac.ErrNoDevice)
	case addr != Scan:
		return Found{}, fmt.Errorf("phy: no PHY at address %d: there is one at %s: %w", addr, list, mac.ErrNoDevice)
	case len(found) > 1:
		return Found{}, fmt.Errorf("phy: several PHYs on the MDIO bus: give the address of yours: %s: %w", list, mac.ErrConfig)
	}
	return found[0], nil
}
