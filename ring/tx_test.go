package ring_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

func TestTXSendsFramesOfEveryLength(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 16, arena: 4096})
	require.Equal(t, 16*txPiece, r.tx.MaxFrame())
	for n := 1; n <= r.tx.MaxFrame(); n++ {
		for !r.put(n) {
			r.tx.Flush()
			require.Equal(t, 1, r.dev.transmit(1), "refused with nothing in flight")
		}
		r.tx.Flush()
	}
	r.drain()
	r.arrived()
	for i, b := range r.dev.sent {
		require.Len(t, b, i+1)
	}
	s := r.tx.Stats()
	require.EqualValues(t, 4096, s.Frames)
	require.EqualValues(t, 4096*4097/2, s.Bytes)
}

func TestTXFillsShortFramesUp(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 4, arena: 4096, min: 60})
	for i := range 3 { // what the arena held before does not show
		for n := 1; n <= 70; n++ {
			b := r.reserve(n)
			for k := range b {
				b[k] = 0xAA
			}
			r.tx.Commit(ring.TXFrame{})
			r.drain()
			want := make([]byte, max(n, 60))
			copy(want, b)
			require.Equal(t, want, r.dev.sent[i*70+n-1])
		}
	}
	require.EqualValues(t, 3*(60*60+(61+70)*5), r.tx.Stats().Bytes)
}

func TestTXRefusesLengthsItCanNeverTake(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 4, arena: 1000}) // 960 bytes of it are whole lines
	require.Equal(t, 960, r.tx.MaxFrame())
	for _, n := range []int{-1, 0, 961, math.MaxInt32} {
		require.Nil(t, r.tx.Reserve(n))
	}
	require.Zero(t, r.tx.Stats().Full, "nothing to wait for")
	require.True(t, r.put(960))
	r.drain()
	r.arrived()

	r = newTXRig(t, txOptions{slots: 4, reserve: 1, context: 1, arena: 1 << 16})
	require.Equal(t, 2*txPiece, r.tx.MaxFrame())
}

func TestTXSlotsOfAFrame(t *testing.T) {
	for _, piece := range []int{256, 2048, 8188} {
		r := newTXRig(t, txOptions{slots: 64, arena: 1 << 20, piece: piece})
		for _, tc := range []struct{ n, want int }{
			{1, 1}, {piece - 1, 1}, {piece, 1}, {piece + 1, 2}, {2*piece - 1, 2}, {2 * piece, 2}, {2*piece + 1, 3}, {3 * piece, 3},
		} {
			require.Equal(t, tc.want, r.tx.Slots(tc.n))
			require.True(t, r.put(tc.n))
			r.tx.Flush()
			require.Equal(t, tc.want, r.tx.InUse())
			r.drain()
		}
		r.arrived()
	}
}

// The ring takes as many slots as the hardware can tell from an empty ring, sends
// all of them, and takes as many again.
func TestTXFillsUpAndStartsAgain(t *testing.T) {
	for _, slots := range []int{2, 3, 4, 5, 7, 8, 12, 1000} {
		for reserve := range 2 {
			t.Run(fmt.Sprintf("%d slots, %d reserved", slots, reserve), func(t *testing.T) {
				r := newTXRig(t, txOptions{slots: slots, reserve: reserve})
				rounds := 1000
				if slots == 1000 {
					rounds = 10
				}
				for round := range rounds {
					taken := 0
					for r.put(60) {
						taken++
					}
					require.Equal(t, slots-reserve, taken)
					require.Equal(t, slots-reserve, r.tx.Capacity())
					require.EqualValues(t, round+1, r.tx.Stats().Full)
					r.tx.Flush()
					require.Equal(t, taken, r.dev.transmit(slots))
					for r.tx.Reap() > 0 {
					}
					require.Zero(t, r.tx.InUse())
				}
				r.arrived()
			})
		}
	}
}

func TestTXOddRingsWithRandomCompletions(t *testing.T) {
	for _, slots := range []int{2, 3, 5, 7, 12, 1000} {
		for _, counter := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d slots, counter %v", slots, counter), func(t *testing.T) {
				rnd := rxDevice{junk: uint32(slots)}
				o := txOptions{slots: slots, arena: 256 * slots}
				if counter {
					o.counter = func(done int) int { return done - int(rnd.random()>>16)%(done+1) }
				}
				r := newTXRig(t, o)
				for r.n < 10_000 {
					n := 1 + int(rnd.random()>>16)%250
					if !r.put(n) {
						r.tx.Flush()
					}
					if rnd.random()>>16%4 == 0 {
						r.tx.Flush()
						r.dev.transmit(int(rnd.random()>>16) % (slots + 1))
					}
				}
				r.tx.Flush()
				r.dev.transmit(slots)
				r.arrived()
			})
		}
	}
}

// Slots that the device is done with and that were not reaped are not free; the
// device fails the test when one is filled.
func TestTXNeverOverwritesASlotInUse(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 4})
	for range 4 {
		require.True(t, r.put(60))
	}
	r.tx.Flush()
	for range 20 {
		require.False(t, r.put(60))
	}
	r.dev.transmit(2)
	require.True(t, r.put(60))
	require.True(t, r.put(60))
	require.False(t, r.put(60))
	r.drain()
	r.arrived()
	require.EqualValues(t, 21, r.tx.Stats().Full)
}

func TestTXArenaFitsExactly(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 64, arena: 1024})
	for range 3 {
		for range 4 {
			require.True(t, r.put(256))
		}
		require.False(t, r.put(1), "the arena is full to the last byte")
		r.tx.Flush()
		r.dev.transmit(4)
		for r.tx.Reap() > 0 {
		}
		require.True(t, r.put(1024), "and empty again")
		require.False(t, r.put(1))
		r.drain()
	}
	r.arrived()
}

// The arena wraps at every distance from its end, with every fill, for frames
// that fit there and that do not.
func TestTXArenaWrapsInEveryPhase(t *testing.T) {
	const lines = 8
	for before := 1; before <= lines; before++ {
		for sent := 0; sent <= before; sent++ {
			for next := 1; next <= lines; next++ {
				r := newTXRig(t, txOptions{slots: 64, arena: 64 * lines, marks: 1})
				for range before {
					require.True(t, r.put(64))
				}
				r.tx.Flush()
				r.dev.transmit(sent)
				for r.tx.Reap() > 0 {
				}
				end, front := lines-before, sent
				want := next <= end || next <= front || before == sent
				require.Equal(t, want, r.put(64*next), "%d lines used, %d of them sent, %d wanted", before, sent, next)
				for r.put(64) {
				}
				r.drain()
				require.True(t, r.put(64*lines))
				r.drain()
				r.arrived()
			}
		}
	}
}

// A frame that is reserved and not committed leaves nothing behind, also when it
// would have gone to the front of the arena.
func TestTXForgottenReserve(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 8, arena: 1024})
	for range 10 {
		require.NotNil(t, r.reserve(1024))
	}
	require.True(t, r.put(1024))
	r.drain()

	require.True(t, r.put(640))
	r.tx.Flush()
	require.Nil(t, r.reserve(1024))
	require.True(t, r.put(64))
	require.NotNil(t, r.reserve(300))
	r.drain()
	require.NotNil(t, r.reserve(64))
	require.True(t, r.put(1024), "the arena is empty")
	r.drain()

	for range 3 { // the frame at the end is followed by one at the front, forgotten
		require.True(t, r.put(256))
		require.True(t, r.put(512))
		r.tx.Flush()
		r.dev.transmit(1)
		for r.tx.Reap() > 0 {
		}
		require.Nil(t, r.reserve(320))
		require.True(t, r.put(256), "there is room at the end")
		require.NotNil(t, r.reserve(256), "there is room at the front")
		r.drain()
		require.True(t, r.put(1024))
		r.drain()
	}
	r.arrived()
}

func TestTXCommitWithoutReservePanics(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 4})
	require.PanicsWithValue(t, "ring: Commit without Reserve", func() { r.tx.Commit(ring.TXFrame{}) })
	require.True(t, r.put(60))
	require.Panics(t, func() { r.tx.Commit(ring.TXFrame{}) })
}

func TestTXOneDoorbellForEachFlush(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 512})
	r.tx.Flush()
	require.Zero(t, r.dev.kicks, "nothing was committed")
	for i, n := range []int{1, 2, 63, 64, 65, 200} {
		for range n {
			require.True(t, r.put(60))
		}
		require.Equal(t, i, r.dev.kicks)
		r.tx.Flush()
		require.Equal(t, i+1, r.dev.kicks, "%d frames", n)
		r.tx.Flush()
		require.Equal(t, i+1, r.dev.kicks)
		r.drain()
	}
	r.tx.Kick()
	require.Equal(t, 7, r.dev.kicks, "Kick always rings")
	require.EqualValues(t, 7, r.tx.Stats().Doorbells)
	r.arrived()
}

func TestTXPostLeavesTheDoorbellToFlush(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 32})
	for range 3 {
		require.True(t, r.put(60))
		r.tx.Post()
	}
	r.tx.Post()
	require.Zero(t, r.dev.kicks)
	require.Equal(t, 3, r.dev.unrung, "the device has them")
	r.tx.Flush()
	require.Equal(t, 1, r.dev.kicks)
	r.tx.Flush()
	require.Equal(t, 1, r.dev.kicks)
	r.drain()
	r.arrived()
}

func TestTXPassesOnWhatTheDeviceIsToDo(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 8, context: 2})
	r.reserve(100)
	want := ring.TXFrame{MSS: 40, HeaderLen: 54, L4HeaderLen: 20, Checksum: ring.ChecksumFull}
	f := want
	f.Addr, f.Len, f.Slots = 1, 2, 3 // not the caller's
	r.tx.Commit(f)
	require.Equal(t, 3, r.tx.InUse())
	r.tx.Flush()
	require.Equal(t, 3, r.tx.InUse(), "a piece and two for the context")
	want.Addr, want.Len, want.Slots, want.Interrupt = txBase, 100, 0, r.dev.slots[2].frame.Interrupt
	want.Data = r.dev.arena[:100]
	require.Equal(t, want.Addr, r.dev.slots[2].frame.Addr)
	got := r.dev.slots[2].frame
	got.Slots = 0
	require.Equal(t, want, got)
}

// Context slots that a frame did not need are free again when it is filled in.
func TestTXContextSlotsNotNeeded(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 8, context: 2})
	require.True(t, r.put(60))
	require.True(t, r.put(60))
	require.False(t, r.put(60), "each might take three")
	r.tx.Flush()
	require.Equal(t, 2, r.tx.InUse())
	for range 2 {
		require.True(t, r.put(60))
	}
	r.drain()
	r.arrived()
}

func TestTXResetForgetsAllFrames(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(r *txRig)
		lost int
	}{
		{"empty", func(*txRig) {}, 0},
		{"reserved", func(r *txRig) { r.reserve(100) }, 0},
		{"committed", func(r *txRig) { r.put(600); r.put(60) }, 2},
		{"posted", func(r *txRig) { r.put(600); r.put(60); r.tx.Post() }, 2},
		{"sent and not reaped", func(r *txRig) { r.put(600); r.tx.Flush(); r.dev.transmit(1) }, 1},
		{"sent and reaped", func(r *txRig) { r.put(600); r.drain() }, 0},
		{"some of each", func(r *txRig) {
			for range 3 {
				r.put(600)
			}
			r.drain()
			r.put(300)
			r.put(60)
			r.tx.Flush()
			r.put(60)
		}, 3},
		{"full", func(r *txRig) {
			for r.put(100) {
			}
			r.tx.Flush()
		}, 16},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTXRig(t, txOptions{slots: 16})
			tc.do(r)
			require.Equal(t, tc.lost, r.tx.Reset())
			require.Zero(t, r.tx.InUse())
			require.False(t, r.tx.Marked())
			require.Zero(t, r.tx.Reset(), "they are forgotten once")
			require.Panics(t, func() { r.tx.Commit(ring.TXFrame{}) })
			kicks := r.dev.kicks
			r.tx.Flush()
			require.Equal(t, kicks, r.dev.kicks, "nothing to ring for")
			r.n, r.dev.sent = 0, nil
			for range 50 {
				for !r.put(100) {
					r.tx.Flush()
					r.dev.transmit(16)
				}
			}
			r.drain()
			r.arrived()
		})
	}
}

func TestTXSyncsEachFrameForTheDevice(t *testing.T) {
	mem := &syncedMemory{Memory: pagepool.NewHeap(4096, txBase)}
	dev := &txDevice{t: t, arena: mem.Bytes(), piece: txPiece, slots: make([]txSlot, 8)}
	tx, err := ring.NewTX(ring.TXConfig{Codec: dev, Arena: mem, Slots: 8, MaxPiece: txPiece})
	require.NoError(t, err)
	for _, n := range []int{60, 300, 64} {
		require.NotNil(t, tx.Reserve(n))
		tx.Commit(ring.TXFrame{})
	}
	require.Equal(t, [][2]int{{0, 60}, {64, 300}, {384, 64}}, mem.forDevice)
}

func TestNewTXRefuses(t *testing.T) {
	good := ring.TXConfig{Codec: &txDevice{}, Arena: pagepool.NewHeap(64, txBase), Slots: 2, MaxPiece: 1}
	_, err := ring.NewTX(good)
	require.NoError(t, err)
	for _, tc := range []struct {
		spoil func(c *ring.TXConfig)
		want  string
	}{
		{func(c *ring.TXConfig) { c.Codec = nil }, "ring: transmit ring needs a codec and an arena"},
		{func(c *ring.TXConfig) { c.Arena = nil }, "ring: transmit ring needs a codec and an arena"},
		{func(c *ring.TXConfig) { c.Slots = 0 }, "ring: 0 transmit slots with 0 reserved: a frame needs 1"},
		{func(c *ring.TXConfig) { c.Slots = 1 }, "ring: 1 transmit slots with 0 reserved: a frame needs 1"},
		{func(c *ring.TXConfig) { c.Reserve = 2 }, "ring: 2 transmit slots with 2 reserved: a frame needs 1"},
		{func(c *ring.TXConfig) { c.Reserve = -1 }, "ring: 2 transmit slots with -1 reserved: a frame needs 1"},
		{func(c *ring.TXConfig) { c.ContextSlots = 2 }, "ring: 2 transmit slots with 0 reserved: a frame needs 3"},
		{func(c *ring.TXConfig) { c.MaxPiece = 0 }, "ring: largest piece 0: need at least 1 byte"},
		{func(c *ring.TXConfig) { c.Arena = pagepool.NewHeap(63, txBase) }, "ring: transmit arena of 63 bytes: need at least 64"},
	} {
		c := good
		tc.spoil(&c)
		_, err := ring.NewTX(c)
		require.EqualError(t, err, tc.want)
	}
}
