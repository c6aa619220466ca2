//go:build linux

package vfu

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkRegionRead is one register read, there and back.
func BenchmarkRegionRead(b *testing.B) {
	c := dial(b, newFake(), nil)
	c.ok(cmdVersion, versionPayload("{}"))
	request := encode(1, cmdRegionRead, 0, words(uint64(0), 0, 4))
	reply := make([]byte, headerLen+regionLen+4)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c.c, reply); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, c.leave())
}
