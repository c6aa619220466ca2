//go:build linux

package guestserver

import (
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// device is a model whose accesses to the guest's memory are counted, and can be
// led astray.
type device struct {
	sim.Model
	mem sim.DMA

	granted, refused atomic.Int64
	stray            atomic.Uint64 // device address of the next write of a frame; 0: where it belongs
	strayed          atomic.Bool   // such a write has been let through
}

func newDevice(m sim.Model) *device { return &device{Model: m} }

// fast is the wire that the device is on.
var fast = mac.Link{Up: true, Speed: 100, FullDuplex: true}

// slow is the device's port at the speed of fast, with which an emulated guest
// keeps up: without, TCP would be busy with what the FIFO cannot hold.
type slow struct{ sim.LinkPort }

// Deliver implements sim.Port.
func (p slow) Deliver(frame []byte) {
	time.Sleep(time.Duration(len(frame)*8*1000/fast.Speed) * time.Nanosecond)
	p.LinkPort.Deliver(frame)
}

// port is the device's socket for a cable.
func (d *device) port() sim.Port { return slow{d.Model} }

// Windows implements sim.Windowed, whether or not the model does.
func (d *device) Windows() []sim.Window {
	if w, ok := d.Model.(sim.Windowed); ok {
		return w.Windows()
	}
	return []sim.Window{{Size: uint32(d.WindowSize())}}
}

// Quiesce waits until the accesses to memory that the model has begun are over, as
// far as it can.
func (d *device) Quiesce() {
	if q, ok := d.Model.(interface{ Quiesce() }); ok {
		q.Quiesce()
	}
}

// stats are the counts of a dwmac4.
func (d *device) stats() dwmac4.Stats { return d.Model.(*dwmac4.Model).Stats() }

// transmitted is how many frames a dwmac4 has sent.
func (d *device) transmitted() (n uint64) {
	for _, k := range d.stats().TX {
		n += k
	}
	return n
}

// Connect implements sim.Device.
func (d *device) Connect(mem sim.DMA, irq func(level bool)) {
	d.mem = mem
	d.Model.Connect(d, irq)
}

// descriptorSize is that of dwmac4, in bytes: longer writes are of frames.
const descriptorSize = 16

// Slice implements sim.DMA.
func (d *device) Slice(addr uint64, n int, write bool) ([]byte, error) {
	bad := uint64(0)
	if write && n > descriptorSize {
		bad = d.stray.Swap(0)
	}
	if bad != 0 {
		addr = bad
	}
	b, err := d.mem.Slice(addr, n, write)
	if err != nil {
		d.refused.Add(1)
		return nil, err
	}
	d.granted.Add(1)
	if bad != 0 {
		d.strayed.Store(true)
	}
	return b, nil
}
