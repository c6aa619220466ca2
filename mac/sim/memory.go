package sim

import (
	"bytes"
	"sync/atomic"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// lineSize is the cache line of the simulated cache in bytes.
const lineSize = 64

// poison fills released memory.
const poison = 0xdb

// Memory is one allocation of a Space. It implements pagepool.Memory, and
// ring.Watched for descriptors.
//
// Non-coherent memory has two copies, the CPU's and the device's. A sync covers
// whole cache lines. A line that the CPU has written and not synced for the
// device is dirty: the device does not see it, and at the next SyncForCPU it is
// written back over what the device wrote, as a real cache may do at any time.
// A line not synced for the CPU shows old data. The device never sees what the CPU
// writes to mac.RXBuffers.
type Memory struct {
	space    *Space
	addr     uint64
	size     int
	cpu      []byte
	dram     []byte // the same as cpu when coherent
	clean    []byte // cpu as of the last sync; nil when coherent
	toCPU    bool   // the device gets nothing of what the CPU writes
	evict    random
	watched  bool
	unmap    func() error
	released atomic.Bool
}

var (
	_ pagepool.Memory = (*Memory)(nil)
	_ ring.Watched    = (*Memory)(nil)
)

// Bytes implements pagepool.Memory.
func (m *Memory) Bytes() []byte { return m.cpu[:m.size:m.size] }

// DeviceAddr implements pagepool.Memory.
func (m *Memory) DeviceAddr() uint64 { return m.addr }

// Coherent implements pagepool.Memory.
func (m *Memory) Coherent() bool { return m.clean == nil }

// SyncForDevice implements pagepool.Memory.
func (m *Memory) SyncForDevice(off, n int) {
	m.space.trace.sync(SyncForDevice, m.addr+uint64(off), n)
	if m.clean == nil || n <= 0 {
		return
	}
	for i, end := m.lines(off, n); i < end; i += lineSize {
		if cpu := m.cpu[i : i+lineSize]; !bytes.Equal(cpu, m.clean[i:i+lineSize]) {
			if !m.toCPU {
				copy(m.dram[i:], cpu)
			}
			copy(m.clean[i:], cpu)
		}
	}
}

// SyncForCPU implements pagepool.Memory.
func (m *Memory) SyncForCPU(off, n int) {
	m.space.trace.sync(SyncForCPU, m.addr+uint64(off), n)
	if m.clean == nil || n <= 0 {
		return
	}
	for i, end := m.lines(off, n); i < end; i += lineSize {
		cpu := m.cpu[i : i+lineSize]
		if !bytes.Equal(cpu, m.clean[i:i+lineSize]) && m.evicts() {
			copy(m.dram[i:], cpu)
		}
		copy(cpu, m.dram[i:i+lineSize])
		copy(m.clean[i:], cpu)
	}
}

// lines rounds a range outwards to cache lines.
func (m *Memory) lines(off, n int) (from, to int) {
	return max(off, 0) &^ (lineSize - 1), min((off+n+lineSize-1)&^(lineSize-1), len(m.cpu))
}

func (m *Memory) evicts() bool {
	p := m.space.opts.EvictPermille
	return p == 0 || p > 0 && m.evict.below(1000) < p
}

// Release implements pagepool.Memory. The memory is poisoned, and a device that
// still reaches for it commits a violation.
func (m *Memory) Release() error {
	if m.released.Swap(true) {
		return nil
	}
	m.space.release(m)
	for i := range m.cpu {
		m.cpu[i] = poison
	}
	return nil
}

// DescriptorWatcher implements ring.Watched.
func (m *Memory) DescriptorWatcher() ring.Watcher {
	if !m.watched {
		return nil
	}
	return watcher{m.space.trace, m.addr}
}

// watcher counts the driver's accesses to one descriptor memory.
type watcher struct {
	trace *Trace
	addr  uint64
}

func (w watcher) DescriptorLoad(i int) {
	w.trace.event(DescriptorLoad, w.addr+4*uint64(i), 0)
}

func (w watcher) DescriptorStore(i int, v uint32) {
	w.trace.event(DescriptorStore, w.addr+4*uint64(i), v)
}

func (w watcher) Barrier(kind ring.BarrierKind) {
	switch kind {
	case ring.BarrierWrite:
		w.trace.event(WriteBarrier, 0, 0)
	case ring.BarrierRead:
		w.trace.event(ReadBarrier, 0, 0)
	case ring.BarrierDoorbell:
		w.trace.event(DoorbellBarrier, 0, 0)
	}
}
