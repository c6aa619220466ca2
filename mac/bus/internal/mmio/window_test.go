//go:build linux

package mmio

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

func TestWindow(t *testing.T) {
	page := os.Getpagesize()
	f, err := os.Create(filepath.Join(t.TempDir(), "resource0"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(int64(3*page)))
	// A window in the middle of the second page.
	w, err := Map(int(f.Fd()), int64(page), 0x100, 0x40)
	require.NoError(t, err)
	require.Equal(t, 0x40, w.Size())
	w.Write32(0, 0x01020304)
	w.Write32(0x3c, 0xfffefdfc)
	var b [4]byte
	_, err = f.ReadAt(b[:], int64(page)+0x100)
	require.NoError(t, err)
	require.Equal(t, uint32(0x01020304), binary.LittleEndian.Uint32(b[:]))
	_, err = f.ReadAt(b[:], int64(page)+0x13c)
	require.NoError(t, err)
	require.Equal(t, uint32(0xfffefdfc), binary.LittleEndian.Uint32(b[:]))
	binary.LittleEndian.PutUint32(b[:], 0xcafe)
	_, err = f.WriteAt(b[:], int64(page)+0x104)
	require.NoError(t, err)
	require.Equal(t, uint32(0xcafe), w.Read32(4))
	require.Zero(t, w.Read32(8), "neighbours are untouched")

	for _, off := range []uint32{1, 2, 3, 0x3d, 0x40, 0x80000000, 0xfffffffc, 0xffffffff} {
		require.Panics(t, func() { w.Read32(off) }, "%#x", off)
		require.Panics(t, func() { w.Write32(off, 0) }, "%#x", off)
	}
	require.NoError(t, w.Unmap())
	require.NoError(t, w.Unmap())
	require.Panics(t, func() { w.Read32(0) }, "a late access is caught")
}

func TestMapRefuses(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "resource0"))
	require.NoError(t, err)
	defer f.Close()
	for _, c := range [][2]uint64{{0, 0}, {0, 3}, {0, 6}, {2, 64}, {0, 1 << 40}, {1 << 40, 64}, {0, ^uint64(3)}} {
		_, err := Map(int(f.Fd()), 0, c[0], c[1])
		require.ErrorIs(t, err, mac.ErrUnsupported, "%#x", c)
	}
	_, err = Map(-1, 0, 0, 64)
	require.ErrorContains(t, err, "map 64 bytes of registers: bad file descriptor")
}

func TestAccessDoesNotAllocate(t *testing.T) {
	w := Over(make([]byte, 64))
	require.Zero(t, testing.AllocsPerRun(100, func() { w.Write32(4, w.Read32(0)+1) }))
}
