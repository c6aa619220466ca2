package ravb_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/ravb"
	"github.com/barewire/barewire/ring"
)

// What the 2024 changes to Linux's ravb were about, as exact counts.

// TestBudgetCountsPackets: frames over six descriptors each use up the budget by one
// each.
func TestBudgetCountsPackets(t *testing.T) {
	cfg := mac.Config{PageSize: 256, RXRing: 256, Pages: 512}
	inBubble(t, model.GbEth, cfg, func(r *rig) {
		q := r.dev.Queues()[0]
		const frames, budget = 40, 16
		for i := range frames {
			r.model.Deliver(ether(station, 1400, i))
		}
		for pass, want := range []int{budget, budget, frames - 2*budget, 0} {
			q.Ack()
			got, data := r.harvest(q, budget)
			require.Len(t, got, want, "pass %d", pass)
			for i, b := range data {
				require.Equal(t, ether(station, 1400, pass*budget+i), b)
				require.Len(t, got[i].Pieces, 6)
			}
			q.Refill()
		}
		require.EqualValues(t, 6*frames, q.RX.Stats().Descriptors)
	})
}

// TestErrorCountersInEveryPass: what went wrong shows after each pass, also when the
// budget was used up and there is more to come.
func TestErrorCountersInEveryPass(t *testing.T) {
	inBubble(t, model.GbEth, mac.Config{RXRing: 256}, func(r *rig) {
		q := r.dev.Queues()[0]
		for i := range 40 {
			if i%2 == 1 {
				r.model.Faults().Once(sim.BadCRC)
			}
			r.model.Deliver(ether(station, 100, i))
		}
		for pass := 1; pass <= 4; pass++ {
			q.Ack()
			_, data := r.harvest(q, 5)
			require.Len(t, data, 5)
			q.Publish()
			s := r.dev.Stats()
			require.EqualValues(t, 5*pass, s.RXPackets)
			// The bad one behind the last frame of a pass is met in the next.
			require.EqualValues(t, 5*pass-1, s.RXCRCErrors, "pass %d", pass)
		}
		q.Ack()
		r.harvest(q, 5)
		q.Publish()
		require.EqualValues(t, 20, r.dev.Stats().RXCRCErrors)
		require.EqualValues(t, 20, r.dev.Stats().RXErrors)
	})
}

// TestTransmitRingInEveryPass: under a flood that always leaves more than the budget,
// every pass finds out what was sent, so that a ring of 8 takes 100 frames in 100/8+2
// passes.
func TestTransmitRingInEveryPass(t *testing.T) {
	for _, v := range []model.Variant{model.Gen2, model.Gen3, model.GbEth} {
		inBubble(t, v, mac.Config{RXRing: 256, TXRing: 8, Coalesce: &ring.Coalesce{TXFrames: 1}}, func(r *rig) {
			q := r.dev.Queues()[0]
			queued, passes := 0, 0
			for ; queued < 100; passes++ {
				for i := range 20 {
					r.model.Deliver(ether(station, 100, i))
				}
				q.Ack()
				q.HoldDoorbell()
				_, data := r.harvest(q, 16)
				require.Len(t, data, 16, "there is always more")
				for queued < 100 && r.send(q, ether(station, 60, queued)) == 1 {
					queued++
				}
				q.Refill()
				q.ReleaseDoorbell()
			}
			require.LessOrEqual(t, passes, 100/8+2)
			require.Len(t, r.sent, 100)
			require.Zero(t, r.dev.Snapshot().Queues[0].TXInterrupts)
		})
	}
}

// TestAckBeforeTheRing: what arrives while the ring is looked at is a new cause, and
// interrupts as soon as the queue is unmasked.
func TestAckBeforeTheRing(t *testing.T) {
	for _, v := range []model.Variant{model.Gen2, model.Gen3, model.GbEth} {
		inBubble(t, v, mac.Config{}, func(r *rig) {
			q := r.dev.Queues()[0]
			interrupts := func() uint64 { return r.dev.Snapshot().Queues[0].RXInterrupts }
			r.model.Deliver(ether(station, 100, 1))
			synctest.Wait()
			require.EqualValues(t, 1, interrupts())
			q.Ack()
			_, data := r.harvest(q, 16)
			require.Len(t, data, 1)
			r.model.Deliver(ether(station, 100, 2))
			synctest.Wait()
			require.EqualValues(t, 1, interrupts(), "masked")
			q.Unmask()
			synctest.Wait()
			require.EqualValues(t, 2, interrupts())
			_, data = r.harvest(q, 16)
			require.Len(t, data, 1)
		})
	}
}

// TestFullQueue: a ring that runs dry is reported once until it has been polled.
func TestFullQueue(t *testing.T) {
	for _, v := range []model.Variant{model.Gen2, model.Gen3, model.GbEth} {
		inBubble(t, v, mac.Config{RXRing: 8, Pages: 16}, func(r *rig) {
			q := r.dev.Queues()[0]
			for lap := range 3 {
				for i := range 50 {
					r.model.Deliver(ether(station, 100, i))
					synctest.Wait()
				}
				s := r.dev.Snapshot().Queues[0]
				require.EqualValues(t, lap+1, s.Starved)
				require.EqualValues(t, lap+1, s.RXInterrupts)
				q.Ack()
				_, data := r.harvest(q, 64)
				require.Len(t, data, 8)
				q.Refill()
				q.Unmask()
				synctest.Wait()
				require.EqualValues(t, lap+1, r.dev.Snapshot().Queues[0].Starved, "what was lost before is no news")
			}
			require.EqualValues(t, 3*42, r.model.Stats().Full)
		})
	}
}

// TestFIFOFull counts the event, also with the queue masked.
func TestFIFOFull(t *testing.T) {
	inBubble(t, model.Gen2, mac.Config{}, func(r *rig) {
		for range 3 {
			r.model.RaiseStatus(etheravb.RIS2, etheravb.RIS2RFFF)
			synctest.Wait()
			r.dev.Queues()[0].Unmask()
		}
		require.EqualValues(t, 3, r.dev.Stats().RXFIFOErrors)
	})
}
