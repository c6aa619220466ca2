package ring_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Marks lie at most MarkFrames apart, and never more than a quarter of the ring
// or of the arena and one frame.
func TestTXMarksAreCloseEnough(t *testing.T) {
	for _, tc := range []struct {
		name                             string
		slots, reserve, arena, marks, ln int
		want                             int // frames from mark to mark
	}{
		{"as asked", 512, 0, 1 << 20, 32, 60, 32},
		{"every frame", 512, 0, 1 << 20, 1, 60, 1},
		{"a quarter of the ring", 512, 0, 1 << 20, 0, 60, 128},
		{"no more than a quarter of the ring", 64, 0, 1 << 20, 32, 60, 16},
		{"of what can be used of it", 64, 4, 1 << 20, 32, 60, 15},
		{"a quarter of the ring in slots", 64, 0, 1 << 20, 16, 4 * txPiece, 4},
		{"a quarter of the arena", 512, 0, 64 << 10, 32, 2000, 8},
		{"frames of a quarter of the arena", 512, 0, 16 << 10, 32, 4096, 1},
		{"tiny ring", 3, 0, 1 << 20, 32, 60, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTXRig(t, txOptions{slots: tc.slots, reserve: tc.reserve, arena: tc.arena, marks: tc.marks})
			for range 3 * tc.slots {
				for !r.put(tc.ln) {
					r.drain()
				}
			}
			r.tx.Flush()
			marks := 0
			for i, m := range r.dev.marks {
				require.Equal(t, (i+1)%tc.want == 0, m, "frame %d", i)
				if m {
					marks++
				}
			}
			require.EqualValues(t, marks, r.tx.Stats().Marks)
		})
	}
}

func TestTXSetMarkFrames(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 512, marks: 32})
	count := func(n int) (marks int) {
		before := r.tx.Stats().Marks
		for range n {
			for !r.put(60) {
				r.drain()
			}
		}
		return int(r.tx.Stats().Marks - before)
	}
	require.Equal(t, 4, count(128))
	r.tx.SetMarkFrames(8)
	require.Equal(t, 16, count(128))
	r.tx.SetMarkFrames(1000)
	require.Equal(t, 4, count(512))
	r.tx.SetMarkFrames(-1)
	require.Equal(t, 4, count(512))
}

// In a stream of small frames, progress is read at most once for 16 frames,
// whether the device keeps up or is what everybody waits for.
func TestTXReapingIsLazy(t *testing.T) {
	const frames = 8 * 1024
	for _, tc := range []struct {
		name    string
		device  func(r *txRig)      // after each batch
		full    func(r *txRig) bool // when there is no space
		atLeast int                 // frames for one read
	}{
		{"the device keeps up", func(r *txRig) { r.dev.transmit(512) }, nil, 128},
		{"the device lags behind by half a ring", func(r *txRig) { r.dev.transmit(r.dev.ready - 256) }, nil, 16},
		{"the device is the bottleneck", func(*txRig) {}, func(r *txRig) bool { r.dev.transmit(32); return true }, 16},
	} {
		for _, batch := range []int{1, 8, 32, 64} {
			t.Run(fmt.Sprintf("%s, %d in a batch", tc.name, batch), func(t *testing.T) {
				r := newTXRig(t, txOptions{slots: 512, marks: 32})
				for r.n < frames {
					for range batch {
						for !r.put(60) {
							require.NotNil(t, tc.full, "refused although the device keeps up")
							r.tx.Flush()
							tc.full(r)
						}
					}
					r.tx.Flush()
					tc.device(r)
				}
				require.LessOrEqual(t, r.dev.reads, frames/tc.atLeast)
				require.EqualValues(t, r.dev.reads, r.tx.Stats().Reaps)
				r.drain()
				r.arrived()
			})
		}
	}
}

// A look in vain costs one read, however often it is repeated.
func TestTXLookInVainCostsOneRead(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 512, marks: 32})
	for r.put(60) {
	}
	r.tx.Flush()
	reads := r.dev.reads
	for range 100 {
		require.False(t, r.put(60))
	}
	require.Equal(t, reads+100, r.dev.reads)
}

// Space comes back without another frame being sent.
func TestTXReapsWithoutASender(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 64, marks: 16})
	for r.put(60) {
	}
	r.tx.Flush()
	require.Zero(t, r.tx.Reap())
	require.True(t, r.tx.Marked())
	r.dev.transmit(64)
	for r.tx.Reap() > 0 {
	}
	require.Zero(t, r.tx.InUse())
	require.False(t, r.tx.Marked())
	require.Zero(t, r.tx.Reap(), "nothing in flight, nothing to look at")
}

// Frames too few for a mark are found done all the same: a large frame behind
// them would otherwise be refused for ever.
func TestTXReapsFramesWithoutAMark(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 64, arena: 8192, marks: 16, piece: 4096})
	require.True(t, r.put(60))
	require.False(t, r.put(8192))
	require.EqualValues(t, 0, r.dev.reads, "not filled in yet")
	r.tx.Flush()
	require.False(t, r.tx.Marked())
	require.False(t, r.put(8192), "not sent yet")
	r.dev.transmit(1)
	require.True(t, r.put(8192))
	r.drain()
	r.arrived()

	r = newTXRig(t, txOptions{slots: 16, marks: 4})
	require.True(t, r.put(60))
	r.tx.Flush()
	r.dev.transmit(1)
	require.True(t, r.put(16*txPiece), "all of the slots")
	r.drain()
	r.arrived()
}

// The poll loop reaps, whatever receive does: senders find space without looking.
func TestTXReapDue(t *testing.T) {
	r := newTXRig(t, txOptions{slots: 64, marks: 8})
	for range 15 {
		require.True(t, r.put(60))
	}
	r.tx.Flush()
	r.dev.transmit(64)
	require.Zero(t, r.tx.ReapDue(), "less than a quarter in use")
	require.Zero(t, r.dev.reads)
	require.True(t, r.put(60))
	r.tx.Flush()
	r.dev.transmit(64)
	require.Equal(t, 16, r.tx.ReapDue())
	reads := r.dev.reads
	for range 40 {
		require.True(t, r.put(60))
	}
	r.tx.Flush()
	require.Zero(t, r.tx.ReapDue(), "nothing was sent")
	require.Equal(t, reads+1, r.dev.reads)
	require.Zero(t, r.tx.ReapDue())
	require.Equal(t, reads+1, r.dev.reads, "nothing was committed since the last look")

	sent := 0
	r = newTXRig(t, txOptions{slots: 8})
	for pass := range 100/8 + 2 {
		for sent < 100 && r.put(60) {
			sent++
		}
		r.tx.Flush()
		r.dev.transmit(8)
		r.tx.ReapDue()
		require.Less(t, pass, 14)
	}
	require.Equal(t, 100, sent)
	r.arrived()
}

// A counter may answer any number: what does not reach a mark waits for the next
// answer.
func TestTXPartialAnswersOfACounter(t *testing.T) {
	answer := 0
	r := newTXRig(t, txOptions{slots: 32, marks: 8, counter: func(done int) int { return min(done, answer) }})
	for r.put(60) {
	}
	r.tx.Flush()
	r.dev.transmit(32)
	for _, tc := range []struct{ answer, freed int }{
		{0, 0}, {1, 0}, {7, 0}, {8, 8}, {7, 0}, {15, 8}, {16, 16},
	} {
		answer = tc.answer
		require.Equal(t, tc.freed, r.tx.Reap(), "answer %d", tc.answer)
	}
	require.Zero(t, r.tx.InUse())
}
