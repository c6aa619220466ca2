// Package sim is a mac.Bus that joins a register-level model to a driver in the
// same process. Every register access, descriptor access and interrupt is
// counted in a Trace.
package sim

import (
	"fmt"
	"os"
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/pagepool"
)

// Options says what the bus is like. The zero value is coherent memory on the Go
// heap.
type Options struct {
	// Name is the bus's name. "" means "sim0".
	Name string
	// Space is the DMA memory. Its Trace is that of the bus.
	Space sim.SpaceOptions
}

// Bus joins one model to one driver. Its methods may be called from any
// goroutine.
type Bus struct {
	name  string
	model sim.Device
	space *sim.Space
	trace *sim.Trace
	line  line

	close sync.Once
	err   error
}

var _ mac.Bus = (*Bus)(nil)

// New connects model, which must not be connected yet. opts may be nil.
func New(model sim.Device, opts *Options) *Bus {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name = "sim0"
	}
	b := &Bus{name: o.Name, model: model, space: sim.NewSpace(&o.Space)}
	b.trace = b.space.Trace()
	b.line.trace = b.trace
	model.Connect(b.space, b.line.set)
	return b
}

// Space is the bus's DMA memory.
func (b *Bus) Space() *sim.Space { return b.space }

// Trace counts what the driver does.
func (b *Bus) Trace() *sim.Trace { return b.trace }

// Model is the device on the bus.
func (b *Bus) Model() sim.Device { return b.model }

// Name implements mac.Bus.
func (b *Bus) Name() string { return b.name }

// Compatible implements mac.Bus.
func (b *Bus) Compatible() []string { return b.model.Compatible() }

// ClockHz implements mac.Bus.
func (b *Bus) ClockHz() int { return b.model.ClockHz() }

// Registers implements mac.Bus. There is window 0 alone, unless the model is
// sim.Windowed.
func (b *Bus) Registers(i int) (mac.Registers, error) {
	windows := []sim.Window{{}}
	if w, ok := b.model.(sim.Windowed); ok {
		windows = w.Windows()
	}
	if i < 0 || i >= len(windows) {
		return nil, fmt.Errorf("sim: %s has no register window %d: %w", b.name, i, mac.ErrNoDevice)
	}
	r := &registers{model: b.model, trace: b.trace, base: windows[i].Offset}
	r.described, _ = b.model.(sim.Described)
	return r, nil
}

// Alloc implements mac.Bus.
func (b *Bus) Alloc(a mac.Alloc) (pagepool.Memory, error) {
	m, err := b.space.Alloc(a)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Interrupt implements mac.Bus. There is line 0 alone, and it is open once at a
// time.
func (b *Bus) Interrupt(i int) (mac.Interrupt, error) {
	if i != 0 {
		return nil, fmt.Errorf("sim: %s has no interrupt line %d: %w", b.name, i, mac.ErrNoDevice)
	}
	return b.line.open()
}

// Close implements mac.Bus. It closes the model and returns the memory that has
// been released.
func (b *Bus) Close() error {
	b.close.Do(func() {
		b.err = b.model.Close()
		b.line.shut()
		if err := b.space.Close(); b.err == nil {
			b.err = err
		}
	})
	return b.err
}

// registers is one window. It counts each access.
type registers struct {
	base      uint32 // where in the model's register space the window starts
	model     sim.Device
	described sim.Described
	trace     *sim.Trace
}

func (r *registers) Read32(off uint32) uint32 {
	off += r.base
	v := r.model.Read32(off)
	r.trace.Register(sim.RegisterRead, off, v, r.registerName)
	return v
}

func (r *registers) Write32(off, v uint32) {
	off += r.base
	r.trace.Register(sim.RegisterWrite, off, v, r.registerName)
	if r.described != nil && r.described.Doorbell(off) {
		r.trace.Register(sim.Doorbell, off, v, r.registerName)
	}
	r.model.Write32(off, v)
}

func (r *registers) registerName(off uint32) string {
	if r.described == nil {
		return ""
	}
	return r.described.RegisterName(off)
}

// line is a level-triggered interrupt line that masks itself when it fires, as
// UIO does.
type line struct {
	trace  *sim.Trace
	mu     sync.Mutex
	level  bool
	user   *interrupt // who has it open
	closed bool
}

// set follows the device's line.
func (l *line) set(level bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if level == l.level {
		return
	}
	l.level = level
	l.trace.Interrupt(level)
	if level && l.user != nil {
		l.user.fire()
	}
}

func (l *line) open() (*interrupt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("sim: open interrupt: %w", os.ErrClosed)
	}
	if l.user != nil {
		return nil, fmt.Errorf("sim: open interrupt: close the one that is open first: %w", mac.ErrConfig)
	}
	l.user = &interrupt{line: l, armed: true, fired: make(chan struct{}, 1), done: make(chan struct{})}
	if l.level {
		l.user.fire()
	}
	return l.user, nil
}

func (l *line) shut() {
	l.mu.Lock()
	user := l.user
	l.closed = true
	l.mu.Unlock()
	if user != nil {
		user.Close()
	}
}

// interrupt is one opening of the line. line.mu guards armed.
type interrupt struct {
	line  *line
	armed bool
	fired chan struct{}
	done  chan struct{}
	once  sync.Once
}

// fire wakes Wait once. line.mu is held.
func (i *interrupt) fire() {
	if !i.armed {
		return
	}
	i.armed = false
	select {
	case i.fired <- struct{}{}:
	default:
	}
}

// Wait implements mac.Interrupt.
func (i *interrupt) Wait() error {
	select {
	case <-i.done:
		return i.closed()
	default:
	}
	select {
	case <-i.fired:
		return nil
	case <-i.done:
		return i.closed()
	}
}

func (i *interrupt) closed() error {
	return fmt.Errorf("sim: wait for interrupt: %w", os.ErrClosed)
}

// Rearm implements mac.Interrupt.
func (i *interrupt) Rearm() error {
	select {
	case <-i.done:
		return fmt.Errorf("sim: rearm interrupt: %w", os.ErrClosed)
	default:
	}
	i.line.mu.Lock()
	defer i.line.mu.Unlock()
	i.armed = true
	if i.line.level {
		i.fire()
	}
	return nil
}

// Close implements mac.Interrupt.
func (i *interrupt) Close() error {
	i.once.Do(func() {
		close(i.done)
		i.line.mu.Lock()
		defer i.line.mu.Unlock()
		if i.line.user == i {
			i.line.user = nil
		}
	})
	return nil
}
