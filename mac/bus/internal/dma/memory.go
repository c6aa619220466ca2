package dma

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/pagepool"
)

// memory is one piece. Only its holder uses it; the pool's lock guards nothing
// of it but released. By itself it is memory that needs no syncing.
type memory struct {
	pool     *Pool
	region   *region
	bytes    []byte
	addr     uint64
	off      int // in the region
	size     int // in whole lines
	released bool
}

// dress makes of a piece what its kind and use need.
func (m *memory) dress(use mac.Use) pagepool.Memory {
	switch {
	case m.region.Kind == Cached:
		c := &cached{memory: m, use: use}
		c.SyncForDevice(0, m.size) // the zeros are in memory, and in no cache
		return c
	case m.region.Kind == Words && use != mac.Descriptors:
		// The copy is garbage when the last page on loan is given back.
		return &copied{memory: m, use: use, plain: pagepool.NewHeap(m.size, 0).Bytes()}
	}
	return m
}

// Bytes implements pagepool.Memory.
func (m *memory) Bytes() []byte { return m.bytes }

// DeviceAddr implements pagepool.Memory.
func (m *memory) DeviceAddr() uint64 { return m.addr }

// Coherent implements pagepool.Memory.
func (m *memory) Coherent() bool { return true }

// SyncForDevice implements pagepool.Memory.
func (m *memory) SyncForDevice(int, int) {}

// SyncForCPU implements pagepool.Memory.
func (m *memory) SyncForCPU(int, int) {}

// Release implements pagepool.Memory.
func (m *memory) Release() error {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if m.released {
		return nil
	}
	m.released = true
	if err := m.pool.put(m); err != nil {
		return fmt.Errorf("%s: release %d bytes: %w", m.pool.name, len(m.bytes), err)
	}
	return nil
}

// inside bounds a range to the piece, so that nobody else's bytes are touched
// whatever a caller asks for.
func (m *memory) inside(off, n int) (from, to int) {
	from = min(max(off, 0), m.size)
	return from, min(max(off+n, from), m.size)
}

// cached is memory of kind Cached.
type cached struct {
	*memory
	use mac.Use
}

// Coherent implements pagepool.Memory.
func (c *cached) Coherent() bool { return false }

// SyncForDevice implements pagepool.Memory.
func (c *cached) SyncForDevice(off, n int) {
	if from, to := c.inside(off, n); from < to {
		c.region.Sync.ForDevice(c.use, c.off+from, to-from)
	}
}

// SyncForCPU implements pagepool.Memory.
func (c *cached) SyncForCPU(off, n int) {
	if from, to := c.inside(off, n); from < to {
		c.region.Sync.ForCPU(c.use, c.off+from, to-from)
	}
}

// copied is a buffer in memory of kind Words: what the CPU uses is a copy of it.
type copied struct {
	*memory
	use   mac.Use
	plain []byte // of size bytes
}

// Bytes implements pagepool.Memory.
func (c *copied) Bytes() []byte { return c.plain[:len(c.bytes):len(c.bytes)] }

// Coherent implements pagepool.Memory.
func (c *copied) Coherent() bool { return false }

// SyncForDevice implements pagepool.Memory.
func (c *copied) SyncForDevice(off, n int) {
	if c.use == mac.RXBuffers {
		return
	}
	if from, to := c.words(off, n); from < to {
		copyWords(c.region.Bytes[c.off+from:c.off+to], c.plain[from:to])
	}
}

// SyncForCPU implements pagepool.Memory.
func (c *copied) SyncForCPU(off, n int) {
	if c.use == mac.TXBuffers {
		return
	}
	if from, to := c.words(off, n); from < to {
		copyWords(c.plain[from:to], c.region.Bytes[c.off+from:c.off+to])
	}
}

// words rounds a range outwards to whole words.
func (c *copied) words(off, n int) (from, to int) {
	from, to = c.inside(off, n)
	return from &^ (wordSize - 1), (to + wordSize - 1) &^ (wordSize - 1)
}
