package mac

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Queue is one receive and one transmit queue of a device.
//
// The receive side has one owner, the poll goroutine: it calls Own before it
// touches RX or Pool, Checkpoint between passes, and Disown when it ends. The
// transmit side is used under LockTX by whoever sends.
type Queue struct {
	dev   *Device
	index int

	// RX and Pool belong to the owner.
	RX   *ring.RX
	Pool *pagepool.Pool

	wake    chan struct{} // a token: look at the ring
	starved atomic.Bool   // the device ran out of posted slots

	// Handing the receive side over to the device and back, for a reset.
	own struct {
		sync.Mutex
		held   bool          // a poll goroutine owns the receive side
		taken  bool          // the device has it, or waits for it
		parked chan struct{} // closed by the owner when it has let go
		resume chan struct{} // closed by the device when it gives it back
	}
	gone   atomic.Bool // the device is closed
	paused atomic.Bool // the device waits for the owner: saves Checkpoint the lock

	// Settings that the owner applies at its next Checkpoint.
	every, maxFrame       atomic.Int32
	everyNow, maxFrameNow int32

	tx struct {
		sync.Mutex
		ring  *ring.TX
		hold  bool // doorbells wait for Release
		ready chan struct{}
		down  bool // refuse frames: the link is down or the device stopped
		// For the transmit watchdog: slots ever freed, and since when that number
		// stands still.
		freed uint64
		since time.Time
	}

	// What the owner publishes after each pass.
	published struct {
		sync.Mutex
		rx   ring.RXStats
		pool pagepool.Stats
		ring int // slots posted
	}
	drops      atomic.Uint64 // received frames the owner dropped, see CountRXDrop
	txDrops    atomic.Uint64
	rxIRQs     atomic.Uint64
	txIRQs     atomic.Uint64
	starves    atomic.Uint64
	multicasts atomic.Uint64
}

func newQueue(d *Device, i int) *Queue {
	return &Queue{dev: d, index: i, wake: make(chan struct{}, 1)}
}

// Index is the number of the queue.
func (q *Queue) Index() int { return q.index }

// Own makes the caller the owner of the receive side. It waits while the device
// has it for a reset, and fails when somebody else owns it or the device is
// closed.
func (q *Queue) Own() error {
	q.own.Lock()
	for q.own.taken {
		resume := q.own.resume
		q.own.Unlock()
		<-resume
		q.own.Lock()
	}
	defer q.own.Unlock()
	if q.gone.Load() {
		return fmt.Errorf("mac: %s: own queue %d: %w", q.dev.cfg.Name, q.index, ErrClosed)
	}
	if q.own.held {
		return fmt.Errorf("mac: %s: queue %d already has a poll goroutine: %w", q.dev.cfg.Name, q.index, ErrConfig)
	}
	q.own.held = true
	return nil
}

// Disown ends the caller's ownership.
func (q *Queue) Disown() {
	q.own.Lock()
	defer q.own.Unlock()
	q.own.held = false
	if q.own.taken {
		q.paused.Store(false)
		close(q.own.parked)
	}
}

// Checkpoint is called by the owner between passes, when it holds no frame. It
// hands the receive side to the device when that wants to reset itself, waits
// for it to come back, and applies changed settings. It reports false when the
// device is closed: the owner touches nothing any more and ends.
func (q *Queue) Checkpoint() bool {
	if q.paused.Load() {
		q.own.Lock()
		q.paused.Store(false)
		close(q.own.parked)
		resume := q.own.resume
		q.own.Unlock()
		<-resume
	}
	if q.gone.Load() {
		return false
	}
	q.applySettings()
	return true
}

func (q *Queue) applySettings() {
	if n := q.every.Load(); n != q.everyNow {
		q.everyNow = n
		q.RX.SetInterrupts(int(n))
	}
	if n := q.maxFrame.Load(); n != q.maxFrameNow {
		q.maxFrameNow = n
		q.RX.SetMaxFrame(int(n))
	}
}

// acquire takes the receive side from its owner, who is at a Checkpoint then or
// gone. release gives it back. Device.transition is held, so there is one at a
// time, and Device.mu is not: a poll goroutine on its way to a Checkpoint may
// wait for a lock of the stack whose holder waits for Device.mu.
func (q *Queue) acquire() {
	q.own.Lock()
	q.own.taken = true
	q.own.parked, q.own.resume = make(chan struct{}), make(chan struct{})
	held, parked := q.own.held, q.own.parked
	q.paused.Store(held)
	q.own.Unlock()
	if held {
		q.notify()
		<-parked
	}
}

func (q *Queue) release() {
	q.own.Lock()
	q.own.taken = false
	close(q.own.resume)
	q.own.Unlock()
	q.notify()
}

// Wake is the channel that gets a token when the queue is to be polled.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

func (q *Queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Ack acknowledges the receive causes. It comes first in a pass, so that what
// arrives during the pass is a new cause.
func (q *Queue) Ack() { q.dev.core.Ack(q.index) }

// Unmask lets the queue interrupt again. The owner looks at the ring once more
// afterwards, for what came in between.
func (q *Queue) Unmask() { q.dev.core.Unmask(q.index) }

// Refill refills the receive ring and, when the device had run dry, rings the
// doorbell although nothing may have been posted. It reports false when pages
// are short and the owner must try again on its own.
func (q *Queue) Refill() bool {
	starved := q.starved.Swap(false) // before looking: a later one is a new one
	before := q.RX.Posted()
	ok := q.RX.Refill()
	if starved && before > 0 && q.RX.Posted() == before {
		q.RX.Kick() // Refill rings only for what it posts
	}
	return ok
}

// Publish makes the owner's counters visible to Stats and Snapshot. It is called
// once per pass.
func (q *Queue) Publish() {
	q.published.Lock()
	q.published.rx = q.RX.Stats()
	q.published.pool = q.Pool.Stats()
	q.published.ring = q.RX.Posted()
	q.published.Unlock()
}

// CountRXDrop counts a received frame that was not delivered, CountMulticast one
// that was sent to a group.
func (q *Queue) CountRXDrop() { q.drops.Add(1) }

// CountMulticast counts a received group frame.
func (q *Queue) CountMulticast() { q.multicasts.Add(1) }

// LockTX gives the caller the transmit ring until UnlockTX. It returns nil, and
// no lock, when frames cannot be sent now because the link is down or the device
// is closed.
func (q *Queue) LockTX() *ring.TX {
	q.tx.Lock()
	if q.tx.down {
		q.tx.Unlock()
		return nil
	}
	return q.tx.ring
}

// UnlockTX ends what LockTX began. The caller has flushed the frames it
// committed: FlushTX does so.
func (q *Queue) UnlockTX() { q.tx.Unlock() }

// FlushTX gives all committed frames to the device, with one doorbell, or with
// the one that ReleaseDoorbell rings. The caller holds the lock.
func (q *Queue) FlushTX() {
	if q.tx.hold {
		q.tx.ring.Post()
	} else {
		q.tx.ring.Flush()
	}
}

// HoldDoorbell has frames posted without a doorbell until ReleaseDoorbell rings
// it once for all of them. The poll goroutine uses the pair around the delivery
// of a batch, so that the acknowledgements it brings forth share a doorbell.
func (q *Queue) HoldDoorbell() {
	q.tx.Lock()
	q.tx.hold = true
	q.tx.Unlock()
}

// ReleaseDoorbell ends HoldDoorbell. It also reaps, when that is due.
func (q *Queue) ReleaseDoorbell() {
	q.tx.Lock()
	q.tx.hold = false
	if !q.tx.down {
		q.tx.ring.Flush()
		q.tx.ring.ReapDue()
	}
	q.tx.Unlock()
}

// CountTXDrop counts n frames that were not sent.
func (q *Queue) CountTXDrop(n int) { q.txDrops.Add(uint64(n)) }

// WaitTX waits until the device has made space in the transmit ring, for as long
// as tx-usecs allows and not at all when that is 0. The caller holds the lock
// and holds it again when WaitTX returns; in between it is free. It reports
// whether it is worth trying again; when not, the frame is dropped.
//
// The interrupt it asks for is the only transmit interrupt there is. When it is
// lost, or no frame in the ring asks for one, the time limit stands in for it.
func (q *Queue) WaitTX() bool {
	limit := time.Duration(q.dev.coalesce.Load().TXUsecs) * time.Microsecond
	q.tx.ring.Flush() // even when held: nobody waits for frames not sent
	if limit == 0 {
		return false
	}
	if q.tx.ready == nil {
		q.tx.ready = make(chan struct{})
	}
	ready := q.tx.ready
	q.dev.core.UnmaskTX(q.index)
	// What was done before the unmask may never interrupt: look.
	if q.tx.ring.Reap() > 0 {
		return true
	}
	q.tx.Unlock()
	timer := time.NewTimer(limit)
	woken := false
	select {
	case <-ready:
		woken = true
	case <-timer.C:
	}
	timer.Stop()
	q.tx.Lock()
	return !q.tx.down && (woken || q.tx.ring.Reap() > 0)
}

// txReady wakes all senders in WaitTX.
func (q *Queue) txReady() {
	q.tx.Lock()
	defer q.tx.Unlock()
	if q.tx.ready != nil {
		close(q.tx.ready)
		q.tx.ready = nil
	}
}

// setDown refuses frames, or takes them again, and wakes all who wait for space. When
// frames are taken again, the doorbell is rung that ReleaseDoorbell could not ring.
func (q *Queue) setDown(down bool) {
	q.tx.Lock()
	q.tx.down = down
	if !down {
		q.tx.ring.Flush()
	}
	q.tx.Unlock()
	q.txReady()
}

// stuck reports whether frames have been in the transmit ring for timeout
// without progress, which shows from mark to mark.
func (q *Queue) stuck(now time.Time, timeout time.Duration) bool {
	q.tx.Lock()
	defer q.tx.Unlock()
	t := q.tx.ring
	if q.tx.down || t.InUse() == 0 || t.Reap() > 0 {
		q.tx.since = time.Time{}
		return false
	}
	if freed := t.Stats().Slots - uint64(t.InUse()); freed != q.tx.freed || q.tx.since.IsZero() {
		q.tx.freed, q.tx.since = freed, now
		return false
	}
	return now.Sub(q.tx.since) >= timeout
}
