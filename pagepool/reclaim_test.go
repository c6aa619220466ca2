package pagepool

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
)

// A reader that never reads holds MaxLent pages and no more: the ring always
// finds a page for an empty slot.
func TestLoanLimitKeepsTheRingFull(t *testing.T) {
	const pages, slots = 64, 16
	p, _ := newTestPool(t, pages, 64, pages-slots)
	ring := make([]Page, slots)
	for i := range ring {
		pg, ok := p.Alloc()
		require.True(t, ok)
		ring[i] = pg
	}
	var queue []*buffer.View
	const frames = 1000
	for i := range frames {
		slot := i % slots
		p.Claim(ring[slot])
		if v, ok := p.Lend(ring[slot], 0, 64); ok {
			queue = append(queue, v)
		} else {
			p.Recycle(ring[slot])
		}
		p.Reclaim()
		pg, ok := p.Alloc()
		require.True(t, ok, "frame %d", i)
		ring[slot] = pg
		require.NoError(t, p.Check())
	}
	require.Len(t, queue, pages-slots)
	st := p.Stats()
	require.Equal(t, uint64(frames-len(queue)), st.CopiedLimit)
	require.Equal(t, pages-slots, st.LentHighWater)
	require.Zero(t, st.AllocEmpty)

	for _, v := range queue {
		v.Release()
	}
	require.Zero(t, p.ReclaimAll())
	p.Claim(ring[0])
	v, ok := p.Lend(ring[0], 0, 64)
	require.True(t, ok, "below the limit lending goes on")
	v.Release()
}

func TestAllocReclaimsWhenEmpty(t *testing.T) {
	p, _ := newTestPool(t, 2, 64, 2)
	a, v := lend(t, p)
	b, w := lend(t, p)
	_, ok := p.Alloc()
	require.False(t, ok)
	require.Equal(t, uint64(1), p.Stats().AllocEmpty)
	w.Release()
	v.Release()
	// The scan just failed, so the next call may still skip it, not more.
	pg, ok := p.Alloc()
	if !ok {
		pg, ok = p.Alloc()
	}
	require.True(t, ok)
	require.Contains(t, []Page{a, b}, pg)
	require.Equal(t, uint64(1), p.Stats().AllocSlow)
	require.NoError(t, p.Check())
}

func TestReclaimIsBounded(t *testing.T) {
	const pages = 2000
	p, _ := newTestPool(t, pages, 64, pages)
	views := make([]*buffer.View, pages)
	for i := range views {
		_, views[i] = lend(t, p)
	}
	// Nothing comes home: calls that scan are 1, 2, 4, 8, 8, … skips apart.
	var scans []int
	for call := range 60 {
		before := p.Stats().ReclaimScanned
		p.Reclaim()
		switch n := p.Stats().ReclaimScanned - before; n {
		case 0:
		case scanMax:
			scans = append(scans, call)
		default:
			t.Fatalf("call %d looked at %d pages, want 0 or %d", call, n, scanMax)
		}
	}
	require.Equal(t, []int{0, 2, 5, 10, 19, 28, 37, 46, 55}, scans)

	// Everything comes home: as soon as a scan pays, none is skipped.
	for _, v := range views {
		v.Release()
	}
	calls := 0
	for ; p.Stats().Lent > 0; calls++ {
		require.Less(t, calls, skipMax+(pages+scanMax-1)/scanMax)
		p.Reclaim()
	}
	require.Equal(t, uint64(pages), p.Stats().RecycleRing)
	require.NoError(t, p.Check())
}

// Pages that stay out do not hide the ones that come home.
func TestReclaimGoesRound(t *testing.T) {
	const pages = 4 * scanMax
	p, _ := newTestPool(t, pages, 64, pages)
	views := make(map[Page]*buffer.View)
	for range pages {
		pg, v := lend(t, p)
		views[pg] = v
	}
	last := p.lent[pages-1]
	views[last].Release()
	for call := 0; p.state[last] != free; call++ {
		require.Less(t, call, (skipMax+1)*(pages/scanMax))
		p.Reclaim()
	}
	require.Equal(t, pages-1, p.Stats().Lent)
	require.NoError(t, p.Check())
}

func TestReclaimAllEndsTheSkipping(t *testing.T) {
	p, _ := newTestPool(t, 4, 64, 4)
	_, v := lend(t, p)
	for range 6 {
		p.Reclaim() // fruitless: the next calls are skipped
	}
	require.NotZero(t, p.scan.skip)
	require.Equal(t, 1, p.ReclaimAll())
	v.Release()
	p.Reclaim()
	require.Zero(t, p.Stats().Lent)
}
