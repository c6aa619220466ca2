// Package phy is a register-level model of twisted-pair PHYs (IEEE 802.3 clauses
// 22 and 45) and of the MDIO bus they are on, for the models of MACs and for
// tests of drivers without a MAC.
//
// A PHY negotiates for itself: what the link becomes follows from its registers
// and from the Partner at the other end of the cable, and OnLink tells the MAC's
// model. A Bus shows what real ones show: nobody at an address, a PHY at several,
// stale data, no answer at all.
//
//	p := phy.New(phy.Config{})
//	bus := phy.NewBus()
//	bus.Attach(1, p)
//	p.Plug(phy.Partner{Modes: phy.Mode100Full, Pause: true})
package phy

import "github.com/barewire/barewire/mac/internal/mii"

// Modes is a set of speeds with their duplex.
type Modes = mii.Modes

// The modes that twisted pair negotiates.
const (
	Mode10Half   = mii.Mode10Half
	Mode10Full   = mii.Mode10Full
	Mode100Half  = mii.Mode100Half
	Mode100Full  = mii.Mode100Full
	Mode1000Half = mii.Mode1000Half
	Mode1000Full = mii.Mode1000Full
	Mode2500     = mii.Mode2500
	Mode5000     = mii.Mode5000
	Mode10000    = mii.Mode10000
	// UpTo100 and UpTo1000 are what Fast and Gigabit Ethernet PHYs can do.
	UpTo100  = Mode10Half | Mode10Full | Mode100Half | Mode100Full
	UpTo1000 = UpTo100 | Mode1000Half | Mode1000Full
)
