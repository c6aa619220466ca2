package dwmac

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFIFOSizes(t *testing.T) {
	for field, want := range map[uint32]int{0: 0, 3: 0, 4: 2048, 5: 4096, 7: 16384, 8: 32768} {
		require.Equal(t, want, FIFOSize(field), "field %d", field)
	}
	require.Equal(t, 4, UsableQueues(4, 16384))
	require.Equal(t, 2, UsableQueues(4, 4096), "a queue needs room for a frame")
	require.Equal(t, 1, UsableQueues(4, 0), "unknown FIFO: no way to split it")
	require.Equal(t, 16, UsableQueues(16, 65536))
	require.Equal(t, 5376, Share(16384, 3))
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
		pbl, ok := Burst(c.fifo, c.mtu)
		require.Equal(t, c.ok, ok, "%+v", c)
		require.Equal(t, c.pbl, pbl, "%+v", c)
	}
	for fifo, want := range map[int]int{0: 1500, 2048: 1850, 4096: 3898, 8192: 7994, 16384: 9000, 65536: 9000} {
		require.Equal(t, want, MaxMTU(fifo, 9000), "FIFO %d", fifo)
		_, ok := Burst(fifo, want)
		require.True(t, ok, "FIFO %d carries its own limit", fifo)
	}
}
