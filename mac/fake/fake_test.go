package fake_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("timed out")
		}
	}
}

// transmit sends one frame from m by hand, without an endpoint.
func transmit(t *testing.T, m *fake.MAC, frame []byte) {
	t.Helper()
	q := m.Queues()[0]
	tx := q.LockTX()
	require.NotNil(t, tx, "link is down")
	defer q.UnlockTX()
	copy(tx.Reserve(len(frame)), frame)
	tx.Commit(ring.TXFrame{})
	q.FlushTX()
}

// receive polls once, as an endpoint would, and returns the frames' bytes.
func receive(m *fake.MAC) (out [][]byte) {
	q := m.Queues()[0]
	frames := make([]ring.Frame, 64)
	for _, f := range frames[:q.RX.Harvest(frames)] {
		var b []byte
		for _, p := range f.Pieces {
			b = append(b, q.Pool.Bytes(p.Page)[p.Off:p.Off+p.Len]...)
			q.Pool.Recycle(p.Page)
		}
		out = append(out, b)
	}
	q.Refill()
	return out
}

func inline() *fake.Options {
	return &fake.Options{Build: sim.Build{Inline: true, Clock: sim.NewManualClock(time.Unix(0, 0))}}
}

func testFrame(to mac.HardwareAddr, n int) []byte {
	f := make([]byte, n)
	copy(f, to[:])
	f[6] = 2
	for i := 12; i < n; i++ {
		f[i] = byte(i)
	}
	return f
}

// TestByHand: with an inline model everything happens inside the calls of the
// test, in order.
func TestByHand(t *testing.T) {
	m, err := fake.New(inline())
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	require.NoError(t, m.Start())
	require.NoError(t, m.Queues()[0].Own())
	defer m.Queues()[0].Disown()

	f := testFrame(mac.Broadcast, 100)
	transmit(t, m, f)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no waiting: it is there already
	got, err := m.Next(context.Background())
	require.NoError(t, err)
	require.Equal(t, f, got)
	_, err = m.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)

	in := testFrame(m.Address(), 777)
	m.Send(in)
	require.Equal(t, [][]byte{in}, receive(m))
	require.Empty(t, receive(m))

	m.Faults().Once(sim.BadCRC)
	m.Send(in)
	m.Send(in)
	require.Equal(t, [][]byte{in}, receive(m), "the broken frame is dropped, the next one is not")
	require.Positive(t, m.Trace().Counts().RegisterWrites)
}

// TestSameSeedSameRun: faults by rate come in the same places again.
func TestSameSeedSameRun(t *testing.T) {
	run := func(seed uint64) (received int) {
		o := inline()
		o.Build.Seed = seed
		m, err := fake.New(o)
		require.NoError(t, err)
		defer func() { require.NoError(t, m.Close()) }()
		require.NoError(t, m.Start())
		require.NoError(t, m.Queues()[0].Own())
		defer m.Queues()[0].Disown()
		m.Faults().Rate(sim.BadCRC, 300)
		f := testFrame(m.Address(), 60)
		places := 0
		for i := range 200 {
			m.Send(f)
			if len(receive(m)) == 1 {
				places = places*31 + i
			}
		}
		return places
	}
	require.Equal(t, run(1), run(1))
	require.NotEqual(t, run(1), run(2))
}

func TestPair(t *testing.T) {
	a, b, err := fake.Pair(nil, nil)
	require.NoError(t, err)
	require.NotEqual(t, a.Address(), b.Address())
	require.NoError(t, a.Start())
	require.NoError(t, b.Start())
	eventually(t, func() bool { return a.Link().Up && b.Link().Up })
	require.NoError(t, b.Queues()[0].Own())
	f := testFrame(b.Address(), 300)
	transmit(t, a, f)
	var got [][]byte
	eventually(t, func() bool { got = append(got, receive(b)...); return len(got) > 0 })
	require.Equal(t, f, got[0])
	b.Queues()[0].Disown()

	// Closing one end pulls the cable; the other sees its link go.
	require.NoError(t, b.Close())
	eventually(t, func() bool { return !a.Link().Up })
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
}

func TestLink(t *testing.T) {
	m, err := fake.New(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	seen := make(chan mac.Link, 10)
	m.OnLink(func(l mac.Link) { seen <- l })
	require.False(t, (<-seen).Up, "not started")
	require.NoError(t, m.Start())
	require.True(t, (<-seen).Up)
	m.SetLink(mac.Link{})
	require.Equal(t, mac.Link{}, <-seen)
	require.Nil(t, m.Queues()[0].LockTX(), "nothing is sent while the link is down")
	m.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true})
	require.Equal(t, mac.Link{Up: true, Speed: 100, FullDuplex: true}, <-seen)
}

// TestOpenFails: a core that cannot be opened leaves nothing behind.
func TestOpenFails(t *testing.T) {
	_, err := fake.New(&fake.Options{Config: mac.Config{MTU: 20}})
	require.ErrorIs(t, err, mac.ErrConfig)
	_, err = fake.New(&fake.Options{Config: mac.Config{Queues: 100}})
	require.ErrorIs(t, err, mac.ErrConfig)
	_, _, err = fake.Pair(nil, &fake.Options{Config: mac.Config{RXRing: 1}})
	require.ErrorIs(t, err, mac.ErrConfig)
}

// TestNextPrefersFrames: frames that are there are returned even when the context
// has ended, so that a test can take what has been sent so far.
func TestNextPrefersFrames(t *testing.T) {
	m, err := fake.New(inline())
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, m.Start())
	eventually(t, func() bool { return m.Link().Up })
	const n = 64
	for range n {
		transmit(t, m, make([]byte, 60))
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range n {
		_, err := m.Next(ended)
		require.NoError(t, err)
	}
	_, err = m.Next(ended)
	require.ErrorIs(t, err, context.Canceled)
}

// TestPairPluggedElsewhere: closing one MAC of a pair pulls the cable between them,
// not the one that the other was plugged into since.
func TestPairPluggedElsewhere(t *testing.T) {
	a, b, err := fake.Pair(nil, nil)
	require.NoError(t, err)
	c, err := fake.New(nil)
	require.NoError(t, err)
	defer c.Close()
	defer a.Close()
	require.NoError(t, a.Start())
	a.Plug(c.Port())
	require.NoError(t, b.Close())
	require.NoError(t, c.Start())
	eventually(t, func() bool { return a.Link().Up && c.Link().Up })
	require.NoError(t, c.Queues()[0].Own())
	defer c.Queues()[0].Disown()
	frame := make([]byte, 60)
	address := c.Address()
	copy(frame, address[:])
	transmit(t, a, frame)
	eventually(t, func() bool { return len(receive(c)) == 1 })
}
