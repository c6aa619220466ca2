package dwmac4

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

func TestRxQueueMode(t *testing.T) {
	const rsf, ehfc, keep = gmac4.RxQOpRSF, gmac4.RxQOpEHFC, gmac4.RxQOpDISTCPEF
	for _, c := range []struct {
		fifo, mtu int
		rqs       uint32
		rfa, rfd  uint32
		flags     uint32
	}{
		{0, 1500, 0, 0, 0, rsf | keep},
		{2048, 1500, 7, 0, 0, rsf | keep}, // no flow control below 4 KiB
		{4096, 1500, 15, 1, 3, rsf | keep | ehfc},
		{8192, 1500, 31, 4, 7, rsf | keep | ehfc},
		{16384, 1500, 63, 4, 7, rsf | keep | ehfc},
		{65536, 1500, 255, 4, 7, rsf | keep | ehfc},
		{65536, 9000, 255, 34, 37, rsf | keep | ehfc}, // two frames of headroom
		{16384, 9000, 63, 10, 13, rsf | keep | ehfc},  // as much as is sensible
		{8192, 9000, 31, 4, 7, keep | ehfc},           // frame longer than the FIFO: cut through
	} {
		v := rxQueueMode(c.fifo, c.mtu)
		name := fmt.Sprintf("FIFO %d, MTU %d", c.fifo, c.mtu)
		require.Equal(t, c.rqs, field.Get(gmac4.RxQOpRQS, v), name)
		require.Equal(t, [2]uint32{c.rfa, c.rfd}, [2]uint32{field.Get(gmac4.RxQOpRFA, v), field.Get(gmac4.RxQOpRFD, v)}, name)
		require.Equal(t, c.flags, v&^(gmac4.RxQOpRQS|gmac4.RxQOpRFA|gmac4.RxQOpRFD), name)
	}
}

// TestFlowThresholds: whatever the sizes, a pause ends with more room than it
// starts with, and both levels lie inside the FIFO.
func TestFlowThresholds(t *testing.T) {
	for fifo := 4096; fifo <= 1<<18; fifo += dwmac.FIFOBlock {
		for _, mtu := range []int{68, 1500, 2000, 4000, 9000} {
			rfa, rfd := flowThresholds(fifo, mtu+dwmac.HeaderRoom+fcsLen)
			require.Greater(t, rfd, rfa)
			require.LessOrEqual(t, rfd, uint32(63))
			require.Less(t, 1024+512*int(rfd), fifo, "FIFO %d, MTU %d", fifo, mtu)
		}
	}
}
