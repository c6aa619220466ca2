package pagepool

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCopyBreak(t *testing.T) {
	for _, c := range []struct{ set, want int }{{LendAlways, 1}, {CopyAlways, CopyAlways}, {4096, 4096}} {
		p, err := New(NewHeap(4096, 0), Config{PageSize: 2048, CopyBreak: c.set})
		require.NoError(t, err)
		require.Equal(t, c.want, p.CopyBreak())
	}
	for _, size := range []int{64, 2048, 1 << 20} {
		p, err := New(NewHeap(size, 0), Config{PageSize: min(size, 2048), CopyBreak: CopyBreakAuto})
		require.NoError(t, err)
		require.GreaterOrEqual(t, p.CopyBreak(), breakMin)
		require.LessOrEqual(t, p.CopyBreak(), breakMax)
		require.Zero(t, p.CopyBreak()%lineSize)
		for pg := range Page(p.Pages()) {
			require.True(t, p.lender.home(pg), "measuring gives all views back")
		}
		require.Equal(t, Stats{Pages: p.Pages(), Free: p.Pages()}, p.Stats())
	}
}

func TestInterpolate(t *testing.T) {
	for _, c := range []struct {
		shorter, longer    int
		below, above, want int
		n                  int
	}{
		{1024, 2048, 100, 200, 150, 1536},
		{1024, 2048, 100, 200, 101, 1088}, // rounded up to a line
		{1024, 2048, 100, 200, 200, 2048},
		{0, 256, 0, 500, 50, 256},         // slow memory: never below breakMin
		{1024, 2048, 200, 200, 200, 2048}, // noise: no slope
	} {
		got := interpolate(c.shorter, c.longer, time.Duration(c.below), time.Duration(c.above), time.Duration(c.want))
		require.Equal(t, c.n, got, "%+v", c)
	}
}
