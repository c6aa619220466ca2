package ring_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// judging is a receive codec whose device writes verdicts behind frames.
type judging struct {
	*rxDevice
	batches []int
}

func (j *judging) Judge(_ *pagepool.Pool, frames []ring.Frame) {
	j.batches = append(j.batches, len(frames))
	for i := range frames {
		if f := &frames[i]; f.Flags&ring.Trailer != 0 && f.Trailer&1 != 0 {
			f.Flags |= ring.ChecksumGood
		}
	}
}

// What follows a frame is kept, wherever buffers end in it, and judged once for
// all frames of a Harvest.
func TestRXKeepsTheTrailer(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		r := newRXRig(t, rxOptions{slots: 12, total: total})
		codec := &judging{rxDevice: r.dev}
		var err error
		r.rx, err = ring.NewRX(ring.RXConfig{
			Codec: codec, Pool: r.pool, Slots: 12,
			Headroom: rxHeadroom, BufferSize: rxBuffer, MaxFrame: rxMaxFrame, TotalLength: total,
		})
		require.NoError(t, err)
		for trim, want := range []uint32{0, 0xf1, 0xf2f1, 0xf3f2f1, 0xf4f3f2f1} {
			for buffers := 1; buffers <= 3; buffers++ {
				for inLast := -4; inLast <= 4; inLast++ {
					require.True(t, r.refill())
					frame := pattern(inLast+9, buffers*rxBuffer+inLast)
					require.True(t, r.send(frame, trim, ring.Trailer))
					require.Equal(t, 1, r.rx.Harvest(r.out))
					require.Equal(t, frame, r.read(&r.out[0]))
					require.Equal(t, want, r.out[0].Trailer, "%d bytes of trailer behind %d", trim, len(frame))
					require.Equal(t, trim > 0, r.out[0].Flags&ring.ChecksumGood != 0)
					r.recycle(&r.out[0])
					r.check(0)
				}
			}
		}

		r.refill()
		codec.batches = nil
		for range 5 {
			require.True(t, r.send(pattern(1, 60), 4, ring.Trailer))
		}
		require.Equal(t, 5, r.rx.Harvest(r.out))
		require.Equal(t, 0, r.rx.Harvest(r.out[5:]))
		require.Equal(t, []int{5}, codec.batches)
		require.True(t, slices.ContainsFunc(r.out[:5], func(f ring.Frame) bool { return f.Flags&ring.ChecksumGood != 0 }))
	})
}
