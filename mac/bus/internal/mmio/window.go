// Package mmio maps device registers.
package mmio

import (
	"fmt"

	"github.com/barewire/barewire/mac"
)

// Window is a mapped window of 32-bit registers. It is little-endian, as is
// every CPU this builds for. Calls may come from any goroutine until the window
// is unmapped.
type Window struct {
	regs []byte // the window itself
	all  []byte // the pages it lies in
}

var _ mac.Registers = (*Window)(nil)

// Size is the window's size in bytes.
func (w *Window) Size() int { return len(w.regs) }

// Over makes a window of memory that the caller keeps mapped. b begins and ends
// at a multiple of 4 bytes.
func Over(b []byte) *Window { return &Window{regs: b} }

// check panics on an access outside of the window: the driver named a register
// that its own tables do not have, and any other answer would be a lie.
func (w *Window) check(off uint32) {
	if off%4 != 0 || uint64(off)+4 > uint64(len(w.regs)) {
		w.outside(off)
	}
}

func (w *Window) outside(off uint32) {
	panic(fmt.Sprintf("mmio: register %#x of a window of %#x bytes", off, len(w.regs)))
}

// Read32 implements mac.Registers.
func (w *Window) Read32(off uint32) uint32 {
	w.check(off)
	return load32(&w.regs[off])
}

// Write32 implements mac.Registers.
func (w *Window) Write32(off, v uint32) {
	w.check(off)
	store32(&w.regs[off], v)
}
