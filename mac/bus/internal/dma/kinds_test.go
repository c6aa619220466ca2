package dma

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/pagepool"
)

// syncLog is a Syncer that notes what it is asked for.
type syncLog struct{ log []string }

func (s *syncLog) ForDevice(use mac.Use, off, n int) {
	s.log = append(s.log, fmt.Sprintf("device %d %d+%d", use, off, n))
}

func (s *syncLog) ForCPU(use mac.Use, off, n int) {
	s.log = append(s.log, fmt.Sprintf("cpu %d %d+%d", use, off, n))
}

func (s *syncLog) take() []string {
	l := s.log
	s.log = nil
	return l
}

func alloc(t *testing.T, p *Pool, use mac.Use, size int) pagepool.Memory {
	m, err := p.Alloc(mac.Alloc{Use: use, Size: size, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	return m
}

func TestCachedMemorySyncsExactRanges(t *testing.T) {
	log := &syncLog{}
	s := newSource(0x100000)
	s.kind, s.sync = Cached, log
	p := NewPool("test", s)
	a := alloc(t, p, mac.RXBuffers, 1000)
	require.False(t, a.Coherent())
	require.Equal(t, []string{"device 2 0+1024"}, log.take(), "its zeros leave the cache")
	b := alloc(t, p, mac.TXBuffers, 100)
	require.Equal(t, []string{"device 3 1024+128"}, log.take(), "offsets are those of the region")
	a.SyncForCPU(10, 60)
	a.SyncForDevice(0, 1000)
	b.SyncForDevice(3, 5)
	require.Equal(t, []string{"cpu 2 10+60", "device 2 0+1000", "device 3 1027+5"}, log.take())
	a.SyncForCPU(-10, 5)
	a.SyncForCPU(5, -1)
	a.SyncForDevice(1100, 10)
	b.SyncForCPU(100, 1000)
	require.Equal(t, []string{"cpu 3 1124+28"}, log.take(), "never beyond the piece")

	_, err := p.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 64, AddressBits: 32})
	require.ErrorIs(t, err, mac.ErrConfig, "descriptors do not go to cached memory")
	require.NoError(t, a.Release())
	require.NoError(t, b.Release())
	require.Empty(t, s.live)
}

func TestCoherentMemoryServesAllUses(t *testing.T) {
	s := newSource(0x100000)
	p := NewPool("test", s)
	for _, use := range []mac.Use{mac.Descriptors, mac.Buffers, mac.RXBuffers, mac.TXBuffers} {
		m := alloc(t, p, use, 64)
		require.True(t, m.Coherent())
		m.SyncForCPU(0, 64)
		m.SyncForDevice(0, 64)
	}
	require.Len(t, s.live, 1)
}

// device is what the device sees of a piece.
func device(p *Pool, m pagepool.Memory) []byte {
	for _, r := range p.regions {
		if off := m.DeviceAddr() - r.Device; off < uint64(len(r.Bytes)) {
			return r.Bytes[off:]
		}
	}
	return nil
}

func TestWordsMemory(t *testing.T) {
	s := newSource(0x100000)
	s.kind = Words
	p := NewPool("test", s)

	d := alloc(t, p, mac.Descriptors, 64)
	require.True(t, d.Coherent(), "it is not cached")
	d.Bytes()[5] = 7
	require.EqualValues(t, 7, device(p, d)[5], "descriptors lie in it")

	rx := alloc(t, p, mac.RXBuffers, 4096)
	require.False(t, rx.Coherent())
	require.Equal(t, make([]byte, 4096), rx.Bytes())
	require.Equal(t, make([]byte, 4096), device(p, rx)[:4096], "zeroed on both sides")
	copy(rx.Bytes(), "left over")
	rx.SyncForDevice(0, 4096)
	require.Equal(t, make([]byte, 4096), device(p, rx)[:4096], "nothing is copied to a buffer that the device fills")
	copy(device(p, rx)[61:], "a frame of the device")
	rx.SyncForCPU(61, 21)
	require.Equal(t, "a frame of the device", string(rx.Bytes()[61:82]))
	require.Equal(t, "left over", string(rx.Bytes()[:9]), "no word more than it takes")

	tx := alloc(t, p, mac.TXBuffers, 1000)
	copy(tx.Bytes()[65:], "a frame of the CPU")
	tx.SyncForDevice(65, 18)
	require.Equal(t, "a frame of the CPU", string(device(p, tx)[65:83]))
	device(p, tx)[65] = 'A'
	tx.SyncForCPU(65, 18)
	require.Equal(t, "a frame of the CPU", string(tx.Bytes()[65:83]))
	tx.SyncForDevice(990, 1<<20)
	tx.SyncForDevice(-5, 3)

	for _, m := range []pagepool.Memory{d, rx, tx} {
		require.NoError(t, m.Release())
	}
	require.Empty(t, s.live)
}

// Memory of kind Words does what memory behind a cache does, for any ranges.
func TestWordsMemoryAgainstModel(t *testing.T) {
	const size = 512
	random := rand.New(rand.NewPCG(3, 3))
	for _, use := range []mac.Use{mac.Buffers, mac.RXBuffers, mac.TXBuffers} {
		s := newSource(0x100000)
		s.kind = Words
		p := NewPool("test", s)
		m := alloc(t, p, use, size)
		cpu, dev := m.Bytes(), device(p, m)[:size]
		for range 2000 {
			off := random.IntN(size)
			n := random.IntN(size - off + 1)
			for i := range cpu {
				cpu[i], dev[i] = byte(random.Uint32()), byte(random.Uint32())
			}
			wasCPU, wasDev := bytes.Clone(cpu), bytes.Clone(dev)
			lo, hi := off&^7, min((off+n+7)&^7, size)
			if n == 0 && off%8 == 0 {
				hi = lo
			}
			m.SyncForDevice(off, n)
			if use == mac.RXBuffers {
				require.Equal(t, wasDev, dev)
			} else {
				require.Equal(t, wasCPU[off:off+n], dev[off:off+n])
			}
			require.Equal(t, wasDev[:lo], dev[:lo])
			require.Equal(t, wasDev[hi:], dev[hi:])
			require.Equal(t, wasCPU, cpu)

			wasDev = bytes.Clone(dev)
			m.SyncForCPU(off, n)
			if use == mac.TXBuffers {
				require.Equal(t, wasCPU, cpu)
			} else {
				require.Equal(t, wasDev[off:off+n], cpu[off:off+n])
			}
			require.Equal(t, wasCPU[:lo], cpu[:lo])
			require.Equal(t, wasCPU[hi:], cpu[hi:])
			require.Equal(t, wasDev, dev)
		}
	}
}
