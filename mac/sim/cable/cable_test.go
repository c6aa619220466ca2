package cable

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// port is one end of a wire. It keeps what it gets; deliver, when set, is called
// instead.
type port struct {
	mu       sync.Mutex
	transmit func([]byte)
	frames   []string
	links    []mac.Link
	deliver  func([]byte)
}

func (p *port) Deliver(frame []byte) {
	if p.deliver != nil {
		p.deliver(frame)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = append(p.frames, string(frame))
}

func (p *port) OnTransmit(f func([]byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.transmit = f
}

func (p *port) SetLink(l mac.Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links = append(p.links, l)
}

func (p *port) send(frames ...string) {
	p.mu.Lock()
	f := p.transmit
	p.mu.Unlock()
	for _, frame := range frames {
		f([]byte(frame))
	}
}

func (p *port) got() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.frames, " ")
}

func numbered(n int) []string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprint(i))
	}
	return s
}

func TestFramesArriveInOrderBothWays(t *testing.T) {
	const frames = 5000
	var done sync.WaitGroup
	done.Add(2 * frames)
	check := func() *port {
		next := uint32(0)
		return &port{deliver: func(f []byte) {
			if got := binary.BigEndian.Uint32(f); got != next {
				t.Errorf("frame %d arrived, want %d", got, next)
			}
			next++
			done.Done()
		}}
	}
	a, b := check(), check()
	c := Connect(a, b, &Options{Depth: 7})
	for _, p := range []*port{a, b} {
		go func() {
			for i := range frames {
				p.transmit(binary.BigEndian.AppendUint32(nil, uint32(i)))
			}
		}()
	}
	done.Wait()
	require.NoError(t, c.Close())
	for _, dir := range []Direction{AToB, BToA} {
		s := c.Stats(dir)
		require.EqualValues(t, frames, s.Queued)
		require.EqualValues(t, frames, s.Delivered)
		require.EqualValues(t, 4*frames, s.Bytes)
		require.Zero(t, s.Dropped)
	}
}

func TestManualStepsTakeTurns(t *testing.T) {
	var order []string
	a, b := &port{}, &port{}
	c := Connect(a, b, &Options{Manual: true, Taps: []Tap{func(dir Direction, f []byte) {
		order = append(order, dir.String()+":"+string(f))
	}}})
	defer c.Close()
	a.send("1", "2", "3")
	b.send("x")
	n, err := c.Run(10)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, []string{"a->b:1", "b->a:x", "a->b:2", "a->b:3"}, order)
	require.Equal(t, "1 2 3", b.got())
	require.Equal(t, "x", a.got())
	require.False(t, c.Step())
}

func TestRunIsBounded(t *testing.T) {
	a, b := &port{}, &port{}
	a.deliver = func(f []byte) { a.send(string(f)) }
	b.deliver = func(f []byte) { b.send(string(f)) }
	c := Connect(a, b, &Options{Manual: true})
	defer c.Close()
	a.send("ping")
	n, err := c.Run(100)
	require.Equal(t, 100, n)
	require.ErrorContains(t, err, "1 frames still queued after 100 steps")
}

func TestRunMayNeedExactlyItsLimit(t *testing.T) {
	a, b := &port{}, &port{}
	c := Connect(a, b, &Options{Manual: true})
	defer c.Close()
	a.send("1", "2")
	n, err := c.Run(2)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestStepFromInsideDeliverDoesNothing(t *testing.T) {
	a, b := &port{}, &port{}
	var c *Cable
	inner := true
	b.deliver = func([]byte) { inner = c.Step() }
	c = Connect(a, b, &Options{Manual: true})
	defer c.Close()
	a.send("1", "2")
	require.True(t, c.Step())
	require.False(t, inner)
}

func TestFullFIFO(t *testing.T) {
	for _, o := range []Options{{Manual: true}, {Drop: true}} {
		gate := make(chan struct{})
		a, b := &port{}, &port{}
		if !o.Manual {
			b.deliver = func([]byte) { <-gate }
		}
		o.Depth = 4
		c := Connect(a, b, &o)
		a.send(numbered(200)...)
		s := c.Stats(AToB)
		require.EqualValues(t, 200, s.Queued+s.Dropped)
		require.Less(t, s.Queued, uint64(4+batch+1))
		if o.Manual {
			require.EqualValues(t, 4, s.Queued)
		}
		close(gate)
		require.NoError(t, c.Close())
	}
}

func TestSenderWaitsWhileTheWireIsBusy(t *testing.T) {
	entered, gate := make(chan struct{}, 100), make(chan struct{})
	a, b := &port{}, &port{deliver: nil}
	b.deliver = func([]byte) { entered <- struct{}{}; <-gate }
	c := Connect(a, b, &Options{Depth: 2})
	a.send("0")
	<-entered // the goroutine holds frame 0; two more fit
	a.send("1", "2")
	sent := make(chan struct{})
	go func() { a.send("3"); close(sent) }()
	select {
	case <-sent:
		t.Fatal("a full wire took a frame")
	default:
	}
	close(gate)
	<-sent
	for range 3 {
		<-entered
	}
	require.NoError(t, c.Close())
	require.Zero(t, c.Stats(AToB).Dropped)
}

func TestCloseFreesWaitingSenders(t *testing.T) {
	gate := make(chan struct{})
	a, b := &port{}, &port{deliver: func([]byte) { <-gate }}
	c := Connect(a, b, &Options{Depth: 1})
	transmit := a.transmit
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for range 3 {
				transmit([]byte("x"))
			}
		})
	}
	closed := make(chan error)
	go func() { closed <- c.Close() }()
	senders.Wait() // before the port lets go
	close(gate)
	require.NoError(t, <-closed)
	require.NoError(t, c.Close())
	require.Nil(t, a.transmit)
	require.Nil(t, b.transmit)
	transmit([]byte("late")) // a port that still holds the function: no panic
	s := c.Stats(AToB)
	require.EqualValues(t, 13, s.Delivered+s.Discarded+s.Dropped+s.LinkDown)
}

func TestCloseDoesNotHangOnAPortThatDoes(t *testing.T) {
	gate, entered := make(chan struct{}), make(chan struct{})
	a, b := &port{}, &port{deliver: func([]byte) { close(entered); <-gate }}
	c := Connect(a, b, nil)
	a.send("x")
	<-entered
	require.ErrorContains(t, c.Close(), "end of a->b has not returned from Deliver")
	close(gate)
	c.workers.Wait()
}

func TestLink(t *testing.T) {
	a, b := &port{}, &port{}
	want := mac.Link{Up: true, Speed: 100, FullDuplex: true}
	c := Connect(a, b, &Options{Manual: true, Link: want})
	a.send("1")
	c.SetLink(mac.Link{})
	a.send("lost")
	c.SetLink(want)
	a.send("2")
	_, err := c.Run(9)
	require.NoError(t, err)
	require.Equal(t, "1 2", b.got())
	require.EqualValues(t, 1, c.Stats(AToB).LinkDown)
	require.NoError(t, c.Close())
	require.Equal(t, []mac.Link{want, {}, want, {}}, a.links)
	require.Equal(t, a.links, b.links)

	a = &port{}
	require.NoError(t, Connect(a, &port{}, nil).Close())
	require.Equal(t, "up 1000 Mb/s full duplex", a.links[0].String())
}

func TestLongFramesAreDropped(t *testing.T) {
	a, b := &port{}, &port{}
	c := Connect(a, b, &Options{Manual: true, MaxFrame: 3})
	defer c.Close()
	a.send("four", "abc", "")
	_, err := c.Run(9)
	require.NoError(t, err)
	require.Equal(t, "abc ", b.got())
	require.EqualValues(t, 1, c.Stats(AToB).TooLong)
}

// spoiled sends n frames through a manual cable and returns what arrives.
func spoiled(t *testing.T, n int, im Impairments) (string, Stats) {
	a, b := &port{}, &port{}
	c := Connect(a, b, &Options{Manual: true, Depth: 4 * n, AToB: im, Clock: sim.NewManualClock(time.Unix(0, 0))})
	a.send(numbered(n)...)
	_, err := c.Run(4*n + 1)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	return b.got(), c.Stats(AToB)
}

func TestImpairments(t *testing.T) {
	got, s := spoiled(t, 6, Impairments{Drop: 1000})
	require.Equal(t, "", got)
	require.EqualValues(t, 6, s.Lost)

	got, s = spoiled(t, 3, Impairments{Duplicate: 1000})
	require.Equal(t, "0 0 1 1 2 2", got)
	require.EqualValues(t, 3, s.Duplicated)

	got, s = spoiled(t, 5, Impairments{Swap: 1000})
	require.Equal(t, "1 0 3 2 4", got, "the last one has no neighbour and arrives alone")
	require.EqualValues(t, 3, s.Swapped)

	got, s = spoiled(t, 1, Impairments{Corrupt: 1000})
	require.Len(t, got, 1)
	flipped := got[0] ^ '0'
	require.True(t, flipped != 0 && flipped&(flipped-1) == 0, "%08b is not one bit", flipped)
	require.EqualValues(t, 1, s.Corrupted)
}

func TestSeedsRepeat(t *testing.T) {
	im := Impairments{Seed: 7, Drop: 100, Duplicate: 100, Swap: 100, Corrupt: 100}
	first, s := spoiled(t, 500, im)
	again, _ := spoiled(t, 500, im)
	require.Equal(t, first, again)
	for name, n := range map[string]uint64{"lost": s.Lost, "duplicated": s.Duplicated, "swapped": s.Swapped, "corrupted": s.Corrupted} {
		require.InDelta(t, 45, n, 25, name)
	}
	im.Seed = 8
	other, _ := spoiled(t, 500, im)
	require.NotEqual(t, first, other)
}

func TestDelay(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(0, 0))
	a, b := &port{}, &port{}
	c := Connect(a, b, &Options{Manual: true, Depth: 3, AToB: Impairments{Delay: 5 * time.Millisecond}, Clock: clock})
	arrived := func(at time.Duration) string {
		clock.Advance(time.Unix(0, 0).Add(at).Sub(clock.Now()))
		_, err := c.Run(10)
		require.NoError(t, err)
		return b.got()
	}
	a.send("0")
	require.Equal(t, "", arrived(2*time.Millisecond))
	a.send("1", "2", "full")
	require.Equal(t, "", arrived(5*time.Millisecond-1))
	require.Equal(t, "0", arrived(5*time.Millisecond))
	require.Equal(t, "0 1 2", arrived(7*time.Millisecond))
	require.EqualValues(t, 1, c.Stats(AToB).Dropped)
	b.send("no delay this way")
	require.True(t, c.Step())
	a.send("under way")
	require.NoError(t, c.Close())
	require.EqualValues(t, 1, c.Stats(AToB).Discarded)
	require.Zero(t, clock.Timers())
}

func TestSwappedFrameDoesNotWaitForEver(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(0, 0))
	arrived := make(chan struct{}, 1)
	a, b := &port{}, &port{deliver: func([]byte) { arrived <- struct{}{} }}
	c := Connect(a, b, &Options{AToB: Impairments{Swap: 1000}, Clock: clock})
	a.send("x")
	clock.Advance(swapWait)
	<-arrived
	require.NoError(t, c.Close())
}

func TestNoAllocationPerFrame(t *testing.T) {
	a, b := &port{}, &port{deliver: func([]byte) {}}
	c := Connect(a, b, &Options{Manual: true, Taps: []Tap{func(Direction, []byte) {}}})
	defer c.Close()
	frame := make([]byte, 1514)
	turn := func() {
		for range 16 {
			a.transmit(frame)
		}
		for c.Step() {
		}
	}
	turn()
	require.Zero(t, testing.AllocsPerRun(100, turn))
}

func BenchmarkCable(b *testing.B) {
	for _, size := range []int{60, 1514, 65549} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var done sync.WaitGroup
			done.Add(b.N)
			a, z := &port{}, &port{deliver: func([]byte) { done.Done() }}
			c := Connect(a, z, nil)
			defer c.Close()
			frame := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				a.transmit(frame)
			}
			done.Wait()
		})
	}
}
