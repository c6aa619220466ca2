package ring_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Random walks over everything an owner and a device can do, checked after every
// step. They are repeatable: a failure names its seed.

func TestRXRandomWalk(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			r := newRXRig(t, rxOptions{
				slots: 2 + rnd.IntN(30), pages: 1 + rnd.IntN(64), total: seed%2 == 0, maxFrame: 14 + rnd.IntN(2000),
			})
			walkRX(r, rnd, 1500)
		})
	}
}

func walkRX(r *rxRig, rnd *rand.Rand, steps int) {
	var (
		want   [][]byte        // good frames received by the device, not harvested yet
		held   []pagepool.Page // pages of frames delivered and still in use
		max    = int(1522)
		frames = 0
	)
	r.rx.SetMaxFrame(max)
	for range steps {
		switch rnd.IntN(10) {
		case 0, 1, 2, 3:
			n := 14 + rnd.IntN(max-13)
			if rnd.IntN(2) == 0 {
				n = min(n, 100)
			}
			bad := rnd.IntN(6) == 0
			flags := ring.Flags(0)
			if bad {
				flags = ring.ErrCRC << rnd.IntN(5)
			}
			f := pattern(frames, n)
			frames++
			if !r.send(f, rnd.IntN(5), flags) {
				bad = true // cut short
			}
			if !bad {
				want = append(want, f)
			}
		case 4, 5, 6:
			n := r.rx.Harvest(r.out[:1+rnd.IntN(8)])
			for i := range n {
				f := &r.out[i]
				require.NotEmpty(r.t, want, "a frame that was never received")
				// A frame that its pages ran out under may have been given up.
				for len(want) > 0 && string(want[0]) != string(r.read(f)) {
					want = want[1:]
					require.NotEmpty(r.t, want, "a frame that was never received, or twice")
				}
				want = want[1:]
				for _, p := range f.Pieces {
					held = append(held, p.Page)
				}
			}
		case 7:
			r.rx.Refill()
		case 8:
			for len(held) > 0 && rnd.IntN(4) != 0 {
				i := rnd.IntN(len(held))
				r.pool.Recycle(held[i])
				held[i] = held[len(held)-1]
				held = held[:len(held)-1]
			}
		case 9:
			if rnd.IntN(40) == 0 {
				r.rx.Reset()
				want = nil
			}
		}
		r.check(len(held))
	}
	for _, p := range held {
		r.pool.Recycle(p)
	}
	r.rx.Reset()
	require.Equal(r.t, r.pool.Pages(), r.pool.Stats().Free, "every page is home")
}

// Nothing is lost but what the device or its lack of buffers lost: with pages
// enough, all good frames arrive.
func TestRXRandomStreamArrivesComplete(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			r := newRXRig(t, rxOptions{slots: 16 + rnd.IntN(20), pages: 128, total: seed%2 == 0})
			var want, got [][]byte
			for i := range 500 {
				for r.rx.Posted() < 12 {
					got = append(got, r.harvest(1+rnd.IntN(9))...)
					r.rx.Refill()
				}
				f := pattern(i, 14+rnd.IntN(rxMaxFrame-13))
				flags := ring.Flags(0)
				if rnd.IntN(5) == 0 {
					flags = ring.ErrLength
				}
				if r.send(f, rnd.IntN(5), flags) && flags == 0 {
					want = append(want, f)
				}
			}
			for n := -1; n != len(got); {
				n = len(got)
				got = append(got, r.harvest(64)...)
			}
			require.Equal(t, want, got)
			s := r.rx.Stats()
			require.Equal(t, s.MissingLast+s.Length, s.Dropped(), "drops are of the device's making")
		})
	}
}

func TestTXRandomWalk(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			walkTX(t, rnd.IntN, 4000)
		})
	}
}

// walkTX takes its choices from pick, a number from 0 to n-1.
func walkTX(t testing.TB, pick func(n int) int, steps int) {
	o := txOptions{context: pick(3), marks: pick(12), arena: 64 * (1 + pick(60))}
	o.slots = 2 + o.context + pick(30)
	o.reserve = pick(2)
	if pick(2) == 0 {
		o.counter = func(done int) int { return done - pick(done+1) }
	}
	r := newTXRig(t, o)
	for range steps {
		switch pick(10) {
		case 0, 1, 2, 3:
			r.put(1 + pick(r.tx.MaxFrame()))
		case 4:
			r.put(1 + pick(min(r.tx.MaxFrame(), 100)))
		case 5:
			r.tx.Flush()
			r.dev.transmit(pick(o.slots + 1))
		case 6:
			if pick(2) == 0 {
				r.reserve(1 + pick(r.tx.MaxFrame())) // and forget it
			} else {
				r.tx.Post()
			}
		case 7:
			r.tx.ReapDue()
		case 8:
			r.tx.SetMarkFrames(pick(20))
		case 9:
			if pick(50) == 0 {
				lost := r.tx.Reset()
				require.LessOrEqual(t, len(r.dev.sent), r.n)
				require.GreaterOrEqual(t, lost, r.n-len(r.dev.sent), "every frame not sent is counted")
				r.n, r.dev.sent = 0, nil
			}
		}
		require.LessOrEqual(t, r.tx.InUse(), r.tx.Capacity())
	}
	r.tx.Flush()
	r.dev.transmit(o.slots)
	r.arrived()
	r.dev.counter = nil
	for r.tx.Reap() > 0 {
	}
	require.Zero(t, r.tx.InUse(), "all was sent")
	require.True(t, r.put(r.tx.MaxFrame()), "an empty ring takes the longest frame")
}

// FuzzRX has the device hand back whatever the fuzzer wants: any length, flags
// and trailer, in any order.
func FuzzRX(f *testing.F) {
	f.Add([]byte{0, 60, 0, 4, 3, 0})
	f.Add([]byte{1, 192, 0, 0, 1, 0, 192, 0, 0, 0, 0, 1, 0, 4, 2, 0, 255})
	f.Add([]byte{2, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 254, 253})
	f.Add([]byte{3, 192, 0, 255, 1, 0, 72, 0, 250, 2, 0, 252})
	f.Fuzz(func(t *testing.T, in []byte) {
		next := func() byte {
			if len(in) == 0 {
				return 255
			}
			b := in[0]
			in = in[1:]
			return b
		}
		setup := int(next())
		r := newRXRig(t, rxOptions{slots: 2 + setup>>2&15, pages: 1 + setup>>3, total: setup&1 != 0, maxFrame: 14 + setup*8})
		r.refill()
		for len(in) > 0 {
			length := int(next())
			switch length {
			case 255:
				r.harvest(1 + int(next())%8)
			case 254:
				r.refill()
			case 253:
				r.rx.Reset()
				r.check(0)
			default:
				length |= int(next()) << 8
				c := ring.Completion{Len: uint32(length), Trim: next(), Flags: ring.Flags(next()) | ring.Flags(next())<<8}
				if c.Len > 0xff00 {
					c.Len |= 0xffff0000
				}
				r.dev.complete(nil, c)
			}
		}
		r.harvest(64)
		r.rx.Reset()
		r.check(0)
		require.Equal(t, r.pool.Pages(), r.pool.Stats().Free)
		// Whatever came before: a good frame arrives.
		r.refill()
		if r.rx.Posted() > 0 {
			require.True(t, r.send(pattern(1, 14), 0, 0))
			require.Equal(t, [][]byte{pattern(1, 14)}, r.harvest(64))
		}
	})
}

// FuzzTX takes every choice of the random walk from the fuzzer.
func FuzzTX(f *testing.F) {
	f.Add([]byte("a walk of some length, so that there is something to change"))
	f.Add([]byte{1, 2, 255, 16, 0, 0, 3, 3, 3, 3, 5, 17, 9, 4, 4, 4, 6, 0, 200, 5, 9, 9, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		at := 0
		pick := func(n int) int {
			if at >= len(in) {
				return 0
			}
			v := int(in[at])
			at++
			if n > 256 && at < len(in) {
				v |= int(in[at]) << 8
				at++
			}
			return v % n
		}
		walkTX(t, pick, min(len(in), 2000))
	})
}
