// Package irq turns a file that becomes readable when an interrupt has fired
// (UIO device, eventfd) into a mac.Interrupt.
package irq

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/barewire/barewire/mac"
)

// Line is one interrupt line. One goroutine calls Wait and Rearm; Close may be
// called from any.
type Line struct {
	name  string
	file  *os.File
	read  func([]byte) (int, error) // file.Read
	rearm func() error
	mask  func() error
	// Of the goroutine that waits.
	count    []byte
	backstop time.Duration
	edges    bool
	again    bool // there was an edge: look once more

	mu     sync.Mutex // guards what follows; Rearm and the mask of Close take turns
	closed bool
	err    error
}

var _ mac.Interrupt = (*Line)(nil)

// Config says how a line works.
type Config struct {
	// Name begins the line's errors.
	Name string
	// File is read for the count of interrupts. It is non-blocking and becomes
	// the line's, also when New fails.
	File *os.File
	// Count is the size of the count in bytes: 4 for UIO, 8 for an eventfd.
	Count int
	// Rearm lets the line fire again; when its level is high it fires at once.
	Rearm func() error
	// Mask stops the line from firing. It is called once, by Close.
	Mask func() error
	// Edges says that the line tells of edges alone: one that stays high since a
	// cause came up while another was served says nothing. So each interrupt is
	// followed by another look, and Backstop bounds how long it takes in the worst
	// case until there is one: Wait returns after that time in any case.
	Edges    bool
	Backstop time.Duration
}

// New opens a line, armed.
func New(c Config) (*Line, error) {
	l := &Line{name: c.Name, file: c.File, read: c.File.Read, rearm: c.Rearm, mask: c.Mask, count: make([]byte, c.Count), edges: c.Edges, backstop: c.Backstop}
	// Close unblocks a read only when the runtime polls the file.
	if err := c.File.SetReadDeadline(time.Time{}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: open interrupt: %s cannot be polled: %w", c.Name, c.File.Name(), err), c.File.Close())
	}
	// A program that was killed may have left the line masked.
	if err := c.Rearm(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: open interrupt: %w", c.Name, err), c.File.Close())
	}
	return l, nil
}

// Wait implements mac.Interrupt.
//
// The file is readable when the count has changed since it was read last, so
// every count that comes is a reason to look at the device: one or three or 2^31
// more than before, or fewer because it wrapped. Comparing it could only lose an
// interrupt. For the same reason a short read counts; a wake-up too many costs
// one look at a status register.
func (l *Line) Wait() error {
	if l.again {
		l.again = false
		return nil
	}
	if l.backstop > 0 {
		// When it fails, so does the read.
		_ = l.file.SetReadDeadline(time.Now().Add(l.backstop))
	}
	for {
		n, err := l.read(l.count)
		switch {
		case n > 0:
			l.again = l.edges
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, os.ErrClosed):
			return l.gone("wait for interrupt")
		case err == nil:
			err = io.ErrUnexpectedEOF
		case errors.Is(err, syscall.EIO):
			err = fmt.Errorf("%w (the device has no interrupt, or has been removed)", err)
		}
		return fmt.Errorf("%s: wait for interrupt: %w", l.name, err)
	}
}

// Rearm implements mac.Interrupt.
func (l *Line) Rearm() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.gone("rearm interrupt")
	}
	if err := l.rearm(); err != nil {
		return fmt.Errorf("%s: rearm interrupt: %w", l.name, err)
	}
	return nil
}

func (l *Line) gone(step string) error {
	return fmt.Errorf("%s: %s: %w", l.name, step, os.ErrClosed)
}

// Closed reports whether Close has been called.
func (l *Line) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close implements mac.Interrupt. A second call returns what the first did.
func (l *Line) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.err
	}
	l.closed = true
	if err := l.mask(); err != nil {
		l.err = fmt.Errorf("%s: mask interrupt: %w", l.name, err)
	}
	l.err = errors.Join(l.err, l.file.Close())
	return l.err
}
