package ring_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Frames that the FIFO cut short have a first descriptor and no last one. However
// many there are, the ring stays as large as it was.
func TestRXTruncatedFramesDoNotShrinkTheRing(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 8, total: total})
		for i := range 1000 {
			require.True(t, r.refill())
			require.True(t, r.dev.complete(pattern(1, rxBuffer), ring.Completion{Len: rxBuffer, Flags: ring.First | ring.ErrOverflow}))
			require.True(t, r.dev.complete(pattern(2, rxBuffer), ring.Completion{Len: rxBuffer, Flags: ring.ErrOverflow}))
			require.True(t, r.send(pattern(i, 60), 4, 0))
			require.Equal(t, [][]byte{pattern(i, 60)}, r.harvest(64))
		}
		require.True(t, r.refill())
		require.GreaterOrEqual(t, r.rx.Posted(), 7)
		require.EqualValues(t, 1000, r.rx.Stats().Overflow)
		require.EqualValues(t, 1000, r.rx.Stats().Dropped())
	})
}

// One harvest handles a burst of frames that are too long and the good one behind
// them: drops use no budget.
func TestRXGiantsDoNotEndTheHarvest(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 40, total: total, maxFrame: 300})
		r.refill()
		for i := range 15 {
			require.True(t, r.send(pattern(i, 301), 4, 0))
		}
		require.True(t, r.send(pattern(99, 300), 4, 0))
		require.Equal(t, [][]byte{pattern(99, 300)}, r.harvest(1))
		require.EqualValues(t, 15, r.rx.Stats().TooLong)
	})
}

func TestRXCountsDropsByReason(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags ring.Flags
		want  ring.RXStats
	}{
		{"frame check sequence", ring.ErrCRC, ring.RXStats{CRC: 1}},
		{"length", ring.ErrLength, ring.RXStats{Length: 1}},
		{"overflow", ring.ErrOverflow, ring.RXStats{Overflow: 1}},
		{"framing", ring.ErrFrame, ring.RXStats{Framing: 1}},
		{"other", ring.ErrReceive, ring.RXStats{Receive: 1}},
		{"an overflow spoils the sequence, too", ring.ErrOverflow | ring.ErrCRC | ring.ErrLength, ring.RXStats{Overflow: 1}},
		{"a bad checksum is no bad frame", ring.ChecksumBad, ring.RXStats{Frames: 1, Bytes: 60}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRXRig(t, rxOptions{slots: 4})
			r.refill()
			r.send(pattern(1, 60), 0, tc.flags)
			r.harvest(64)
			tc.want.Descriptors, tc.want.Doorbells = 1, 1
			require.Equal(t, tc.want, r.rx.Stats())
		})
	}
}

// Every slot that a drop leaves is posted again with a page of the pool, however
// often: the device overwrites descriptors and is given whole new ones.
func TestRXPagesOfDroppedFramesComeBack(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		for _, flags := range []ring.Flags{ring.ErrCRC, ring.ErrLength, ring.ErrFrame, ring.ErrReceive, ring.ErrOverflow} {
			r := newRXRig(t, rxOptions{slots: 8, total: total})
			for i := range 1000 {
				require.True(t, r.refill())
				require.True(t, r.send(pattern(i, 100+i), 0, flags))
				require.Empty(t, r.harvest(64))
			}
			require.EqualValues(t, 1000, r.rx.Stats().Dropped())
			r.rx.Reset()
			require.Equal(t, r.pool.Pages(), r.pool.Stats().Free)
		}
	})
}

func TestRXErrorInAMiddlePieceDropsTheWholeFrameOnce(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		for bad := range 4 {
			r := newRXRig(t, rxOptions{slots: 16, total: total})
			r.refill()
			for i := range 4 {
				c := ring.Completion{Len: rxBuffer}
				switch i {
				case 0:
					c.Flags |= ring.First
				case 3:
					c.Flags |= ring.Last
					if total {
						c.Len = 4 * rxBuffer
					}
				}
				if i >= bad { // a device may repeat it
					c.Flags |= ring.ErrCRC
				}
				require.True(t, r.dev.complete(pattern(i, rxBuffer), c))
			}
			require.True(t, r.send(pattern(7, 60), 4, 0))
			require.Equal(t, [][]byte{pattern(7, 60)}, r.harvest(64))
			require.EqualValues(t, 1, r.rx.Stats().CRC)
			require.EqualValues(t, 1, r.rx.Stats().Dropped())
		}
	})
}

// A length that the device cannot have meant is never subtracted from, nor read
// beyond a buffer.
func TestRXRefusesImpossibleLengths(t *testing.T) {
	type piece struct {
		length uint32
		flags  ring.Flags
	}
	const whole = ring.First | ring.Last
	for _, tc := range []struct {
		name   string
		total  bool
		trim   uint8
		pieces []piece
		frame  int // length delivered; 0: dropped as a bad length
	}{
		{"empty", false, 4, []piece{{0, whole}}, 0},
		{"shorter than the trailer", false, 4, []piece{{3, whole}}, 0},
		{"nothing but trailer", false, 4, []piece{{4, whole}}, 0},
		{"one byte", false, 4, []piece{{5, whole}}, 0},
		{"one byte less than a header", false, 4, []piece{{17, whole}}, 0},
		{"a header", false, 4, []piece{{18, whole}}, 14},
		{"short", false, 4, []piece{{63, whole}}, 59},
		{"short, without trailer", false, 0, []piece{{13, whole}}, 0},
		{"all of the buffer", false, 0, []piece{{rxBuffer, whole}}, rxBuffer},
		{"more than the buffer", false, 0, []piece{{rxBuffer + 1, whole}}, 0},
		{"the largest number", false, 0, []piece{{0xffffffff, whole}}, 0},
		{"empty piece in the middle", false, 0, []piece{{rxBuffer, ring.First}, {0, 0}, {20, ring.Last}}, 0},
		{"short pieces that are too few bytes", false, 4, []piece{{9, ring.First}, {8, ring.Last}}, 0},
		{"short pieces", false, 4, []piece{{9, ring.First}, {9, ring.Last}}, 14},

		{"total: empty", true, 4, []piece{{0, whole}}, 0},
		{"total: shorter than the trailer", true, 4, []piece{{1, whole}}, 0},
		{"total: one byte less than a header", true, 4, []piece{{17, whole}}, 0},
		{"total: a header", true, 4, []piece{{18, whole}}, 14},
		{"total: more than one buffer, in one", true, 0, []piece{{rxBuffer + 1, whole}}, 0},
		{"total: the largest number", true, 0, []piece{{0xffffffff, whole}}, 0},
		{"total: others say nothing", true, 0, []piece{{0, ring.First}, {0x3fff, 0}, {2*rxBuffer + 10, ring.Last}}, 2*rxBuffer + 10},
		{"total: less than the others hold", true, 0, []piece{{0, ring.First}, {0, 0}, {rxBuffer + 10, ring.Last}}, 0},
		{"total: just what the others hold", true, 0, []piece{{0, ring.First}, {0, 0}, {2 * rxBuffer, ring.Last}}, 0},
		{"total: more than all hold", true, 0, []piece{{0, ring.First}, {0, 0}, {3*rxBuffer + 1, ring.Last}}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRXRig(t, rxOptions{slots: 8, total: tc.total})
			r.refill()
			for i, p := range tc.pieces {
				c := ring.Completion{Len: p.length, Flags: p.flags}
				if p.flags&ring.Last != 0 {
					c.Trim = tc.trim
				}
				require.True(t, r.dev.complete(pattern(i, rxBuffer), c))
			}
			require.True(t, r.send(pattern(5, 60), 4, 0), "the ring goes on")
			got := r.harvest(64)
			require.Equal(t, pattern(5, 60), got[len(got)-1])
			if tc.frame == 0 {
				require.Len(t, got, 1)
				require.EqualValues(t, 1, r.rx.Stats().BadLength)
				require.EqualValues(t, 1, r.rx.Stats().Dropped())
			} else {
				require.Len(t, got, 2)
				require.Len(t, got[0], tc.frame)
				require.Zero(t, r.rx.Stats().Dropped())
			}
		})
	}
}

func TestRXOrphansAreDroppedAndTheirPagesRecycled(t *testing.T) {
	const mid = ring.Flags(0)
	for _, tc := range []struct {
		name  string
		flags []ring.Flags
		want  ring.RXStats
	}{
		{"last without first", []ring.Flags{ring.Last}, ring.RXStats{MissingFirst: 1}},
		{"middle and last without first", []ring.Flags{mid, ring.Last}, ring.RXStats{MissingFirst: 1}},
		{"two of them", []ring.Flags{mid, mid, ring.Last, mid, ring.Last}, ring.RXStats{MissingFirst: 2}},
		{"middle without anything", []ring.Flags{mid}, ring.RXStats{MissingFirst: 1}},
		{"first without last", []ring.Flags{ring.First}, ring.RXStats{MissingLast: 1}},
		{"first, first, last", []ring.Flags{ring.First, ring.First, ring.Last}, ring.RXStats{MissingLast: 1, Frames: 1, Bytes: 2 * rxBuffer}},
		{"first, middle, first", []ring.Flags{ring.First, mid, ring.First}, ring.RXStats{MissingLast: 2}},
		{"bad first without last", []ring.Flags{ring.First | ring.ErrCRC, mid}, ring.RXStats{CRC: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRXRig(t, rxOptions{slots: 16})
			r.refill()
			for i, f := range tc.flags {
				require.True(t, r.dev.complete(pattern(i, rxBuffer), ring.Completion{Len: rxBuffer, Flags: f}))
			}
			require.True(t, r.send(pattern(9, 400), 4, 0))
			got := r.harvest(64)
			require.Equal(t, pattern(9, 400), got[len(got)-1], "the next frame is whole")
			tc.want.Frames++
			tc.want.Bytes += 400
			tc.want.Descriptors = uint64(len(tc.flags)) + 3
			tc.want.Doorbells = 1
			require.Equal(t, tc.want, r.rx.Stats())
			require.Zero(t, r.rx.Assembling())
		})
	}
}

// A frame that never ends is dropped once, whatever the device says of its
// pieces, and it never holds more pages than the longest good frame.
func TestRXFrameThatNeverEnds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		total  bool
		length uint32
	}{
		{"full buffers", false, rxBuffer},
		{"one byte in each", false, 1},
		{"length of the frame", true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRXRig(t, rxOptions{slots: 8, pages: 32, total: tc.total})
			flags := ring.First
			for range 500 {
				r.refill()
				require.True(t, r.dev.complete(nil, ring.Completion{Len: tc.length, Flags: flags}))
				flags = 0
				require.Empty(t, r.harvest(64))
				require.LessOrEqual(t, r.rx.Assembling(), (rxMaxFrame+255)/rxBuffer+2)
			}
			require.EqualValues(t, 1, r.rx.Stats().TooLong)
			require.EqualValues(t, 1, r.rx.Stats().Dropped())
			r.refill()
			require.True(t, r.send(pattern(1, 60), 4, 0))
			require.Equal(t, [][]byte{pattern(1, 60)}, r.harvest(64))
		})
	}
}

func TestRXPoolSmallerThanTheRing(t *testing.T) {
	for pages := 1; pages <= 4; pages++ {
		t.Run(fmt.Sprint(pages, " pages for 5 slots"), func(t *testing.T) {
			r := newRXRig(t, rxOptions{slots: 5, pages: pages})
			for i := range 100 {
				require.False(t, r.refill(), "the ring is not full")
				require.Equal(t, pages, r.rx.Posted(), "as many slots as pages")
				require.True(t, r.send(pattern(i, 60), 4, 0))
				require.Equal(t, [][]byte{pattern(i, 60)}, r.harvest(64))
			}
			require.EqualValues(t, 100, r.rx.Stats().NoPage)
			require.EqualValues(t, 100, r.rx.Stats().Doorbells)
		})
	}
}

// While there are no pages the ring runs dry: no slot is taken for a full one, no
// frame comes twice. Pages that come home are posted at once.
func TestRXRunsDryAndComesBack(t *testing.T) {
	r := newRXRig(t, rxOptions{slots: 4, pages: 4})
	require.True(t, r.refill())
	var held []pagepool.Page
	for i := range 50 {
		if r.send(pattern(i, 60), 0, 0) {
			require.Less(t, i, 4)
		}
		n := r.rx.Harvest(r.out)
		for _, f := range r.out[:n] {
			require.Equal(t, pattern(i, 60), r.read(&f))
			held = append(held, f.Pieces[0].Page)
		}
		require.Zero(t, r.rx.Harvest(r.out), "a poll without a frame")
		r.check(len(held))
		require.Equal(t, i >= 0 && len(held) == 0, r.rx.Refill())
		r.check(len(held))
	}
	require.Len(t, held, 4)
	require.Zero(t, r.rx.Posted())
	kicks := r.dev.kicks
	require.Equal(t, 1, kicks, "nothing was posted, nothing was rung for")
	for _, p := range held {
		r.pool.Recycle(p)
	}
	require.True(t, r.refill())
	require.Equal(t, kicks+1, r.dev.kicks)
	for i := range 8 {
		require.True(t, r.send(pattern(100+i, 60), 0, 0))
		require.Equal(t, [][]byte{pattern(100+i, 60)}, r.harvest(64))
		require.True(t, r.refill())
	}
}

// A frame in assembly that holds the last pages is given up, or nothing would
// ever be received again.
func TestRXGivesUpAFrameThatHoldsTheLastPages(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 8, pages: 3, total: total})
		for round := range 10 {
			r.refill()
			require.False(t, r.send(pattern(1, 1000), 4, 0), "three pages are too few for this frame")
			require.Empty(t, r.harvest(64))
			require.Equal(t, 3, r.rx.Assembling())
			require.False(t, r.refill())
			require.Equal(t, 3, r.rx.Posted())
			require.EqualValues(t, round+1, r.rx.Stats().Abandoned)
			// The device ends the frame when it has buffers again.
			require.True(t, r.dev.complete(nil, ring.Completion{Len: 1000, Flags: ring.Last}))
			require.Empty(t, r.harvest(64))
			r.refill()
			require.True(t, r.send(pattern(round, 2*rxBuffer), 0, 0))
			require.Equal(t, [][]byte{pattern(round, 2*rxBuffer)}, r.harvest(64))
		}
		require.EqualValues(t, 10, r.rx.Stats().Dropped())
	})
}

// syncedMemory is memory with a cache that needs care: it notes what was synced.
type syncedMemory struct {
	pagepool.Memory
	forDevice, forCPU [][2]int
}

func (m *syncedMemory) Coherent() bool           { return false }
func (m *syncedMemory) SyncForDevice(off, n int) { m.forDevice = append(m.forDevice, [2]int{off, n}) }
func (m *syncedMemory) SyncForCPU(off, n int)    { m.forCPU = append(m.forCPU, [2]int{off, n}) }

func TestRXSyncsWhatTheDeviceMayWriteAndWhatItWrote(t *testing.T) {
	mem := &syncedMemory{Memory: pagepool.NewHeap(4*rxPage, rxBase)}
	pool, err := pagepool.New(mem, pagepool.Config{PageSize: rxPage, CopyBreak: pagepool.CopyAlways})
	require.NoError(t, err)
	dev := &rxDevice{t: t, mem: mem.Bytes(), slots: make([]rxSlot, 4), armed: map[uint64]int{}}
	rx, err := ring.NewRX(ring.RXConfig{
		Codec: dev, Pool: pool, Slots: 4, Headroom: rxHeadroom, BufferSize: rxBuffer, MaxFrame: rxMaxFrame,
	})
	require.NoError(t, err)
	rx.Refill()
	var want [][2]int
	for page := range 4 {
		want = append(want, [2]int{page*rxPage + rxHeadroom, rxBuffer})
	}
	require.Equal(t, want, mem.forDevice, "all that the device may write to")
	require.Empty(t, mem.forCPU)

	require.True(t, dev.receive(pattern(1, 300), false, 4, 0))
	frames := make([]ring.Frame, 4)
	require.Equal(t, 1, rx.Harvest(frames))
	require.Equal(t, [][2]int{{rxHeadroom, rxBuffer}, {rxPage + rxHeadroom, 300 - 4 - rxBuffer}}, mem.forCPU)
}
