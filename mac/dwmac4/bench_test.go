package dwmac4

import (
	"testing"

	"github.com/barewire/barewire/mac/internal/dwmac/dwtest"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// The codecs alone, on ordinary memory, in nanoseconds per descriptor.

func BenchmarkRX(b *testing.B) {
	c, err := New(&fakeBus{regs: newRegs(0x1051)})
	if err != nil {
		b.Fatal(err)
	}
	mem := pagepool.NewHeap(64*dwregs.DescriptorSize, dwtest.RingAddr)
	r, err := c.NewRX(0, mem, 64, 2048)
	if err != nil {
		b.Fatal(err)
	}
	r.(*rxRing).checksum = true
	device, err := ring.NewWords(mem)
	if err != nil {
		b.Fatal(err)
	}
	bufs, out := make([]ring.Buffer, 32), make([]ring.Completion, 32)
	for i := 0; i < b.N; i += 32 {
		r.Post(0, bufs)
		for s := range 32 {
			device.Store(4*s+1, 0x12)
			device.Publish(4*s+3, 0x340105EE)
		}
		if r.Harvest(0, out) != 32 || out[31].Flags&ring.ChecksumGood == 0 {
			b.Fatal("not harvested")
		}
	}
}

func BenchmarkTX(b *testing.B) {
	c, err := New(&fakeBus{regs: newRegs(0x1051)})
	if err != nil {
		b.Fatal(err)
	}
	x, err := c.NewTX(0, pagepool.NewHeap(64*dwregs.DescriptorSize, dwtest.RingAddr), 64)
	if err != nil {
		b.Fatal(err)
	}
	frames := make([]ring.TXFrame, 32)
	for i := range frames {
		frames[i] = ring.TXFrame{Addr: 0x1000, Len: 1514, Checksum: ring.ChecksumFull}
	}
	for i := 0; i < b.N; i += 32 {
		x.Fill(0, frames)
		x.Done(0, 31, 32)
	}
}
