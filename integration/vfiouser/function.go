//go:build linux

package vfiouser

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/barewire/barewire/integration/vfiouser/vfu"
	"github.com/barewire/barewire/mac/sim"
)

// Access is one access to the registers or spare words of the BAR.
type Access struct {
	Write bool
	Off   uint32
	Value uint32
}

// quiescer is implemented by models that can wait until the accesses to memory
// that they have begun are over.
type quiescer interface{ Quiesce() }

// function is a model as a PCI function. Its vfu.Device methods are called by the
// session's goroutine, memory and interrupt by the model's.
type function struct {
	dev    sim.Device
	opts   Options
	window uint32
	spare  []atomic.Uint32
	host   *vfu.Host
	high   atomic.Bool // the interrupt line
	closed error
}

var (
	_ vfu.Device = (*function)(nil)
	_ sim.DMA    = (*vfu.Host)(nil)
)

func (f *function) Config() vfu.Config {
	o := &f.opts
	return vfu.Config{
		Vendor: o.Vendor, Device: o.Device, Class: 0x020000,
		BARs: [6]uint64{uint64(o.BARSize)}, InterruptPin: 1, MSIVectors: o.MSIVectors,
	}
}

func (f *function) Attach(h *vfu.Host) {
	f.host = h
	var mem sim.DMA = h
	if f.opts.MasterOnly {
		mem = masterDMA{h}
	}
	f.dev.Connect(mem, f.interrupt)
}

// masterDMA is the memory of a bus master.
type masterDMA struct{ host *vfu.Host }

var errNoMaster = errors.New("vfiouser: the function is not a bus master")

// Slice implements sim.DMA.
func (d masterDMA) Slice(addr uint64, n int, write bool) ([]byte, error) {
	if !d.host.BusMaster() {
		return nil, errNoMaster
	}
	return d.host.Slice(addr, n, write)
}

// interrupt follows the model's line. The model's lock is held.
func (f *function) interrupt(level bool) {
	f.high.Store(level)
	f.host.SetINTx(level)
	if level {
		f.host.SendMSI(0)
	}
}

func (f *function) ReadBAR(_ int, off uint64, p []byte) {
	var word [4]byte
	for len(p) > 0 {
		binary.LittleEndian.PutUint32(word[:], f.read(uint32(off)&^3))
		n := copy(p, word[off&3:])
		p, off = p[n:], off+uint64(n)
	}
}

func (f *function) WriteBAR(_ int, off uint64, p []byte) {
	var word [4]byte
	for len(p) > 0 {
		at := uint32(off) &^ 3
		if off&3 != 0 || len(p) < 4 {
			binary.LittleEndian.PutUint32(word[:], f.read(at))
		}
		n := copy(word[off&3:], p)
		f.write(at, binary.LittleEndian.Uint32(word[:]))
		p, off = p[n:], off+uint64(n)
	}
}

func (f *function) read(off uint32) (v uint32) {
	if off < f.window {
		v = f.dev.Read32(off)
	} else {
		v = f.spare[(off-f.window)/4].Load()
	}
	if f.opts.Trace != nil {
		f.opts.Trace(Access{Off: off, Value: v})
	}
	return v
}

func (f *function) write(off, v uint32) {
	if f.opts.Trace != nil {
		f.opts.Trace(Access{Write: true, Off: off, Value: v})
	}
	if off >= f.window {
		f.spare[(off-f.window)/4].Store(v)
		return
	}
	f.dev.Write32(off, v)
	if f.high.Load() {
		f.host.SendMSI(0)
	}
}

func (f *function) Reset() {
	for i := range f.spare {
		f.spare[i].Store(0)
	}
	if f.opts.Reset != nil {
		f.opts.Reset()
	}
}

func (f *function) Quiesce() {
	if q, ok := f.dev.(quiescer); ok {
		q.Quiesce()
	}
}

func (f *function) Detach() { f.closed = f.dev.Close() }
