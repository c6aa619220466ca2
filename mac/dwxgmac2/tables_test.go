package dwxgmac2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

func TestFlowThresholds(t *testing.T) {
	for _, c := range []struct {
		fifo, frame int
		rfa, rfd    uint32
		ok          bool
	}{
		{0, 1526, 0, 0, false},
		{2048, 1526, 0, 0, false},
		{4096, 1526, 0, 1, true},
		{4608, 9026, 2, 5, true},      // a frame does not fit
		{4608, 1526, 4, 5, true},      // three frames of 1536: pause with 3072 free, end with 3840
		{16384, 1526, 5, 8, true},     // pause with 3584 free, end with 5120
		{65536, 9026, 35, 53, true},   // 9216: pause with 18944 free, end with 28160
		{262144, 16368, 63, 63, true}, // the fields hold no more
	} {
		rfa, rfd, ok := flowThresholds(c.fifo, c.frame)
		require.Equal(t, c.ok, ok, "%+v", c)
		require.Equal(t, []uint32{c.rfa, c.rfd}, []uint32{rfa, rfd}, "%+v", c)
	}
	for fifo := 4096; fifo <= 128<<10; fifo += 256 {
		for frame := 64; frame < 9100; frame += 101 {
			rfa, rfd, _ := flowThresholds(fifo, frame)
			require.Less(t, rfa, rfd, "a pause ends with more room than it starts with: FIFO %d, frame %d", fifo, frame)
		}
	}
}

func TestSpeedCode(t *testing.T) {
	for _, c := range []struct {
		mode  string
		speed int
		gmii  bool
		slow  bool
		code  uint32
		err   error
	}{
		{"", 10_000, false, false, 0, nil},
		{"", 5000, false, false, 5, nil},
		{"usxgmii", 2500, false, false, 6, nil},
		{"2500base-x", 2500, true, false, 2, nil},
		{"sgmii", 2500, true, false, 2, nil},
		{"sgmii", 2500, false, false, 0, mac.ErrUnsupported},
		{"", 1000, true, false, 3, nil},
		{"", 1000, false, false, 0, mac.ErrUnsupported},
		{"", 100, true, true, 4, nil},
		{"", 100, true, false, 0, mac.ErrUnsupported},
		{"", 10, true, true, 7, nil},
		{"", 40_000, true, true, 0, mac.ErrConfig},
		{"", 0, true, true, 0, mac.ErrConfig},
		{"", -1, true, true, 0, mac.ErrConfig},
	} {
		core := &Core{phyMode: c.mode, facts: xgmac2.Facts{Slow: c.slow}}
		core.limits.gmii = c.gmii
		code, err := core.speedCode(c.speed)
		require.ErrorIs(t, err, c.err, "%+v", c)
		require.Equal(t, c.code, code, "%+v", c)
		if c.err == nil {
			require.Equal(t, c.speed, xgmac2.SpeedOf(code))
		}
	}
}

func TestClockRange(t *testing.T) {
	for hz, want := range map[int]uint32{0: 5, 50e6: 0, 150e6: 0, 150e6 + 1: 1, 250e6: 1, 300e6: 2, 350e6: 3, 400e6: 4, 400e6 + 1: 5, 600e6: 5} {
		require.Equal(t, want, clockRange(hz), "%d Hz", hz)
	}
}
