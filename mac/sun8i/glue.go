package sun8i

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
)

// Interface is how the MAC reaches its PHY.
type Interface uint8

const (
	// AsFound keeps what the EMAC clock register says, or firmware has done where
	// that cannot be reached.
	AsFound Interface = iota
	// Internal is the 10/100 PHY inside the SoC (H3, V3s).
	Internal
	MII
	RMII
	RGMII
)

// String is the name of the interface.
func (i Interface) String() string {
	names := [...]string{"as found", "internal PHY", "MII", "RMII", "RGMII"}
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("Interface(%d)", uint8(i))
}

// Board says how a MAC is wired up. The zero value takes it as firmware left it.
type Board struct {
	Interface Interface
	// TXDelay and RXDelay are the clock delays of RGMII in picoseconds, in steps of
	// 100: up to 700 and 3100, R40 none and 700. With AsFound they must be 0, and
	// those that are set stay.
	TXDelay, RXDelay int
	// PHY is the MDIO address of the PHY, which is woken before the core is reset:
	// without the PHY's clock a reset never ends. 0: the one that the machine's
	// description names, or every one that answers.
	PHY int
	// LEDActiveLow is the polarity of the internal PHY's LEDs.
	LEDActiveLow bool
}

// internalPHY is the MDIO address that the internal PHY is given, as in Linux's
// device trees.
const internalPHY = 1

// glue is what the SoC has around the core.
type glue struct {
	soc   emac.SoC
	board Board
	iface Interface // AsFound: nobody knows

	wired   []int         // PHYs that the machine's description names
	clk     mac.Registers // window of the EMAC clock register; nil: absent
	ccu     mac.Registers // nil: absent, or not known which bits
	powered bool          // the internal PHY has been reset
}

// find looks what there is, and what it is set to. It only reads.
func (g *glue) find(bus mac.Bus, board Board) error {
	var exact bool
	g.soc, exact, _ = emac.SoCFor(bus.Compatible())
	g.board, g.iface = board, board.Interface
	var err error
	if g.soc.ClkWindow != 0 {
		if g.clk, err = window(bus, g.soc.ClkWindow); err != nil {
			return fmt.Errorf("EMAC clock register: %w", err)
		}
	}
	if exact {
		if g.ccu, err = window(bus, emac.WindowCCU); err != nil {
			return fmt.Errorf("clock control unit: %w", err)
		}
	}
	if g.ccu != nil {
		if v := g.ccu.Read32(emac.CCUPLL); v == 0 || v == 0xFFFFFFFF {
			return fmt.Errorf("clock control unit: the CPU's PLL reads %#x: is it register window %d? %w", v, emac.WindowCCU, mac.ErrNoDevice)
		}
	}
	wiring := mac.Wiring{}
	if w, ok := bus.(mac.Wired); ok {
		wiring = w.Wiring()
	}
	g.wired = wiring.PHYs
	switch {
	case g.iface != AsFound:
	case g.clk != nil:
		g.iface = interfaceOf(g.clk.Read32(g.soc.ClkReg))
	default:
		g.iface = g.interfaceNamed(wiring.PHYMode)
	}
	return g.check()
}

// interfaceNamed is the interface that a device tree's phy-mode says. "mii" leaves
// open whether the PHY is the internal one.
func (g *glue) interfaceNamed(mode string) Interface {
	switch {
	case strings.HasPrefix(mode, "rgmii"):
		return RGMII
	case mode == "rmii":
		return RMII
	case mode == "mii" && !g.soc.InternalPHY:
		return MII
	}
	return AsFound
}

// phys are the MDIO addresses where the PHY may be.
func (g *glue) phys() []int {
	switch {
	case g.iface == Internal:
		return []int{internalPHY}
	case g.board.PHY != 0:
		return []int{g.board.PHY}
	case len(g.wired) > 0:
		return g.wired
	}
	all := make([]int, 32)
	for i := range all {
		all[i] = i
	}
	return all
}

// window is register window i of bus, nil when there is none.
func window(bus mac.Bus, i int) (mac.Registers, error) {
	regs, err := bus.Registers(i)
	if errors.Is(err, mac.ErrNoDevice) {
		return nil, nil
	}
	return regs, err
}

// interfaceOf is the interface that a value of the EMAC clock register selects.
func interfaceOf(v uint32) Interface {
	switch {
	case v&emac.EPHYSelect != 0:
		return Internal
	case v&emac.ClkRMII != 0:
		return RMII
	case v&emac.ClkRGMII != 0:
		return RGMII
	}
	return MII
}

func (g *glue) check() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), mac.ErrConfig)
	}
	s, b := &g.soc, &g.board
	known := s.Name != ""
	switch g.iface {
	case AsFound, MII:
	case Internal:
		if known && !s.InternalPHY {
			return refuse("the %s has no internal PHY: give Board.Interface", s.Name)
		}
	case RMII, RGMII:
		if known && (g.iface == RMII && !s.RMII || g.iface == RGMII && !s.RGMII) {
			return refuse("the %s does not do %v", s.Name, g.iface)
		}
	default:
		return refuse("no such interface: %v", g.iface)
	}
	if b.PHY < 0 || b.PHY > 31 {
		return refuse("PHY %d: MDIO addresses go from 0 to 31", b.PHY)
	}
	for _, d := range []struct {
		name  string
		value int
		max   uint32
	}{{"transmit", b.TXDelay, s.MaxTxDelay}, {"receive", b.RXDelay, s.MaxRxDelay}} {
		limit := int(d.max) * emac.DelayStep
		switch {
		case d.value == 0:
		case b.Interface != RGMII:
			return refuse("%s delay of %d ps: belongs to Board.Interface RGMII", d.name, d.value)
		case d.value < 0 || d.value > limit || d.value%emac.DelayStep != 0:
			return refuse("%s delay of %d ps: takes 0 to %d in steps of %d", d.name, d.value, limit, emac.DelayStep)
		}
	}
	return nil
}

// clockValue is the EMAC clock register's new value.
func (g *glue) clockValue(old uint32) uint32 {
	b := &g.board
	v := old
	if b.Interface != AsFound {
		v &^= emac.ClkTCS | emac.ClkRGMII | emac.ClkRMII | emac.ClkRxDelay | emac.ClkTxDelay
		v |= field.Put(emac.ClkTxDelay, uint32(b.TXDelay/emac.DelayStep)) | field.Put(emac.ClkRxDelay, uint32(b.RXDelay/emac.DelayStep))
		switch g.iface {
		case RMII:
			v |= emac.ClkRMII | emac.TCSExt
		case RGMII:
			v |= emac.ClkRGMII | emac.TCSRGMII
		}
	}
	if !g.soc.InternalPHY {
		return v &^ emac.EPHYSelect // Linux: has to be 0 there
	}
	v &^= emac.EPHYSelect | emac.EPHYShutdown | emac.EPHYLEDLow
	if g.iface != Internal {
		return v | emac.EPHYShutdown
	}
	v &^= emac.EPHYAddr
	v |= emac.EPHYSelect | emac.EPHYClk24M | field.Put(emac.EPHYAddr, internalPHY)
	if b.LEDActiveLow {
		v |= emac.EPHYLEDLow
	}
	return v
}

func isSet(ccu mac.Registers, b emac.CCUBit) bool { return ccu.Read32(b.Reg)&b.Mask == b.Mask }

func setBit(ccu mac.Registers, b emac.CCUBit) {
	if v := ccu.Read32(b.Reg); v&b.Mask != b.Mask {
		ccu.Write32(b.Reg, v|b.Mask)
	}
}

// gated reports whether the core has no clock or is held in reset, as far as can
// be seen.
func (g *glue) gated() bool {
	return g.ccu != nil && !(isSet(g.ccu, g.soc.Gate) && isSet(g.ccu, g.soc.Reset))
}

// settle is how long a clock that was switched on, or a PHY let out of reset, is
// given.
const settle = time.Millisecond

// clockOn opens the core's gate and lets go of its reset.
func (g *glue) clockOn() {
	if g.gated() {
		setBit(g.ccu, g.soc.Gate)
		setBit(g.ccu, g.soc.Reset)
		time.Sleep(settle)
	}
}

// selectPHY programs the EMAC clock register and, the first time, resets the
// internal PHY: firmware can leave it in a state in which the core's own reset
// never ends (Linux). The core takes a change over in its next reset.
func (g *glue) selectPHY() {
	if g.clk != nil {
		old := g.clk.Read32(g.soc.ClkReg)
		if v := g.clockValue(old); v != old {
			g.clk.Write32(g.soc.ClkReg, v)
		}
	}
	if g.ccu == nil || g.iface != Internal || g.powered {
		return
	}
	setBit(g.ccu, g.soc.EPHYGate)
	r := g.soc.EPHYReset
	g.ccu.Write32(r.Reg, g.ccu.Read32(r.Reg)&^r.Mask)
	time.Sleep(settle)
	setBit(g.ccu, r)
	time.Sleep(settle)
	g.powered = true
}
