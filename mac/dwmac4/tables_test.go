package dwmac4

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

func TestFIFOSizes(t *testing.T) {
	for field, want := range map[uint32]int{0: 0, 3: 0, 4: 2048, 5: 4096, 7: 16384, 8: 32768} {
		require.Equal(t, want, fifoSize(field), "field %d", field)
	}
	require.Equal(t, 4, usableQueues(4, 16384))
	require.Equal(t, 2, usableQueues(4, 4096), "a queue needs room for a frame")
	require.Equal(t, 1, usableQueues(4, 0), "unknown FIFO: no way to split it")
	require.Equal(t, 8, usableQueues(16, 65536))
	require.Equal(t, 5376, share(16384, 3))
}

func TestBurst(t *testing.T) {
	for _, c := range []struct {
		fifo, mtu int
		pbl       uint32
		ok        bool
	}{
		{0, 1500, 1, true},
		{0, 1501, 1, false},
		{2048, 1500, 2, true}, // 1522 + 19*16 = 1826; with 32 beats 2082
		{2048, 1850, 1, true},
		{2048, 1851, 1, false},
		{4096, 1500, 8, true},
		{4096, 3002, 8, true},
		{4096, 3003, 4, true},
		{8192, 7994, 1, true},
		{16384, 9000, 8, true},
	} {
		pbl, ok := burst(c.fifo, c.mtu)
		require.Equal(t, c.ok, ok, "%+v", c)
		require.Equal(t, c.pbl, pbl, "%+v", c)
	}
	for fifo, want := range map[int]int{0: 1500, 2048: 1850, 4096: 3898, 8192: 7994, 16384: 9000, 65536: 9000} {
		require.Equal(t, want, maxMTU(fifo), "FIFO %d", fifo)
		_, ok := burst(fifo, want)
		require.True(t, ok, "FIFO %d carries its own limit", fifo)
	}
}

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
	for fifo := 4096; fifo <= 1<<18; fifo += fifoBlock {
		for _, mtu := range []int{68, 1500, 2000, 4000, 9000} {
			rfa, rfd := flowThresholds(fifo, mtu+headerRoom+fcsLen)
			require.Greater(t, rfd, rfa)
			require.LessOrEqual(t, rfd, uint32(63))
			require.Less(t, 1024+512*int(rfd), fifo, "FIFO %d, MTU %d", fifo, mtu)
		}
	}
}
