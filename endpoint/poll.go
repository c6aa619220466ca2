package endpoint

import (
	"runtime"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack/gro"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/ring"
)

// budget is how many frames a poll pass takes: NAPI's weight. It bounds how long
// transmit and the application wait, and how far doorbells are put off.
const budget = 64

// refillRetry is the pause before another try to refill a ring when the pool is
// out of pages: with nothing posted no interrupt may ever come.
const refillRetry = time.Millisecond

// poller is the poll goroutine of one queue. It owns the queue's receive side.
type poller struct {
	e       *Endpoint
	q       *mac.Queue
	frames  []ring.Frame
	gro     gro.GRO
	joined  groDispatcher
	scratch [4 * 64]byte // the head of a frame that is scattered over short pieces
}

func newPoller(e *Endpoint, q *mac.Queue) (*poller, error) {
	if err := q.Own(); err != nil {
		return nil, err
	}
	p := &poller{e: e, q: q, frames: make([]ring.Frame, budget)}
	p.gro.Init(e.gro)
	p.gro.Dispatcher = &p.joined
	if e.gro && len(e.dev.Queues()) > 1 {
		p.joined.apart = &e.apart
	}
	return p, nil
}

// run polls until the endpoint stops or the device is closed. Its rules are
// NAPI's: acknowledge before looking, so that what comes later is a new cause;
// unmask interrupts only after empty passes; look once more after unmasking,
// for what came in between.
func (p *poller) run() {
	defer p.e.wg.Done()
	defer p.q.Disown()
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for empty := 0; p.q.Checkpoint() && !p.stopped(); {
		n, _ := p.pass()
		if n > 0 {
			empty = 0
			p.pause(timer, n)
			continue
		}
		if empty++; empty < p.e.dev.Coalesce().DeferIRQs {
			p.pause(timer, n)
			continue
		}
		p.q.Unmask()
		n, full := p.pass()
		if n > 0 {
			empty = 0
			p.pause(timer, n)
			continue
		}
		if !full {
			timer.Reset(refillRetry)
		}
		select {
		case <-p.q.Wake():
		case <-p.e.stop:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (p *poller) stopped() bool {
	select {
	case <-p.e.stop:
		return true
	default:
		return false
	}
}

// pause lets others run before the next pass: on one CPU the application must
// get to read what was delivered. It waits for more frames to come, unless the last
// pass took so many that there are more already.
func (p *poller) pause(timer *time.Timer, frames int) {
	delay := p.e.dev.PollDelay()
	if delay == 0 || frames == budget {
		runtime.Gosched()
		return
	}
	timer.Reset(delay)
	select {
	case <-timer.C:
	case <-p.e.stop:
	}
	timer.Stop()
}

// pass is one look at the ring: acknowledge, harvest, deliver, refill, flush,
// reap. It reports how many frames there were, and whether the ring is as full of
// pages as it should be.
func (p *poller) pass() (n int, full bool) {
	p.q.Ack()
	n = p.q.RX.Harvest(p.frames)
	if n > 0 {
		p.q.HoldDoorbell()
		p.deliver(p.frames[:n])
	}
	// Pages that the application has read since the last pass come home first, so
	// that the warmest are posted again.
	p.q.Pool.Reclaim()
	full = p.q.Refill()
	if n > 0 {
		p.flush()
	}
	p.q.ReleaseDoorbell() // reaps, whatever receive did
	p.q.Publish()
	return n, full
}
