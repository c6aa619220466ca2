package neta

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Values that Linux's driver computes with the same polynomial.
func TestHash(t *testing.T) {
	for _, v := range []struct {
		addr [6]byte
		want uint8
	}{
		{[6]byte{0x33, 0x33, 0, 0, 0, 1}, 0x29},
		{[6]byte{0x33, 0x33, 0xff, 0, 0, 1}, 0xf8},
		{[6]byte{0x01, 0x80, 0xc2, 0, 0, 0x0e}, 0x12},
		{[6]byte{0x01, 0x00, 0x5e, 0x7f, 0xff, 0xfa}, 0x0e},
		{[6]byte{0x01, 0x00, 0x5e, 0, 1, 1}, 0x03},
		{[6]byte{0x01, 0x1b, 0x19, 0, 0, 0}, 0x65},
	} {
		require.Equal(t, v.want, Hash(v.addr), "%x", v.addr)
	}
}

// Each register has one name, and no two have the same.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]uint32{}
	for off := uint32(0); off < BMOffset+BMWindowSize; off += 4 {
		name := RegName(off)
		if was, twice := seen[name]; twice {
			t.Fatalf("%#x and %#x are both %s", was, off, name)
		}
		seen[name] = off
	}
	require.Equal(t, "RXQ3_Update", RegName(0x150c))
	require.Equal(t, "TXQ7_Status", RegName(0x3c5c))
	require.Equal(t, "GMAC_Control2", RegName(0x2c08))
	require.Equal(t, "OtherMulticast63", RegName(0x35fc))
	require.Equal(t, "BM_Pool2_Size", RegName(BMOffset+0x3c))
	require.Equal(t, "BPPI_Pool1", RegName(BPPIOffset+0x100))
	require.Equal(t, "0x1234", RegName(0x1234))
}

func TestXBar(t *testing.T) {
	for p, want := range [][3]uint32{{0x08, 0xF, 0xFF0}, {0x08, 0xF0000, 0xFF00000}, {0x0C, 0xF, 0xFF0}, {0x0C, 0xF0000, 0xFF00000}} {
		reg, target, attr := BMXBar(p)
		require.Equal(t, want, [3]uint32{reg, target, attr}, "pool %d", p)
	}
}
