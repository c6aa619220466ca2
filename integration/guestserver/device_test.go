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
	*dwmac4.Model
	mem sim.DMA

	granted, refused atomic.Int64
	stray            atomic.Uint64 // device address of the next write of a frame; 0: where it belongs
	strayed          atomic.Bool   // such a write has been let through
}

func newDevice(c dwmac4.Config) *device { return &device{Model: dwmac4.New(c)} }

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
func (d *device) port() sim.Port { return slow{d.Model.Port().(sim.LinkPort)} }

// transmitted is how many frames the device has sent.
func (d *device) transmitted() (n uint64) {
	for _, k := range d.Stats().TX {
		n += k
	}
	return n
}

// Connect implements sim.Device.
func (d *device) Connect(mem sim.DMA, irq func(level bool)) {
	d.mem = mem
	d.Model.Connect(d, irq)
}

// descriptorSize is that of the core, in bytes: longer writes are of frames.
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
