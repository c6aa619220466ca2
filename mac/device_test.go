package mac

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/ring"
)

// Tests of a running device run in a bubble with a clock of its own: pass lets
// time go by and then waits until every goroutine waits for something.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// inBubble runs f on a started device, which it closes unless f has.
func inBubble(t *testing.T, cfg *Config, f func(t *testing.T, r *rig), prepare ...func(*fakeCore, *fakeBus)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, cfg, prepare...)
		require.NoError(t, r.Start())
		synctest.Wait()
		r.core.log()
		f(t, r)
		if r.bus.closed == 0 {
			require.NoError(t, r.Close())
			require.NoError(t, r.bus.released())
		}
	})
}

func TestSetAddress(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		a := HardwareAddr{2, 9, 9, 9, 9, 9}
		require.NoError(t, r.SetAddress(a))
		require.Equal(t, a, r.Address())
		require.Equal(t, a, r.core.address)
		require.Equal(t, a, r.Config().Address)
		require.True(t, r.Accepts(a))
		require.False(t, r.Accepts(HardwareAddr{2, 0, 0, 0, 0, 1}), "the old one")
		require.EqualError(t, r.SetAddress(HardwareAddr{1}), "mac: bus0: address 01:00:00:00:00:00: neither zero nor a group can be a station: invalid configuration")
		r.core.failNext("SetAddress", 1, errTest)
		require.ErrorIs(t, r.SetAddress(HardwareAddr{2, 8}), errTest)
		require.Equal(t, a, r.Address())
	})
}

func TestSetMTU(t *testing.T) {
	cfg := small()
	cfg.Arena = 4096
	inBubble(t, cfg, func(t *testing.T, r *rig) {
		q := r.Queues()[0]
		require.NoError(t, r.SetMTU(68))
		require.NoError(t, r.SetMTU(4096-22), "as much as the arena holds")
		require.Equal(t, 4074, r.MTU())
		require.Equal(t, 4074, r.Config().MTU)
		require.Equal(t, 4074, r.core.mtu)
		for _, mtu := range []int{-1, 0, 67, 4075, math.MaxInt32} {
			require.ErrorIs(t, r.SetMTU(mtu), ErrConfig)
		}
		require.EqualError(t, r.SetMTU(9001), "mac: bus0: MTU 9001: takes 68 to 4074: invalid configuration")
		r.core.failNext("SetMTU", 1, errTest)
		require.ErrorIs(t, r.SetMTU(1500), errTest)
		require.Equal(t, 4074, r.MTU())

		// The receive ring takes it over at the next Checkpoint.
		require.NoError(t, q.Own())
		frames := make([]ring.Frame, 4)
		long := []ring.Completion{{Len: 2048, Flags: ring.First}, {Len: 2048, Flags: ring.Last}}
		r.core.rx[0].done = long
		require.Equal(t, 0, q.RX.Harvest(frames))
		require.True(t, q.Checkpoint())
		r.core.rx[0].done = long
		require.Equal(t, 1, q.RX.Harvest(frames))
		for _, p := range frames[0].Pieces {
			q.Pool.Recycle(p.Page)
		}
		q.Disown()
	})
}

func TestSetCoalesce(t *testing.T) {
	cfg := small()
	cfg.Queues = 2
	inBubble(t, cfg, func(t *testing.T, r *rig) {
		c := ring.Coalesce{RXUsecs: 100, RXFrames: 3, TXFrames: 2, DeferIRQs: 2, PollUsecs: 7}
		require.NoError(t, r.SetCoalesce(c))
		require.Equal(t, map[int]int{0: 100, 1: 100}, r.core.watchdog, "each queue gets what was asked for")
		c.RXUsecs = 97
		require.Equal(t, c, r.Coalesce(), "and the device tells what the hardware uses")
		require.Equal(t, c, *r.Config().Coalesce)
		require.Equal(t, 7*time.Microsecond, r.PollDelay())

		require.ErrorIs(t, r.SetCoalesce(ring.Coalesce{RXUsecs: -1}), ring.ErrCoalesce)
		r.core.failNext("SetWatchdog", 1, errTest)
		require.ErrorIs(t, r.SetCoalesce(ring.Coalesce{RXUsecs: 50}), errTest)
		require.Equal(t, c, r.Coalesce(), "nothing has changed")

		require.NoError(t, r.SetCoalesce(ring.Coalesce{RXUsecs: 0}))
		require.EqualValues(t, 1, r.Queues()[0].every.Load(), "without a watchdog every frame interrupts")
	})
}

func TestCoalescingOfACoreWithoutWatchdog(t *testing.T) {
	r := newRig(t, small(), func(c *fakeCore, _ *fakeBus) { c.info.Watchdog = false })
	require.Equal(t, ring.DefaultCoalesce(), r.Coalesce())
	require.EqualValues(t, 1, r.Queues()[0].every.Load())
	require.Equal(t, 200*time.Microsecond, r.PollDelay(), "the poll loop stands in for the watchdog")
	require.NoError(t, r.SetCoalesce(ring.Coalesce{RXFrames: 4, RXUsecs: 100}))
	require.EqualValues(t, 4, r.Queues()[0].every.Load())
	require.Equal(t, 100*time.Microsecond, r.PollDelay())
	require.NoError(t, r.SetCoalesce(ring.Coalesce{RXUsecs: 100, PollUsecs: 150}))
	require.Equal(t, 150*time.Microsecond, r.PollDelay())
	require.NoError(t, r.SetCoalesce(ring.Coalesce{}))
	require.Zero(t, r.PollDelay())
	require.EqualValues(t, 1, r.Queues()[0].every.Load())
	require.Empty(t, r.core.watchdog)
	require.NoError(t, r.Close())
}

func TestCoreThatInterruptsForEveryFrame(t *testing.T) {
	r := newRig(t, small(), func(c *fakeCore, _ *fakeBus) { c.info.EveryFrame = true })
	require.NoError(t, r.SetCoalesce(ring.Coalesce{RXFrames: 4, RXUsecs: 100}))
	require.Equal(t, 1, r.Coalesce().RXFrames, "the device tells what the hardware does")
	require.NoError(t, r.Close())
}

func TestCoreThatCountsFrames(t *testing.T) {
	core := &countingCore{fakeCore: newFakeCore(), frames: map[int]int{}}
	cfg := small()
	cfg.Queues = 2
	d, err := NewDevice(t.Context(), &fakeBus{core: core.fakeCore}, core, cfg)
	require.NoError(t, err)
	require.Equal(t, map[int]int{0: 0, 1: 0}, core.frames, "the watchdog alone")
	require.NoError(t, d.SetCoalesce(ring.Coalesce{RXFrames: 7, RXUsecs: 100}))
	require.Equal(t, map[int]int{0: 7, 1: 7}, core.frames)
	require.NoError(t, d.SetCoalesce(ring.Coalesce{}))
	require.Equal(t, map[int]int{0: 1, 1: 1}, core.frames, "neither: every frame")
	core.err = errTest
	require.ErrorIs(t, d.SetCoalesce(ring.Coalesce{RXFrames: 3}), errTest)
	require.Equal(t, 0, d.Coalesce().RXFrames, "nothing has changed")
	require.NoError(t, d.Close())
}

func TestLimitsOfChecksumEngineAndPages(t *testing.T) {
	cfg := small()
	cfg.MTU, cfg.PageSize = 1500, 4096
	limits := func(c *fakeCore, _ *fakeBus) {
		c.info.ChecksumMTU, c.info.Ring.OneBuffer, c.info.Ring.Skip = 1578, true, 2
	}
	r := newRig(t, cfg, limits)
	require.True(t, r.TXChecksum())
	require.NoError(t, r.SetMTU(1578))
	require.ErrorIs(t, r.SetMTU(1579), ErrConfig, "the engine was on when it was opened")
	require.NoError(t, r.Close())

	cfg.MTU = 1579
	r = newRig(t, cfg, limits)
	require.False(t, r.TXChecksum() || r.core.setup.TXChecksum, "left off")
	require.NoError(t, r.SetMTU(4096-28))
	require.ErrorIs(t, r.SetMTU(4096-27), ErrConfig, "a frame takes one page")
	require.NoError(t, r.Close())

	cfg.MTU = 4096 - 27
	core := newFakeCore()
	limits(core, nil)
	_, err := NewDevice(t.Context(), &fakeBus{core: core}, core, cfg)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "a frame takes one page")
}

func TestRingMemory(t *testing.T) {
	l := RingLimits{DescriptorSize: 16}
	require.Equal(t, []int{160, 160, 16}, []int{l.RXBytes(10), l.TXBytes(10), l.TXSize()})
	l = RingLimits{DescriptorSize: 20, TXDescriptorSize: 8, Extra: 100}
	require.Equal(t, []int{300, 180, 8}, []int{l.RXBytes(10), l.TXBytes(10), l.TXSize()})
}

func TestStatsAddUp(t *testing.T) {
	cfg := small()
	cfg.Queues = 2
	inBubble(t, cfg, func(t *testing.T, r *rig) {
		for i, q := range r.Queues() {
			require.NoError(t, q.Own())
			whole := ring.First | ring.Last
			r.core.rx[i].done = []ring.Completion{
				{Len: 100, Flags: whole}, {Len: 60, Flags: whole | ring.ErrCRC}, {Len: 5, Flags: whole}, {Len: 60, Flags: ring.Last},
				{Len: 60, Flags: whole | ring.ErrOverflow}, {Len: 60, Flags: whole | ring.ErrReceive},
			}
			frames := make([]ring.Frame, 8)
			require.Equal(t, 1, q.RX.Harvest(frames))
			q.Pool.Recycle(frames[0].Pieces[0].Page)
			q.CountRXDrop()
			q.CountMulticast()
			q.CountTXDrop(3)
			q.Publish()
			q.Disown()
		}
		r.send(2)
		count := Counters{RXMissed: 7, RXOverflow: 5, TXUnderflow: 1, TXCarrier: 2, TXLate: 3, TXExcessive: 4, TXCollisions: 9}
		r.core.locked(func() { r.core.count = count })
		want := Stats{
			RXPackets: 2, RXBytes: 200, TXPackets: 2, TXBytes: 120, RXDropped: 2, TXDropped: 6, Multicast: 2,
			RXErrors: 2*5 + 5, RXLengthErrors: 2, RXOverErrors: 2, RXCRCErrors: 2, RXFrameErrors: 2, RXFIFOErrors: 5, RXMissedErrors: 7,
			TXErrors: 10, TXFIFOErrors: 1, TXCarrierErrors: 2, TXWindowErrors: 3, TXAbortedErrors: 4, Collisions: 9,
		}
		require.Equal(t, want, r.Stats())
		require.Equal(t, want, r.Stats(), "reading changes nothing")
		s := r.Snapshot()
		require.Equal(t, count, s.Hardware)
		require.Equal(t, "bus0 fake 1.0 02:00:00:00:00:01", s.Name+" "+s.Core+" "+s.Version+" "+s.Address)
		require.Len(t, s.Queues, 2)
		q := s.Queues[0]
		require.Equal(t, []int{8, 2, 8, 2}, []int{q.RXRing, q.RXPosted, q.TXRing, q.TXInUse})
		require.Equal(t, 16, q.Pool.Pages)
		require.NoError(t, r.Close())
		want.TXDropped += 2
		require.Equal(t, want, r.Stats(), "and closing only adds what was not sent")
	})
}

func TestInterruptsWakeTheirQueue(t *testing.T) {
	cfg := small()
	cfg.Queues = 2
	inBubble(t, cfg, func(t *testing.T, r *rig) {
		woken := func(q *Queue) bool {
			select {
			case <-q.Wake():
				return true
			default:
				return false
			}
		}
		a, b := r.Queues()[0], r.Queues()[1]
		woken(a)
		woken(b)
		r.interrupt(Events{RX: 2})
		synctest.Wait()
		require.False(t, woken(a))
		require.True(t, woken(b))
		r.interrupt(Events{})
		synctest.Wait()
		require.False(t, woken(a) || woken(b), "a spurious interrupt wakes nobody")
		for range 3 {
			r.interrupt(Events{RX: 1})
			synctest.Wait()
		}
		require.True(t, woken(a))
		require.False(t, woken(a), "wake-ups do not pile up")
		s := r.Snapshot()
		require.EqualValues(t, 3, s.Queues[0].RXInterrupts)
		require.EqualValues(t, 1, s.Queues[1].RXInterrupts)
	})
}

// A ring that ran dry gets a doorbell, whether or not something could be posted.
func TestStarvedRingIsKicked(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		q, codec := r.Queues()[0], r.core.rx[0]
		require.NoError(t, q.Own())
		kicks := codec.kicks
		require.True(t, q.Refill())
		require.Equal(t, kicks, codec.kicks)
		r.interrupt(Events{RX: 1, Starved: 1})
		synctest.Wait()
		require.True(t, q.Refill())
		require.Equal(t, kicks+1, codec.kicks, "although the ring was full")
		require.True(t, q.Refill())
		require.Equal(t, kicks+1, codec.kicks, "once")
		require.EqualValues(t, 1, r.Snapshot().Queues[0].Starved)
		q.Disown()
	})
}

func TestQueueHasOneOwner(t *testing.T) {
	inBubble(t, small(), func(t *testing.T, r *rig) {
		q := r.Queues()[0]
		require.NoError(t, q.Own())
		err := q.Own()
		require.EqualError(t, err, "mac: bus0: queue 0 already has a poll goroutine: invalid configuration")
		require.True(t, errors.Is(err, ErrConfig))
		q.Disown()
		require.NoError(t, q.Own())
		q.Disown()
	})
}

// poller is a poll goroutine of queue 0 that can be held up in the middle of a
// pass, as netstack's locks do.
type poller struct {
	q     *Queue
	gate  chan chan struct{} // blocks the pass that receives from it
	open  chan struct{}
	stop  chan struct{}
	ended chan struct{}
	count int // passes
}

func (r *rig) poll(t *testing.T) *poller {
	p := &poller{q: r.Queues()[0], gate: make(chan chan struct{}), stop: make(chan struct{}), ended: make(chan struct{})}
	require.NoError(t, p.q.Own())
	go p.run()
	synctest.Wait()
	return p
}

func (p *poller) run() {
	defer close(p.ended)
	defer p.q.Disown()
	for p.q.Checkpoint() {
		p.count++
		p.q.Refill()
		p.q.Publish()
		select {
		case <-p.q.Wake():
		case open := <-p.gate:
			<-open
		case <-p.stop:
			return
		}
	}
}

// block holds the goroutine up until unblock.
func (p *poller) block() {
	p.open = make(chan struct{})
	p.gate <- p.open
	synctest.Wait()
}

func (p *poller) unblock() { close(p.open) }

func (p *poller) end() {
	close(p.stop)
	<-p.ended
}
