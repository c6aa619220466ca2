package sim

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func alloc(t *testing.T, s *Space, use mac.Use, size, align, bits int) *Memory {
	m, err := s.Alloc(mac.Alloc{Use: use, Size: size, Align: align, AddressBits: bits})
	require.NoError(t, err)
	return m
}

func TestAlloc(t *testing.T) {
	for _, opts := range []*SpaceOptions{nil, {Mmap: true}, {NonCoherent: true}} {
		s := NewSpace(opts)
		for _, bits := range []int{24, 32, 34, 40, 48, 64} {
			for _, size := range []int{1, 64, 4096, 100_000} {
				for _, align := range []int{0, 16, 4096, 1 << 16} {
					m := alloc(t, s, mac.Buffers, size, align, bits)
					require.Len(t, m.Bytes(), size)
					require.Equal(t, make([]byte, size), m.Bytes())
					last := m.DeviceAddr() + uint64(size) - 1
					require.Equal(t, m.DeviceAddr()>>32, last>>32)
					if bits < 64 {
						require.Less(t, last, uint64(1)<<bits)
					}
					if align > 0 {
						require.Zero(t, m.DeviceAddr()%uint64(align))
					}
					if bits > 32 && bits <= 40 {
						require.NotZero(t, m.DeviceAddr()>>(bits-1), "the top bit is used")
					}
					_, err := s.Slice(m.DeviceAddr()+uint64(size), 1, false)
					require.Error(t, err, "a guard follows")
				}
			}
		}
		n := s.Live()
		require.Positive(t, n)
		for len(*s.live.Load()) > 0 {
			require.NoError(t, (*s.live.Load())[0].Release())
		}
		require.NoError(t, s.Close())
	}
}

func TestAllocRefuses(t *testing.T) {
	s := NewSpace(nil)
	for _, a := range []mac.Alloc{
		{Size: 0, AddressBits: 32}, {Size: 64, Align: 48, AddressBits: 32}, {Size: 64, AddressBits: 0}, {Size: 1 << 20, AddressBits: 16},
	} {
		_, err := s.Alloc(a)
		require.ErrorIs(t, err, mac.ErrConfig)
	}
	require.Zero(t, s.Live())
}

// Allocations never lie across 4 GiB, and the space is found again when the
// addresses run out.
func TestAddressesWrap(t *testing.T) {
	s := NewSpace(&SpaceOptions{Base: 0xffff_f000})
	a := alloc(t, s, mac.Descriptors, 8192, 4096, 40)
	require.Equal(t, uint64(1)<<32, a.DeviceAddr())

	s = NewSpace(&SpaceOptions{Base: 0x1000})
	seen := map[uint64]int{}
	for range 1000 {
		m := alloc(t, s, mac.Descriptors, 4096, 64, 24)
		seen[m.DeviceAddr()]++
		require.NoError(t, m.Release())
	}
	require.Greater(t, len(seen), 100, "an address comes back late")
	require.Less(t, len(seen), 1000)
}

func TestSlice(t *testing.T) {
	s := NewSpace(nil)
	a, b := alloc(t, s, mac.Buffers, 1000, 64, 32), alloc(t, s, mac.Buffers, 1000, 64, 32)
	p, err := s.Slice(a.DeviceAddr()+10, 20, true)
	require.NoError(t, err)
	copy(p, "hello")
	require.Equal(t, 20, cap(p))
	require.Equal(t, "hello", string(a.Bytes()[10:15]))
	for _, c := range []struct {
		addr uint64
		n    int
	}{
		{a.DeviceAddr(), 1001}, {a.DeviceAddr() - 1, 2}, {a.DeviceAddr() + 1000, 1}, {0, 1}, {^uint64(0), 100}, {b.DeviceAddr(), -1},
		{a.DeviceAddr() + 1, int(^uint(0) >> 1)},
	} {
		_, err := s.Slice(c.addr, c.n, true)
		require.Error(t, err, "%#x %d", c.addr, c.n)
	}
	require.Equal(t, 7, s.Violations().Count())
	require.NoError(t, a.Release())
	require.NoError(t, a.Release())
	_, err = s.Slice(a.DeviceAddr()+5, 1, false)
	require.ErrorContains(t, err, "released")
	require.Equal(t, bytes.Repeat([]byte{poison}, 1000), a.Bytes())
	require.Equal(t, 1, s.Live())
	for range 100 {
		_, _ = s.Slice(0, 1, false)
	}
	require.Equal(t, 108, s.Violations().Count())
	require.Len(t, s.Violations().List(), maxViolations)
}

func device(t *testing.T, s *Space, m *Memory) []byte {
	p, err := s.Slice(m.DeviceAddr(), len(m.Bytes()), true)
	require.NoError(t, err)
	return p
}

func TestCacheSimulator(t *testing.T) {
	s := NewSpace(&SpaceOptions{NonCoherent: true})
	m := alloc(t, s, mac.Buffers, 512, 64, 40)
	cpu, dev := m.Bytes(), device(t, s, m)
	require.False(t, m.Coherent())

	copy(cpu, "to the device")
	require.Equal(t, make([]byte, 13), dev[:13], "not without a sync")
	m.SyncForDevice(3, 2)
	require.Equal(t, "to the device", string(dev[:13]), "a whole line")

	copy(dev[64:], "to the CPU")
	require.Equal(t, make([]byte, 10), cpu[64:74], "stale")
	m.SyncForCPU(0, 64)
	require.Equal(t, make([]byte, 10), cpu[64:74], "the next line")
	m.SyncForCPU(70, 1)
	require.Equal(t, "to the CPU", string(cpu[64:74]))

	// The CPU leaves a line dirty under a buffer that the device has.
	copy(cpu[128:], "dirty")
	copy(dev[128:], "frame")
	m.SyncForCPU(128, 5)
	require.Equal(t, "dirty", string(cpu[128:133]), "written back over the frame")
	require.Equal(t, "dirty", string(dev[128:133]))

	// As it should be.
	copy(cpu[192:], "dirty")
	m.SyncForDevice(192, 64)
	copy(dev[192:], "frame")
	m.SyncForCPU(192, 64)
	require.Equal(t, "frame", string(cpu[192:197]))

	// A clean line is never written back.
	copy(dev[256:], "frame")
	m.SyncForDevice(256, 64)
	m.SyncForCPU(256, 64)
	require.Equal(t, "frame", string(cpu[256:261]))

	c := s.Trace().Counts()
	require.EqualValues(t, 3, c.SyncsForDevice)
	require.EqualValues(t, 2+64+64, c.BytesForDevice)
	require.EqualValues(t, 5, c.SyncsForCPU)
	m.SyncForCPU(-10, 10_000)
	m.SyncForDevice(500, 10_000)
}

// Receive buffers may be given to the device without what the CPU left in them, and
// nothing of that may come up again later.
func TestCacheSimulatorReceive(t *testing.T) {
	s := NewSpace(&SpaceOptions{NonCoherent: true})
	m := alloc(t, s, mac.RXBuffers, 512, 64, 40)
	cpu, dev := m.Bytes(), device(t, s, m)
	copy(cpu, "left over")
	m.SyncForDevice(0, 512)
	require.Equal(t, make([]byte, 512), dev, "nothing reaches the device")
	copy(dev, "frame")
	m.SyncForCPU(0, 9)
	require.Equal(t, "frame\x00\x00\x00\x00", string(cpu[:9]))

	m = alloc(t, s, mac.TXBuffers, 512, 64, 40)
	copy(m.Bytes(), "frame")
	m.SyncForDevice(0, 5)
	require.Equal(t, "frame", string(device(t, s, m)[:5]))
}

func TestEvictionRate(t *testing.T) {
	for _, c := range []struct{ perMille, least, most int }{{-1, 0, 0}, {0, 100, 100}, {500, 20, 80}} {
		s := NewSpace(&SpaceOptions{NonCoherent: true, EvictPermille: c.perMille, Seed: 3})
		m := alloc(t, s, mac.Buffers, 64*100, 64, 40)
		dev, n := device(t, s, m), 0
		for i := range 100 {
			m.Bytes()[64*i], dev[64*i] = 1, 2
			m.SyncForCPU(64*i, 1)
			if m.Bytes()[64*i] == 1 {
				n++
			}
		}
		require.GreaterOrEqual(t, n, c.least)
		require.LessOrEqual(t, n, c.most)
	}
}

func TestDescriptorsAreCoherentAndWatched(t *testing.T) {
	s := NewSpace(&SpaceOptions{NonCoherent: true})
	m := alloc(t, s, mac.Descriptors, 64, 64, 40)
	require.True(t, m.Coherent())
	w, err := ring.NewWords(m)
	require.NoError(t, err)
	s.Trace().Log(10)
	w.Store(2, 7)
	w.WriteBarrier()
	w.Publish(3, 0x80000000)
	w.DoorbellBarrier()
	w.Load(3)
	w.ReadBarrier()
	require.EqualValues(t, 7, device(t, s, m)[8])
	require.Equal(t, Counts{DescriptorLoads: 1, DescriptorStores: 2, WriteBarriers: 1, ReadBarriers: 1, DoorbellBarriers: 1}, s.Trace().Counts())
	var kinds []EventKind
	for _, e := range s.Trace().Events() {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []EventKind{DescriptorStore, WriteBarrier, DescriptorStore, DoorbellBarrier, DescriptorLoad, ReadBarrier}, kinds)
	require.Equal(t, m.DeviceAddr()+8, s.Trace().Events()[0].Addr)
	s = NewSpace(&SpaceOptions{Unwatched: true})
	require.Nil(t, alloc(t, s, mac.Descriptors, 64, 64, 40).DescriptorWatcher())
	require.Nil(t, alloc(t, s, mac.Buffers, 64, 64, 40).DescriptorWatcher())
}

func TestTraceLog(t *testing.T) {
	tr := NewTrace()
	name := func(off uint32) string {
		if off == 4 {
			return "CONFIG"
		}
		return ""
	}
	tr.Register(RegisterWrite, 4, 1, name)
	tr.Log(3)
	before := tr.Counts()
	tr.Register(RegisterWrite, 4, 0x10, name)
	tr.Register(RegisterRead, 8, 2, name)
	tr.Interrupt(true)
	tr.Interrupt(false)
	require.Equal(t, "write CONFIG 0x10\nread 0x0008 0x2\nirq-high\n", tr.String())
	require.Equal(t, Counts{RegisterReads: 1, RegisterWrites: 1, Interrupts: 1}, tr.Counts().Sub(before))
	tr.Log(0)
	tr.Interrupt(true)
	require.Empty(t, tr.Events())
}

func TestWords(t *testing.T) {
	b := make([]byte, 33)
	w, ok := Words(b[:32])
	require.True(t, ok)
	require.Len(t, w, 8)
	w[1] = 0x04030201
	require.Equal(t, []byte{1, 2, 3, 4}, b[4:8])
	_, ok = Words(b[1:])
	require.False(t, ok)
	_, ok = Words(nil)
	require.False(t, ok)
}

func TestSpaceConcurrently(t *testing.T) {
	s := NewSpace(nil)
	m := alloc(t, s, mac.Buffers, 64, 64, 40)
	done := make(chan error)
	go func() {
		var err error
		for range 1000 {
			_, e := s.Slice(m.DeviceAddr(), 64, true)
			err = errors.Join(err, e)
		}
		done <- err
	}()
	for range 200 {
		o := alloc(t, s, mac.Buffers, 64, 64, 40)
		require.NoError(t, o.Release())
	}
	require.NoError(t, <-done)
}
