package ring_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// watchedMemory notes what is done to the descriptors in it.
type watchedMemory struct {
	pagepool.Memory
	log []string
}

func (m *watchedMemory) DescriptorWatcher() ring.Watcher { return m }
func (m *watchedMemory) DescriptorLoad(i int)            { m.log = append(m.log, fmt.Sprint("load ", i)) }
func (m *watchedMemory) DescriptorStore(i int, v uint32) {
	m.log = append(m.log, fmt.Sprintf("store %d %#x", i, v))
}
func (m *watchedMemory) Barrier(k ring.BarrierKind) {
	m.log = append(m.log, [...]string{ring.BarrierWrite: "write barrier", ring.BarrierRead: "read barrier", ring.BarrierDoorbell: "doorbell barrier"}[k])
}

func TestWordsShowEveryAccessToTheWatcher(t *testing.T) {
	m := &watchedMemory{Memory: pagepool.NewHeap(64, 0x1000)}
	w, err := ring.NewWords(m)
	require.NoError(t, err)
	require.Equal(t, 16, w.Len())
	w.Store(1, 0x11)
	w.WriteBarrier()
	w.Publish(0, 0x80000000)
	w.DoorbellBarrier()
	require.Equal(t, uint32(0x80000000), w.Load(0))
	w.ReadBarrier()
	require.EqualValues(t, 0x11, w.Load(1))
	require.Equal(t, []string{
		"store 1 0x11", "write barrier", "store 0 0x80000000", "doorbell barrier", "load 0", "read barrier", "load 1",
	}, m.log)
}

// Without a watcher the same bytes are read and written, in the device's order.
func TestWordsAreLittleEndianInMemory(t *testing.T) {
	m := pagepool.NewHeap(30, 0x1000)
	w, err := ring.NewWords(m)
	require.NoError(t, err)
	require.Equal(t, 7, w.Len(), "whole words only")
	w.Store(0, 0x04030201)
	w.WriteBarrier()
	w.Publish(6, 0x08070605)
	w.DoorbellBarrier()
	require.EqualValues(t, 0x04030201, binary.LittleEndian.Uint32(m.Bytes()))
	require.Equal(t, []byte{5, 6, 7, 8}, m.Bytes()[24:28])
	binary.LittleEndian.PutUint32(m.Bytes()[8:], 77)
	w.ReadBarrier()
	require.EqualValues(t, 77, w.Load(2))
}

// cutMemory is memory that begins later.
type cutMemory struct {
	pagepool.Memory
	skip int
	addr uint64
}

func (m cutMemory) Bytes() []byte      { return m.Memory.Bytes()[m.skip:] }
func (m cutMemory) DeviceAddr() uint64 { return m.addr }

func TestNewWordsRefuses(t *testing.T) {
	heap := pagepool.NewHeap(64, 0x1000)
	for _, tc := range []struct {
		name string
		mem  pagepool.Memory
		want string
	}{
		{"CPU address", cutMemory{heap, 8, 0x1000}, "both must be multiples of 16"},
		{"device address", cutMemory{heap, 0, 0x1008}, "device 0x1008: both must be multiples of 16"},
		{"too small", cutMemory{heap, 61, 0x1000}, "ring: descriptor memory of 3 bytes: need at least 4"},
	} {
		_, err := ring.NewWords(tc.mem)
		require.ErrorContains(t, err, tc.want, tc.name)
	}
}

func TestCoalesceValidate(t *testing.T) {
	require.NoError(t, ring.Coalesce{}.Validate())
	require.NoError(t, ring.DefaultCoalesce().Validate())
	for _, tc := range []struct {
		name string
		set  func(c *ring.Coalesce, v int)
		max  int
	}{
		{"rx-frames", func(c *ring.Coalesce, v int) { c.RXFrames = v }, ring.MaxCoalesceFrames},
		{"rx-usecs", func(c *ring.Coalesce, v int) { c.RXUsecs = v }, ring.MaxCoalesceUsecs},
		{"tx-frames", func(c *ring.Coalesce, v int) { c.TXFrames = v }, ring.MaxCoalesceFrames},
		{"tx-usecs", func(c *ring.Coalesce, v int) { c.TXUsecs = v }, ring.MaxCoalesceUsecs},
		{"defer-irqs", func(c *ring.Coalesce, v int) { c.DeferIRQs = v }, 1000},
		{"poll-usecs", func(c *ring.Coalesce, v int) { c.PollUsecs = v }, ring.MaxCoalesceUsecs},
	} {
		for v, ok := range map[int]bool{-1: false, 0: true, 1: true, tc.max: true, tc.max + 1: false} {
			c := ring.DefaultCoalesce()
			tc.set(&c, v)
			err := c.Validate()
			if ok {
				require.NoError(t, err)
				continue
			}
			require.EqualError(t, err, fmt.Sprintf("ring: %s %d: must be 0 to %d: coalescing value refused", tc.name, v, tc.max))
			require.ErrorIs(t, err, ring.ErrCoalesce)
		}
	}
}
