package emac

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/field"
)

func TestFields(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want uint32
	}{
		{"100 Mbit/s", field.Put(Ctl0Speed, Speed100), 0xC},
		{"receive length", field.Get(RxLen, 0x05EE0300), 0x5EE},
		{"what does not fit is cut off", field.Put(MIIPHY, 33), 1 << 12},
		{"checksum insertion", field.Put(TxCIC, CICFull), 0x18000000},
		{"slot 7", AddrHigh(7), 0x88},
		{"and its low half", AddrLow(7), 0x8C},
		{"in-band speed", field.Get(RGMIISpeed, 0xD), RGMIISpeed1000},
	} {
		require.Equal(t, c.want, c.got, c.what)
	}
}

func TestRegName(t *testing.T) {
	for off, want := range map[uint32]string{
		0x00: "BASIC_CTL0", 0x28: "RX_CTL1", 0x50: "ADDR_HIGH0", 0x8C: "ADDR_LOW7", 0xD0: "RGMII_STA",
		0x90: "0x0090", 0x18: "0x0018", 0x52: "0x0052",
	} {
		require.Equal(t, want, RegName(off))
	}
}

// The clock registers' defaults are the numbers in Linux's table.
func TestSoCs(t *testing.T) {
	defaults := map[string]uint32{"H3": 0x58000, "V3s": 0x38000, "A64": 0, "A83T": 0, "R40": 0, "H6": 0x50000, "H616": 0, "D1": 0}
	seen := map[string]bool{}
	for _, s := range SoCs() {
		require.Equal(t, defaults[s.Name], s.Default, s.Name)
		require.False(t, seen[s.Compatible], s.Compatible)
		seen[s.Compatible] = true
		require.Equal(t, s.InternalPHY, s.EPHYReset.Mask != 0, s.Name)
		require.Equal(t, s.RGMII, s.MaxRxDelay > 0, s.Name)
		require.True(t, s.Gate.Mask != 0 && s.Reset.Mask != 0, s.Name)
	}
	require.Len(t, seen, len(defaults))

	s, exact, ok := SoCFor([]string{"allwinner,sun8i-r40-gmac"})
	require.True(t, ok && exact)
	require.Equal(t, []any{"R40", WindowCCU, uint32(0x164)}, []any{s.Name, s.ClkWindow, s.ClkReg})
	s, exact, ok = SoCFor([]string{"allwinner,sun50i-a100-emac", "allwinner,sun50i-a64-emac"})
	require.True(t, ok && !exact)
	require.Equal(t, "A64", s.Name)
	_, _, ok = SoCFor([]string{"snps,dwmac-4.10a"})
	require.False(t, ok)
}
