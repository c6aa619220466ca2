package gmac3

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRegisters(t *testing.T) {
	require.Equal(t, uint32(0x40), AddrHigh(0))
	require.Equal(t, uint32(0xBC), AddrLow(15))
	require.Equal(t, uint32(0x800), AddrHigh(16))
	require.Equal(t, uint32(0x87C), AddrLow(31))
	require.Equal(t, []uint32{MACHashLow, MACHashHigh}, []uint32{HashTable(64, 0), HashTable(64, 1)})
	require.Equal(t, []uint32{0x500, 0x51C}, []uint32{HashTable(256, 0), HashTable(256, 7)})
	for off, name := range map[uint32]string{
		0x00: "MAC_Config", 0x04: "MAC_FrameFilter", 0x44: "MAC_Addr0_Low", 0x808: "MAC_Addr17_High", 0x51C: "MAC_HashTable7",
		0x114: "MMC_TxOctets", 0x1014: "DMA_Status", 0x1058: "DMA_Feature", 0x0F0: "0x00f0", 0x2FC: "0x02fc",
	} {
		require.Equal(t, name, RegName(off))
	}
	seen := map[string]uint32{}
	for off := uint32(0); off < WindowSize; off += 4 {
		name := RegName(off)
		require.NotContains(t, seen, name, "%#x has the name of %#x", off, seen[name])
		seen[name] = off
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		register uint32
		ok, riwt bool
		name     string
	}{
		{0x1037, true, true, "3.70"},
		{0xD135, true, true, "3.50"},
		{0x1034, true, false, "3.40"},
		{0x1032, true, false, "3.20"},
		{0x0030, true, false, "3.00"},
		{0x1042, false, false, "4.20"},
		{0x0010, false, false, "1.00"},
	} {
		f, ok := FactsFor(c.register)
		require.Equal(t, c.ok, ok, c.name)
		require.Equal(t, c.riwt, f.Watchdog, c.name)
		require.Equal(t, c.riwt, f.Extended, c.name)
		require.Equal(t, c.name, VersionName(c.register))
	}
}
