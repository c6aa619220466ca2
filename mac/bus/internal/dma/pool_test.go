package dma

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/pagepool"
)

// source is a Source of 64 KiB regions from a given device address up.
type source struct {
	next  uint64
	live  map[uint64]int
	check error
	shift int // how far CPU and device alignment are apart
	kind  Kind
	sync  Syncer
}

func (s *source) Map(use mac.Use, size, align int, limit uint64) (Region, error) {
	const granule = 1 << 16
	size = (size + granule - 1) / granule * granule
	if s.next+uint64(size) > limit {
		return Region{}, errors.New("full")
	}
	b := make([]byte, size+granule)
	off := int(-Address(b)&(granule-1)) + s.shift
	r := Region{Bytes: b[off : off+size : off+size], Device: s.next, Kind: s.kind, Sync: s.sync}
	for i := range r.Bytes {
		r.Bytes[i] = 0xa5
	}
	s.live[s.next] = size
	s.next += uint64(size)
	return r, nil
}

func (s *source) Check(Region) error { return s.check }

func (s *source) Unmap(r Region) error {
	if s.live[r.Device] != len(r.Bytes) {
		return errors.New("not mapped")
	}
	delete(s.live, r.Device)
	return nil
}

func newSource(next uint64) *source { return &source{next: next, live: map[uint64]int{}} }

func TestPoolSharesRegions(t *testing.T) {
	s := newSource(0x100000)
	p := NewPool("test", s)
	var all []pagepool.Memory
	for _, size := range []int{1, 100, 4096, 8192, 129} {
		m, err := p.Alloc(mac.Alloc{Size: size, Align: 64, AddressBits: 32})
		require.NoError(t, err)
		require.Len(t, m.Bytes(), size)
		require.Equal(t, size, cap(m.Bytes()))
		require.Equal(t, make([]byte, size), m.Bytes(), "zeroed")
		require.Zero(t, m.DeviceAddr()%128, "no two pieces share a cache line")
		require.True(t, m.Coherent())
		all = append(all, m)
	}
	pieces, mapped := p.InUse()
	require.Equal(t, 5, pieces)
	require.Equal(t, 1<<16, mapped)
	for _, m := range all {
		require.NoError(t, m.Release())
		require.NoError(t, m.Release(), "a second release does nothing")
	}
	pieces, mapped = p.InUse()
	require.Zero(t, pieces)
	require.Zero(t, mapped)
	require.Empty(t, s.live)
}

func TestPoolZeroesReusedMemory(t *testing.T) {
	p := NewPool("test", newSource(0x100000))
	keep, err := p.Alloc(mac.Alloc{Size: 64, AddressBits: 32})
	require.NoError(t, err)
	m, err := p.Alloc(mac.Alloc{Size: 64, AddressBits: 32})
	require.NoError(t, err)
	was := m.DeviceAddr()
	copy(m.Bytes(), "dirty")
	require.NoError(t, m.Release())
	m, err = p.Alloc(mac.Alloc{Size: 64, AddressBits: 32})
	require.NoError(t, err)
	require.Equal(t, was, m.DeviceAddr())
	require.Equal(t, make([]byte, 64), m.Bytes())
	require.NoError(t, m.Release())
	require.NoError(t, keep.Release())
}

func TestPoolAddresses(t *testing.T) {
	// The first region lies across 4 GiB, as pages that are neighbours may.
	s := newSource(1<<32 - 1<<15)
	p := NewPool("test", s)
	low, err := p.Alloc(mac.Alloc{Size: 1 << 14, Align: 4096, AddressBits: 40})
	require.NoError(t, err)
	require.Less(t, low.DeviceAddr(), uint64(1)<<32)
	high, err := p.Alloc(mac.Alloc{Size: 1<<14 + 1, Align: 4096, AddressBits: 40})
	require.NoError(t, err)
	require.Equal(t, uint64(1)<<32, high.DeviceAddr(), "not across 4 GiB")
	_, err = p.Alloc(mac.Alloc{Size: 1 << 15, Align: 4096, AddressBits: 32})
	require.ErrorContains(t, err, "below 0x100000000: full")
	require.NoError(t, low.Release())
	low, err = p.Alloc(mac.Alloc{Size: 1 << 15, Align: 4096, AddressBits: 32})
	require.NoError(t, err, "there is room below 4 GiB now")
	require.NoError(t, errors.Join(low.Release(), high.Release()))
	require.Empty(t, s.live)
}

func TestPoolAlignsBothSides(t *testing.T) {
	s := newSource(0x100000)
	s.shift = 512
	p := NewPool("test", s)
	m, err := p.Alloc(mac.Alloc{Size: 64, Align: 512, AddressBits: 32})
	require.NoError(t, err)
	require.NoError(t, m.Release())
	_, err = p.Alloc(mac.Alloc{Size: 64, Align: 1024, AddressBits: 32})
	require.ErrorIs(t, err, mac.ErrConfig)
	require.Empty(t, s.live, "a region that does not do is given back")
}

func TestPoolRefuses(t *testing.T) {
	s := newSource(0x100000)
	p := NewPool("test", s)
	for _, a := range []mac.Alloc{
		{Size: 0, AddressBits: 32}, {Size: -1, AddressBits: 32}, {Size: maxPiece + 1, AddressBits: 32},
		{Size: 1, Align: 3, AddressBits: 32}, {Size: 1, Align: -64, AddressBits: 32},
		{Size: 1}, {Size: 1, AddressBits: 65},
	} {
		_, err := p.Alloc(a)
		require.ErrorIs(t, err, mac.ErrConfig, "%+v", a)
	}
	m, err := p.Alloc(mac.Alloc{Size: 64, AddressBits: 64})
	require.NoError(t, err)
	s.check = errors.New("moved")
	_, err = p.Alloc(mac.Alloc{Size: 64, AddressBits: 64})
	require.ErrorIs(t, err, s.check)
	pieces, _ := p.InUse()
	require.Equal(t, 1, pieces)
	p.Close()
	_, err = p.Alloc(mac.Alloc{Size: 64, AddressBits: 64})
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, m.Release(), "memory outlives the pool")
	require.Empty(t, s.live)
}

func TestPoolConcurrent(t *testing.T) {
	s := newSource(0x100000)
	p := NewPool("test", s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				m, err := p.Alloc(mac.Alloc{Size: 1 + i*7, Align: 64, AddressBits: 40})
				if err != nil {
					t.Error(err)
					return
				}
				m.Bytes()[0] = byte(i)
				if err := m.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Empty(t, s.live)
}
