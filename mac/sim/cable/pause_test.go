package cable

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

func pauseFrame(quanta uint16) string {
	f := make([]byte, 60)
	copy(f, []byte{0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0, 1, byte(quanta >> 8), byte(quanta)})
	return string(f)
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &port{}, &port{}
		c := Connect(a, b, &Options{FlowControl: true, Link: mac.Link{Up: true, Speed: 10, FullDuplex: true, TXPause: true}})
		defer func() { require.NoError(t, c.Close()) }()

		// Held back until the MAC ends the pause, which would last 3.4 s.
		begin := time.Now()
		a.send(pauseFrame(0xffff))
		b.send("1")
		time.Sleep(time.Second)
		require.Empty(t, a.got())
		a.send("the other way")
		synctest.Wait()
		require.Equal(t, "the other way", b.got())
		a.send(pauseFrame(0))
		synctest.Wait()
		require.Equal(t, "1", a.got())
		require.Equal(t, time.Second, time.Since(begin))

		// A pause ends by itself: 100 times 512 bits at 10 Mbit/s.
		a.send(pauseFrame(1), pauseFrame(100))
		b.send("2")
		time.Sleep(5120*time.Microsecond - 1)
		synctest.Wait()
		require.Equal(t, "1", a.got())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, "1 2", a.got())

		// A link that goes takes the pause with it.
		a.send(pauseFrame(0xffff))
		c.SetLink(mac.Link{})
		c.SetLink(mac.Link{Up: true, Speed: 10, FullDuplex: true})
		b.send("3")
		synctest.Wait()
		require.Equal(t, "1 2 3", a.got())

		require.EqualValues(t, 5, c.Stats(AToB).Pauses)
		require.EqualValues(t, 1, c.Stats(AToB).Delivered, "pause frames go no farther")
	})
}

// TestPauseFrames: only what is one is taken for one, and only where it is asked
// for.
func TestPauseFrames(t *testing.T) {
	pause := pauseFrame(1)
	other := strings.Replace(pause, "\x88\x08\x00\x01", "\x88\x08\x00\x02", 1)
	for _, frame := range []string{other, strings.Replace(pause, "\x88\x08", "\x88\x09", 1), "\x02" + pause[1:], pause[:17]} {
		_, ok := pauseTime([]byte(frame), 1000)
		require.False(t, ok, "% x", frame)
	}
	d, ok := pauseTime([]byte(pauseFrame(0xffff)), 1000)
	require.True(t, ok)
	require.Equal(t, 33553920*time.Nanosecond, d)

	a, b := &port{}, &port{}
	c := Connect(a, b, &Options{Manual: true})
	a.send(pause)
	require.True(t, c.Step())
	require.Equal(t, pause, b.got())
	require.False(t, a.links[0].TXPause)
	require.NoError(t, c.Close())
}

// TestPauseOfManualCable: a direction that is paused has nothing to step.
func TestPauseOfManualCable(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(0, 0))
	a, b := &port{}, &port{}
	c := Connect(a, b, &Options{Manual: true, FlowControl: true, Clock: clock})
	defer func() { require.NoError(t, c.Close()) }()
	require.True(t, a.links[0].TXPause, "so that a MAC sends pause frames")
	b.send(pauseFrame(0xffff))
	a.send("1")
	require.False(t, c.Step())
	clock.Advance(33553920 * time.Nanosecond)
	require.True(t, c.Step())
	require.Equal(t, "1", b.got())
}

// TestCloseEndsPause: nobody waits for a pause on a cable that is not there.
func TestCloseEndsPause(t *testing.T) {
	a, b := &port{}, &port{}
	c := Connect(a, b, &Options{FlowControl: true, Link: mac.Link{Up: true, Speed: 10, TXPause: true}})
	a.send(pauseFrame(0xffff))
	b.send("1")
	require.NoError(t, c.Close())
}
