package mac

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/ring"
)

func TestLinkChangesReachCoreSendersAndListeners(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		var first, second listener
		r.OnLink(first.hear)
		r.OnLink(second.hear)
		require.Equal(t, []Link{gigabit}, first.heard(), "the link now")

		r.core.setLink(Link{Up: false, Speed: 1000}) // a speed without a link is no link
		r.interrupt(Events{Link: true})
		synctest.Wait()
		require.Equal(t, Link{}, r.Link())
		require.False(t, r.canSend())
		require.Equal(t, []string{"SetLink down"}, r.core.log())

		r.core.setLink(Link{Up: true, Speed: 100, FullDuplex: false, RXPause: true, TXPause: true})
		pass(monitorPeriod) // no interrupt: the monitor looks now and then
		require.True(t, r.canSend())
		require.Equal(t, []string{"SetLink up 100 Mb/s half duplex"}, r.core.log(), "no pause in half duplex")

		pass(10 * monitorPeriod)
		require.Empty(t, r.core.log(), "nothing changes, nothing is programmed")
		want := []Link{gigabit, {}, {Up: true, Speed: 100}}
		require.Equal(t, want, first.heard())
		require.Equal(t, want, second.heard())
	})
}

func TestFixedLinkAndNoPause(t *testing.T) {
	cfg := small()
	cfg.Link = Link{Up: true, Speed: 100, FullDuplex: true, RXPause: true}
	cfg.NoPause = true
	inBubble(t, cfg, func(t *testing.T, r *rig) {
		require.Equal(t, Link{Up: true, Speed: 100, FullDuplex: true}, r.Link())
		r.core.setLink(Link{})
		pass(2 * monitorPeriod)
		require.True(t, r.Link().Up, "whatever the core thinks")
	})
}

// A link that the core refuses stays down and is tried again; that is said once.
func TestLinkThatTheCoreRefuses(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		var l listener
		r.OnLink(l.hear)
		slow := Link{Up: true, Speed: 10}
		r.core.setLink(slow)
		r.core.failNext("SetLink "+slow.String(), 3, errTest)
		pass(3 * monitorPeriod)
		require.Equal(t, Link{}, r.Link())
		require.False(t, r.canSend())
		require.Len(t, r.core.log(), 3)
		require.Equal(t, 1, r.warnings())
		pass(monitorPeriod)
		require.Equal(t, slow, r.Link())
		require.True(t, r.canSend())
		require.Equal(t, []Link{gigabit, {}, slow}, l.heard())
	})
}

// A listener may call the device, listen more, and take its time: it is called
// by one goroutine at a time, and last with the last state.
func TestListenersAreCalledInOrderWithoutLocks(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		var first, nested, last listener
		hold := make(chan struct{})
		r.OnLink(func(l Link) {
			first.hear(l)
			r.Snapshot()
			require.NoError(t, r.Start())
			require.NoError(t, r.JoinGroup(groupA))
			if !l.Up {
				r.OnLink(nested.hear)
				<-hold
			}
		})
		r.core.setLink(Link{})
		r.interrupt(Events{Link: true})
		synctest.Wait()
		require.Equal(t, []Link{gigabit, {}}, first.heard())
		r.OnLink(last.hear)
		require.Empty(t, last.heard(), "the one who is calling goes on with it")
		r.core.setLink(gigabit)
		close(hold)
		synctest.Wait()
		require.Equal(t, []Link{{}}, nested.heard())
		require.Equal(t, []Link{{}}, last.heard())
		pass(monitorPeriod)
		require.Equal(t, []Link{gigabit, {}, gigabit}, first.heard())
		require.Equal(t, []Link{{}, gigabit}, nested.heard())
		require.Equal(t, []Link{{}, gigabit}, last.heard())
	})
}

// waiter calls WaitTX on a full ring.
func (r *rig) waiter(q *Queue) <-chan bool {
	answer := make(chan bool, 1)
	go func() {
		tx := q.LockTX()
		for tx.Reserve(60) != nil {
			tx.Commit(ring.TXFrame{})
		}
		ok := q.WaitTX()
		q.FlushTX()
		q.UnlockTX()
		answer <- ok
	}()
	synctest.Wait()
	return answer
}

func TestWaitTX(t *testing.T) {
	config := func(usecs int) *Config {
		c := small()
		d := ring.DefaultCoalesce()
		d.TXUsecs = usecs
		c.Coalesce = &d
		return c
	}
	t.Run("woken by the interrupt", func(t *testing.T) {
		inBubble(t, config(1000), func(t *testing.T, r *rig) {
			start := time.Now()
			a, b := r.waiter(r.Queues()[0]), r.waiter(r.Queues()[0])
			require.Equal(t, []string{"UnmaskTX 0", "UnmaskTX 0"}, r.core.log())
			require.Equal(t, 1, r.core.tx[0].kicks, "nobody waits for frames that were not rung for")
			require.Empty(t, a)
			r.sent(4)
			r.interrupt(Events{TX: 1})
			require.True(t, <-a)
			require.True(t, <-b)
			require.Zero(t, time.Since(start))
			require.EqualValues(t, 1, r.Snapshot().Queues[0].TXInterrupts)
		})
	})
	t.Run("time is over", func(t *testing.T) {
		inBubble(t, config(1000), func(t *testing.T, r *rig) {
			start := time.Now()
			require.False(t, <-r.waiter(r.Queues()[0]))
			require.Equal(t, time.Millisecond, time.Since(start))
		})
	})
	t.Run("the interrupt was lost", func(t *testing.T) {
		inBubble(t, config(1000), func(t *testing.T, r *rig) {
			answer := r.waiter(r.Queues()[0])
			r.sent(8)
			require.True(t, <-answer)
		})
	})
	t.Run("no frame asks for an interrupt", func(t *testing.T) {
		cfg := config(1000)
		cfg.RXRing, cfg.TXRing, cfg.Pages = 64, 64, 128
		inBubble(t, cfg, func(t *testing.T, r *rig) {
			q := r.Queues()[0]
			r.send(1)
			tx := q.LockTX()
			require.False(t, tx.Marked())
			require.Nil(t, tx.Reserve(tx.MaxFrame()))
			r.core.tx[0].sent = 1
			require.True(t, q.WaitTX())
			require.NotNil(t, tx.Reserve(tx.MaxFrame()))
			q.UnlockTX()
		})
	})
	t.Run("space came before the interrupt was unmasked", func(t *testing.T) {
		inBubble(t, config(1000), func(t *testing.T, r *rig) {
			r.core.locked(func() {
				r.core.hook = func(call string) {
					if call == "UnmaskTX 0" {
						r.core.tx[0].sent += 8 // the caller has the lock of the queue
					}
				}
			})
			start := time.Now()
			require.True(t, <-r.waiter(r.Queues()[0]))
			require.Zero(t, time.Since(start))
		})
	})
	t.Run("never waits", func(t *testing.T) {
		inBubble(t, config(0), func(t *testing.T, r *rig) {
			start := time.Now()
			require.False(t, <-r.waiter(r.Queues()[0]))
			require.Zero(t, time.Since(start))
			require.Empty(t, r.core.log(), "the interrupt stays masked")
		})
	})
	t.Run("the link goes down", func(t *testing.T) {
		inBubble(t, config(100_000), func(t *testing.T, r *rig) {
			start := time.Now()
			answer := r.waiter(r.Queues()[0])
			r.core.setLink(Link{})
			r.interrupt(Events{Link: true})
			require.False(t, <-answer)
			require.Zero(t, time.Since(start))
		})
	})
	t.Run("the device is reset", func(t *testing.T) {
		inBubble(t, config(100_000), func(t *testing.T, r *rig) {
			p := r.poll(t)
			p.block()
			answer := r.waiter(r.Queues()[0])
			r.interrupt(Events{Fatal: 1})
			require.False(t, <-answer)
			p.unblock()
			synctest.Wait()
			p.end()
		})
	})
	t.Run("the device is closed", func(t *testing.T) {
		inBubble(t, config(100_000), func(t *testing.T, r *rig) {
			answer := r.waiter(r.Queues()[0])
			kicks := r.core.tx[0].kicks
			require.NoError(t, r.Close())
			require.False(t, <-answer)
			require.Equal(t, kicks, r.core.tx[0].kicks, "no register is touched any more")
		})
	})
}

// Frames sent while a batch is delivered share a doorbell.
func TestHeldDoorbellRingsOnce(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		q, codec := r.Queues()[0], r.core.tx[0]
		q.HoldDoorbell()
		r.send(1)
		r.send(2)
		require.Zero(t, codec.kicks)
		q.ReleaseDoorbell()
		require.Equal(t, 1, codec.kicks)
		q.HoldDoorbell()
		q.ReleaseDoorbell()
		require.Equal(t, 1, codec.kicks, "nothing was sent")
		r.send(2)
		require.Equal(t, 2, codec.kicks)

		// It also reaps, so that senders find space without looking.
		r.sent(5)
		require.Equal(t, 5, r.Snapshot().Queues[0].TXInUse)
		q.ReleaseDoorbell()
		require.Equal(t, 3, r.Snapshot().Queues[0].TXInUse, "the oldest two, since the last look was in vain")
	})
}

// What waits for the doorbell when the link goes is rung for when it comes back, or it
// would look like a transmitter that hangs.
func TestHeldDoorbellSurvivesTheLink(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		q, codec := r.Queues()[0], r.core.tx[0]
		q.HoldDoorbell()
		r.send(2)
		r.core.setLink(Link{})
		pass(2 * time.Second)
		q.ReleaseDoorbell()
		require.Zero(t, codec.kicks)
		r.core.setLink(gigabit)
		pass(2 * time.Second)
		require.Equal(t, 1, codec.kicks)
	})
}
