package pagepool

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrBusy says that the pool cannot be closed yet because pages are posted to the
// device or held in a frame.
var ErrBusy = errors.New("pages are posted or held")

// LentError says that a pool could not give its memory back because pages are
// still lent. Their bytes stay valid; the memory stays mapped until a later Close
// finds all pages home.
type LentError struct {
	// Lent of Pages pages are still lent.
	Lent, Pages int
	// Cause is why the wait ended.
	Cause error
}

func (e *LentError) Error() string {
	return fmt.Sprintf("pagepool: close: %d of %d pages are still lent, their memory stays mapped: close the sockets and release the packets that hold them, then close again: %v",
		e.Lent, e.Pages, e.Cause)
}

// Unwrap returns the cause, usually the error of the context.
func (e *LentError) Unwrap() error { return e.Cause }

// The pause between two looks at the lent pages grows from closePause to
// closePauseMax.
const (
	closePause    = 20 * time.Microsecond
	closePauseMax = 10 * time.Millisecond
)

// Close waits for the lent pages to come home and then releases the memory. It
// belongs to the owner, like every method: stop the device and the poll
// goroutine, recycle the pages of the ring, then close.
//
// While pages are posted or held, Close changes nothing and returns an error that
// is ErrBusy. Otherwise Alloc finds no page from now on. When ctx ends before
// the pages are home, Close returns a *LentError and leaves the memory alone;
// views that are still out stay valid. Call Close again to try again. After
// success further calls do nothing and return nil.
func (p *Pool) Close(ctx context.Context) error {
	if p.posted > 0 || p.held > 0 {
		return fmt.Errorf("pagepool: close: %d pages posted, %d held: stop the device and recycle them first: %w",
			p.posted, p.held, ErrBusy)
	}
	p.closed = true
	if p.memory == nil {
		return nil
	}
	if err := p.awaitLent(ctx); err != nil {
		return err
	}
	m := p.memory
	p.memory, p.mem, p.lender = nil, nil, nil
	if err := m.Release(); err != nil {
		return fmt.Errorf("pagepool: close: release %d pages of memory: %w", len(p.state), err)
	}
	return nil
}

// awaitLent returns when no page is lent, or when ctx ends. netstack drops
// references without telling anybody, so it looks again and again.
func (p *Pool) awaitLent(ctx context.Context) error {
	for pause := closePause; ; pause = min(2*pause, closePauseMax) {
		n := p.ReclaimAll()
		if n == 0 {
			return nil
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return &LentError{Lent: n, Pages: len(p.state), Cause: context.Cause(ctx)}
		}
	}
}
