package device

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devtree"
	"github.com/barewire/barewire/mac/bus/internal/mmio"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

// Identity is who a device is. It implements the part of mac.Bus that is about that,
// mac.Wired and mac.Advisor.
type Identity struct {
	name       string
	dir        string // in sysfs; "" when it has none
	node       *devtree.Node
	compatible []string
	clockHz    int
}

// Identify reads who the device at dir of sysfs is. Names it is compatible with and the
// rate of its clock are the user's when they are given.
func Identify(r sysfs.Root, name, dir string, compatible []string, clockHz int) Identity {
	d := Identity{name: name, dir: dir, compatible: compatible, clockHz: clockHz}
	if dir == "" {
		return d
	}
	d.node = devtree.Of(string(r), dir)
	if compatible == nil {
		d.compatible = r.Compatible(dir)
		if addr, ok := sysfs.PCIAddress(filepath.Base(dir)); ok {
			d.compatible = r.PCICompatible(addr)
		}
	}
	if clockHz == 0 && d.node != nil {
		d.clockHz = d.node.ClockHz()
	}
	return d
}

// Name implements mac.Bus.
func (d *Identity) Name() string { return d.name }

// Compatible implements mac.Bus. The last name of a PCI device is pciVVVV,DDDD.
func (d *Identity) Compatible() []string { return d.compatible }

// ClockHz implements mac.Bus.
func (d *Identity) ClockHz() int { return d.clockHz }

// Node is the device-tree node, nil when there is none.
func (d *Identity) Node() *devtree.Node { return d.node }

// Wiring implements mac.Wired: what the device tree says.
func (d *Identity) Wiring() mac.Wiring {
	if d.node == nil {
		return mac.Wiring{}
	}
	return d.node.Wiring()
}

// Advice implements mac.Advisor.
func (d *Identity) Advice(err error) string { return sysfs.Advice(d.name, d.dir, err) }

// Windows are the register windows of a device that have been mapped. The zero value
// is ready. Its methods may be called from any goroutine.
type Windows struct {
	mu     sync.Mutex
	mapped map[int]*mmio.Window
	closed bool
}

// Get returns window i, which mapIt maps the first time. The error wraps os.ErrClosed
// after Close.
func (w *Windows) Get(i int, mapIt func(int) (*mmio.Window, error)) (mac.Registers, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, os.ErrClosed
	}
	if m := w.mapped[i]; m != nil {
		return m, nil
	}
	m, err := mapIt(i)
	if err != nil {
		return nil, err
	}
	if w.mapped == nil {
		w.mapped = map[int]*mmio.Window{}
	}
	w.mapped[i] = m
	return m, nil
}

// Close unmaps all of them. Nobody uses them any more.
func (w *Windows) Close() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	var errs []error
	for _, m := range w.mapped {
		errs = append(errs, m.Unmap())
	}
	w.mapped = nil
	return errs
}

// Line is an interrupt line that knows whether it was closed.
type Line interface {
	mac.Interrupt
	Closed() bool
}

// Interrupt is the one interrupt line of a device, which is open once at a time. The
// zero value is ready. Its methods may be called from any goroutine.
type Interrupt struct {
	mu     sync.Mutex
	line   Line
	closed bool
}

// Open opens line i, by open, when that is 0. The error wraps mac.ErrNoDevice for
// another, mac.ErrConfig when it is open, and os.ErrClosed after Close.
func (l *Interrupt) Open(i int, open func() (Line, error)) (mac.Interrupt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case i != 0:
		return nil, fmt.Errorf("the device has no line %d: %w", i, mac.ErrNoDevice)
	case l.closed:
		return nil, os.ErrClosed
	case l.line != nil && !l.line.Closed():
		return nil, fmt.Errorf("close the one that is open first: %w", mac.ErrConfig)
	}
	line, err := open()
	if err != nil {
		return nil, err
	}
	l.line = line
	return line, nil
}

// Close closes the line, for ever.
func (l *Interrupt) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.line == nil {
		return nil
	}
	return l.line.Close()
}
