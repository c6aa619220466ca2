package fifo

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func number(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

func TestOrderAndBatches(t *testing.T) {
	q := New(5, 3)
	for i := range 5 {
		ok, waited := q.Put(number(i), false)
		require.True(t, ok)
		require.False(t, waited)
	}
	ok, _ := q.Put(number(5), false)
	require.False(t, ok, "a full queue took a frame")
	require.Equal(t, 5, q.Len())

	require.Equal(t, [][]byte{number(0), number(1)}, q.Next(2, false))
	require.Equal(t, [][]byte{number(2), number(3), number(4)}, q.Next(9, true), "batch bounds the answer")
	require.Empty(t, q.Next(9, false))
}

func TestTheReadersBuffersStayItsOwn(t *testing.T) {
	q := New(2, 2)
	q.Put(number(1), false)
	q.Put(number(2), false)
	got := q.Next(2, false)
	q.Put(number(3), false)
	q.Put(number(4), false)
	require.Equal(t, [][]byte{number(1), number(2)}, got)
	require.Equal(t, [][]byte{number(3), number(4)}, q.Next(2, false))
}

func TestPutWaitsForSpace(t *testing.T) {
	const frames = 1000
	q := New(3, 2)
	var put sync.WaitGroup
	put.Go(func() {
		for i := range frames {
			ok, _ := q.Put(number(i), true)
			if !ok {
				t.Error("Put failed on an open queue")
			}
		}
	})
	for want := 0; want < frames; {
		for _, f := range q.Next(2, true) {
			require.Equal(t, number(want), f)
			want++
		}
	}
	put.Wait()
}

func TestCloseEndsEveryWait(t *testing.T) {
	full, empty := New(1, 1), New(1, 1)
	full.Put(number(0), false)
	var waits sync.WaitGroup
	for range 4 {
		waits.Go(func() {
			if ok, _ := full.Put(number(1), true); ok {
				t.Error("Put succeeded on a closed queue")
			}
		})
	}
	waits.Go(func() {
		if got := empty.Next(1, true); got != nil {
			t.Error("Next returned frames from an empty queue")
		}
	})
	require.Equal(t, 1, full.Close())
	require.Equal(t, 0, full.Close(), "discarded twice")
	empty.Close()
	waits.Wait()
	require.Empty(t, full.Next(1, true))
	ok, _ := empty.Put(number(1), true)
	require.False(t, ok)
}

func TestNoAllocationInSteadyState(t *testing.T) {
	q := New(64, 32)
	frame := make([]byte, 1514)
	turn := func() {
		for range 64 {
			q.Put(frame, false)
		}
		for len(q.Next(32, false)) > 0 {
		}
	}
	turn()
	require.Zero(t, testing.AllocsPerRun(100, turn))
}
