package mvneta

import (
	"encoding/binary"

	"github.com/barewire/barewire/mac/internal/neta"
)

// manager is the buffer manager: its registers and what is cached inside.
type manager struct {
	regs  [(neta.BMWindowSize + 3) / 4]uint32
	pools [neta.MaxPools]pool
	// The buffer that the current frame has got, and its pool.
	taken, pool uint32
}

// pool is what is cached of a pool's ring in memory. Buffers come out of the cache
// in any order.
type pool struct {
	cache       []uint32
	read, write int // slots of the ring
	stored      int // buffers in it
}

// cached is how many buffers stay inside; more go to memory.
const cached = 32

func (m *Model) readBM(off uint32) uint32 {
	if off >= neta.BMWindowSize {
		return 0
	}
	for p := range neta.MaxPools {
		switch off {
		case neta.BMPoolRead(p):
			return uint32(m.bm.pools[p].read) << 18
		case neta.BMPoolWrite(p):
			return uint32(m.bm.pools[p].write) << 18
		}
	}
	return m.bm.regs[off/4]
}

func (m *Model) writeBM(off, v uint32) {
	if off >= neta.BMWindowSize {
		return
	}
	config := &m.bm.regs[neta.BMConfig/4]
	switch off {
	case neta.BMConfig:
		*config = *config&neta.BMConfigStatus | v&^neta.BMConfigStatus
		return
	case neta.BMCommand:
		*config &^= neta.BMConfigStatus
		switch {
		case v&neta.BMStart != 0:
			*config |= neta.BMConfigActive
		case v&neta.BMPause != 0:
			*config |= neta.BMConfigPaused
		}
		return
	case neta.BMCause:
		m.bm.regs[off/4] &= v
		return
	}
	for p := range neta.MaxPools {
		k := &m.bm.pools[p]
		on := m.bm.regs[neta.BMPoolBase(p)/4]&neta.BMPoolEnable != 0
		switch off {
		case neta.BMPoolRead(p):
			k.read = int(v & neta.BMPointer >> 2)
		case neta.BMPoolWrite(p):
			k.write = int(v & neta.BMPointer >> 2)
		case neta.BMPoolSize(p):
			if v &= neta.BMPoolSlots; v != 0 && (v < neta.MinPool || v > neta.MaxPool || v%neta.PoolStep != 0) {
				m.bad.Record("pool %d: %d slots", p, v)
			}
		case neta.BMPoolBase(p):
			if on && v&neta.BMPoolEnable == 0 {
				// The ring is closed; what is cached stays for whoever opens it again.
				k.read, k.write, k.stored = 0, 0, 0
			}
			continue
		default:
			continue
		}
		if on {
			m.bad.Record("pool %d: %s written while it is open", p, neta.RegName(neta.BMOffset+off))
		}
	}
	m.bm.regs[off/4] = v
}

// open reports whether the buffer manager runs and pool p is open.
func (m *Model) open(p int) bool {
	return m.bm.regs[neta.BMConfig/4]&neta.BMConfigActive != 0 && m.bm.regs[neta.BMPoolBase(p)/4]&neta.BMPoolEnable != 0
}

func (m *Model) poolSlots(p int) int { return int(m.bm.regs[neta.BMPoolSize(p)/4] & neta.BMPoolSlots) }

// slot is slot i of pool p's ring in memory. The buffer manager has a way to
// memory of its own, and does not go through the port's windows.
func (m *Model) slot(p, i int, write bool) ([]byte, bool) {
	base := m.bm.regs[neta.BMPoolBase(p)/4] &^ (neta.PoolStep - 1)
	if m.mem == nil {
		return nil, false
	}
	b, err := m.mem.Slice(uint64(base)+uint64(i)*neta.PoolSlot, neta.PoolSlot, write)
	return b, err == nil
}

// putBuffer is a write to the BPPI.
func (m *Model) putBuffer(off, addr uint32) {
	p := int(off / neta.PoolStride)
	if p >= neta.MaxPools {
		return
	}
	k := &m.bm.pools[p]
	switch {
	case !m.open(p):
		m.bad.Record("pool %d: buffer %#x given while it is closed", p, addr)
		return
	case addr == 0 || addr%8 != 0:
		m.bad.Record("pool %d: buffer %#x: not an address of one", p, addr)
		return
	case k.stored >= m.poolSlots(p):
		m.bad.Record("pool %d: buffer %#x given: it is full", p, addr)
		return
	}
	for _, a := range k.cache {
		if a == addr {
			m.bad.Record("pool %d: buffer %#x given twice", p, addr)
		}
	}
	m.stats.Puts[p]++
	if k.cache = append(k.cache, addr); len(k.cache) > cached {
		b, ok := m.slot(p, k.write, true)
		if !ok {
			return
		}
		binary.LittleEndian.PutUint32(b, k.cache[0])
		k.cache = append(k.cache[:0], k.cache[1:]...)
		k.write = (k.write + 1) % m.poolSlots(p)
		k.stored++
	}
	m.pumpRX() // a frame may wait for it
}

// takeBuffer is a read of the BPPI. Without the empty-limit bit the last burst of
// buffers stays.
func (m *Model) takeBuffer(off uint32) uint32 {
	p := int(off / neta.PoolStride)
	if p >= neta.MaxPools {
		return 0
	}
	k, config := &m.bm.pools[p], m.bm.regs[neta.BMConfig/4]
	if config&neta.BMConfigEmpty == 0 && len(k.cache)+k.stored <= 16 {
		return 0
	}
	if m.cfg.EmptyReads && m.random()&7 == 0 {
		return 0
	}
	addr, _ := m.getBuffer(p)
	return addr
}

// getBuffer takes any buffer out of pool p.
func (m *Model) getBuffer(p int) (addr uint32, ok bool) {
	k := &m.bm.pools[p]
	if !m.open(p) {
		return 0, false
	}
	for len(k.cache) < cached/2 && k.stored > 0 {
		b, ok := m.slot(p, k.read, false)
		if !ok {
			break
		}
		k.cache = append(k.cache, binary.LittleEndian.Uint32(b))
		k.read = (k.read + 1) % m.poolSlots(p)
		k.stored--
	}
	if len(k.cache) == 0 {
		return 0, false
	}
	i := int(m.random()) & 0xFFFF % len(k.cache)
	addr = k.cache[i]
	k.cache[i] = k.cache[len(k.cache)-1]
	k.cache = k.cache[:len(k.cache)-1]
	m.stats.Gets[p]++
	return addr, true
}
