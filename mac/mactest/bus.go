package mactest

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/pagepool"
)

// bus is the simulated bus as a process sees it that may die and start again:
// closing it leaves the model running. It can hold back doorbells, as a bridge
// with posted writes does.
type bus struct {
	*bussim.Bus
	// descriptors are the allocations for rings, in order.
	descriptors []pagepool.Memory
	// onAlloc is called before memory is taken.
	onAlloc func()
	// keeps says that the test expects memory to be kept for ever.
	keeps bool
	core  Core
	regs  mac.Registers // window 0, unheld
	hold  atomic.Bool
	held  []heldWrite
	force struct {
		on         bool
		off, value uint32
	}
}

type heldWrite struct{ off, v uint32 }

func (b *bus) Registers(i int) (mac.Registers, error) {
	r, err := b.Bus.Registers(i)
	if err != nil {
		return nil, err
	}
	if i > 0 {
		return r, nil // doorbells and the version are in window 0
	}
	b.regs = r
	return &registers{Registers: r, bus: b}, nil
}

func (b *bus) Alloc(a mac.Alloc) (pagepool.Memory, error) {
	if b.onAlloc != nil {
		b.onAlloc()
	}
	m, err := b.Bus.Alloc(a)
	if err == nil && a.Use == mac.Descriptors {
		b.descriptors = append(b.descriptors, m)
	}
	return m, err
}

// Close implements mac.Bus.
func (b *bus) Close() error { return nil }

// holdDoorbells keeps doorbells from the device until releaseDoorbells.
func (b *bus) holdDoorbells() { b.hold.Store(true) }

func (b *bus) releaseDoorbells() {
	b.hold.Store(false)
	held := b.held
	b.held = nil
	for _, w := range held {
		b.regs.Write32(w.off, w.v)
	}
}

type registers struct {
	mac.Registers
	bus *bus
}

func (r *registers) Read32(off uint32) uint32 {
	if f := r.bus.force; f.on && off == f.off {
		return f.value
	}
	return r.Registers.Read32(off)
}

func (r *registers) Write32(off, v uint32) {
	if !r.bus.hold.Load() || !r.bus.Model().(Model).Doorbell(off) {
		r.Registers.Write32(off, v)
		return
	}
	if split := r.bus.core.Posted; split != nil {
		now, later := split(off, v)
		if now != 0 {
			r.Registers.Write32(off, now)
		}
		if v = later; v == 0 {
			return
		}
	}
	r.bus.held = append(r.bus.held, heldWrite{off, v})
}

func newBus(c Core, m Model, opts *sim.SpaceOptions) *bus {
	return &bus{Bus: bussim.New(m, &bussim.Options{Space: *opts}), core: c}
}
