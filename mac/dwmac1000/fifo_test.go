package dwmac1000

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

// levels are RFA and RFD of Operation_Mode.
func levels(mode uint32) (rfa, rfd uint32) {
	rfa, rfd = field.Get(gmac3.OpRFA, mode), field.Get(gmac3.OpRFD, mode)
	if mode&gmac3.OpRFA2 != 0 {
		rfa |= 4
	}
	if mode&gmac3.OpRFD2 != 0 {
		rfd |= 4
	}
	return rfa, rfd
}

func TestOperationMode(t *testing.T) {
	const always = gmac3.OpTSF | gmac3.OpOSF | gmac3.OpDFF | gmac3.OpDT
	for _, c := range []struct {
		fifo, mtu int
		rfa, rfd  uint32
		flags     uint32
	}{
		{0, 1500, 0, 0, always | gmac3.OpRSF},
		{0, 1501, 0, 0, always}, // unknown: what is longer may not fit
		{2048, 1500, 0, 0, always | gmac3.OpRSF},
		{4096, 1500, 0, 1, always | gmac3.OpRSF | gmac3.OpEFC},
		{8192, 1500, 2, 3, always | gmac3.OpRSF | gmac3.OpEFC},
		{16384, 1500, 2, 3, always | gmac3.OpRSF | gmac3.OpEFC},
		{16384, 9000, 5, 6, always | gmac3.OpRSF | gmac3.OpEFC},
		{8192, 9000, 2, 3, always | gmac3.OpEFC},
	} {
		mode := operationMode(c.fifo, c.mtu)
		name := fmt.Sprintf("FIFO %d, MTU %d", c.fifo, c.mtu)
		rfa, rfd := levels(mode)
		require.Equal(t, [2]uint32{c.rfa, c.rfd}, [2]uint32{rfa, rfd}, name)
		require.Equal(t, c.flags, mode&^(gmac3.OpRFA|gmac3.OpRFD|gmac3.OpRFA2|gmac3.OpRFD2), name)
	}
}

// TestFlowThresholds: whatever the sizes, a pause ends with more room than it
// starts with, and both levels are ones that a FIFO of the size has.
func TestFlowThresholds(t *testing.T) {
	for fifo := 4096; fifo <= 1<<16; fifo += 1024 {
		for _, mtu := range []int{68, 1500, 2000, 4000, 9000} {
			rfa, rfd := flowThresholds(fifo, mtu+headerRoom+fcsLen)
			require.Greater(t, rfd, rfa)
			require.LessOrEqual(t, rfd, uint32(6), "7 is reserved")
			require.Less(t, 1024*int(rfd+1), fifo, "FIFO %d, MTU %d", fifo, mtu)
			if fifo <= 4096 {
				require.Less(t, rfd, uint32(3))
			}
			if fifo <= 8192 {
				require.Less(t, rfd, uint32(4), "5 KiB and more need a FIFO of more than 8")
			}
		}
	}
}

func TestChecksumMTU(t *testing.T) {
	for _, c := range [][3]int{{0, 8, 1500}, {2048, 8, 1850}, {4096, 16, 3770}, {16384, 32, 9000}, {256, 32, 68}} {
		require.Equal(t, c[2], checksumMTU(c[0], c[1]), "FIFO %d, burst %d", c[0], c[1])
	}
}
