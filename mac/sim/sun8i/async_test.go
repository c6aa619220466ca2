package sun8i

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEngines runs both engines in goroutines of the model, with frames both ways
// at once, interrupts, a link that flaps and a reset in the middle.
func TestEngines(t *testing.T) {
	m := New(Config{Seed: 1})
	space := sim.NewSpace(nil)
	interrupts := make(chan struct{}, 1)
	m.Connect(space, func(level bool) {
		if level {
			select {
			case interrupts <- struct{}{}:
			default:
			}
		}
	})
	var sent atomic.Int64
	m.OnTransmit(func([]byte) { sent.Add(1) })
	r := &rig{t: t, m: m, space: space}
	r.rx, r.tx = r.chain(8, 2044), r.chain(8, 2044)
	for round := range 3 {
		r.start()
		r.write(emac.IntEn, emac.IntRx|emac.IntRxBufUA)
		r.post(0, 8, 0)
		sent.Store(0)
		var wg sync.WaitGroup
		wg.Go(func() { // the wire
			for i := range 300 {
				m.Deliver(frame(ownAddr, 60+i))
			}
		})
		wg.Go(func() { // a sender
			for i := range 300 {
				for r.tx.own(i % 8) {
					time.Sleep(time.Microsecond)
				}
				r.send(i%8, frame(peerAddr, 60+i), 0)
			}
		})
		got := 0
		for got < 8 { // the receiver, one lap at least
			select {
			case <-interrupts:
			case <-time.After(10 * time.Second):
				t.Fatal("no interrupt")
			}
			r.taken()
			for !r.rx.own(got % 8) {
				r.post(got, got+1, 0)
				got++
			}
		}
		wg.Wait()
		require.Eventually(t, func() bool { return sent.Load() == 300 }, 10*time.Second, time.Millisecond, "round %d", round)
		m.Quiesce()
		m.RaiseStatus(emac.IntRxOverflow)
		require.NotZero(t, r.status()&emac.IntRxOverflow)
		r.write(emac.BasicCtl1, emac.Ctl1SoftRst)
	}
	r.noViolations()
	require.NoError(t, m.Close())
	require.Zero(t, m.Read32(emac.BasicCtl1), "closed")
	m.Write32(emac.BasicCtl1, 1)
	m.Deliver(frame(ownAddr, 100))
}
