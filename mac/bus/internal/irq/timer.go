package irq

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
)

// Timer is the interrupt line of a device whose own nobody can wait for: it fires some
// time after each Rearm, whether there is a cause or not. One goroutine calls Wait and
// Rearm; Close may be called from any.
type Timer struct {
	name   string
	period time.Duration
	timer  *time.Timer
	done   chan struct{}
	close  sync.Once
}

var _ mac.Interrupt = (*Timer)(nil)

// NewTimer returns a line that is armed.
func NewTimer(name string, period time.Duration) *Timer {
	return &Timer{name: name, period: period, timer: time.NewTimer(period), done: make(chan struct{})}
}

// Wait implements mac.Interrupt.
func (t *Timer) Wait() error {
	select {
	case <-t.done:
		return t.gone("wait for interrupt")
	default:
	}
	select {
	case <-t.timer.C:
		return nil
	case <-t.done:
		return t.gone("wait for interrupt")
	}
}

// Rearm implements mac.Interrupt.
func (t *Timer) Rearm() error {
	if t.Closed() {
		return t.gone("rearm interrupt")
	}
	t.timer.Reset(t.period)
	return nil
}

func (t *Timer) gone(step string) error {
	return fmt.Errorf("%s: %s: %w", t.name, step, os.ErrClosed)
}

// Closed reports whether Close has been called.
func (t *Timer) Closed() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Close implements mac.Interrupt.
func (t *Timer) Close() error {
	t.close.Do(func() {
		close(t.done)
		t.timer.Stop()
	})
	return nil
}
