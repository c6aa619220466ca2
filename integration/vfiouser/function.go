//go:build linux

package vfiouser

import (
	"encoding/binary"
	"errors"
	"math/bits"
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
	bars   []sim.Window    // the model's registers by BAR
	spare  []atomic.Uint32 // above those of BAR 0
	host   *vfu.Host
	high   atomic.Uint32 // the interrupt lines
	closed error
}

var (
	_ vfu.Device = (*function)(nil)
	_ sim.DMA    = (*vfu.Host)(nil)
)

func (f *function) Config() vfu.Config {
	o := &f.opts
	c := vfu.Config{
		Vendor: o.Vendor, Device: o.Device, Class: 0x020000,
		BARs: [6]uint64{uint64(o.BARSize)}, InterruptPin: 1, MSIVectors: o.MSIVectors,
	}
	for i := 1; i < len(f.bars); i++ {
		c.BARs[i] = uint64(max(minBAR, powerOfTwo(int(f.bars[i].Size))))
	}
	return c
}

func (f *function) Attach(h *vfu.Host) {
	f.host = h
	var mem sim.DMA = h
	if f.opts.MasterOnly {
		mem = masterDMA{h}
	}
	if m, ok := f.dev.(sim.MultiLine); ok && m.Lines() <= f.opts.MSIVectors {
		m.ConnectLines(mem, f.interrupt)
		return
	}
	f.dev.Connect(mem, func(level bool) { f.interrupt(0, level) })
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

// interrupt follows one of the model's lines. The model's lock is held.
func (f *function) interrupt(line int, level bool) {
	bit := uint32(1) << line
	if level {
		f.high.Or(bit)
	} else {
		f.high.And(^bit)
	}
	f.host.SetINTx(f.high.Load() != 0)
	if level {
		f.host.SendMSI(line)
	}
}

func (f *function) ReadBAR(bar int, off uint64, p []byte) {
	var word [4]byte
	for len(p) > 0 {
		binary.LittleEndian.PutUint32(word[:], f.read(bar, uint32(off)&^3))
		n := copy(p, word[off&3:])
		p, off = p[n:], off+uint64(n)
	}
}

func (f *function) WriteBAR(bar int, off uint64, p []byte) {
	var word [4]byte
	for len(p) > 0 {
		at := uint32(off) &^ 3
		if off&3 != 0 || len(p) < 4 {
			binary.LittleEndian.PutUint32(word[:], f.read(bar, at))
		}
		n := copy(word[off&3:], p)
		f.write(bar, at, binary.LittleEndian.Uint32(word[:]))
		p, off = p[n:], off+uint64(n)
	}
}

// spareWord is the spare word at off of a BAR, or nil.
func (f *function) spareWord(bar int, off uint32) *atomic.Uint32 {
	if i := uint64(off-f.bars[0].Size) / 4; bar == 0 && off >= f.bars[0].Size && i < uint64(len(f.spare)) {
		return &f.spare[i]
	}
	return nil
}

func (f *function) read(bar int, off uint32) (v uint32) {
	if b := f.bars[bar]; off < b.Size {
		off += b.Offset
		v = f.dev.Read32(off)
	} else if w := f.spareWord(bar, off); w != nil {
		v = w.Load()
	}
	if f.opts.Trace != nil {
		f.opts.Trace(Access{Off: off, Value: v})
	}
	return v
}

func (f *function) write(bar int, off, v uint32) {
	b := f.bars[bar]
	inside := off < b.Size
	w := f.spareWord(bar, off)
	if inside {
		off += b.Offset
	}
	if f.opts.Trace != nil {
		f.opts.Trace(Access{Write: true, Off: off, Value: v})
	}
	if !inside {
		if w != nil {
			w.Store(v)
		}
		return
	}
	f.dev.Write32(off, v)
	for high := f.high.Load(); high != 0; high &= high - 1 {
		f.host.SendMSI(bits.TrailingZeros32(high))
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
