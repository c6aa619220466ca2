package emac

// Register windows of a bus beside the core's own, window 0. Each is optional.
const (
	WindowSyscon = 1 // system control: the EMAC clock register of most SoCs
	WindowCCU    = 2 // clock control unit: gates and resets; R40's clock register
)

// The EMAC clock register, in Syscon or CCU.
const (
	ClkTCS       uint32 = 3 << 0 // source of the transmit clock
	ClkRGMII     uint32 = 1 << 2 // RGMII, not MII
	ClkRxDelay   uint32 = 31 << 5
	ClkTxDelay   uint32 = 7 << 10
	ClkRMII      uint32 = 1 << 13 // RMII, whatever ClkRGMII says
	EPHYSelect   uint32 = 1 << 15 // the PHY inside the SoC
	EPHYShutdown uint32 = 1 << 16
	EPHYLEDLow   uint32 = 1 << 17 // LEDs are active low
	EPHYClk24M   uint32 = 1 << 18 // 24 MHz crystal, not 25
	EPHYAddr     uint32 = 31 << 20

	TCSMII   = 0
	TCSExt   = 1 // from outside: 125 MHz, or RMII's clock
	TCSRGMII = 2 // from inside

	DelayStep = 100 // picoseconds
)

// CCUPLL is the register of the CPU's PLL, which is in every clock control unit
// and never 0.
const CCUPLL uint32 = 0

// CCUBit is one bit of the clock control unit; Mask 0 means that there is none.
type CCUBit struct{ Reg, Mask uint32 }

// SoC is what a system on chip has around the core.
type SoC struct {
	// Name and Compatible are the SoC's and the device tree's.
	Name, Compatible string
	// ClkWindow and ClkReg say where the EMAC clock register is, Default what it
	// holds while the MAC is not in use (Linux).
	ClkWindow       int
	ClkReg, Default uint32
	// InternalPHY: there is a 10/100 PHY inside.
	InternalPHY bool
	// RMII and RGMII: the MAC can do that, beside MII.
	RMII, RGMII bool
	// MaxTxDelay and MaxRxDelay are in steps of DelayStep.
	MaxTxDelay, MaxRxDelay uint32
	// Gates pass the bus clock when set, resets let go when set.
	Gate, Reset, EPHYGate, EPHYReset CCUBit
}

const (
	syscClk = 0x30
	ccuClk  = 0x164 // R40
)

// SoCs are those that the device trees of Linux name, with the bits that its
// clock drivers (ccu-sun8i-h3 and so on) know.
func SoCs() []SoC {
	h3 := SoC{
		Name: "H3", Compatible: "allwinner,sun8i-h3-emac", ClkWindow: WindowSyscon, ClkReg: syscClk,
		Default:     EPHYClk24M | EPHYShutdown | EPHYSelect,
		InternalPHY: true, RMII: true, RGMII: true, MaxTxDelay: 7, MaxRxDelay: 31,
		Gate: CCUBit{0x60, 1 << 17}, Reset: CCUBit{0x2C0, 1 << 17},
		EPHYGate: CCUBit{0x70, 1 << 0}, EPHYReset: CCUBit{0x2C8, 1 << 2},
	}
	v3s := h3
	v3s.Name, v3s.Compatible = "V3s", "allwinner,sun8i-v3s-emac"
	v3s.Default = EPHYLEDLow | EPHYShutdown | EPHYSelect
	v3s.RMII, v3s.RGMII, v3s.MaxTxDelay, v3s.MaxRxDelay = false, false, 0, 0
	a64 := h3
	a64.Name, a64.Compatible = "A64", "allwinner,sun50i-a64-emac"
	a64.Default, a64.InternalPHY, a64.EPHYGate, a64.EPHYReset = 0, false, CCUBit{}, CCUBit{}
	a83t := a64
	a83t.Name, a83t.Compatible, a83t.RMII = "A83T", "allwinner,sun8i-a83t-emac", false
	r40 := a83t
	r40.Name, r40.Compatible = "R40", "allwinner,sun8i-r40-gmac"
	r40.ClkWindow, r40.ClkReg, r40.MaxTxDelay, r40.MaxRxDelay = WindowCCU, ccuClk, 0, 7
	r40.Gate, r40.Reset = CCUBit{0x64, 1 << 17}, CCUBit{0x2C4, 1 << 17}
	h6 := a64
	h6.Name, h6.Compatible, h6.Default = "H6", "allwinner,sun50i-h6-emac", EPHYClk24M|EPHYShutdown
	h6.Gate, h6.Reset = CCUBit{0x97C, 1 << 0}, CCUBit{0x97C, 1 << 16}
	h616, d1 := h6, h6
	h616.Name, h616.Compatible, h616.Default = "H616", "allwinner,sun50i-h616-emac0", 0
	d1.Name, d1.Compatible, d1.Default = "D1", "allwinner,sun20i-d1-emac", 0
	return []SoC{h3, v3s, a64, a83t, r40, h6, h616, d1}
}

// SoCFor finds the SoC of device-tree names, the most specific first. exact says
// that it was the first name: of a SoC that only falls back to another's name the
// clock control unit is not known.
func SoCFor(names []string) (soc SoC, exact, ok bool) {
	for i, name := range names {
		for _, s := range SoCs() {
			if s.Compatible == name {
				return s, i == 0, true
			}
		}
	}
	return SoC{}, false, false
}
