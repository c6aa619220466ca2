//go:build linux

package linux

import (
	"slices"
	"sync"

	"github.com/barewire/barewire/integration/vfiouser"
)

// watch keeps the accesses to a device's registers.
type watch struct {
	mu     sync.Mutex
	access []vfiouser.Access
}

// trace is vfiouser.Options.Trace.
func (w *watch) trace(a vfiouser.Access) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.access = append(w.access, a)
}

// mark forgets the accesses so far.
func (w *watch) mark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.access = nil
}

// since are the accesses after the last mark.
func (w *watch) since() []vfiouser.Access {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.access)
}

// writes are the values written to a register since the last mark.
func (w *watch) writes(off uint32) (values []uint32) {
	for _, a := range w.since() {
		if a.Write && a.Off == off {
			values = append(values, a.Value)
		}
	}
	return values
}
