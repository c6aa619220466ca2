package irq

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTimer("test", time.Millisecond)
		start := time.Now()
		require.NoError(t, l.Wait())
		require.Equal(t, time.Millisecond, time.Since(start))
		for range 3 {
			time.Sleep(10 * time.Millisecond) // the handler took its time
			require.NoError(t, l.Rearm())
			from := time.Now()
			require.NoError(t, l.Wait())
			require.Equal(t, time.Millisecond, time.Since(from), "after Rearm")
		}
		waited := make(chan error)
		go func() { waited <- l.Wait() }() // it fires no more
		synctest.Wait()
		require.False(t, l.Closed())
		require.NoError(t, l.Close())
		require.ErrorIs(t, <-waited, os.ErrClosed)
		require.True(t, l.Closed())
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Wait(), os.ErrClosed)
		require.ErrorIs(t, l.Rearm(), os.ErrClosed)
	})
}
