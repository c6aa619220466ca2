package ring_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// pooledCodec is a device that keeps its buffers in a heap and fills any of
// them.
type pooledCodec struct {
	fastCodec
	given []uint64
	done  []ring.Completion
}

func (c *pooledCodec) Post(_ int, bufs []ring.Buffer) {
	for _, b := range bufs {
		c.given = append(c.given, b.Addr)
	}
}

func (c *pooledCodec) Harvest(_ int, out []ring.Completion) int {
	n := copy(out, c.done)
	c.done = c.done[n:]
	return n
}

// fill completes a frame in one buffer.
func (c *pooledCodec) fill(addr uint64, flags ring.Flags) {
	c.done = append(c.done, ring.Completion{Addr: addr, Len: 100, Flags: flags})
}

const pooledHeadroom, pooledSlots, pooledPages = 64, 8, 12

func newPooled(t testing.TB) (*ring.RX, *pooledCodec, *pagepool.Pool) {
	pool, err := pagepool.New(pagepool.NewHeap(pooledPages*2048, rxBase), pagepool.Config{PageSize: 2048, CopyBreak: pagepool.LendAlways, Poison: true})
	require.NoError(t, err)
	codec := &pooledCodec{fastCodec: fastCodec{pooledSlots}}
	rx, err := ring.NewRX(ring.RXConfig{
		Codec: codec, Pool: pool, Slots: pooledSlots, Headroom: pooledHeadroom, BufferSize: 2048 - pooledHeadroom, MaxFrame: rxMaxFrame, Pooled: true,
	})
	require.NoError(t, err)
	require.True(t, rx.Refill())
	return rx, codec, pool
}

// Buffers come back in any order; the frame is in the one that the device names.
func TestRXPooledBuffersInAnyOrder(t *testing.T) {
	rx, codec, pool := newPooled(t)
	frames := make([]ring.Frame, pooledSlots)
	random := uint32(1)
	for range 200 {
		require.Len(t, codec.given, pooledSlots)
		var want []pagepool.Page
		for range 5 {
			random = random*1664525 + 1013904223
			i := int(random>>16) % len(codec.given)
			addr := codec.given[i]
			codec.given = append(codec.given[:i], codec.given[i+1:]...)
			codec.fill(addr, ring.First|ring.Last)
			want = append(want, pagepool.Page((addr-rxBase)/2048))
		}
		require.Equal(t, 5, rx.Harvest(frames))
		for i, f := range frames[:5] {
			require.Equal(t, []ring.Piece{{Page: want[i], Off: pooledHeadroom, Len: 100}}, f.Pieces)
			pool.Recycle(f.Pieces[0].Page)
		}
		rx.Refill()
		require.NoError(t, pool.Check())
	}
	require.Zero(t, rx.Stats().Dropped())
}

// What the device says is checked: an address it was not given is never used.
func TestRXPooledBuffersThatAreNotTheDevices(t *testing.T) {
	rx, codec, pool := newPooled(t)
	frames := make([]ring.Frame, pooledSlots)
	one := codec.given[0]
	bad := []uint64{0, one + 1, one + 2048*pooledPages, one - pooledHeadroom, rxBase - 2048, rxBase + 2048*(pooledPages-1) + pooledHeadroom, ^uint64(0)}
	for i, addr := range bad {
		codec.fill(addr, ring.First|ring.Last)
		require.Zero(t, rx.Harvest(frames), "%#x", addr)
		require.Equal(t, uint64(i+1), rx.Stats().UnknownBuffer, "%#x", addr)
		require.Equal(t, pooledSlots-i-1, rx.Posted(), "its slot is empty")
		require.Equal(t, pooledSlots, pool.Stats().Posted, "whichever buffer it was stays posted")
	}
	codec.fill(one, ring.First|ring.Last)
	require.Equal(t, 1, rx.Harvest(frames), "a right one behind them")
	page := frames[0].Pieces[0].Page
	codec.given = nil
	require.False(t, rx.Refill(), "seven pages are lost for now")
	rx.Reset()
	require.Equal(t, 1, pool.Stats().Held)
	require.Equal(t, pooledPages-1, pool.Stats().Free, "the reset brings them back")
	pool.Recycle(page)
	require.NoError(t, pool.Check())
}

// The second completion of one buffer is a double, wherever its page is now.
func TestRXPooledDoubleBuffer(t *testing.T) {
	rx, codec, pool := newPooled(t)
	frames := make([]ring.Frame, pooledSlots)
	one := codec.given[0]
	codec.fill(one, ring.First|ring.Last)
	codec.fill(one, ring.First|ring.Last)
	require.Equal(t, 1, rx.Harvest(frames), "held")
	require.Equal(t, uint64(1), rx.Stats().UnknownBuffer)
	f := frames[0].Pieces[0]
	view, ok := pool.Lend(f.Page, int(f.Off), int(f.Len))
	require.True(t, ok, pool.CanLend())
	codec.fill(one, ring.First|ring.Last)
	require.Zero(t, rx.Harvest(frames), "lent")
	require.Equal(t, uint64(2), rx.Stats().UnknownBuffer)
	view.Release()
	pool.ReclaimAll()
	codec.fill(one, ring.First|ring.Last)
	require.Zero(t, rx.Harvest(frames), "free")
	require.Equal(t, uint64(3), rx.Stats().UnknownBuffer)
	require.NoError(t, pool.Check())
}

// A frame over several buffers is lost with any of them, and counted once.
func TestRXPooledUnknownBufferInsideAFrame(t *testing.T) {
	for bad := range 3 {
		rx, codec, pool := newPooled(t)
		frames := make([]ring.Frame, pooledSlots)
		for i, flags := range []ring.Flags{ring.First, 0, ring.Last} {
			addr := codec.given[i]
			if i == bad {
				addr = 1
			}
			codec.fill(addr, flags)
		}
		codec.fill(codec.given[4], ring.First|ring.Last)
		require.Equal(t, 1, rx.Harvest(frames), "the frame behind it")
		require.Equal(t, uint64(1), rx.Stats().UnknownBuffer)
		require.Equal(t, uint64(1), rx.Stats().Dropped())
		require.Zero(t, rx.Assembling())
		pool.Recycle(frames[0].Pieces[0].Page)
		require.NoError(t, pool.Check())
	}
}
