package ring_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// fastCodec completes at once whatever it is asked about, so that what is
// measured is the ring.
type fastCodec struct{ slots int }

func (fastCodec) Post(int, []ring.Buffer) {}
func (fastCodec) Kick(int)                {}
func (fastCodec) Reset()                  {}

func (fastCodec) Harvest(_ int, out []ring.Completion) int {
	for i := range out {
		out[i] = ring.Completion{Len: 64, Trim: 4, Flags: ring.First | ring.Last}
	}
	return len(out)
}

func (fastCodec) Fill(_ int, frames []ring.TXFrame) {
	for i := range frames {
		frames[i].Slots = 1
	}
}

func (c fastCodec) Done(from, mark, _ int) int { return (mark-from+c.slots)%c.slots + 1 }

func newFastRX(t testing.TB) (*ring.RX, *pagepool.Pool) {
	pool, err := pagepool.New(pagepool.NewHeap(1024*2048, rxBase), pagepool.Config{PageSize: 2048, CopyBreak: pagepool.CopyAlways})
	require.NoError(t, err)
	rx, err := ring.NewRX(ring.RXConfig{Codec: fastCodec{}, Pool: pool, Slots: 512, BufferSize: 2048, MaxFrame: rxMaxFrame, TotalLength: true})
	require.NoError(t, err)
	rx.Refill()
	return rx, pool
}

func newFastTX(t testing.TB) *ring.TX {
	tx, err := ring.NewTX(ring.TXConfig{
		Codec: fastCodec{512}, Arena: pagepool.NewHeap(512*1536, txBase), Slots: 512, MaxPiece: 2048, MarkFrames: 32,
	})
	require.NoError(t, err)
	return tx
}

// pollRX is a pass of a poll loop that drops what it gets.
func pollRX(rx *ring.RX, pool *pagepool.Pool, frames []ring.Frame) int {
	n := rx.Harvest(frames)
	for i := range frames[:n] {
		for _, p := range frames[i].Pieces {
			pool.Recycle(p.Page)
		}
	}
	rx.Refill()
	return n
}

// sendTX sends a batch of short frames with one doorbell.
func sendTX(tx *ring.TX, batch int) {
	for range batch {
		clear(tx.Reserve(60))
		tx.Commit(ring.TXFrame{Checksum: ring.ChecksumFull})
	}
	tx.Flush()
}

func TestNothingIsAllocatedPerFrame(t *testing.T) {
	rx, pool := newFastRX(t)
	frames := make([]ring.Frame, 64)
	require.Zero(t, testing.AllocsPerRun(1000, func() { pollRX(rx, pool, frames) }), "receive")
	tx := newFastTX(t)
	require.Zero(t, testing.AllocsPerRun(1000, func() { sendTX(tx, 64) }), "transmit")
	require.Zero(t, tx.Stats().Full)
}

// longFrames completes frames of five buffers each.
type longFrames struct {
	fastCodec
	at int
}

func (c *longFrames) Harvest(_ int, out []ring.Completion) int {
	n := min(len(out), 7) // so that frames are cut
	for i := range out[:n] {
		out[i] = ring.Completion{Len: rxBuffer, Flags: [...]ring.Flags{ring.First, 0, 0, 0, ring.Last}[c.at%5]}
		c.at++
	}
	return n
}

func TestNothingIsAllocatedForFramesOfManyBuffers(t *testing.T) {
	r := newRXRig(t, rxOptions{slots: 64, pages: 128})
	rx, err := ring.NewRX(ring.RXConfig{
		Codec: &longFrames{}, Pool: r.pool, Slots: 64, Headroom: rxHeadroom, BufferSize: rxBuffer, MaxFrame: rxMaxFrame,
	})
	require.NoError(t, err)
	rx.Refill()
	frames := make([]ring.Frame, 8)
	require.Zero(t, testing.AllocsPerRun(500, func() { pollRX(rx, r.pool, frames) }))
	require.Zero(t, rx.Stats().Dropped())
	require.Greater(t, rx.Stats().Frames, uint64(500))
}

func BenchmarkRX(b *testing.B) {
	for _, batch := range []int{1, 8, 32, 64} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			rx, pool := newFastRX(b)
			frames := make([]ring.Frame, batch)
			b.ReportAllocs()
			for n := 0; n < b.N; {
				n += pollRX(rx, pool, frames)
			}
		})
	}
}

func BenchmarkTX(b *testing.B) {
	for _, batch := range []int{1, 8, 32, 64} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			tx := newFastTX(b)
			b.ReportAllocs()
			for n := 0; n < b.N; n += batch {
				sendTX(tx, batch)
			}
		})
	}
}
