//go:build linux

package linux

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// probe is a dwmac4 whose descriptor reads are watched.
type probe struct {
	*dwmac4.Model
	mem sim.DMA

	// Descriptors that the model has taken over, and those with the request for
	// an interrupt at completion; transmit ones that end a frame only.
	rx, rxIOC, tx, txIOC atomic.Int64
}

func newProbe(config dwmac4.Config) *probe { return &probe{Model: dwmac4.New(config)} }

// Connect implements sim.Device.
func (p *probe) Connect(mem sim.DMA, irq func(level bool)) {
	p.mem = mem
	p.Model.Connect(p, irq)
}

// Slice implements sim.DMA.
func (p *probe) Slice(addr uint64, n int, write bool) ([]byte, error) {
	b, err := p.mem.Slice(addr, n, write)
	if err == nil && !write && n == descriptorSize {
		p.descriptor(uint32(addr), b)
	}
	return b, err
}

// descriptor counts one that is read. The model reads those that it does not own
// too, and a frame in a buffer of 16 bytes is none.
func (p *probe) descriptor(addr uint32, b []byte) {
	w, ok := sim.Words(b)
	if !ok {
		return
	}
	d2, d3 := w[2], atomic.LoadUint32(&w[3])
	if d3&descOWN == 0 {
		return
	}
	switch {
	case p.inRing(addr, dmaRxList, dmaRxRingLen):
		p.rx.Add(1)
		if d3&rdes3IOC != 0 {
			p.rxIOC.Add(1)
		}
	case p.inRing(addr, dmaTxList, dmaTxRingLen) && d3&(descCTXT|tdes3LD) == tdes3LD:
		p.tx.Add(1)
		if d2&tdes2IOC != 0 {
			p.txIOC.Add(1)
		}
	}
}

// inRing looks at channel 0 only.
func (p *probe) inRing(addr, list, length uint32) bool {
	base := p.Read32(list)
	return addr-base < (p.Read32(length)+1)*descriptorSize
}
