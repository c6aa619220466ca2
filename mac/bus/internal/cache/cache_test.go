package cache

import (
	"bytes"
	"math/bits"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Maintenance is invisible to the CPU: what matters here is that the instructions are
// allowed, that they stay within the lines of the range, and that nothing is lost.
func TestMaintenanceLosesNothing(t *testing.T) {
	line := LineSize()
	if runtime.GOOS != "linux" || runtime.GOARCH != "arm64" {
		require.Zero(t, line, "only arm64 lets a program do it")
		return
	}
	require.Equal(t, 1, bits.OnesCount(uint(line)))
	require.True(t, line >= 16 && line <= 2048, "%d bytes", line)
	b := make([]byte, 8*line)
	for i := range b {
		b[i] = byte(i * 7)
	}
	want := bytes.Clone(b)
	for _, do := range []func([]byte){Clean, CleanInvalidate} {
		do(nil)
		for off := 0; off < 2*line; off += max(1, line/8-1) {
			for _, n := range []int{1, line - 1, line, line + 1, len(b) - off} {
				do(b[off : off+n])
				require.Equal(t, want, b)
			}
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	b := make([]byte, 4096)
	require.Zero(t, testing.AllocsPerRun(10, func() { Clean(b); CleanInvalidate(b) }))
}
