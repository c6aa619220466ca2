//go:build !linux

package tap

import (
	"errors"
	"fmt"
	"runtime"
)

// TAP is a port on a TAP device. There is none on this system.
type TAP struct{ counters counters }

// Open fails: TAP devices are supported on Linux only.
func Open(name string, _ *Options) (*TAP, error) {
	return nil, fmt.Errorf("tap: open %q on %s: TAP devices need Linux, use mac/sim/usernet instead: %w", name, runtime.GOOS, errors.ErrUnsupported)
}

// Name implements the methods of a TAP on Linux.
func (t *TAP) Name() string { return "" }

// MTU implements the methods of a TAP on Linux.
func (t *TAP) MTU() int { return 0 }

// Deliver implements sim.Port.
func (t *TAP) Deliver([]byte) {}

// OnTransmit implements sim.Port.
func (t *TAP) OnTransmit(func([]byte)) {}

// Stats returns the counts since Open.
func (t *TAP) Stats() Stats { return t.counters.stats() }

// Done returns a channel that never closes.
func (t *TAP) Done() <-chan struct{} { return nil }

// Err returns nil.
func (t *TAP) Err() error { return nil }

// Close implements io.Closer.
func (t *TAP) Close() error { return nil }
