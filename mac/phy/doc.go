// Package phy drives twisted-pair PHYs by the registers of IEEE 802.3 alone
// (clause 22, clause 45, auto-negotiation of clauses 28 and 40), over any
// mac.MDIO. It needs to know no vendor: it is the generic PHY driver.
//
// # For a board
//
// A MAC that is told its link by no one follows a PHY once its configuration
// says where to look:
//
//	cfg := &mac.Config{PHY: phy.At(phy.Options{Address: 7})}
//	dev, err := mac.Open(ctx, bus, cfg, drivers...)
//
// Address is reg of the device tree's phy-handle; Scan takes it from there when the
// bus has read it, and looks for the one PHY that there is otherwise. The device opens the PHY, asks it for its link each second (or when
// the core's link interrupt comes, or Device.PollLink says so: that is the place
// for a PHY's own interrupt line), and programs the MAC accordingly: speed,
// duplex and pause are what both ends agreed on. Device.PHY gives the *PHY back,
// for a restart or other modes at run time.
//
// MDIO takes its time, some 30 microseconds a register. No lock that senders or
// poll goroutines take is held meanwhile, and each access is bounded by the
// core. A PHY that does not answer means a link that is down, is logged once and
// counted (mac.Snapshot.PHYErrors). When it comes back with its registers lost, it
// is set up again.
//
// # What is left alone
//
// Nothing is reset unless Options.Reset asks for it, since a reset takes what
// firmware or straps have set in vendor registers with it: the RGMII delays above
// all. There is no standard register for those. A board that must set them does
// it in Options.Setup, which comes after a reset and before negotiation:
//
//	Setup: func(p *phy.PHY) error {
//		return p.Write(vendorPage, delays) // as the PHY's data sheet says
//	},
//
// Exactly one side delays each clock: phy-mode "rgmii" leaves both to the board
// or the MAC, "rgmii-id" to the PHY. A link that is up and loses most frames is
// the sign of getting that wrong.
//
// A PHY inside the SoC is one like others as soon as its clock and reset are on,
// which is the SoC's glue; that of the Allwinner H3 needs nothing but its address.
//
// Energy-efficient Ethernet is switched off, since the MACs here do not signal it.
//
// # What the standard leaves out
//
// 1000BASE-T is negotiated in registers of clause 22. A PHY that answers clause 45
// accesses alone therefore offers 10, 100, 2500, 5000 and 10000 Mbit/s here, and
// an error says so when the link came up otherwise.
//
// A PHY that gives up gigabit by itself on a cable with two pairs does not say so
// in the standard's registers: leave 1000 Mbit/s out of Options.Modes there.
package phy
