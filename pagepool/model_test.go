package pagepool

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
)

// model is what a pool must do, in the plainest form: a state for each page and
// the views that are out. Each step is done to both and compared.
type model struct {
	t      testing.TB
	pool   *Pool
	mem    *testMemory
	limit  int
	state  []state
	views  [][]loan // by page
	closed bool
	done   bool // the memory was released
	want   counters
}

// loan is a view and what it must read.
type loan struct {
	v    *buffer.View
	want string
}

func newModel(t testing.TB, pages, limit int) *model {
	p, mem := newTestPool(t, pages, 64, limit)
	return &model{t: t, pool: p, mem: mem, limit: limit, state: make([]state, pages), views: make([][]loan, pages)}
}

func (m *model) count(s state) (n int) {
	for _, have := range m.state {
		if have == s {
			n++
		}
	}
	return n
}

// step does one operation. op picks it, arg its operands; every pair of bytes
// means something.
func (m *model) step(op, arg byte) {
	pg := Page(int(arg) % len(m.state))
	switch op % 12 {
	case 0, 1, 2:
		m.alloc(arg)
	case 3, 4:
		m.legal("Claim", pg, posted, held, m.pool.Claim)
	case 5:
		m.legal("Repost", pg, held, posted, m.pool.Repost)
	case 6:
		if m.legal("Recycle", pg, held, free, m.pool.Recycle) {
			m.want.recycleCached++
		}
	case 7, 8:
		m.lend(pg, int(arg)%65)
	case 9:
		m.view(pg, arg)
	case 10:
		if arg%4 == 0 {
			m.reclaimAll()
		} else {
			m.pool.Reclaim()
		}
	case 11:
		if arg%32 == 0 {
			m.close()
		}
	}
	m.reconcile()
}

// alloc takes a page and has the device write to it.
func (m *model) alloc(tag byte) {
	empty := len(m.pool.free) == 0
	pg, ok := m.pool.Alloc()
	switch {
	case !ok:
		m.want.allocEmpty++
		m.reconcile() // it may have reclaimed
		require.True(m.t, m.closed || m.count(free) == 0)
		return
	case empty:
		m.want.allocSlow++
		m.want.recycleRing++
		require.Equal(m.t, lent, m.state[pg])
	default:
		m.want.allocFast++
		require.Equal(m.t, free, m.state[pg])
	}
	require.False(m.t, m.closed)
	require.Empty(m.t, m.views[pg], "page %d was handed out while lent", pg)
	m.state[pg] = posted
	for i := range m.pool.Bytes(pg) {
		m.pool.Bytes(pg)[i] = tag + byte(i)
	}
}

// legal does op if the model allows it, and else demands the panic.
func (m *model) legal(op string, pg Page, from, to state, do func(Page)) bool {
	if m.state[pg] != from {
		require.PanicsWithValue(m.t, fmt.Sprintf("pagepool: %s of page %d: is %v, want %v", op, pg, m.pool.state[pg], from),
			func() { do(pg) })
		return false
	}
	do(pg)
	m.state[pg] = to
	return true
}

func (m *model) lend(pg Page, n int) {
	if m.state[pg] != held {
		m.legal("Lend", pg, held, lent, func(pg Page) { m.pool.Lend(pg, 0, n) })
		return
	}
	v, ok := m.pool.Lend(pg, 64-n, n)
	require.Equal(m.t, m.count(lent) < m.limit, ok)
	if !ok {
		m.want.copiedLimit++
		return
	}
	m.state[pg] = lent
	m.want.lentHighWater = max(m.want.lentHighWater, m.count(lent))
	m.views[pg] = append(m.views[pg], loan{v, string(m.pool.Bytes(pg)[64-n:])})
}

// view has the stack do something to a view of the page.
func (m *model) view(pg Page, arg byte) {
	if len(m.views[pg]) == 0 {
		return
	}
	i := int(arg/16) % len(m.views[pg])
	l := m.views[pg][i]
	require.Equal(m.t, l.want, string(l.v.AsSlice()))
	switch arg % 8 {
	case 0:
		m.views[pg] = append(m.views[pg], loan{l.v.Clone(), l.want})
	case 1:
		k := int(arg) % (len(l.want) + 1)
		l.v.TrimFront(k)
		m.views[pg][i].want = l.want[k:]
	case 2:
		l.v.CapLength(len(l.want) / 2)
		m.views[pg][i].want = l.want[:len(l.want)/2]
	default:
		if arg%8 == 3 { // a write copies, so this view is none of the page any more
			_, err := l.v.WriteAt([]byte(l.want), 0)
			require.NoError(m.t, err)
		}
		l.v.Release()
		m.views[pg] = append(m.views[pg][:i], m.views[pg][i+1:]...)
	}
}

func (m *model) reclaimAll() {
	out := 0
	for pg, s := range m.state {
		if s == lent && len(m.views[pg]) > 0 {
			out++
		}
	}
	require.Equal(m.t, out, m.pool.ReclaimAll())
}

func (m *model) close() {
	err := m.pool.Close(ended())
	m.done = m.done || err == nil
	m.reconcile() // it may have reclaimed
	switch {
	case m.count(posted)+m.count(held) > 0:
		require.ErrorIs(m.t, err, ErrBusy)
		return
	case m.count(lent) > 0:
		require.ErrorIs(m.t, err, context.Canceled)
	default:
		require.NoError(m.t, err)
	}
	m.closed = true
}

// reconcile compares everything. Only when a page that is home becomes free is
// left to the pool.
func (m *model) reconcile() {
	for pg, s := range m.state {
		have := m.pool.state[pg]
		if s == lent && have == free && len(m.views[pg]) == 0 {
			m.state[pg] = free
			m.want.recycleRing++
			continue
		}
		require.Equal(m.t, s, have, "page %d", pg)
	}
	m.want.scanned = m.pool.stats.scanned
	require.Equal(m.t, m.want, m.pool.stats)
	st := m.pool.Stats()
	require.Equal(m.t, len(m.state), st.Free+st.Posted+st.Held+st.Lent)
	require.NoError(m.t, m.pool.Check())
	released := 0
	if m.done {
		released = 1
	}
	require.Equal(m.t, released, m.mem.released)
}

// finish brings every page home.
func (m *model) finish() {
	for pg := range m.state {
		for _, l := range m.views[pg] {
			require.Equal(m.t, l.want, string(l.v.AsSlice()))
			l.v.Release()
		}
		m.views[pg] = nil
		if m.state[pg] == posted {
			m.legal("Claim", Page(pg), posted, held, m.pool.Claim)
		}
		if m.state[pg] == held && m.legal("Recycle", Page(pg), held, free, m.pool.Recycle) {
			m.want.recycleCached++
		}
	}
	m.reconcile()
	m.close()
	require.True(m.t, m.done)
	m.reconcile()
	require.Equal(m.t, len(m.state), m.count(free))
}

func TestModel(t *testing.T) {
	seeds, steps := 150, 400
	if raceEnabled {
		seeds = 40
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		pages := 1 + r.IntN(12)
		m := newModel(t, pages, 1+r.IntN(pages))
		for range steps {
			op := byte(r.Uint32())
			if op%12 == 11 && r.IntN(4) > 0 {
				continue // closing is rare
			}
			m.step(op, byte(r.Uint32()))
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		m.finish()
	}
}

// FuzzPool drives pool and model with pairs of bytes after two for the sizes.
func FuzzPool(f *testing.F) {
	f.Add([]byte{3, 2, 0, 0, 3, 0, 7, 40, 9, 0, 9, 4, 9, 4, 10, 0, 11, 32})
	f.Add([]byte{1, 1, 0, 7, 3, 0, 5, 0, 3, 0, 8, 64, 11, 0, 9, 5, 11, 0})
	f.Add([]byte{7, 1, 0, 0, 0, 1, 3, 5, 3, 6, 7, 5, 8, 6, 6, 6, 10, 1, 10, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 2 || len(b) > 2000 {
			return
		}
		pages := 1 + int(b[0])%16
		m := newModel(t, pages, 1+int(b[1])%pages)
		for b = b[2:]; len(b) >= 2; b = b[2:] {
			m.step(b[0], b[1])
		}
		m.finish()
	})
}

// Readers clone, read and release in other goroutines, while the owner posts and
// the "device" overwrites each page that it gets. On the Go heap the race
// detector sees a page that is reused too early; the readers see its bytes change.
func TestReadersInOtherGoroutines(t *testing.T) {
	const pages, pageSize, slots, readers = 64, 256, 16, 4
	frames := 40000
	if raceEnabled {
		frames = 8000
	}
	p, mem := newTestPool(t, pages, pageSize, pages-slots)
	var out [pages]atomic.Int32 // views of each page that are not released
	type frame struct {
		v   *buffer.View
		pg  Page
		tag byte
	}
	queue := make(chan frame, pages)
	var wg sync.WaitGroup
	var damaged atomic.Int32
	for id := range readers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(id)))
			var kept []frame // read late, out of order
			read := func(f frame) {
				for _, b := range f.v.AsSlice() {
					if b != f.tag {
						damaged.Add(1)
						break
					}
				}
				out[f.pg].Add(-1) // before the release: after it the page may be reused
				f.v.Release()
			}
			for f := range queue {
				if r.IntN(2) == 0 {
					out[f.pg].Add(1)
					kept = append(kept, frame{f.v.Clone(), f.pg, f.tag})
				}
				read(f)
				for len(kept) > r.IntN(8) {
					i := r.IntN(len(kept))
					read(kept[i])
					kept = append(kept[:i], kept[i+1:]...)
				}
			}
			for _, f := range kept {
				read(f)
			}
		})
	}
	var ring [slots]Page
	refill := func(slot int) {
		pg, ok := p.Alloc()
		require.True(t, ok, "the loan limit keeps a page for every slot")
		require.Zero(t, out[pg].Load(), "page %d is still lent", pg)
		ring[slot] = pg
	}
	for slot := range ring {
		refill(slot)
	}
	for i := range frames {
		slot, tag := i%slots, byte(i)
		pg := ring[slot]
		b := p.Bytes(pg)
		for k := range b {
			b[k] = tag // DMA
		}
		p.Claim(pg)
		if v, ok := p.Lend(pg, 10, pageSize-10); ok {
			out[pg].Store(1)
			queue <- frame{v, pg, tag}
		} else {
			p.Recycle(pg)
		}
		if i%8 == 7 {
			p.Reclaim()
		}
		refill(slot)
		if i%64 == 0 {
			require.NoError(t, p.Check())
		}
	}
	close(queue)
	for _, pg := range ring {
		p.Claim(pg)
		p.Recycle(pg)
	}
	require.NoError(t, p.Close(t.Context()))
	wg.Wait()
	require.Zero(t, damaged.Load())
	require.Equal(t, 1, mem.released)
	st := p.Stats()
	require.Equal(t, uint64(frames), st.RecycleRing+st.CopiedLimit, "each frame was lent or copied")
	require.NotZero(t, st.RecycleRing)
	require.NoError(t, p.Check())
}
