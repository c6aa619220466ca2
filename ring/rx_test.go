package ring_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// bothModes runs f for descriptors with a length each and for those whose last
// one has the frame's.
func bothModes(t *testing.T, f func(t *testing.T, total bool)) {
	t.Run("length of each buffer", func(t *testing.T) { f(t, false) })
	t.Run("length of the frame", func(t *testing.T) { f(t, true) })
}

func TestRXDeliversFramesOfEveryLength(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 16, total: total})
		for n := 14; n <= rxMaxFrame; n++ {
			require.True(t, r.refill())
			want := pattern(n, n)
			require.True(t, r.send(want, 4, 0))
			require.Equal(t, [][]byte{want}, r.harvest(64))
		}
		s := r.rx.Stats()
		require.EqualValues(t, rxMaxFrame-13, s.Frames)
		require.EqualValues(t, (rxMaxFrame+14)*(rxMaxFrame-13)/2, s.Bytes)
		require.Zero(t, s.Dropped())
	})
}

// A trailer may begin in one buffer and end in the next, or fill one of its own,
// which then takes no part in the frame and is posted again.
func TestRXTrimsTrailerOffTheEndOfTheFrame(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 12, total: total})
		for buffers := 1; buffers <= 5; buffers++ {
			for inLast := 1; inLast <= 4; inLast++ {
				for range 50 {
					require.True(t, r.refill())
					want := pattern(inLast, buffers*rxBuffer+inLast-4)
					require.True(t, r.send(want, 4, 0))
					n := r.rx.Harvest(r.out)
					require.Equal(t, 1, n)
					require.Equal(t, want, r.read(&r.out[0]))
					require.Len(t, r.out[0].Pieces, buffers, "the buffer with nothing but trailer is no piece")
					r.recycle(&r.out[0])
					r.check(0)
				}
			}
		}
		require.True(t, r.refill())
		require.Equal(t, 0, r.rx.Assembling())
	})
}

func TestRXTrailerLongerThanABuffer(t *testing.T) {
	r := newRXRig(t, rxOptions{slots: 8})
	r.refill()
	// 14 bytes of frame, then 250 of trailer over two buffers.
	require.True(t, r.dev.complete(pattern(1, rxBuffer), ring.Completion{Len: rxBuffer, Flags: ring.First}))
	require.True(t, r.dev.complete(pattern(2, 72), ring.Completion{Len: 72, Trim: 250, Flags: ring.Last}))
	require.Equal(t, [][]byte{pattern(1, rxBuffer)[:14]}, r.harvest(64))
}

func TestRXPassesOnWhatTheDeviceChecked(t *testing.T) {
	r := newRXRig(t, rxOptions{slots: 8})
	r.refill()
	for _, flags := range []ring.Flags{0, ring.ChecksumGood, ring.ChecksumBad} {
		r.send(pattern(1, 60), 0, flags)
		require.Equal(t, 1, r.rx.Harvest(r.out))
		require.Equal(t, flags, r.out[0].Flags)
		r.recycle(&r.out[0])
	}
}

func TestRXContextDescriptorsTakeNoPartInFrames(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 16, total: total})
		r.refill()
		context := ring.Completion{Len: 0xffffffff, Trim: 9, Flags: ring.NoData | ring.First | ring.Last | ring.ErrCRC}
		a, b := pattern(1, 60), pattern(2, 300)
		require.True(t, r.dev.complete(nil, context))
		require.True(t, r.send(a, 4, 0))
		require.True(t, r.dev.complete(nil, context))
		// In the middle of a frame, too.
		require.True(t, r.dev.complete(b[:rxBuffer], ring.Completion{Len: rxBuffer, Flags: ring.First}))
		require.True(t, r.dev.complete(nil, context))
		last := ring.Completion{Len: 300 - rxBuffer, Flags: ring.Last}
		if total {
			last.Len = 300
		}
		require.True(t, r.dev.complete(b[rxBuffer:], last))
		require.Equal(t, [][]byte{a, b}, r.harvest(64))
		require.Zero(t, r.rx.Stats().Dropped())
		require.True(t, r.refill())
		require.Equal(t, 16, r.rx.Posted())
	})
}

// The budget counts frames. What it cuts, and frames only half received, go on in
// the next call.
func TestRXFrameCutByTheBudgetGoesOn(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		for budget := 1; budget <= 7; budget++ {
			r := newRXRig(t, rxOptions{slots: 64, total: total})
			r.refill()
			var want, got [][]byte
			for i := range 7 {
				want = append(want, pattern(i, 500+i)) // three buffers each
				require.True(t, r.send(want[i], 4, 0))
			}
			for range 7 {
				got = append(got, r.harvest(budget)...)
				r.refill()
			}
			require.Equal(t, want, got)
		}
	})
}

func TestRXFrameArrivesDescriptorByDescriptor(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 4, total: total})
		for round := range 20 {
			want := pattern(round, 900)
			for off := 0; off < len(want); off += rxBuffer {
				r.refill()
				piece := want[off:min(off+rxBuffer, len(want))]
				c := ring.Completion{Len: uint32(len(piece))}
				if off == 0 {
					c.Flags = ring.First
				}
				last := off+rxBuffer >= len(want)
				if last {
					c.Flags |= ring.Last
					if total {
						c.Len = uint32(len(want))
					}
				}
				require.True(t, r.dev.complete(piece, c))
				got := r.harvest(64)
				if !last {
					require.Empty(t, got)
					require.Equal(t, off/rxBuffer+1, r.rx.Assembling())
				} else {
					require.Equal(t, [][]byte{want}, got)
				}
			}
		}
	})
}

// Frames of one harvest share nothing: read in any order they are whole.
func TestRXFramesOfOneHarvestAreIndependent(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 24, total: total})
		r.refill()
		for i := range 3 {
			require.True(t, r.send(pattern(i, 750), 4, 0))
		}
		require.True(t, r.dev.complete(pattern(9, rxBuffer), ring.Completion{Len: rxBuffer, Flags: ring.First}))
		require.Equal(t, 3, r.rx.Harvest(r.out))
		r.rx.Refill() // posts other pages, and leaves frames alone
		for i := 2; i >= 0; i-- {
			require.Equal(t, pattern(i, 750), r.read(&r.out[i]))
			r.recycle(&r.out[i])
		}
		r.check(0)
	})
}

// A descriptor's status is read once; a look that finds nothing costs one read.
func TestRXReadsEachStatusOnce(t *testing.T) {
	r := newRXRig(t, rxOptions{slots: 128})
	r.refill()
	for i := range 100 {
		r.send(pattern(i, 60), 0, 0)
	}
	require.Len(t, r.harvest(64), 64)
	require.Equal(t, 64, r.dev.reads, "a full budget needs no look at the next one")
	require.Len(t, r.harvest(64), 36)
	require.Equal(t, 64+36+1, r.dev.reads)
	require.Empty(t, r.harvest(64))
	require.Equal(t, 64+36+2, r.dev.reads)
}

func TestRXLengthsOfTheRing(t *testing.T) {
	for _, slots := range []int{2, 3, 5, 7, 12, 1000} {
		for reserve := range 2 {
			t.Run(fmt.Sprintf("%d slots, %d reserved", slots, reserve), func(t *testing.T) {
				r := newRXRig(t, rxOptions{slots: slots, reserve: reserve})
				require.Equal(t, slots-reserve, r.rx.Capacity())
				rnd := rxDevice{junk: uint32(slots)}
				sent, got := 0, 0
				rounds := 300
				if slots == 1000 {
					rounds = 10 // each round checks the poison of 2000 pages
				}
				for range rounds {
					r.refill()
					for range rnd.random()>>16%uint32(slots) + 1 {
						if r.send(pattern(sent, 60), 0, 0) {
							sent++
						}
					}
					for {
						frames := r.harvest(64)
						for _, f := range frames {
							require.Equal(t, pattern(got, 60), f)
							got++
						}
						if len(frames) < 64 {
							break
						}
					}
					require.Equal(t, sent, got)
				}
				require.GreaterOrEqual(t, sent, rounds)
			})
		}
	}
}

func TestRXRefillsInBatchesWithOneDoorbellEach(t *testing.T) {
	for _, tc := range []struct{ slots, reserve, batch int }{
		{2, 0, 1}, {3, 0, 1}, {4, 0, 1}, {4, 1, 1}, {8, 0, 2}, {16, 0, 4}, {16, 1, 3}, {64, 0, 16}, {256, 0, 16}, {256, 1, 16},
	} {
		t.Run(fmt.Sprintf("%d slots, %d reserved", tc.slots, tc.reserve), func(t *testing.T) {
			r := newRXRig(t, rxOptions{slots: tc.slots, reserve: tc.reserve})
			require.True(t, r.refill())
			require.Equal(t, 1, r.dev.kicks, "the first fill rings once, however many slots")
			require.Equal(t, tc.slots-tc.reserve, r.rx.Posted())
			require.True(t, r.refill())
			require.Equal(t, 1, r.dev.kicks, "nothing to post, nothing to ring")
			for round := 2; round < 10; round++ {
				for empty := 1; empty <= tc.batch; empty++ {
					require.Equal(t, round-1, r.dev.kicks)
					require.True(t, r.send(pattern(round, 60), 0, 0))
					require.Len(t, r.harvest(64), 1)
					require.True(t, r.refill())
				}
				require.Equal(t, round, r.dev.kicks)
				require.Equal(t, tc.slots-tc.reserve, r.rx.Posted())
			}
			require.EqualValues(t, r.dev.kicks, r.rx.Stats().Doorbells)
		})
	}
}

func TestRXKickRingsAlthoughNothingWasPosted(t *testing.T) {
	r := newRXRig(t, rxOptions{slots: 8})
	r.refill()
	r.rx.Kick()
	require.Equal(t, 2, r.dev.kicks)
	require.EqualValues(t, 2, r.rx.Stats().Doorbells)
}

func TestRXAsksForAnInterruptWithEveryNthSlot(t *testing.T) {
	for _, tc := range []struct{ slots, every, want int }{
		{16, 0, 0}, {16, -1, 0}, {16, 1, 1}, {16, 3, 3}, {16, 8, 8}, {7, 3, 3},
		{16, 9, 8}, {16, 1024, 8}, {2, 2, 1}, {64, 30, 30}, // at most half of the ring
	} {
		t.Run(fmt.Sprintf("every %d of %d", tc.every, tc.slots), func(t *testing.T) {
			r := newRXRig(t, rxOptions{slots: tc.slots})
			r.rx.SetInterrupts(tc.every)
			r.refill()
			for i := range 5 * tc.slots {
				r.send(pattern(i, 60), 0, 0)
				r.harvest(1 + i%3)
				r.rx.Refill()
			}
			require.Greater(t, len(r.dev.asked), 4*tc.slots)
			for i, asked := range r.dev.asked {
				require.Equal(t, tc.want > 0 && (i+1)%tc.want == 0, asked, "slot number %d", i)
			}
		})
	}
}

func TestRXInterruptPeriodChangesWithTheNextSlot(t *testing.T) {
	r := newRXRig(t, rxOptions{slots: 8})
	r.rx.SetInterrupts(4)
	r.refill()
	r.rx.SetInterrupts(2)
	for i := range 4 {
		r.send(pattern(i, 60), 0, 0)
	}
	r.harvest(64)
	r.refill()
	require.Equal(t, []bool{false, false, false, true, false, false, false, true, false, true, false, true}, r.dev.asked)
}

func TestRXSetMaxFrame(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 64, maxFrame: 100, total: total})
		try := func(n int) int {
			r.refill()
			require.True(t, r.send(pattern(n, n), 4, 0))
			return len(r.harvest(64))
		}
		require.Equal(t, 1, try(100))
		require.Equal(t, 0, try(101))
		r.rx.SetMaxFrame(9018)
		require.Equal(t, 1, try(9018))
		require.Equal(t, 0, try(9019))
		r.rx.SetMaxFrame(0)
		require.Equal(t, 1, try(14), "never less than an Ethernet header")
		require.Equal(t, 0, try(15))
		require.EqualValues(t, 3, r.rx.Stats().TooLong)
	})
}

func TestRXResetInEveryState(t *testing.T) {
	first := ring.Completion{Len: rxBuffer, Flags: ring.First}
	for _, tc := range []struct {
		name string
		do   func(r *rxRig)
		lost uint64
	}{
		{"never filled", func(*rxRig) {}, 0},
		{"full", func(r *rxRig) { r.refill() }, 0},
		{"done and not harvested", func(r *rxRig) { r.refill(); r.send(pattern(1, 60), 0, 0) }, 0},
		{"a frame in assembly", func(r *rxRig) {
			r.refill()
			r.dev.complete(pattern(1, rxBuffer), first)
			r.harvest(64)
			require.Equal(r.t, 1, r.rx.Assembling())
		}, 1},
		{"the rest of a bad frame to skip", func(r *rxRig) {
			r.refill()
			bad := first
			bad.Flags |= ring.ErrCRC
			r.dev.complete(nil, bad)
			r.harvest(64)
		}, 0},
		{"the rest of an orphan to skip", func(r *rxRig) {
			r.refill()
			r.dev.complete(nil, ring.Completion{Len: rxBuffer})
			r.harvest(64)
		}, 0},
		{"wrapped", func(r *rxRig) {
			for i := range 11 {
				r.refill()
				r.send(pattern(i, 60), 0, 0)
				r.harvest(64)
			}
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRXRig(t, rxOptions{slots: 8})
			tc.do(r)
			r.rx.Reset()
			r.check(0)
			require.Zero(t, r.rx.Posted())
			require.Zero(t, r.rx.Assembling())
			require.Equal(t, r.pool.Pages(), r.pool.Stats().Free)
			require.Equal(t, tc.lost, r.rx.Stats().MissingLast)
			require.Empty(t, r.harvest(64))
			r.rx.SetInterrupts(3)
			r.rx.Refill()
			r.rx.Reset() // the period starts anew, too
			r.dev.asked = nil
			require.True(t, r.refill())
			require.Equal(t, []bool{false, false, true, false, false, true, false, false}, r.dev.asked)
			for i := range 20 {
				require.True(t, r.send(pattern(i, 300), 4, 0))
				require.Equal(t, [][]byte{pattern(i, 300)}, r.harvest(64))
				r.refill()
			}
			r.rx.Reset()
			r.rx.Reset()
			r.check(0)
		})
	}
}

func TestNewRXRefuses(t *testing.T) {
	pool, err := pagepool.New(pagepool.NewHeap(4*rxPage, rxBase), pagepool.Config{PageSize: rxPage, CopyBreak: pagepool.CopyAlways})
	require.NoError(t, err)
	good := ring.RXConfig{Codec: &rxDevice{}, Pool: pool, Slots: 2, BufferSize: rxPage, MaxFrame: 14}
	_, err = ring.NewRX(good)
	require.NoError(t, err)
	for _, tc := range []struct {
		spoil func(c *ring.RXConfig)
		want  string
	}{
		{func(c *ring.RXConfig) { c.Codec = nil }, "ring: receive ring needs a codec and a pool"},
		{func(c *ring.RXConfig) { c.Pool = nil }, "ring: receive ring needs a codec and a pool"},
		{func(c *ring.RXConfig) { c.Slots = 0 }, "ring: 0 receive slots with 0 reserved: need at least 2, one of them usable"},
		{func(c *ring.RXConfig) { c.Slots = 1 }, "ring: 1 receive slots with 0 reserved: need at least 2, one of them usable"},
		{func(c *ring.RXConfig) { c.Reserve = 2 }, "ring: 2 receive slots with 2 reserved: need at least 2, one of them usable"},
		{func(c *ring.RXConfig) { c.Reserve = -1 }, "ring: 2 receive slots with -1 reserved: need at least 2, one of them usable"},
		{func(c *ring.RXConfig) { c.BufferSize = 0 }, "ring: headroom 0 and buffer size 0 do not fit a page of 256 bytes"},
		{func(c *ring.RXConfig) { c.Headroom = 1 }, "ring: headroom 1 and buffer size 256 do not fit a page of 256 bytes"},
		{func(c *ring.RXConfig) { c.Headroom = -1 }, "ring: headroom -1 and buffer size 256 do not fit a page of 256 bytes"},
		{func(c *ring.RXConfig) { c.MaxFrame = 13 }, "ring: longest frame 13: need at least 14"},
	} {
		c := good
		tc.spoil(&c)
		_, err := ring.NewRX(c)
		require.EqualError(t, err, tc.want)
	}
}
