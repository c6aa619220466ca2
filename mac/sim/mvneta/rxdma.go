package mvneta

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
)

// rxQueue is one receive queue: its counters, its position, and where it is
// inside a frame.
type rxQueue struct {
	occupied, free int
	index          int
	off            int // bytes of the current frame that are in memory
	pieces         int // descriptors that it has used

	expired bool // the time is over since the first frame that waits
	timer   sim.Timer
	armed   bool
	until   time.Time
}

// commandRX enables and disables queues.
func (m *Model) commandRX(v uint32) {
	on := m.load(neta.RXCommand)
	on = on&^field.Get(neta.CommandDisable, v) | field.Get(neta.CommandEnable, v)
	m.store(neta.RXCommand, on)
	m.pumpRX()
}

// updateRX is a write to the update register of queue q.
func (m *Model) updateRX(q int, v uint32) {
	if m.inReset(neta.RXDMAReset) {
		return
	}
	r := &m.rxq[q]
	taken, added := int(field.Get(neta.RXUpdateTaken, v)), int(field.Get(neta.RXUpdateAdded, v))
	if taken > r.occupied {
		m.bad.Record("receive queue %d: %d descriptors taken, %d are filled", q, taken, r.occupied)
		taken = r.occupied
	}
	r.occupied -= taken
	slots := int(field.Get(neta.RXSizeSlots, m.load(neta.RXRingSize(q))))
	if r.occupied+r.free+added > slots {
		m.bad.Record("receive queue %d: %d descriptors free, %d filled and %d added in a ring of %d", q, r.free, r.occupied, added, slots)
		added = slots - r.occupied - r.free
	}
	r.free += added
	if taken > 0 {
		r.expired = false
		r.stopTimer()
		m.startTimer(q)
	}
	if m.cfg.CheckArmed && m.load(neta.RXCommand)>>q&1 != 0 {
		m.checkArmed(q)
	}
	m.pumpRX()
}

// transfer moves a frame, or what is left of it, to memory. It reports false when
// the frame must wait for descriptors or buffers.
func (m *Model) transfer(f *rxFrame) bool {
	q := f.queue
	r := &m.rxq[q]
	for {
		if m.load(neta.RXCommand)>>q&1 == 0 || r.free == 0 {
			return false
		}
		addr, size, cookie, ok := m.buffer(q, len(f.data)-r.off)
		if !ok {
			return false
		}
		n := min(size, len(f.data)-r.off)
		last := r.off+n >= len(f.data)
		if last && f.cut && r.pieces > 0 {
			r.off, r.pieces = 0, 0
			return true
		}
		b, ok := m.reach(addr, n, true, sim.RXBusError)
		if !ok || !m.writeBack(f, addr, cookie, last) {
			return false
		}
		copy(b, f.data[r.off:])
		r.off += n
		if last {
			r.off, r.pieces = 0, 0
			m.stats.RX[q]++
			m.startTimer(q)
			return true
		}
	}
}

// buffer is where the next bytes of a frame go: the buffer of the descriptor, or
// one of the buffer manager's.
func (m *Model) buffer(q, n int) (addr uint32, size int, cookie uint32, ok bool) {
	r := &m.rxq[q]
	w, ok := m.descriptor(m.load(neta.RXBase(q)), r.index, false)
	if !ok {
		return 0, 0, 0, false
	}
	config := m.load(neta.RXConfig(q))
	offset := 8 * int(field.Get(neta.RXConfigOffset, config))
	if config&neta.RXConfigHWBuf == 0 {
		size = 8 * int(field.Get(neta.RXSizeBuf, m.load(neta.RXRingSize(q))))
		if r.pieces > 0 {
			offset = 0
		}
		return atomic.LoadUint32(&w[neta.RXBuffer]) + uint32(offset), size, w[neta.RXCookie], size > 0
	}
	pool := field.Get(neta.RXConfigShort, config)
	if n+offset > m.poolSize(pool) {
		pool = field.Get(neta.RXConfigLong, config)
	}
	base, ok := m.getBuffer(int(pool))
	if !ok {
		m.misc(field.Put(neta.MiscPool, 1<<pool))
		return 0, 0, 0, false
	}
	b, ok := m.reach(base, 4, false, sim.RXBusError)
	if !ok {
		return 0, 0, 0, false
	}
	m.bm.taken = base
	m.bm.pool = pool
	return base + uint32(offset), m.poolSize(pool) - offset, binary.LittleEndian.Uint32(b), true
}

func (m *Model) poolSize(p uint32) int {
	return int(m.load(neta.PoolSize(int(p))) & neta.PoolBufSize)
}

// writeBack fills the current descriptor in and goes on to the next.
func (m *Model) writeBack(f *rxFrame, addr, cookie uint32, last bool) bool {
	q := f.queue
	r := &m.rxq[q]
	w, ok := m.descriptor(m.load(neta.RXBase(q)), r.index, true)
	if !ok {
		return false
	}
	// What stands in the descriptors of a frame besides the first is junk, but for
	// the marks. Whether their size is written at all no source says.
	status, size := m.random()&^(neta.RXFirst|neta.RXLast), m.random()&^(1<<31)
	sized := r.pieces == 0 || m.random()&1 != 0
	if r.pieces == 0 {
		status, size = f.status, f.size<<16|m.random()&0xFFFF
		if !f.noFirst {
			status |= neta.RXFirst
		}
	}
	if last && !f.cut {
		status |= neta.RXLast
	}
	for i := 3; i < neta.DescriptorWords; i++ {
		w[i] = m.random()
	}
	w[neta.RXCookie] = cookie
	if m.load(neta.RXConfig(q))&neta.RXConfigHWBuf != 0 {
		status = status&^neta.RXPool | field.Put(neta.RXPool, m.bm.pool)
		w[neta.RXBuffer] = m.bm.taken
		if len(m.forge) > 0 {
			w[neta.RXBuffer], m.forge = m.forge[0], m.forge[1:]
		}
	}
	atomic.StoreUint32(&w[neta.RXStatus], status)
	if sized {
		atomic.StoreUint32(&w[neta.RXSize], size)
	}
	r.pieces++
	r.free--
	r.occupied++
	if r.index++; r.index >= int(field.Get(neta.RXSizeSlots, m.load(neta.RXRingSize(q)))) {
		r.index = 0
	}
	return true
}

// ForgeBuffers has the next received frames name these addresses as theirs, with
// a buffer manager.
func (m *Model) ForgeBuffers(addrs ...uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forge = append(m.forge, addrs...)
}

// checkArmed records buffers that share bytes, in the descriptors that are free or
// in a pool.
func (m *Model) checkArmed(q int) {
	r := &m.rxq[q]
	size := uint32(8 * field.Get(neta.RXSizeBuf, m.load(neta.RXRingSize(q))))
	slots := int(field.Get(neta.RXSizeSlots, m.load(neta.RXRingSize(q))))
	addrs := m.armed[:0]
	if config := m.load(neta.RXConfig(q)); config&neta.RXConfigHWBuf != 0 {
		pool := int(field.Get(neta.RXConfigLong, config))
		size = uint32(m.poolSize(uint32(pool)))
		addrs = append(addrs, m.bm.pools[pool].cache...)
	} else {
		for i := range r.free {
			if w, ok := m.descriptor(m.load(neta.RXBase(q)), (r.index+i)%slots, false); ok {
				addrs = append(addrs, w[neta.RXBuffer])
			}
		}
	}
	m.armed = addrs
	slices.Sort(addrs)
	for i := 1; i < len(addrs); i++ {
		if addrs[i]-addrs[i-1] < size {
			m.bad.Record("receive queue %d: posted buffers at %#x and %#x share bytes", q, addrs[i-1], addrs[i])
		}
	}
}

// startTimer starts the time of queue q if frames wait and it does not run. A
// time of 0 is over at once.
func (m *Model) startTimer(q int) {
	r := &m.rxq[q]
	if r.armed || r.expired || r.occupied == 0 {
		return
	}
	cycles := time.Duration(m.load(neta.RXTime(q)) & neta.RXTimeMask)
	d := cycles * time.Second / time.Duration(m.cfg.ClockHz)
	if d == 0 {
		r.expired = true
		return
	}
	r.armed, r.until = true, m.clock.Now().Add(d)
	if r.timer == nil {
		r.timer = m.clock.AfterFunc(d, func() { m.timeOver(q) })
	} else {
		r.timer.Reset(d)
	}
}

func (r *rxQueue) stopTimer() {
	if r.armed {
		r.armed = false
		r.timer.Stop()
	}
}

func (m *Model) timeOver(q int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := &m.rxq[q]; r.armed && !m.clock.Now().Before(r.until) {
		r.armed, r.expired = false, r.occupied > 0
		m.updateLine()
	}
}
