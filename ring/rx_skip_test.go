package ring_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/ring"
)

// Bytes that the device puts before a frame are not part of it, wherever buffers
// end, and in both ways of telling lengths.
func TestRXSkipsWhatIsBeforeAFrame(t *testing.T) {
	bothModes(t, func(t *testing.T, total bool) {
		const skip = 2
		r := newRXRig(t, rxOptions{slots: 12, total: total})
		var err error
		r.rx, err = ring.NewRX(ring.RXConfig{
			Codec: r.dev, Pool: r.pool, Slots: 12,
			Headroom: rxHeadroom, BufferSize: rxBuffer, MaxFrame: rxMaxFrame, TotalLength: total, Skip: skip,
		})
		require.NoError(t, err)
		for buffers := 1; buffers <= 3; buffers++ {
			for inLast := -6; inLast <= 6; inLast++ {
				require.True(t, r.refill())
				frame := pattern(inLast+9, buffers*rxBuffer+inLast)
				require.True(t, r.send(append([]byte{0xaa, 0xbb}, frame...), 4, 0))
				require.Equal(t, 1, r.rx.Harvest(r.out))
				require.Equal(t, frame, r.read(&r.out[0]))
				require.Equal(t, uint32(rxHeadroom+skip), r.out[0].Pieces[0].Off)
				r.recycle(&r.out[0])
				r.check(0)
			}
		}
		before := r.rx.Stats()
		require.Equal(t, uint64(before.Frames), uint64(3*13))

		// Nothing but what is to be skipped, and a frame that is too short with it.
		for _, n := range []int{1, skip, skip + 1, skip + 4 + 13} {
			r.refill()
			require.True(t, r.send(make([]byte, n-min(n, 4)), min(n, 4), 0))
			require.Zero(t, r.rx.Harvest(r.out), "%d bytes", n)
		}
		require.Equal(t, before.BadLength+4, r.rx.Stats().BadLength)
		r.refill()
		require.True(t, r.send(append(make([]byte, skip), pattern(1, rxMaxFrame)...), 4, 0))
		require.Equal(t, 1, r.rx.Harvest(r.out), "the longest frame")
		r.recycle(&r.out[0])
	})
	_, err := ring.NewRX(ring.RXConfig{Codec: fastCodec{4}, Pool: newRXRig(t, rxOptions{slots: 4}).pool, Slots: 4, BufferSize: 64, MaxFrame: 100, Skip: 64})
	require.ErrorContains(t, err, "64 bytes before each frame do not fit a buffer of 64")
}
