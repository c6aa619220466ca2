package devtree

import "github.com/barewire/barewire/mac"

// Wiring is what the node of an Ethernet MAC says about address, link and PHY.
func (n Node) Wiring() mac.Wiring {
	w := mac.Wiring{PHYMode: n.String("phy-mode")}
	if w.PHYMode == "" {
		w.PHYMode = n.String("phy-connection-type")
	}
	// As Linux has it: what the boot program used last goes before what was assigned.
	for _, name := range []string{"mac-address", "local-mac-address", "address"} {
		if b, _ := n.Property(name); len(b) == len(w.Address) && mac.HardwareAddr(b).Usable() {
			w.Address = mac.HardwareAddr(b)
			break
		}
	}
	w.Link = n.fixedLink()
	if n.String("managed") == "in-band-status" {
		return w // the PHY tells the MAC by itself
	}
	for _, name := range []string{"phy-handle", "phy", "phy-device"} {
		phy, err := n.Refer(name, 0)
		if err != nil {
			continue
		}
		if addr, ok := phy.Cell("reg"); ok && addr < 32 {
			w.PHYs = []int{int(addr)}
		}
		break
	}
	return w
}

// fixedLink is the child fixed-link, or the older property of five cells.
func (n Node) fixedLink() mac.Link {
	if f, ok := n.Child("fixed-link"); ok {
		speed, ok := f.Cell("speed")
		if !ok || !f.Enabled() {
			return mac.Link{}
		}
		l := mac.Link{Up: true, Speed: int(speed), FullDuplex: f.Has("full-duplex")}
		if f.Has("pause") {
			l.RXPause, l.TXPause = true, true
		}
		return l
	}
	if c := n.Cells("fixed-link"); len(c) == 5 {
		return mac.Link{Up: true, Speed: int(c[2]), FullDuplex: c[1] != 0, RXPause: c[3] != 0, TXPause: c[3] != 0}
	}
	return mac.Link{}
}

// ClockHz is the rate in hertz of the clock that drives the registers of an Ethernet
// MAC, whose name is another in each binding. 0 when its rate is not fixed: what the
// others run at, the kernel keeps to itself.
func (n Node) ClockHz() int {
	called := n.Strings("clock-names")
	cells := n.Cells("clocks")
	rates := map[string]int{}
	for at, i := 0, 0; at < len(cells); i++ {
		clock, err := n.Refer("clocks", at)
		if err != nil {
			return 0
		}
		args, _ := clock.Cell("#clock-cells")
		at += 1 + int(min(args, 16))
		name := "" // the only one needs none
		if i < len(called) {
			name = called[i]
		}
		if hz, ok := clock.Cell("clock-frequency"); ok && hz < 1<<31 {
			rates[name] = int(hz)
		}
	}
	if len(called) == 0 && len(rates) == 1 {
		return rates[""]
	}
	for _, name := range []string{"stmmaceth", "csr", "pclk", "core", "fck"} {
		if hz := rates[name]; hz > 0 {
			return hz
		}
	}
	return 0
}
