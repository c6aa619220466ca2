package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestManualClock(t *testing.T) {
	start := time.Unix(100, 0)
	c := NewManualClock(start)
	var got []string
	at := func(name string) func() {
		return func() { got = append(got, name+" "+c.Now().Sub(start).String()) }
	}
	c.AfterFunc(30, at("c"))
	c.AfterFunc(10, at("a"))
	c.AfterFunc(10, at("b")) // same time: in the order of making
	stopped := c.AfterFunc(15, at("stopped"))
	c.AfterFunc(20, func() {
		at("again")()
		c.AfterFunc(5, at("nested"))
		c.AfterFunc(0, at("now"))
		c.AfterFunc(100, at("later"))
	})
	require.True(t, stopped.Stop())
	require.False(t, stopped.Stop())
	require.Equal(t, 4, c.Timers())
	c.Advance(9)
	require.Empty(t, got)
	c.Advance(21)
	require.Equal(t, []string{"a 10ns", "b 10ns", "again 20ns", "now 20ns", "nested 25ns", "c 30ns"}, got)
	require.Equal(t, start.Add(30), c.Now())
	require.Equal(t, 1, c.Timers())
}

func TestManualTimerReset(t *testing.T) {
	c := NewManualClock(time.Unix(0, 0))
	n := 0
	tm := c.AfterFunc(10, func() { n++ })
	c.Advance(5)
	require.True(t, tm.Reset(10), "was pending")
	c.Advance(9)
	require.Zero(t, n)
	c.Advance(1)
	require.Equal(t, 1, n)
	require.False(t, tm.Reset(1), "had fired")
	c.Advance(1)
	require.Equal(t, 2, n)
	require.False(t, tm.Reset(-5))
	c.Advance(0)
	require.Equal(t, 3, n)
}

func TestRealClock(t *testing.T) {
	var c Clock = RealClock{}
	done := make(chan struct{})
	before := c.Now()
	c.AfterFunc(time.Millisecond, func() { close(done) })
	<-done
	require.GreaterOrEqual(t, c.Now().Sub(before), time.Millisecond)
	require.True(t, c.AfterFunc(time.Hour, func() {}).Stop())
}

func TestFaults(t *testing.T) {
	hits := func(f *Faults, n int) (got []int) {
		for i := range n {
			if f.Hit(BadCRC) {
				got = append(got, i)
			}
		}
		return got
	}
	f := NewFaults(1)
	require.Empty(t, hits(f, 10))
	f.Once(BadCRC)
	require.False(t, f.Hit(StuckOwn), "another kind")
	require.Equal(t, []int{0}, hits(f, 10))
	f.Nth(BadCRC, 4)
	require.Equal(t, []int{3}, hits(f, 10))
	f.Times(BadCRC, 3)
	require.Equal(t, []int{0, 1, 2}, hits(f, 10))
	f.Always(BadCRC)
	require.Len(t, hits(f, 10), 10)
	f.Clear(BadCRC)
	require.Empty(t, hits(f, 10))
	require.EqualValues(t, 15, f.Hits(BadCRC))

	a, b := NewFaults(9), NewFaults(9)
	a.Rate(BadCRC, 100)
	b.Rate(BadCRC, 100)
	got := hits(a, 1000)
	require.Equal(t, got, hits(b, 1000), "a seed names a run")
	require.InDelta(t, 100, len(got), 40)
	require.Less(t, a.Random(7), 7)
	for _, k := range FaultKinds() {
		require.NotEmpty(t, k.String())
	}
}
