package mac

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

func TestStartAndCloseInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, small())
		require.False(t, r.canSend(), "not before Start")
		require.NoError(t, r.Start())
		require.Equal(t, []string{"Start", "SetLink up 1000 Mb/s full duplex pause rx/tx"}, r.core.log())
		require.Equal(t, 8, r.Snapshot().Queues[0].RXPosted)
		require.Equal(t, gigabit, r.Link())
		require.True(t, r.canSend())
		require.NoError(t, r.Start(), "a second Start does nothing")
		require.Empty(t, r.core.log())

		require.NoError(t, r.Close())
		require.Equal(t, []string{"Stop", "irq.Close", "rx.Reset", "tx.Reset", "Release", "Release", "Release", "Release", "bus.Close"}, r.core.log(),
			"DMA is idle before anything is taken back")
		require.NoError(t, r.bus.released())
		require.Equal(t, Link{}, r.Link())
		require.False(t, r.canSend())

		require.NoError(t, r.Close(), "a second Close does nothing")
		require.ErrorIs(t, r.Start(), ErrClosed)
		require.Empty(t, r.core.log())
	})
}

func TestCloseBeforeStart(t *testing.T) {
	r := newRig(t, small())
	require.NoError(t, r.Close())
	require.NoError(t, r.bus.released())
	require.EqualError(t, r.Start(), "mac: bus0: start: device closed")
}

func TestStartThatFailsCanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, small())
		r.core.failNext("Start", 1, errTest)
		require.EqualError(t, r.Start(), "mac: bus0: start fake: injected")
		require.False(t, r.canSend())
		require.NoError(t, r.Start())
		require.True(t, r.canSend())
		require.NoError(t, r.Close())
		require.NoError(t, r.bus.released())
	})
}

func TestMethodsAfterClose(t *testing.T) {
	r := newRig(t, small())
	require.NoError(t, r.Close())
	r.core.log()
	require.ErrorIs(t, r.SetAddress(HardwareAddr{2}), ErrClosed)
	require.ErrorIs(t, r.SetMTU(1000), ErrClosed)
	require.ErrorIs(t, r.JoinGroup(Broadcast), ErrClosed)
	require.ErrorIs(t, r.SetCoalesce(ring.DefaultCoalesce()), ErrClosed)
	require.ErrorIs(t, r.Queues()[0].Own(), ErrClosed)
	require.Nil(t, r.Queues()[0].LockTX())
	r.Queues()[0].HoldDoorbell()
	r.Queues()[0].ReleaseDoorbell()
	r.Snapshot()
	require.Empty(t, r.core.log(), "the core is left alone")
}

func TestCloseReportsPagesOnLoan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, small())
		require.NoError(t, r.Start())
		q := r.Queues()[0]
		require.NoError(t, q.Own())
		r.core.rx[0].done = []ring.Completion{{Len: 100, Flags: ring.First | ring.Last}}
		frames := make([]ring.Frame, 1)
		require.Equal(t, 1, q.RX.Harvest(frames))
		view, ok := q.Pool.Lend(frames[0].Pieces[0].Page, 0, 100)
		require.True(t, ok)
		q.Disown()

		start := time.Now()
		err := r.Close()
		require.Equal(t, time.Second, time.Since(start), "it waits as long as CloseTimeout says")
		var lent *pagepool.LentError
		require.ErrorAs(t, err, &lent)
		require.Equal(t, 1, lent.Lent)
		require.NoError(t, r.bus.released(r.bus.memory[3]), "all but the receive pages")
		require.Equal(t, 1, r.bus.closed)
		require.Equal(t, err, r.Close(), "a second Close answers the same")
		require.Len(t, view.AsSlice(), 100)
		view.Release()
	})
}

func TestCloseWaitsForPagesOnLoan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, small())
		require.NoError(t, r.Start())
		q := r.Queues()[0]
		require.NoError(t, q.Own())
		r.core.rx[0].done = []ring.Completion{{Len: 100, Flags: ring.First | ring.Last}}
		frames := make([]ring.Frame, 1)
		require.Equal(t, 1, q.RX.Harvest(frames))
		view, ok := q.Pool.Lend(frames[0].Pieces[0].Page, 0, 100)
		require.True(t, ok)
		q.Disown()
		time.AfterFunc(300*time.Millisecond, view.Release)
		require.NoError(t, r.Close())
		require.NoError(t, r.bus.released())
	})
}

// When Stop fails, a reset proves DMA idle as well.
func TestCloseResetsACoreThatDoesNotStop(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		r.core.failNext("Stop", 1, ErrNotIdle)
		require.NoError(t, r.Close())
		require.Equal(t, []string{"Stop", "Reset"}, r.core.log()[:2])
		require.NoError(t, r.bus.released())
		require.Equal(t, 1, r.warnings())
	})
}

// When not even that works, nothing the device may write to is given back.
func TestCloseKeepsMemoryOfADeviceThatDoesNotStop(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		r.core.failNext("Stop", 1, errTest)
		r.core.failNext("Reset", 1, ErrReset)
		err := r.Close()
		require.ErrorIs(t, err, ErrNotIdle)
		require.ErrorIs(t, err, errTest)
		require.ErrorIs(t, err, ErrReset)
		require.Equal(t, []string{"Stop", "Reset", "irq.Close", "bus.Close"}, r.core.log())
		require.NoError(t, r.bus.released(r.bus.memory...))
		require.Equal(t, 8, r.Queues()[0].Pool.Stats().Posted, "the pages stay posted")
		require.Equal(t, err, r.Close())
		require.False(t, r.canSend())
	})
}

// The monitor's ticks go on while Close waits for a poll goroutine.
func TestCloseWhileTheMonitorTicks(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		p := r.poll(t)
		p.block()
		closed := make(chan error)
		go func() { closed <- r.Close() }()
		pass(5*monitorPeriod + monitorPeriod/2)
		require.Zero(t, r.bus.closed)
		require.NotContains(t, r.core.log(), "Stop")
		p.unblock()
		require.NoError(t, <-closed)
		<-p.ended
		require.NoError(t, r.bus.released())
	})
}

// A tick that has begun before Close ends although Close holds what it needs.
func TestCloseInTheMiddleOfATick(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		r.send(1)
		looking, proceed := make(chan struct{}), make(chan struct{})
		once := sync.OnceFunc(func() { close(looking); <-proceed })
		r.Queues()[0].tx.Lock()
		r.core.tx[0].look = once
		r.Queues()[0].tx.Unlock()
		<-looking // the monitor is about to see whether there is anything to repair
		done := make(chan error)
		go func() { done <- r.Close() }()
		for r.transition.TryLock() {
			r.transition.Unlock()
			runtime.Gosched()
		}
		close(proceed)
		require.NoError(t, <-done)
	})
}

func TestCloseFromManyGoroutines(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		closed := make(chan error)
		for range 4 {
			go func() { closed <- r.Close() }()
		}
		for range 4 {
			require.NoError(t, <-closed)
			require.Equal(t, 1, r.bus.closed)
		}
	})
}

func TestStartDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, small())
		p := r.poll(t)
		p.block()
		started, done := make(chan error), make(chan error)
		go func() { started <- r.Start() }() // waits for the poll goroutine
		synctest.Wait()
		go func() { done <- r.Close() }()
		r.awaitClosing()
		p.unblock()
		require.ErrorIs(t, <-started, ErrClosed)
		require.NoError(t, <-done)
		<-p.ended
		require.Equal(t, "Stop", r.core.log()[1], "what was started is stopped")
		require.NoError(t, r.bus.released())
	})
}

// awaitClosing waits for Close to have begun. It may wait for a lock then, which a
// bubble does not count as waiting.
func (r *rig) awaitClosing() {
	for open := true; open; runtime.Gosched() {
		r.mu.Lock()
		open = r.state != closed
		r.mu.Unlock()
	}
}

// Frames that were sent count as sent, although the ring was not reaped; but for
// those that a mark would have to tell of.
func TestCloseCountsFramesNotSentAsDropped(t *testing.T) {
	for _, tc := range []struct{ put, sent, lost int }{{5, 5, 0}, {5, 4, 1}, {5, 3, 3}, {0, 0, 0}, {8, 0, 8}} {
		inBubble(t, small(), func(t *testing.T, r *rig) {
			r.send(tc.put)
			r.sent(tc.sent)
			require.NoError(t, r.Close())
			require.EqualValues(t, tc.lost, r.Stats().TXDropped)
			require.EqualValues(t, tc.put, r.Stats().TXPackets)
		})
	}
}
