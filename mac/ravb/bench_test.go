package ravb

import (
	"testing"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// The codecs alone, on ordinary memory, in nanoseconds per descriptor.

func BenchmarkRX(b *testing.B) {
	d, err := newDescRing(pagepool.NewHeap(64*etheravb.ExtendedSize+extraBytes, 0x1000_0000), 64, etheravb.ExtendedSize)
	if err != nil {
		b.Fatal(err)
	}
	r := &rxRing{descRing: d, bufferSize: 2048, trailer: etheravb.SumTrailer}
	bufs, out := make([]ring.Buffer, 32), make([]ring.Completion, 32)
	b.ReportAllocs()
	for i := 0; i < b.N; i += 32 {
		r.Post(0, bufs)
		for s := range 32 {
			d.words.Publish(s*d.stride, 0x7000_05EC)
		}
		if r.Harvest(0, out) != 32 || out[31].Flags&ring.Trailer == 0 {
			b.Fatal("not harvested")
		}
	}
}

func BenchmarkTX(b *testing.B) {
	c, err := NewRCar(&fakeBus{regs: constant{csr: 1}})
	if err != nil {
		b.Fatal(err)
	}
	x, err := c.NewTX(0, pagepool.NewHeap(c.info.Ring.TXBytes(64), 0x1000_0000), 64)
	if err != nil {
		b.Fatal(err)
	}
	frames := make([]ring.TXFrame, 32)
	for i := range frames {
		frames[i] = ring.TXFrame{Addr: 0x1000, Len: 1514}
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += 32 {
		x.Fill(0, frames)
		x.Done(0, 31, 32)
	}
}

// BenchmarkJudge is the verdict on one frame from R-Car's sum.
func BenchmarkJudge(b *testing.B) {
	head := make([]byte, 1514)
	copy(head[12:], []byte{8, 0, 0x45, 0, 5, 0xDC, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1})
	check := ^fold(add(0, head[14:34]))
	head[24], head[25] = byte(check>>8), byte(check)
	b.ReportAllocs()
	for range b.N {
		if judgeSum(head, len(head), 0x1234) != ring.ChecksumBad {
			b.Fatal("no verdict")
		}
	}
}
