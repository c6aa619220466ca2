package mac

// Wired is a Bus that knows what the machine's description (the device tree) says
// about how the core is wired.
type Wired interface {
	Wiring() Wiring
}

// Wiring is what firmware and board say about a MAC. The zero value says nothing.
type Wiring struct {
	// Address is the station address that is assigned to the MAC. It goes before
	// the one in its register.
	Address HardwareAddr
	// Link is the fixed link to a switch or to another MAC. It stands in for
	// Config.Link when that is zero.
	Link Link
	// PHYMode is the interface to the PHY in device-tree words ("rgmii-id"): who
	// adds the clock delays, for one.
	PHYMode string
	// PHYs are the MDIO addresses, 0 to 31, that the MAC's PHY is said to have, as far
	// as it is to be asked for the link. Empty when there is none, or nothing is said.
	PHYs []int
}

// wiringOf is what a bus says.
func wiringOf(b Bus) Wiring {
	if w, ok := b.(Wired); ok {
		return w.Wiring()
	}
	return Wiring{}
}
