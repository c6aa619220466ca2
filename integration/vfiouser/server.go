//go:build linux

package vfiouser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"net"
	"os"
	"sync/atomic"

	"github.com/barewire/barewire/integration/vfiouser/vfu"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

// Options are the options of New.
type Options struct {
	// Vendor and Device are the PCI IDs. 0 means 16c3:7102, a DesignWare Ethernet
	// QoS core, to which no stock driver binds by itself.
	Vendor, Device uint16
	// BARSize is the size of BAR 0 in bytes, a power of two. 0 means 64 KiB, or
	// what the registers need.
	BARSize int
	// WindowBARs gives each register window of the device a BAR of its own, as a
	// driver in user space expects them: window i is BAR i.
	WindowBARs bool
	// MSIVectors is the number of MSI vectors, a power of two up to 32. 0 means
	// INTx only.
	MSIVectors int
	// Reset is a function-level reset: it has the model as it was after power-on.
	// QEMU asks for one before it starts the guest and when it reboots. nil leaves
	// the model as it is, which is right for drivers that reset it themselves.
	Reset func()
	// MasterOnly has the model reach memory only while the guest has made the
	// function a bus master, as it is with PCI. Otherwise it always does, as behind a
	// device-tree node.
	MasterOnly bool
	// Trace sees each access before a write and after a read. It is called by one
	// goroutine and holds up the guest.
	Trace func(Access)
	// Protocol bounds what the client may do.
	Protocol vfu.Options
}

const (
	defaultBAR = 64 << 10
	minBAR     = 4 << 10 // a page, so that a program can map it alone
	maxBARs    = 6
)

// Server serves one model to one client.
type Server struct {
	fn  *function
	vfu *vfu.Server
}

// New returns a server of dev, which must not have been connected. nil options
// are the defaults. Errors wrap mac.ErrConfig or vfu.ErrConfig.
func New(dev sim.Device, o *Options) (*Server, error) {
	f := &function{dev: dev}
	if o != nil {
		f.opts = *o
	}
	if f.opts.Vendor == 0 && f.opts.Device == 0 {
		f.opts.Vendor, f.opts.Device = 0x16c3, 0x7102
	}
	f.bars = f.windows()
	for _, w := range f.bars {
		if w.Size == 0 || w.Size%4 != 0 || w.Size > 1<<30 {
			return nil, fmt.Errorf("vfiouser: register window of %#x bytes: want a multiple of 4 up to 1 GiB: %w", w.Size, mac.ErrConfig)
		}
	}
	window := int(f.bars[0].Size)
	if f.opts.BARSize == 0 {
		f.opts.BARSize = max(defaultBAR, powerOfTwo(window))
	}
	if f.opts.BARSize < window {
		return nil, fmt.Errorf("vfiouser: BAR of %#x bytes is smaller than the register window of %#x: %w", f.opts.BARSize, window, mac.ErrConfig)
	}
	f.spare = make([]atomic.Uint32, (f.opts.BARSize-window)/4)
	s, err := vfu.New(f, &f.opts.Protocol)
	if err != nil {
		return nil, fmt.Errorf("vfiouser: %w", err)
	}
	return &Server{fn: f, vfu: s}, nil
}

// windows are the register windows by BAR. Without Options.WindowBARs all are in
// BAR 0, at their offsets in the device's one register space.
func (f *function) windows() []sim.Window {
	all := []sim.Window{{Size: uint32(f.dev.WindowSize())}}
	w, ok := f.dev.(sim.Windowed)
	switch {
	case ok && f.opts.WindowBARs:
		return w.Windows()[:min(len(w.Windows()), maxBARs)]
	case ok:
		for _, w := range w.Windows() {
			all[0].Size = max(all[0].Size, w.Offset+w.Size)
		}
	}
	return all
}

func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// Serve connects the model to the client at the other end of c and serves it
// until it leaves, which is no error, or ctx is done. Then it closes the model.
func (s *Server) Serve(ctx context.Context, c *net.UnixConn) error {
	err := s.vfu.Serve(ctx, c)
	if errors.Is(err, vfu.ErrServed) {
		return err
	}
	return errors.Join(err, s.fn.closed)
}

// ListenAndServe waits for a client on a Unix socket at path and serves it. A
// socket that an earlier run left there is replaced. The model is closed when it
// returns, whether or not a client came.
func (s *Server) ListenAndServe(ctx context.Context, path string) error {
	l, err := Listen(path)
	if err != nil {
		return errors.Join(err, s.fn.dev.Close())
	}
	return s.AcceptAndServe(ctx, l)
}

// AcceptAndServe is ListenAndServe on a socket that is there already, so that a
// client can be started beforehand. It closes l.
func (s *Server) AcceptAndServe(ctx context.Context, l *net.UnixListener) error {
	c, err := accept(ctx, l)
	if err != nil {
		return errors.Join(err, s.fn.dev.Close())
	}
	return s.Serve(ctx, c)
}

// Listen makes a Unix socket that only this user can connect to. A socket that an
// earlier run left at path is replaced; anything else there is an error.
func Listen(path string) (*net.UnixListener, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("vfiouser: replace old socket: %w", err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("vfiouser: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("vfiouser: %w", err)
	}
	return l, nil
}

// accept waits for the only client, and closes and removes the socket.
func accept(ctx context.Context, l *net.UnixListener) (*net.UnixConn, error) {
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	c, err := l.AcceptUnix()
	if ctx.Err() != nil {
		if err == nil {
			c.Close()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("vfiouser: accept: %w", err)
	}
	return c, nil
}

// Spare is the spare word at off, which is as in the BAR. It is 0 where there is
// none.
func (s *Server) Spare(off uint32) uint32 {
	if w := s.fn.spareWord(0, off); w != nil {
		return w.Load()
	}
	return 0
}

// Stats are the counts of the session so far. It may be called from any
// goroutine.
func (s *Server) Stats() vfu.Stats { return s.vfu.Stats() }
