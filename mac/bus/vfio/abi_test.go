//go:build linux

package vfio

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// recorder is a kernel that keeps the last call.
type recorder struct {
	kernel
	request uint
	arg     []byte
}

func (r *recorder) Ioctl(fd int, request uint, arg []byte) (int, error) {
	r.request, r.arg = request, append([]byte(nil), arg...)
	return 0, nil
}

// TestLayout holds each argument against the kernel's structures: sizes and
// offsets printed by a C program that includes linux/vfio.h, alike on 64-bit and
// 32-bit machines.
func TestLayout(t *testing.T) {
	e := binary.NativeEndian
	r := &recorder{}
	field := func(off, size int) uint64 {
		if size == 4 {
			return uint64(e.Uint32(r.arg[off:]))
		}
		return e.Uint64(r.arg[off:])
	}
	for _, c := range []struct {
		name    string
		call    func() error
		request uint
		size    int
		fields  [][3]uint64 // offset, size, value
	}{
		{"vfio_group_status", func() error { _, err := groupStatus(r, 1); return err }, 0x3b67, 8, nil},
		{"vfio_device_info", func() error { _, _, _, err := deviceInfo(r, 1); return err }, 0x3b6b, 16, nil}, // without cap_offset
		{"vfio_region_info", func() error { _, err := deviceRegion(r, 1, 7); return err }, 0x3b6c, 32, [][3]uint64{{8, 4, 7}}},
		{"vfio_irq_info", func() error { _, _, err := deviceIRQ(r, 1, 1); return err }, 0x3b6d, 16, [][3]uint64{{8, 4, 1}}},
		{"vfio_irq_set, trigger", func() error { return setTrigger(r, 1, 1, 9) }, 0x3b6e, 24, [][3]uint64{{4, 4, 0x24}, {8, 4, 1}, {12, 4, 0}, {16, 4, 1}, {20, 4, 9}}},
		{"vfio_irq_set, off", func() error { return clearTrigger(r, 1, 1) }, 0x3b6e, 20, [][3]uint64{{4, 4, 0x21}, {8, 4, 1}, {12, 4, 0}, {16, 4, 0}}},
		{"vfio_irq_set, unmask", func() error { return unmask(r, 1, 0) }, 0x3b6e, 20, [][3]uint64{{4, 4, 0x11}, {8, 4, 0}, {12, 4, 0}, {16, 4, 1}}},
		{"vfio_iommu_type1_dma_map", func() error { return mapDMA(r, 1, 0x1122334455667788, 0x99aabbccddeeff00, 0x200000) }, 0x3b71, 32,
			[][3]uint64{{4, 4, 3}, {8, 8, 0x1122334455667788}, {16, 8, 0x99aabbccddeeff00}, {24, 8, 0x200000}}},
		{"vfio_iommu_type1_dma_unmap", func() error { return unmapDMA(r, 1, 0x99aabbccddeeff00, 0x200000) }, 0x3b72, 24,
			[][3]uint64{{4, 4, 0}, {8, 8, 0x99aabbccddeeff00}, {16, 8, 0x200000}}},
		{"vfio_iommu_type1_info", func() error { _, _, err := iovaRanges(r, 1); return err }, 0x3b70, 24, nil},
	} {
		require.NoError(t, c.call(), c.name)
		require.Equal(t, c.request, r.request, c.name)
		require.Len(t, r.arg, c.size, c.name)
		require.Equal(t, uint64(c.size), field(0, 4), "%s: argsz", c.name)
		for _, f := range c.fields {
			require.Equal(t, f[2], field(int(f[0]), int(f[1])), "%s at %d", c.name, f[0])
		}
	}
	_, err := openDevice(r, 1, "0000:00:01.0")
	require.NoError(t, err)
	require.Equal(t, uint(0x3b6a), r.request)
	require.Equal(t, "0000:00:01.0\x00", string(r.arg))
	require.NoError(t, setContainer(r, 1, 5))
	require.Equal(t, uint(0x3b68), r.request)
	require.Equal(t, binary.NativeEndian.AppendUint32(nil, 5), r.arg)
}

// FuzzParseRanges feeds any answer of VFIO_IOMMU_GET_INFO.
func FuzzParseRanges(f *testing.F) {
	e := binary.NativeEndian
	b := make([]byte, 24, 80)
	e.PutUint32(b[16:], 24)
	b = append(b, 1, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)
	for _, v := range []uint64{0, 0xfedfffff, 0xfef00000, 1<<48 - 1} {
		b = e.AppendUint64(b, v)
	}
	f.Add(b)
	f.Add(b[:50])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok, err := parseRanges(b)
		if !ok || err != nil {
			return
		}
		if addr, ok := r.Take(granule, granule, 1<<63); ok {
			require.GreaterOrEqual(t, addr, uint64(lowestIOVA))
			require.Zero(t, addr%granule)
		}
	})
}

func TestMalformedCapabilities(t *testing.T) {
	e := binary.NativeEndian
	chain := func(offset, next, ranges uint32) []byte {
		b := make([]byte, 72)
		e.PutUint32(b[16:], offset)
		e.PutUint16(b[24:], 1)
		e.PutUint32(b[28:], next)
		e.PutUint32(b[32:], ranges)
		return b
	}
	_, ok, err := parseRanges(chain(24, 0, 2))
	require.NoError(t, err)
	require.True(t, ok)
	loop := chain(24, 24, 0)
	e.PutUint16(loop[24:], 2)
	for _, b := range [][]byte{chain(24, 0, 3), chain(24, 0, 0xffffffff), chain(60, 0, 0), chain(0xfffffff8, 0, 0), loop} {
		_, ok, err := parseRanges(b)
		require.ErrorContains(t, err, "malformed capabilities")
		require.False(t, ok)
	}
	_, ok, err = parseRanges(chain(0, 0, 0))
	require.NoError(t, err)
	require.False(t, ok)
}

func TestConfigSpaceShortAccess(t *testing.T) {
	require.ErrorIs(t, whole(1, 2, nil), unix.EIO)
	require.ErrorIs(t, whole(-1, 2, unix.EPERM), unix.EPERM)
	require.NoError(t, whole(2, 2, nil))
}
