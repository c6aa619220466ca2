package mvneta

import (
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
)

// reach is memory at a device address, through the address windows. It fails with
// what a bus error leaves behind, after which DMA stands still until the MAC is
// reset.
func (m *Model) reach(addr uint32, n int, write bool, fault sim.Fault) ([]byte, bool) {
	if m.dead || m.mem == nil {
		return nil, false
	}
	cause := neta.UnitNoWindow
	if m.opened(addr, n, write) {
		if b, err := m.mem.Slice(uint64(addr), n, write); err == nil && !m.faults.Hit(fault) {
			return b, true
		}
		cause = neta.UnitInternalAddr
	}
	m.dead = true
	m.or(neta.UnitCause, cause)
	m.store(neta.ErrorAddr, addr)
	m.misc(neta.MiscInternalAddr)
	return nil, false
}

// opened reports whether a window leads from addr to memory.
func (m *Model) opened(addr uint32, n int, write bool) bool {
	for w := range neta.MaxWindows {
		if m.load(neta.WindowEnable)>>w&1 != 0 {
			continue
		}
		base := uint64(m.load(neta.WindowBase(w)) & neta.WindowBaseAddr)
		size := uint64(m.load(neta.WindowSpan(w))|0xFFFF) + 1
		if uint64(addr) < base || uint64(addr)+uint64(n) > base+size {
			continue
		}
		access := m.load(neta.WindowProtect) >> (2 * w) & 3
		return access == neta.WindowRW || access == 1 && !write
	}
	return false
}

// descriptor is descriptor i of the ring at base.
func (m *Model) descriptor(base uint32, i int, write bool) ([]uint32, bool) {
	b, ok := m.reach(base+uint32(i)*neta.DescriptorSize, neta.DescriptorSize, write, sim.DescriptorBusError)
	if !ok {
		return nil, false
	}
	return sim.Words(b)
}

// resetDMA is a write to one of the DMA reset registers: while it is set, and
// from then on, counters and positions are zero.
func (m *Model) resetDMA(off uint32) {
	if m.load(off)&neta.DMAReset == 0 {
		return
	}
	if off == neta.TXDMAReset {
		m.tx.gen++
		for q := range m.txq {
			m.txq[q] = txQueue{data: m.txq[q].data[:0]}
		}
		return
	}
	for q := range m.rxq {
		m.rxq[q].stopTimer()
		m.rxq[q] = rxQueue{timer: m.rxq[q].timer}
	}
	m.fifo.reset()
}

// inReset records an update of a queue whose DMA is held in reset.
func (m *Model) inReset(off uint32) bool {
	if m.load(off)&neta.DMAReset == 0 {
		return false
	}
	m.bad.Record("queue updated while its DMA is held in reset")
	return true
}

// countFrame adds a frame of n bytes, FCS included, to the size bins.
func (m *Model) countFrame(n int) {
	bin := uint32(5)
	for i, limit := range [...]int{64, 127, 255, 511, 1023} {
		if n <= limit {
			bin = uint32(i)
			break
		}
	}
	m.count(neta.MIB64+4*bin, 1)
}

// count adds to a counter. Those of octets have 64 bits.
func (m *Model) count(off uint32, n int) {
	v := uint64(m.load(off)) + uint64(n)
	m.store(off, uint32(v))
	if v>>32 != 0 && (off == neta.MIBRXOctets || off == neta.MIBTXOctets) {
		m.store(off+4, m.load(off+4)+uint32(v>>32))
	}
}

// AddCount adds to the counter at off, as n events at once would.
func (m *Model) AddCount(off, n uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store(off, m.load(off)+n)
}
