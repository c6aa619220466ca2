package mvneta

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/ring"
)

func TestWatchdogCycles(t *testing.T) {
	for _, v := range []struct {
		usecs, hz int
		cycles    uint32
		actual    int
	}{
		{0, 200e6, 0xFFFFFF, 0},
		{100, 250e6, 25000, 100}, // Linux's default on an Armada 3700
		{1, 200e6, 200, 1},
		{83886, 200e6, 16777200, 83886},
		{67108, 250e6, 16777000, 67108},
		{1, 1_500_000, 2, 1},
		{1000, 333_333, 333, 999},
	} {
		cycles, actual, err := watchdogCycles(v.usecs, v.hz)
		require.NoError(t, err, "%+v", v)
		require.Equal(t, []int{int(v.cycles), v.actual}, []int{int(cycles), actual}, "%+v", v)
	}
	for _, v := range [][2]int{{-1, 200e6}, {83887, 200e6}, {100_000, 200e6}, {67110, 250e6}, {1, 400_000}} {
		_, _, err := watchdogCycles(v[0], v[1])
		require.ErrorIs(t, err, ring.ErrCoalesce, "%v", v)
	}
	_, _, err := watchdogCycles(100_000, 250e6)
	require.EqualError(t, err, "mvneta: rx-usecs 100000: at 250000000 Hz takes 0 or 1 to 67108: coalescing value refused")
}

func TestThreshold(t *testing.T) {
	for _, v := range []struct {
		n, slots int
		want     uint32
	}{
		{0, 512, 0x3FFF}, {1, 512, 0}, {2, 512, 1}, {32, 512, 31}, {256, 512, 255}, {257, 512, 255}, {1024, 512, 255}, {9, 4, 1}, {1, 4, 0},
	} {
		require.Equal(t, v.want, threshold(v.n, v.slots), "%+v", v)
	}
}

func TestPoolSlots(t *testing.T) {
	for n, want := range map[int]int{4: 128, 128: 128, 129: 160, 512: 512, 4096: 4096} {
		require.Equal(t, want, poolSlots(n))
	}
}

func TestANBits(t *testing.T) {
	up := func(speed int, full bool) mac.Link { return mac.Link{Up: true, Speed: speed, FullDuplex: full} }
	pause := mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true}
	rgmii, sgmii := portMode{Mode: ModeRGMII}, portMode{ModeSGMII, true}
	for _, v := range []struct {
		mode portMode
		link mac.Link
		want uint32
	}{
		{rgmii, mac.Link{}, 0x8001},
		{rgmii, up(1000, true), 0x9042},
		{rgmii, up(100, true), 0x9022},
		{rgmii, up(100, false), 0x8022},
		{rgmii, up(10, true), 0x9002},
		{rgmii, pause, 0x9142},
		{rgmii, mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true}, 0x9142},
		{portMode{Mode: Mode2500BaseX}, up(2500, true), 0x9042},
		{sgmii, mac.Link{}, 0xA084},
		{sgmii, up(100, false), 0xA084},
		{sgmii, pause, 0xA184},
		{portMode{Mode1000BaseX, true}, up(1000, true), 0x9A44},
	} {
		require.Equal(t, v.want, v.mode.an(v.link), "%+v %v", v.mode, v.link)
	}
}

func TestModeBits(t *testing.T) {
	for mode, want := range map[portMode][3]uint32{
		{ModeRGMII, false}:     {0, 0x10, 0},
		{ModeSGMII, false}:     {0, 0x18, 0},
		{ModeSGMII, true}:      {0, 0x19, 0},
		{Mode1000BaseX, false}: {0, 0x18, 0},
		{Mode1000BaseX, true}:  {2, 0x18, 0},
		{Mode2500BaseX, true}:  {2, 0x18, 2},
	} {
		c0, c2, c4 := mode.controls()
		require.Equal(t, want, [3]uint32{c0, c2, c4}, "%+v", mode)
	}
}

func TestLinksOfAMode(t *testing.T) {
	up := func(speed int, full bool) mac.Link { return mac.Link{Up: true, Speed: speed, FullDuplex: full} }
	for _, v := range []struct {
		mode Mode
		link mac.Link
		want error
	}{
		{ModeRGMII, up(1000, true), nil}, {ModeSGMII, up(10, false), nil}, {Mode1000BaseX, up(1000, true), nil}, {Mode2500BaseX, up(2500, true), nil},
		{ModeRGMII, up(2500, true), mac.ErrUnsupported}, {Mode2500BaseX, up(1000, true), mac.ErrUnsupported},
		{Mode1000BaseX, up(100, true), mac.ErrUnsupported}, {ModeSGMII, up(1000, false), mac.ErrUnsupported},
		{ModeRGMII, up(17, true), mac.ErrConfig}, {ModeRGMII, up(0, true), mac.ErrConfig},
	} {
		require.ErrorIs(t, portMode{Mode: v.mode}.check(v.link), v.want, "%+v", v)
	}
}

func TestFilterPlan(t *testing.T) {
	own := mac.HardwareAddr{2, 0, 0, 0, 0, 0x15}
	s := plan(own, mac.Filter{})
	require.Equal(t, [4]uint32{0, 0x100, 0, 0}, s.unicast, "the own address, entry 5")
	require.Zero(t, s.special)
	require.Zero(t, s.other)
	require.False(t, s.everyone)

	s = plan(own, mac.Filter{Unicast: []mac.HardwareAddr{{2, 0, 0, 0, 0, 0x1F}}})
	require.Equal(t, [4]uint32{0, 0x100, 0, 1 << 24}, s.unicast, "one that differs in the last four bits")
	require.False(t, s.everyone)
	for _, other := range []mac.HardwareAddr{{2, 0, 0, 0, 0, 0x25}, {2, 0, 0, 0, 1, 0x15}, {6, 0, 0, 0, 0, 0x15}} {
		s = plan(own, mac.Filter{Unicast: []mac.HardwareAddr{other}})
		require.True(t, s.everyone, "%s has no entry", other)
		require.Equal(t, [4]uint32{acceptFour, acceptFour, acceptFour, acceptFour}, s.unicast)
		require.Zero(t, s.other, "groups are as before")
	}

	s = plan(own, mac.Filter{Multicast: []mac.HardwareAddr{
		{0x01, 0x00, 0x5e, 0, 0, 0xfb}, {0x01, 0x00, 0x5e, 0, 1, 1}, {0x33, 0x33, 0, 0, 0, 1},
	}})
	var special, other [64]uint32
	special[0xfb/4] = 1 << 24
	other[0] = 1 << 24 // 0x03
	other[0x29/4] = 1 << 8
	require.Equal(t, special, s.special)
	require.Equal(t, other, s.other)
	for _, f := range []mac.Filter{{AllMulticast: true}, {Promiscuous: true}} {
		s = plan(own, f)
		require.Equal(t, acceptFour, s.special[63]&s.other[0])
		require.Equal(t, f.Promiscuous, s.everyone)
	}
}

// Two groups in one bucket: the bucket is accepted until both have left.
func TestGroupsThatShareABucket(t *testing.T) {
	a, b := mac.HardwareAddr{0x33, 0x33, 0xff, 0, 0, 95}, mac.HardwareAddr{0x01, 0x1b, 0x19, 0, 0, 0}
	require.Equal(t, neta.Hash(a), neta.Hash(b))
	both, one := plan(a, mac.Filter{Multicast: []mac.HardwareAddr{a, b}}), plan(a, mac.Filter{Multicast: []mac.HardwareAddr{b}})
	require.Equal(t, both.other, one.other)
}

func TestWindowWords(t *testing.T) {
	w := Window{Base: 0x8000_0000, Size: 1 << 30, Target: 0, Attr: 0x0D}
	require.Equal(t, uint32(0x8000_0D00), w.base())
	require.Equal(t, w, windowOf(w.base(), uint32(w.Size-1)&neta.WindowSizeMask))
	require.Equal(t, Window{Size: 1 << 32, Target: 2, Attr: 0x0B}, windowOf(0x0B02, neta.WindowSizeMask), "AC5: everything")
	c := &Core{windows: []Window{{Base: 0, Size: 1 << 20}, w}}
	for _, v := range []struct {
		addr, size uint64
		want       bool
	}{
		{0, 1 << 20, true}, {0, 1<<20 + 1, false}, {1 << 20, 4, false}, {0x8000_0000, 1 << 30, true}, {0xBFFF_FFFF, 1, true}, {0xC000_0000, 1, false}, {1 << 32, 1, false},
	} {
		require.Equal(t, v.want, c.reaches(v.addr, v.size), "%+v", v)
	}
}
