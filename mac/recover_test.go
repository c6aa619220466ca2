package mac

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/ring"
)

// afterReset is what a reset does to the core, in this order.
var afterReset = []string{
	"Stop", "Reset", "rx.Reset", "tx.Reset", "Configure", "SetFilter", "SetWatchdog", "Start",
	"SetLink up 1000 Mb/s full duplex pause rx/tx",
}

func TestRecoveryKeepsWhatWasSet(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cause func(r *rig)
		want  Recoveries
	}{
		{"fatal bus error", func(r *rig) { r.interrupt(Events{Fatal: 1}) }, Recoveries{FatalBusError: 1}},
		{"transmit stopped", func(r *rig) { r.interrupt(Events{TXStopped: 1}) }, Recoveries{TXStopped: 1}},
		{"both at once", func(r *rig) { r.interrupt(Events{Fatal: 1, TXStopped: 1}) }, Recoveries{FatalBusError: 1}},
		{"transmit timeout", func(r *rig) { r.send(3); pass(7 * time.Second) }, Recoveries{TXTimeout: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, small(), func(t *testing.T, r *rig) {
				a := HardwareAddr{2, 9, 9, 9, 9, 9}
				require.NoError(t, r.SetAddress(a))
				require.NoError(t, r.SetMTU(1000))
				require.NoError(t, r.JoinGroup(groupA))
				require.NoError(t, r.AddUnicast(stationA))
				require.NoError(t, r.SetCoalesce(ring.Coalesce{RXUsecs: 70, TXFrames: 2, TXUsecs: 50}))
				filter, coalesce := r.Filter(), r.Coalesce()
				r.core.locked(func() { r.core.filter, r.core.setup, r.core.watchdog = Filter{}, Setup{}, map[int]int{} })
				r.core.log()
				var l listener
				r.OnLink(l.hear)

				tc.cause(r)
				synctest.Wait()
				require.Equal(t, afterReset, r.core.log())
				require.Equal(t, tc.want, r.Snapshot().Recoveries)
				require.Equal(t, filter, r.core.filter)
				require.Equal(t, a, r.core.setup.Address)
				require.Equal(t, 1000, r.core.setup.MTU)
				require.Equal(t, map[int]int{0: 70}, r.core.watchdog, "what was asked for, not what it was rounded to")
				require.Equal(t, coalesce, r.Coalesce())
				require.Equal(t, 8, r.Snapshot().Queues[0].RXPosted)
				require.Equal(t, []Link{gigabit}, l.heard(), "the link has not changed")
				require.True(t, r.canSend())
				require.Equal(t, 1, r.warnings())
			})
		})
	}
}

// Frames that are being sent, however slowly, are no reason for a reset.
func TestTransmitTimeoutNeedsStandstill(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		r.send(8)
		for range 4 {
			pass(4 * time.Second)
			r.sent(2) // from mark to mark
		}
		require.Zero(t, r.Snapshot().Recoveries)
		pass(20 * time.Second)
		require.Zero(t, r.Snapshot().Recoveries, "an empty ring cannot hang")
		require.Zero(t, r.Snapshot().Queues[0].TXInUse)

		r.send(1) // one frame, far from a mark
		pass(4 * time.Second)
		require.Zero(t, r.Snapshot().Recoveries)
		pass(3 * time.Second)
		require.EqualValues(t, 1, r.Snapshot().Recoveries.TXTimeout)
		require.EqualValues(t, 1, r.Stats().TXDropped)
		pass(20 * time.Second)
		require.EqualValues(t, 1, r.Snapshot().Recoveries.TXTimeout)
	})
}

// Progress counts whoever has found it.
func TestTransmitTimeoutSeesWhatSendersReaped(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		q := r.Queues()[0]
		r.send(4)
		for range 5 {
			pass(4 * time.Second)
			r.sent(2)
			q.tx.Lock()
			require.Positive(t, q.tx.ring.Reap())
			q.tx.Unlock()
			r.send(2)
		}
		require.Zero(t, r.Snapshot().Recoveries)
	})
}

// A link that is down is no reason either: nothing can be sent.
func TestTransmitTimeoutNeedsALink(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		r.send(3)
		r.core.setLink(Link{})
		pass(30 * time.Second)
		require.Zero(t, r.Snapshot().Recoveries)
	})
}

// A reset takes the receive side from its owner at a Checkpoint, and from there
// only.
func TestResetWaitsForThePollGoroutine(t *testing.T) {
	t.Run("asleep", func(t *testing.T) {
		inBubble(t, small(), func(t *testing.T, r *rig) {
			p := r.poll(t)
			r.interrupt(Events{Fatal: 1})
			synctest.Wait()
			require.Equal(t, afterReset, r.core.log())
			passes := p.count
			r.Queues()[0].notify()
			synctest.Wait()
			require.Equal(t, passes+1, p.count, "it polls again")
			p.end()
		})
	})
	t.Run("held up in a pass", func(t *testing.T) {
		inBubble(t, small(), func(t *testing.T, r *rig) {
			p := r.poll(t)
			p.block()
			r.interrupt(Events{Fatal: 1})
			pass(10 * time.Second)
			require.Empty(t, r.core.log(), "the core is left alone")
			require.False(t, r.canSend())
			// Nothing else waits for it.
			require.NoError(t, r.JoinGroup(groupA))
			require.NoError(t, r.Start())
			r.Snapshot()
			require.Equal(t, []string{"SetFilter"}, r.core.log())
			p.unblock()
			synctest.Wait()
			require.Equal(t, afterReset, r.core.log())
			p.end()
		})
	})
	t.Run("ends instead", func(t *testing.T) {
		inBubble(t, small(), func(t *testing.T, r *rig) {
			q := r.Queues()[0]
			require.NoError(t, q.Own())
			r.interrupt(Events{Fatal: 1})
			synctest.Wait()
			require.Empty(t, r.core.log())
			q.Disown()
			synctest.Wait()
			require.Equal(t, afterReset, r.core.log())
			require.NoError(t, q.Own())
			require.True(t, q.Checkpoint())
			q.Disown()
		})
	})
	t.Run("gone", func(t *testing.T) {
		inBubble(t, small(), func(t *testing.T, r *rig) {
			p := r.poll(t)
			p.end()
			r.interrupt(Events{Fatal: 1})
			synctest.Wait()
			require.Equal(t, afterReset, r.core.log())
		})
	})
	t.Run("comes during the reset", func(t *testing.T) {
		inBubble(t, small(), func(t *testing.T, r *rig) {
			q := r.Queues()[0]
			proceed := make(chan struct{})
			r.core.locked(func() {
				r.core.hook = func(call string) {
					if call == "Start" {
						<-proceed
					}
				}
			})
			r.interrupt(Events{Fatal: 1})
			synctest.Wait()
			owned := make(chan error, 1)
			go func() { owned <- q.Own() }()
			synctest.Wait()
			require.Empty(t, owned, "Own waits until the device gives it back")
			close(proceed)
			require.NoError(t, <-owned)
			q.Disown()
			synctest.Wait()
		})
	})
}

// While a reset fails, everything stays with the device, the link is down, and
// it is tried again. It is said once.
func TestFailedResetIsTriedAgain(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		var l listener
		r.OnLink(l.hear)
		p := r.poll(t)
		r.send(3)
		r.core.failNext("Reset", 3, ErrReset)
		r.interrupt(Events{Fatal: 1})
		synctest.Wait()
		q := r.Queues()[0]
		require.Equal(t, []string{"Stop", "Reset"}, r.core.log())
		require.Equal(t, 8, q.Pool.Stats().Posted, "the core may still write to all of them")
		require.Equal(t, 3, r.Snapshot().Queues[0].TXInUse, "or read these")
		require.False(t, r.canSend())
		require.Equal(t, Link{}, r.Link())
		require.Equal(t, []Link{gigabit, {}}, l.heard())

		// The link comes and goes: nobody programs the dead core.
		r.core.setLink(Link{Up: true, Speed: 100})
		r.interrupt(Events{Link: true})
		synctest.Wait()
		require.Equal(t, []string{"Stop", "Reset"}, r.core.log())
		require.False(t, r.canSend())
		r.core.setLink(gigabit)

		pass(monitorPeriod)
		require.Equal(t, []string{"Stop", "Reset"}, r.core.log())
		require.EqualValues(t, 3, r.Snapshot().Recoveries.Failed)
		require.Equal(t, 1, r.warnings())

		pass(monitorPeriod)
		require.Equal(t, afterReset, r.core.log())
		require.True(t, r.canSend())
		require.Equal(t, []Link{gigabit, {}, gigabit}, l.heard())
		require.Equal(t, Recoveries{FatalBusError: 1, Failed: 3}, r.Snapshot().Recoveries)
		require.EqualValues(t, 3, r.Stats().TXDropped)
		p.end()
	})
}

// A core that was reset and cannot be programmed again is tried again, too.
func TestFailedProgrammingIsTriedAgain(t *testing.T) {
	for _, step := range []string{"Configure", "SetFilter", "SetWatchdog", "Start"} {
		t.Run(step, func(t *testing.T) {
			inBubble(t, small(), func(t *testing.T, r *rig) {
				r.core.failNext(step, 1, errTest)
				r.interrupt(Events{TXStopped: 1})
				synctest.Wait()
				require.False(t, r.canSend())
				require.Equal(t, Link{}, r.Link())
				r.core.log()
				pass(monitorPeriod)
				require.Equal(t, afterReset, r.core.log())
				require.True(t, r.canSend())
				require.EqualValues(t, 1, r.Snapshot().Recoveries.Failed)
			})
		})
	}
}

func TestCloseAfterAFailedReset(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		r.core.failNext("Reset", 1, ErrReset)
		r.interrupt(Events{Fatal: 1})
		synctest.Wait()
		require.NoError(t, r.Close(), "Stop proved it idle")
		require.NoError(t, r.bus.released())
	})
}

func TestCloseDuringAReset(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		p := r.poll(t)
		p.block()
		r.interrupt(Events{Fatal: 1})
		synctest.Wait()
		done := make(chan error)
		go func() { done <- r.Close() }()
		r.awaitClosing()
		p.unblock()
		require.NoError(t, <-done)
		<-p.ended
		log := r.core.log()
		require.Equal(t, afterReset[:8], log[:8], "the reset ends")
		require.Equal(t, "Stop", log[8], "and is undone; nobody has brought the link up in between")
		require.NoError(t, r.bus.released())
		require.False(t, r.canSend())
	})
}
