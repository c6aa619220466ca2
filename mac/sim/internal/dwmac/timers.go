package dwmac

import (
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac/sim"
)

// Hold is a pause that the partner has asked for. The caller serialises its methods
// but Active.
type Hold struct {
	clock sim.Clock
	over  func()
	until atomic.Int64 // nanoseconds; 0 = none
	timer sim.Timer
}

// Init says who is to be told, with no lock held, that a pause is over.
func (h *Hold) Init(clock sim.Clock, over func()) { h.clock, h.over = clock, over }

// Active reports whether the transmitter has to wait.
func (h *Hold) Active() bool { return h.until.Load() != 0 }

// Take takes a pause frame of quanta of 512 bit times at a speed in Mbit/s. It
// reports whether it has ended a pause.
func (h *Hold) Take(quanta uint16, speed int) (over bool) {
	was := h.Active()
	h.End()
	if quanta == 0 {
		return was
	}
	d := time.Duration(quanta) * 512 * time.Microsecond / time.Duration(max(speed, 10))
	h.until.Store(h.clock.Now().Add(d).UnixNano())
	if h.timer == nil {
		h.timer = h.clock.AfterFunc(d, h.expired)
	} else {
		h.timer.Reset(d)
	}
	return false
}

func (h *Hold) expired() {
	until := h.until.Load()
	if until != 0 && h.clock.Now().UnixNano() >= until && h.until.CompareAndSwap(until, 0) {
		h.over()
	}
}

// End forgets a pause.
func (h *Hold) End() {
	h.until.Store(0)
	if h.timer != nil {
		h.timer.Stop()
	}
}

// Watchdog is the receive interrupt watchdog: once started it goes on to its end,
// whatever comes meanwhile. The caller serialises its methods.
type Watchdog struct {
	clock    sim.Clock
	fire     func()
	timer    sim.Timer
	armed    bool
	deadline time.Time
}

// Init says whom to call, with no lock held, when the time may be over. Due tells.
func (w *Watchdog) Init(clock sim.Clock, fire func()) { w.clock, w.fire = clock, fire }

// Start starts the watchdog unless it runs, or d is 0.
func (w *Watchdog) Start(d time.Duration) {
	if w.armed || d == 0 {
		return
	}
	w.armed, w.deadline = true, w.clock.Now().Add(d)
	if w.timer == nil {
		w.timer = w.clock.AfterFunc(d, w.fire)
	} else {
		w.timer.Reset(d)
	}
}

// Stop stops it.
func (w *Watchdog) Stop() {
	if w.armed {
		w.armed = false
		w.timer.Stop()
	}
}

// Due reports, once, that the time is over.
func (w *Watchdog) Due() bool {
	if !w.armed || w.clock.Now().Before(w.deadline) {
		return false
	}
	w.armed = false
	return true
}
