package sun8i

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
)

// TestClockRegister: what the EMAC clock register becomes.
func TestClockRegister(t *testing.T) {
	for _, c := range []struct {
		soc   string
		found uint32
		board Board
		iface Interface
		want  uint32
	}{
		{"H3", 0x58000, Board{}, Internal, 0x148000}, // power-on: PHY 1, 24 MHz, selected, not shut down
		{"H3", 0x58000, Board{LEDActiveLow: true}, Internal, 0x168000},
		{"H3", 0x00148000, Board{}, Internal, 0x148000},
		{"H3", 0x58000, Board{Interface: RGMII, TXDelay: 300, RXDelay: 3100}, RGMII, 0x50000 | 3<<10 | 31<<5 | 6},
		{"H3", 0x10000 | 5<<10 | 6, Board{}, RGMII, 0x10000 | 5<<10 | 6}, // U-Boot's delays stay
		{"H3", 0x58000, Board{Interface: RMII}, RMII, 0x52001},
		{"H3", 0x58000, Board{Interface: MII}, MII, 0x50000},
		{"V3s", 0x38000, Board{}, Internal, 0x148000},
		{"A64", 0, Board{}, MII, 0},
		{"A64", 0, Board{Interface: RGMII}, RGMII, 6}, // what Linux writes
		{"A64", 0x2001, Board{}, RMII, 0x2001},
		{"A83T", 0x0C06, Board{Interface: RGMII, TXDelay: 700}, RGMII, 7<<10 | 6},
		{"R40", 0, Board{Interface: RGMII, RXDelay: 700}, RGMII, 7<<5 | 6},
		{"H6", 0x50000, Board{Interface: RMII}, RMII, 0x52001},
	} {
		b, s := soc(t, c.soc, c.found, true)
		core := newCore(t, b, c.board)
		require.Equal(t, c.iface, core.glue.iface, "%s, %#x", c.soc, c.found)
		require.Equal(t, c.soc, core.Info().Version)
		core.glue.selectPHY()
		require.Equal(t, c.want, b.windows[s.ClkWindow].regs[s.ClkReg], "%s, %#x, %+v", c.soc, c.found, c.board)
	}
}

func TestBoardRefused(t *testing.T) {
	for _, c := range []struct {
		soc   string
		board Board
	}{
		{"A64", Board{Interface: Internal}}, {"R40", Board{Interface: RMII}}, {"A83T", Board{Interface: RMII}},
		{"V3s", Board{Interface: RGMII}}, {"H3", Board{Interface: RGMII + 1}},
		{"H3", Board{Interface: RGMII, TXDelay: 800}}, {"H3", Board{Interface: RGMII, RXDelay: 3200}},
		{"H3", Board{Interface: RGMII, RXDelay: 150}}, {"H3", Board{Interface: RGMII, TXDelay: -100}},
		{"R40", Board{Interface: RGMII, TXDelay: 100}}, {"R40", Board{Interface: RGMII, RXDelay: 800}},
		{"H3", Board{Interface: MII, TXDelay: 100}}, {"A64", Board{TXDelay: 100}},
		{"H3", Board{PHY: 32}}, {"H3", Board{PHY: -1}},
	} {
		b, _ := soc(t, c.soc, 0, true)
		_, err := NewBoard(b, c.board)
		require.ErrorIs(t, err, mac.ErrConfig, "%s %+v", c.soc, c.board)
		require.ErrorContains(t, err, "fake0")
	}
}

// TestWithoutWindows: what the bus knows of the wiring says which interface it is.
func TestWithoutWindows(t *testing.T) {
	for mode, want := range map[string]Interface{"rgmii-id": RGMII, "rgmii": RGMII, "rmii": RMII, "mii": AsFound, "": AsFound} {
		b := &fakeBus{windows: [3]*fakeRegs{newCoreRegs()}, compatible: []string{"allwinner,sun8i-h3-emac"}, wiring: mac.Wiring{PHYMode: mode, PHYs: []int{0, 7}}}
		c := newCore(t, b, Board{})
		require.Equal(t, want, c.glue.iface, mode)
		require.Equal(t, []int{0, 7}, c.glue.phys())
		require.False(t, c.glue.gated())
		c.glue.clockOn()
		c.glue.selectPHY()
		require.Empty(t, b.windows[0].writes)
		_, inBand := c.Link()
		require.Equal(t, want == RGMII, inBand, mode)
		c = newCore(t, b, Board{Interface: MII, PHY: 3})
		require.Equal(t, []int{3}, c.glue.phys())
	}
	b := &fakeBus{windows: [3]*fakeRegs{newCoreRegs()}, compatible: []string{"allwinner,sun50i-a64-emac"}, wiring: mac.Wiring{PHYMode: "mii"}}
	c := newCore(t, b, Board{})
	require.Equal(t, MII, c.glue.iface)
	require.Len(t, c.glue.phys(), 32)
}

// TestClocks: gates open before resets are let go, nothing is touched that is on,
// and a SoC that falls back to another's name keeps its own clocks.
func TestClocks(t *testing.T) {
	b, s := soc(t, "H3", 0x58000, false)
	c := newCore(t, b, Board{})
	require.True(t, c.glue.gated())
	require.Zero(t, c.Info().Address)
	c.glue.clockOn()
	c.glue.clockOn()
	require.Equal(t, []access{{s.Gate.Reg, s.Gate.Mask}, {s.Reset.Reg, s.Reset.Mask}}, b.windows[2].writes)
	b.windows[2].writes = nil
	c.glue.selectPHY()
	c.glue.selectPHY()
	require.Equal(t, []access{{s.EPHYGate.Reg, 1}, {s.EPHYReset.Reg, 0}, {s.EPHYReset.Reg, 4}}, b.windows[2].writes, "its reset is pulsed, once")
	c.glue.powered = false // as a reset that never ended leaves it
	b.windows[2].writes = nil
	c.glue.selectPHY()
	require.Equal(t, []access{{s.EPHYReset.Reg, 0}, {s.EPHYReset.Reg, 4}}, b.windows[2].writes)

	b, _ = soc(t, "A64", 0, false)
	b.compatible = []string{"allwinner,sun50i-a100-emac", "allwinner,sun50i-a64-emac"}
	require.False(t, newCore(t, b, Board{}).glue.gated())

	b, _ = soc(t, "A64", 0, true)
	delete(b.windows[2].regs, emac.CCUPLL)
	_, err := New(b)
	require.ErrorIs(t, err, mac.ErrNoDevice, "register window 2 is something else")
}

func TestInterfaceNames(t *testing.T) {
	require.Equal(t, "internal PHY RGMII Interface(9)", Internal.String()+" "+RGMII.String()+" "+Interface(9).String())
}
