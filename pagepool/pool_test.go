package pagepool

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
)

// testMemory is heap memory that counts what the pool does with it.
type testMemory struct {
	Memory
	coherent   bool
	released   int
	releaseErr error
	syncs      []string
}

func newTestMemory(size int, addr uint64) *testMemory {
	return &testMemory{Memory: NewHeap(size, addr), coherent: true}
}

func (m *testMemory) Coherent() bool { return m.coherent }
func (m *testMemory) SyncForDevice(off, n int) {
	m.syncs = append(m.syncs, fmt.Sprintf("device %d+%d", off, n))
}
func (m *testMemory) SyncForCPU(off, n int) {
	m.syncs = append(m.syncs, fmt.Sprintf("cpu %d+%d", off, n))
}
func (m *testMemory) Release() error {
	m.released++
	return m.releaseErr
}

// newTestPool makes a pool that lends everything and poisons free pages.
func newTestPool(t testing.TB, pages, pageSize, maxLent int) (*Pool, *testMemory) {
	t.Helper()
	mem := newTestMemory(pages*pageSize, 0x10000)
	p, err := New(mem, Config{PageSize: pageSize, MaxLent: maxLent, CopyBreak: LendAlways, Poison: true})
	require.NoError(t, err)
	require.NoError(t, p.CanLend())
	return p, mem
}

// hold takes a page through Alloc and Claim.
func hold(t testing.TB, p *Pool) Page {
	t.Helper()
	pg, ok := p.Alloc()
	require.True(t, ok)
	p.Claim(pg)
	return pg
}

// lend lends a whole page.
func lend(t testing.TB, p *Pool) (Page, *buffer.View) {
	t.Helper()
	pg := hold(t, p)
	v, ok := p.Lend(pg, 0, p.PageSize())
	require.True(t, ok)
	return pg, v
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		mem  Memory
		cfg  Config
		want string
	}{
		{"no memory", nil, Config{PageSize: 64}, "no memory"},
		{"no page size", NewHeap(4096, 0), Config{}, "page size 0"},
		{"negative page size", NewHeap(4096, 0), Config{PageSize: -64}, "page size -64"},
		{"odd page size", NewHeap(4096, 0), Config{PageSize: 100}, "page size 100"},
		{"huge page size", NewHeap(1<<18, 0), Config{PageSize: 1 << 17}, "up to 65536"},
		{"no room for a page", NewHeap(4096, 0), Config{PageSize: 8192}, "holds 0, need at least 1"},
		{"empty memory", NewHeap(0, 0), Config{PageSize: 64}, "holds 0"},
		{"negative memory", NewHeap(-5, 0), Config{PageSize: 64}, "holds 0"},
		{"too many pages", NewHeap(4096, 0), Config{PageSize: 2048, Pages: 3}, "3 pages"},
		{"negative pages", NewHeap(4096, 0), Config{PageSize: 2048, Pages: -1}, "-1 pages"},
		{"crooked address", NewHeap(4096, 32), Config{PageSize: 2048}, "device address 0x20"},
		{"address wraps", NewHeap(4096, math.MaxUint64-63), Config{PageSize: 2048}, "no wrap-around"},
		{"negative limit", NewHeap(4096, 0), Config{PageSize: 2048, MaxLent: -1}, "loan limit -1"},
		{"limit above pages", NewHeap(4096, 0), Config{PageSize: 2048, MaxLent: 3}, "loan limit 3"},
		{"negative copy break", NewHeap(4096, 0), Config{PageSize: 2048, CopyBreak: -1}, "copy break -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(c.mem, c.cfg)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, p)
		})
	}
}

func TestNewDefaults(t *testing.T) {
	p, err := New(NewHeap(10*2048+100, 1<<40), Config{PageSize: 2048, CopyBreak: 1000})
	require.NoError(t, err)
	require.Equal(t, 10, p.Pages())
	require.Equal(t, 2048, p.PageSize())
	require.Equal(t, 1000, p.CopyBreak())
	require.Equal(t, 5, p.maxLent)
	require.Equal(t, Stats{Pages: 10, Free: 10}, p.Stats())
	require.Equal(t, uint64(1<<40+3*2048), p.Addr(3))
	require.NoError(t, p.Check())

	one, err := New(NewHeap(64, 0), Config{PageSize: 64, CopyBreak: LendAlways})
	require.NoError(t, err)
	require.Equal(t, 1, one.maxLent, "half of one page")
}

func TestBytesAreThePage(t *testing.T) {
	mem := newTestMemory(4*128, 0x40)
	p, err := New(mem, Config{PageSize: 128, Pages: 3, CopyBreak: LendAlways})
	require.NoError(t, err)
	for pg := range Page(3) {
		b := p.Bytes(pg)
		require.Len(t, b, 128)
		require.Equal(t, 128, cap(b))
		require.Same(t, &mem.Bytes()[int(pg)*128], &b[0])
		require.Equal(t, 0x40+uint64(pg)*128, p.Addr(pg))
	}
	for _, pg := range []Page{3, 1 << 25, math.MaxUint32} { // 1<<25 pages are 1<<32 bytes
		require.PanicsWithValue(t, fmt.Sprintf("pagepool: Bytes of page %d: 128 bytes at 0: the pool has 3 pages of 128 bytes", pg),
			func() { p.Bytes(pg) })
	}
}

func TestLifeOfAPage(t *testing.T) {
	p, _ := newTestPool(t, 4, 256, 2)
	pg, ok := p.Alloc()
	require.True(t, ok)
	require.Equal(t, Stats{AllocFast: 1, Pages: 4, Free: 3, Posted: 1}, p.Stats())
	p.Claim(pg)
	require.Equal(t, Stats{AllocFast: 1, Pages: 4, Free: 3, Held: 1}, p.Stats())
	p.Repost(pg)
	require.Equal(t, Stats{AllocFast: 1, Pages: 4, Free: 3, Posted: 1}, p.Stats())
	p.Claim(pg)
	copy(p.Bytes(pg), "0123456789")
	v, ok := p.Lend(pg, 2, 5)
	require.True(t, ok)
	require.Equal(t, "23456", string(v.AsSlice()))
	require.Same(t, &p.Bytes(pg)[2], &v.AsSlice()[0], "the view is the page")
	require.Equal(t, Stats{AllocFast: 1, Pages: 4, Free: 3, Lent: 1, LentHighWater: 1}, p.Stats())

	c := v.Clone()
	v.Release()
	require.Equal(t, 1, p.ReclaimAll(), "a clone keeps the page")
	require.Equal(t, "23456", string(c.AsSlice()))
	c.Release()
	require.Zero(t, p.ReclaimAll())
	require.Equal(t, Stats{AllocFast: 1, RecycleRing: 1, ReclaimScanned: 2, Pages: 4, Free: 4, LentHighWater: 1}, p.Stats())

	again := hold(t, p)
	require.Equal(t, pg, again, "the page used last comes first")
	p.Recycle(again)
	p.CountCopy()
	require.Equal(t, Stats{AllocFast: 2, RecycleCached: 1, RecycleRing: 1, ReclaimScanned: 2, CopiedShort: 1,
		Pages: 4, Free: 4, LentHighWater: 1}, p.Stats())
	require.NoError(t, p.Check())
}

// Each operation in each state: it works where it may and else names the page
// and both states.
func TestIllegalChangesPanic(t *testing.T) {
	enter := map[state]func(p *Pool, pg Page){
		free:   func(p *Pool, pg Page) { p.Claim(pg); p.Recycle(pg) },
		posted: func(*Pool, Page) {},
		held:   func(p *Pool, pg Page) { p.Claim(pg) },
		lent:   func(p *Pool, pg Page) { p.Claim(pg); p.Lend(pg, 0, 64) },
	}
	for _, op := range []struct {
		name string
		do   func(p *Pool, pg Page)
		from state
	}{
		{"Claim", (*Pool).Claim, posted},
		{"Repost", (*Pool).Repost, held},
		{"Recycle", (*Pool).Recycle, held},
		{"Lend", func(p *Pool, pg Page) { p.Lend(pg, 0, 64) }, held},
	} {
		for s, into := range enter {
			t.Run(fmt.Sprintf("%s/%v", op.name, s), func(t *testing.T) {
				p, _ := newTestPool(t, 3, 64, 3)
				for range 2 { // page 1 is the one under test
					_, ok := p.Alloc()
					require.True(t, ok)
				}
				into(p, 1)
				if s == op.from {
					op.do(p, 1)
					require.NoError(t, p.Check())
					return
				}
				before := p.Stats()
				require.PanicsWithValue(t,
					fmt.Sprintf("pagepool: %s of page 1: is %v, want %v", op.name, s, op.from),
					func() { op.do(p, 1) })
				require.Equal(t, before, p.Stats())
				require.NoError(t, p.Check())
			})
		}
		p, _ := newTestPool(t, 3, 64, 3)
		for _, pg := range []Page{3, math.MaxInt32, math.MaxUint32} {
			require.PanicsWithValue(t,
				fmt.Sprintf("pagepool: %s of page %d: the pool has 3 pages", op.name, pg),
				func() { op.do(p, pg) })
		}
	}
}

func TestRangesOutsideThePagePanic(t *testing.T) {
	p, mem := newTestPool(t, 2, 64, 2)
	p.coherent, mem.coherent = false, false
	pg := hold(t, p)
	for _, c := range []struct{ off, n int }{
		{-1, 1}, {0, -1}, {0, 65}, {64, 1}, {65, 0}, {1, 64}, {math.MaxInt, 1}, {1, math.MaxInt}, {math.MinInt, math.MinInt},
	} {
		want := fmt.Sprintf("of page 0: %d bytes at %d: the pool has 2 pages of 64 bytes", c.n, c.off)
		for name, f := range map[string]func(){
			"Lend":          func() { p.Lend(pg, c.off, c.n) },
			"SyncForCPU":    func() { p.SyncForCPU(pg, c.off, c.n) },
			"SyncForDevice": func() { p.SyncForDevice(pg, c.off, c.n) },
		} {
			require.PanicsWithValue(t, "pagepool: "+name+" "+want, f)
		}
	}
	require.Panics(t, func() { p.SyncForCPU(2, 0, 1) })
	require.Empty(t, mem.syncs)

	v, ok := p.Lend(pg, 64, 0)
	require.True(t, ok, "nothing at the end of the page is inside it")
	require.Zero(t, v.Size())
	v.Release()
	require.Zero(t, p.ReclaimAll())
}

func TestSync(t *testing.T) {
	mem := newTestMemory(4*256, 0)
	mem.coherent = false
	p, err := New(mem, Config{PageSize: 256, CopyBreak: LendAlways})
	require.NoError(t, err)
	p.SyncForCPU(2, 64, 61)
	p.SyncForDevice(3, 0, 256)
	require.Equal(t, []string{"cpu 576+61", "device 768+256"}, mem.syncs)

	mem.syncs, mem.coherent = nil, true
	p, err = New(mem, Config{PageSize: 256, CopyBreak: LendAlways})
	require.NoError(t, err)
	p.SyncForCPU(2, 64, 61)
	p.SyncForDevice(3, 0, 256)
	require.Empty(t, mem.syncs, "coherent memory needs none")
}

func TestPoison(t *testing.T) {
	p, _ := newTestPool(t, 2, 64, 2)
	poison := strings.Repeat("\xdb", 64)
	pg := hold(t, p)
	require.Equal(t, poison, string(p.Bytes(pg)), "from the start")
	copy(p.Bytes(pg), "frame")
	v, ok := p.Lend(pg, 0, 5)
	require.True(t, ok)
	stale := v.AsSlice()
	p.Reclaim()
	require.Equal(t, "frame", string(stale))
	v.Release()
	require.Zero(t, p.ReclaimAll())
	require.Equal(t, "\xdb\xdb\xdb\xdb\xdb", string(stale), "use after free shows")
	pg = hold(t, p)
	copy(p.Bytes(pg), "frame")
	p.Recycle(pg)
	require.NoError(t, p.Check())
	p.Bytes(pg)[63] = 1
	require.ErrorContains(t, p.Check(), "byte 63 of free page 0 was written: is 0x01, want 0xdb")
}

func TestCheckFindsBrokenSums(t *testing.T) {
	for name, damage := range map[string]func(p *Pool){
		"posted count": func(p *Pool) { p.posted++ },
		"held count":   func(p *Pool) { p.held-- },
		"state":        func(p *Pool) { p.state[0] = free },
		"lost page":    func(p *Pool) { p.free = p.free[1:] },
		"double":       func(p *Pool) { p.free[0] = p.free[1] },
		"wrong list":   func(p *Pool) { p.free[0] = 0 },
		"no such page": func(p *Pool) { p.free[0] = 99 },
	} {
		p, _ := newTestPool(t, 5, 64, 5)
		hold(t, p)
		_, v := lend(t, p)
		require.NoError(t, p.Check())
		damage(p)
		require.Error(t, p.Check(), name)
		v.Release()
	}
}

func TestStatsJSON(t *testing.T) {
	b, err := json.Marshal(Stats{AllocFast: 1, AllocSlow: 2, AllocEmpty: 3, RecycleCached: 4, RecycleRing: 5, ReclaimScanned: 6,
		CopiedShort: 7, CopiedLimit: 8, Pages: 9, Free: 10, Posted: 11, Held: 12, Lent: 13, LentHighWater: 14})
	require.NoError(t, err)
	require.JSONEq(t, `{"alloc_fast":1,"alloc_slow":2,"alloc_empty":3,"recycle_cached":4,"recycle_ring":5,"reclaim_scanned":6,
		"copied_short":7,"copied_limit":8,"pages":9,"free":10,"posted":11,"held":12,"lent":13,"lent_high_water":14}`, string(b))
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop views at random")
	}
	p, err := New(NewHeap(64*2048, 0), Config{PageSize: 2048, CopyBreak: LendAlways})
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		pg, _ := p.Alloc()
		p.Claim(pg)
		v, _ := p.Lend(pg, 54, 1448)
		v.Release()
		p.Reclaim()
		pg, _ = p.Alloc()
		p.Claim(pg)
		p.Repost(pg)
		p.Claim(pg)
		p.Recycle(pg)
	}))
	require.NoError(t, p.Check())
}

func TestMemories(t *testing.T) {
	mmap, err := NewMmap(3*4096, 0x5000)
	require.NoError(t, err)
	for name, m := range map[string]Memory{"heap": NewHeap(3*4096, 0x5000), "mmap": mmap} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, m.Bytes(), 3*4096)
			require.Equal(t, 3*4096, cap(m.Bytes()))
			require.Equal(t, uint64(0x5000), m.DeviceAddr())
			require.True(t, m.Coherent())
			require.Equal(t, make([]byte, 3*4096), m.Bytes())
			require.Zero(t, reflect.ValueOf(m.Bytes()).Pointer()%heapAlign, "alignment")
			p, err := New(m, Config{PageSize: 2048, CopyBreak: LendAlways})
			require.NoError(t, err)
			_, v := lend(t, p)
			v.Release()
			require.NoError(t, p.Close(context.Background()))
			require.NoError(t, m.Release(), "a second release does nothing")
		})
	}
	_, err = NewMmap(0, 0)
	require.Error(t, err)
	_, err = NewMmap(-1, 0)
	require.Error(t, err)
}

func TestPostedFindsPostedPagesOnly(t *testing.T) {
	const base = 0x4000_0000
	p, err := New(NewHeap(4*2048, base), Config{PageSize: 2048, CopyBreak: LendAlways})
	require.NoError(t, err)
	a, _ := p.Alloc()
	b, _ := p.Alloc()
	p.Claim(b)
	got, ok := p.Posted(p.Addr(a))
	require.True(t, ok)
	require.Equal(t, a, got)
	for _, addr := range []uint64{0, base - 2048, base + 4*2048, p.Addr(a) + 1, p.Addr(a) + 64, p.Addr(a) + 1<<32, p.Addr(b), p.Addr(3), ^uint64(0)} {
		_, ok := p.Posted(addr)
		require.False(t, ok, "%#x", addr)
	}
	p.Unpost()
	_, ok = p.Posted(p.Addr(a))
	require.False(t, ok)
	require.Equal(t, []int{3, 0, 1}, []int{p.Stats().Free, p.Stats().Posted, p.Stats().Held}, "free, posted and held pages")
	p.Recycle(b)
	require.NoError(t, p.Check())
	require.NoError(t, p.Close(t.Context()))
}
