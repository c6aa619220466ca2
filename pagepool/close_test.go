package pagepool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
)

// waiting is a context that calls onWait each time somebody starts to wait for
// its end.
type waiting struct {
	context.Context
	onWait func()
}

func (w waiting) Done() <-chan struct{} {
	w.onWait()
	return w.Context.Done()
}

// ended is a context that is over.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestCloseReleasesOnce(t *testing.T) {
	p, mem := newTestPool(t, 4, 64, 4)
	require.NoError(t, p.Close(context.Background()))
	require.NoError(t, p.Close(context.Background()))
	require.NoError(t, p.Close(ended()))
	require.Equal(t, 1, mem.released)
	_, ok := p.Alloc()
	require.False(t, ok, "a closed pool has no page")
	require.Equal(t, uint64(1), p.Stats().AllocEmpty)
	p.Reclaim()
	require.Zero(t, p.ReclaimAll())
	require.NoError(t, p.Check())
	require.Panics(t, func() { p.Bytes(0) }, "not a read of unmapped memory")
}

func TestCloseRefusesWhileBusy(t *testing.T) {
	p, mem := newTestPool(t, 4, 64, 4)
	pg, _ := p.Alloc()
	held := hold(t, p)
	err := p.Close(context.Background())
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorContains(t, err, "1 pages posted, 1 held")
	_, ok := p.Alloc()
	require.True(t, ok, "a refused Close changes nothing")
	p.Claim(1 + held)
	p.Recycle(1 + held)
	p.Claim(pg)
	p.Recycle(pg)
	require.ErrorIs(t, p.Close(context.Background()), ErrBusy)
	p.Recycle(held)
	require.Zero(t, mem.released)
	require.NoError(t, p.Close(context.Background()))
	require.Equal(t, 1, mem.released)
}

func TestCloseWaitsForLentPages(t *testing.T) {
	p, mem := newTestPool(t, 4, 64, 4)
	_, v := lend(t, p)
	_, w := lend(t, p)
	waits := 0
	ctx := waiting{context.Background(), func() {
		require.Zero(t, mem.released)
		switch waits++; waits {
		case 1:
			v.Release()
		case 3:
			w.Release()
		}
	}}
	require.NoError(t, p.Close(ctx))
	require.GreaterOrEqual(t, waits, 3)
	require.Equal(t, 1, mem.released)
	require.Equal(t, uint64(2), p.Stats().RecycleRing)
}

// The device is gone and sockets still hold pages: the bytes stay readable, the
// memory stays out of reach of a new device, and it is freed in the end.
func TestCloseWithLentPages(t *testing.T) {
	p, mem := newTestPool(t, 16, 64, 16)
	var queue []*buffer.View
	for i := range 10 {
		pg := hold(t, p)
		copy(p.Bytes(pg), []byte{byte(i), 1, 2, 3})
		v, ok := p.Lend(pg, 0, 4)
		require.True(t, ok)
		queue = append(queue, v)
	}
	for want := 10; want > 0; want-- {
		err := p.Close(ended())
		var lentErr *LentError
		require.ErrorAs(t, err, &lentErr)
		require.Equal(t, &LentError{Lent: want, Pages: 16, Cause: context.Canceled}, lentErr)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "of 16 pages are still lent")
		require.Zero(t, mem.released)
		_, ok := p.Alloc()
		require.False(t, ok)
		v := queue[10-want]
		require.Equal(t, []byte{byte(10 - want), 1, 2, 3}, v.AsSlice())
		v.Release()
	}
	require.NoError(t, p.Close(ended()), "all are home: there is nothing to wait for")
	require.NoError(t, p.Close(ended()))
	require.Equal(t, 1, mem.released)
}

func TestCloseReportsTheCause(t *testing.T) {
	p, _ := newTestPool(t, 2, 64, 2)
	_, v := lend(t, p)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Close(ctx), context.DeadlineExceeded)
	why := errors.New("power is failing")
	ctx2, cancel2 := context.WithCancelCause(context.Background())
	cancel2(why)
	require.ErrorIs(t, p.Close(ctx2), why)
	v.Release()
	require.NoError(t, p.Close(context.Background()))
}

func TestCloseReportsAFailedRelease(t *testing.T) {
	p, mem := newTestPool(t, 2, 64, 2)
	mem.releaseErr = errors.New("munmap: invalid argument")
	require.ErrorIs(t, p.Close(context.Background()), mem.releaseErr)
	require.NoError(t, p.Close(context.Background()))
	require.Equal(t, 1, mem.released, "memory is released once, also when that fails")
}

// The last reader lets go while Close looks. Under the race detector this shows
// any access to the pool, or to its pages, after Close freed it.
func TestCloseAgainstLastRelease(t *testing.T) {
	rounds := 3000
	if raceEnabled {
		rounds = 500
	}
	for round := range rounds {
		p, mem := newTestPool(t, 8, 64, 8)
		var wg sync.WaitGroup
		for range 1 + round%8 {
			_, v := lend(t, p)
			wg.Go(func() {
				c := v.Clone()
				v.Release()
				for _, b := range c.AsSlice() {
					if b != poisonByte {
						panic("a lent page changed")
					}
				}
				c.Release()
			})
		}
		require.NoError(t, p.Close(context.Background()))
		require.Equal(t, 1, mem.released)
		clear(mem.Bytes()) // the next user of the memory writes to it
		wg.Wait()
	}
}
