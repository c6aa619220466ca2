package dwmac4

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// memoryRegisters is a register window of plain memory: a doorbell costs a store.
type memoryRegisters [gmac4.WindowSize / 4]uint32

func (r *memoryRegisters) Read32(off uint32) uint32     { return r[off/4] }
func (r *memoryRegisters) Write32(off uint32, v uint32) { r[off/4] = v }

// BenchmarkForward forwards 64-byte frames from a receive ring to a transmit ring
// of GMAC4 descriptors: harvest, touch one byte, gather into the transmit arena,
// doorbell, refill, doorbell, and reaping as it falls due. The device is not
// there: descriptors are completed by hand between rounds, outside of the
// timing. So this is the CPU's part, without bus and caches of a board.
func BenchmarkForward(b *testing.B) {
	for _, batch := range []int{1, 8, 32, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) { forward(b, batch) })
	}
}

func forward(b *testing.B, batch int) {
	// The transmit ring takes more than a round, since frames after the last mark
	// stay in it.
	const slots, txSlots, size = 512, 1024, 64
	regs := new(memoryRegisters)
	memory := func(n int) pagepool.Memory { return pagepool.NewHeap(n, 1<<20) }
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	rxMem, txMem := memory(slots*dwregs.DescriptorSize), memory(txSlots*dwregs.DescriptorSize)
	rxCodec, err := dwmac.NewRXRing("dwmac4", regs, rxMem, slots, maxSlots, 2048, gmac4.ChanBase(0)+gmac4.ChanRxTail, gmac4.RDES3OWN|gmac4.RDES3BUF1V, false)
	must(err)
	txCodec, err := dwmac.NewTXRing("dwmac4", regs, txMem, txSlots, maxSlots, gmac4.ChanBase(0)+gmac4.ChanTxTail)
	must(err)
	pool, err := pagepool.New(memory(1024*2048), pagepool.Config{PageSize: 2048, CopyBreak: pagepool.CopyAlways})
	must(err)
	rx, err := ring.NewRX(ring.RXConfig{
		Codec: &rxRing{RXRing: rxCodec}, Pool: pool, Slots: slots, Reserve: dwmac.Reserve,
		BufferSize: 2048, MaxFrame: 1522, TotalLength: true,
	})
	must(err)
	tx, err := ring.NewTX(ring.TXConfig{
		Codec: txCodec, Arena: memory(1 << 20), Slots: txSlots, Reserve: dwmac.Reserve,
		MaxPiece: dwmac.MaxPiece, MarkFrames: 32,
	})
	must(err)

	// What the device would write.
	rxWords, err := ring.NewWords(rxMem)
	must(err)
	txWords, err := ring.NewWords(txMem)
	must(err)
	const done = gmac4.RDES3FD | gmac4.RDES3LD | (size + 4)
	complete := func() {
		for i := range slots {
			if rxWords.Load(i*4+3)&gmac4.RDES3OWN != 0 {
				rxWords.Store(i*4+3, done)
			}
		}
		for i := range txSlots {
			txWords.Store(i*4+3, 0)
		}
	}
	frames := make([]ring.Frame, batch)
	var rounds []float64 // ns per frame
	forwarded := 0
	rx.Refill()
	for forwarded < b.N {
		complete()
		round := 0
		start := time.Now()
		for {
			n := rx.Harvest(frames)
			for i := range frames[:n] {
				p := &frames[i].Pieces[0]
				data := pool.Bytes(p.Page)[p.Off : p.Off+p.Len]
				data[0]++
				copy(tx.Reserve(len(data)), data)
				tx.Commit(ring.TXFrame{})
				pool.Recycle(p.Page)
			}
			tx.Flush()
			round += n
			if n < batch {
				break
			}
		}
		rx.Refill()
		rounds = append(rounds, float64(time.Since(start).Nanoseconds())/float64(round))
		forwarded += round
	}
	slices.Sort(rounds)
	b.ReportMetric(rounds[len(rounds)/2], "ns/frame") // median of rounds of 511 frames
	b.ReportMetric(0, "ns/op")
}
