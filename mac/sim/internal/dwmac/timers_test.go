package dwmac

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim"
)

func TestHold(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(1, 0))
	over := 0
	var h Hold
	h.Init(clock, func() { over++ })
	require.False(t, h.Take(0, 1000), "there was none")
	require.False(t, h.Take(1000, 1000))
	clock.Advance(511 * time.Microsecond)
	require.True(t, h.Active())
	require.False(t, h.Take(1000, 1000), "a new one counts from its arrival")
	clock.Advance(511 * time.Microsecond)
	require.True(t, h.Active())
	require.Zero(t, over)
	clock.Advance(time.Microsecond)
	require.False(t, h.Active())
	require.Equal(t, 1, over)
	h.Take(10, 100)
	require.True(t, h.Take(0, 100), "the partner has ended it")
	h.Take(10, 0)
	h.End()
	clock.Advance(time.Hour)
	require.False(t, h.Active())
	require.Equal(t, 1, over, "told of its own ends only")
}

func TestWatchdog(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(1, 0))
	due := 0
	var w Watchdog
	w.Init(clock, func() {
		if w.Due() {
			due++
		}
	})
	w.Start(0)
	w.Start(10 * time.Microsecond)
	clock.Advance(6 * time.Microsecond)
	w.Start(10 * time.Microsecond)
	require.False(t, w.Due())
	clock.Advance(4 * time.Microsecond)
	require.Equal(t, 1, due, "from the first start")
	clock.Advance(time.Second)
	require.Equal(t, 1, due)
	w.Start(10 * time.Microsecond)
	w.Stop()
	w.Stop()
	clock.Advance(time.Second)
	require.Equal(t, 1, due)
}
