package dma

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTake(t *testing.T) {
	for _, c := range []struct {
		name               string
		from, size         uint64 // of the free range
		want, align, limit uint64
		addr               uint64
		ok                 bool
	}{
		{"lowest", 0x1000, 0x1000, 0x100, 1, 1 << 63, 0x1000, true},
		{"all of it", 0x1000, 0x1000, 0x1000, 1, 1 << 63, 0x1000, true},
		{"one too many", 0x1000, 0x1000, 0x1001, 1, 1 << 63, 0, false},
		{"nothing", 0x1000, 0x1000, 0, 1, 1 << 63, 0, false},
		{"aligned up", 0x1100, 0x10000, 0x100, 0x1000, 1 << 63, 0x2000, true},
		{"aligned out of the range", 0x1100, 0x800, 0x100, 0x1000, 1 << 63, 0, false},
		{"ends at the limit", 0xff00, 0x1000, 0x100, 0x100, 0x10000, 0xff00, true},
		{"ends above the limit", 0xff01, 0x1000, 0x100, 1, 0x10000, 0, false},
		{"begins above the limit", 0x10000, 0x1000, 0x100, 1, 0x10000, 0, false},
		{"ends at 4 GiB", 0xffff_f000, 0x10000, 0x1000, 1, 1 << 63, 0xffff_f000, true},
		{"would cross 4 GiB", 0xffff_f000, 0x10000, 0x1001, 1, 1 << 63, 1 << 32, true},
		{"crosses 4 GiB and has no room behind", 0xffff_f000, 0x2000, 0x1001, 1, 1 << 63, 0, false},
		{"crosses 4 GiB and is limited to 32 bits", 0xffff_f000, 0x10000, 0x1001, 1, 1 << 32, 0, false},
		{"crosses 8 GiB", 2<<32 - 0x80, 0x10000, 0x100, 1, 1 << 63, 2 << 32, true},
		{"4 GiB whole", 1 << 32, 1 << 33, 1 << 32, 1, 1 << 63, 1 << 32, true},
		{"4 GiB whole, aligned up", 1<<32 - 1, 1 << 33, 1 << 32, 1, 1 << 63, 1 << 32, true},
		{"more than 4 GiB", 0, 1 << 34, 1<<32 + 1, 1, 1 << 63, 0, false},
		{"top of the address space", 1<<63 - 0x1000, 0x1000, 0x1000, 0x1000, 1 << 63, 1<<63 - 0x1000, true},
	} {
		var r Ranges
		r.Add(c.from, c.size)
		addr, ok := r.Take(c.want, c.align, c.limit)
		require.Equal(t, c.ok, ok, c.name)
		require.Equal(t, c.addr, addr, c.name)
		if ok {
			r.Add(addr, c.want)
		}
		require.Equal(t, []span{{c.from, c.from + c.size}}, r.free, "%s: all is back in one range", c.name)
	}
}

// TestRandom holds Ranges against a map of single units.
func TestRandom(t *testing.T) {
	const base, unit, units = 1<<32 - 40<<8, 1 << 8, 100
	random := rand.New(rand.NewPCG(1, 2))
	var r Ranges
	r.Add(base, units*unit)
	used := map[uint64]bool{}
	type piece struct{ addr, size uint64 }
	var out []piece
	for range 20000 {
		if len(out) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(out))
			p := out[i]
			out = append(out[:i], out[i+1:]...)
			for a := p.addr; a < p.addr+p.size; a += unit {
				require.True(t, used[a])
				delete(used, a)
			}
			r.Add(p.addr, p.size)
			continue
		}
		size, align := uint64(1+random.IntN(20))*unit, uint64(unit)<<random.IntN(4)
		addr, ok := r.Take(size, align, 1<<63)
		if !ok {
			continue
		}
		require.Zero(t, addr%align)
		require.Equal(t, addr>>32, (addr+size-1)>>32)
		require.True(t, addr >= base && addr+size <= base+units*unit)
		for a := addr; a < addr+size; a += unit {
			require.False(t, used[a])
			used[a] = true
		}
		out = append(out, piece{addr, size})
		for i := 1; i < len(r.free); i++ {
			require.Less(t, r.free[i-1].to, r.free[i].from, "ranges are sorted and do not touch")
		}
	}
	for _, p := range out {
		r.Add(p.addr, p.size)
	}
	require.Equal(t, []span{{base, base + units*unit}}, r.free)
}
