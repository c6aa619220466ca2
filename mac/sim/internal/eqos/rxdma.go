package eqos

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// rxChannel is one receive DMA channel.
//
// A tail write is a doorbell: it ends a suspension, and the channel then takes
// descriptors while the device owns them, up to the tail. When the tail is the
// current descriptor at that moment, the ring is full and not empty. Before the
// start it is empty.
type rxChannel struct {
	base uint64
	idx  uint32

	desc    [dwregs.DescriptorWords]uint32 // the current descriptor, fetched ahead
	fetched bool
	stopped bool // suspended until the next tail write
	full    bool

	off    int // bytes of the current frame that are in memory
	pieces int // descriptors that the current frame has used
	queue  int // where the rest of the current frame waits
	ioc    bool
	stamp  bool // a context is to follow the frame

	watchdog dwmac.Watchdog

	tailWritten atomic.Bool
	waiting     atomic.Bool // stopped: a tail write must wake the engine
	busy        atomic.Bool
	dead        atomic.Bool // after a bus error
}

// stride is the distance of descriptors of channel c in bytes.
func (m *Engine) stride(c int) uint64 {
	return dwregs.DescriptorSize + 8*uint64(field.Get(gmac4.ControlDSL, m.Channel(c, gmac4.ChanControl)))
}

func (m *Engine) rxAddr(c int) uint64 {
	return m.rx.ch[c].base + uint64(m.rx.ch[c].idx)*m.stride(c)
}

// Address puts the words of a device address together.
func (m *Engine) Address(high, low uint32) uint64 {
	if m.cfg.AddressBits <= 32 || m.Load(m.at.SysBus)&gmac4.SysBusEAME == 0 {
		return uint64(low)
	}
	return uint64(high)&(1<<(m.cfg.AddressBits-32)-1)<<32 | uint64(low)
}

// setRXList is a write to the ring's address.
func (m *Engine) setRXList(c int, r, v uint32) {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	if r == gmac4.ChanRxList {
		v &= busMask
	}
	m.Store(m.at.Channel(c)+r, v)
	if m.Channel(c, gmac4.ChanRxControl)&gmac4.RxControlSR != 0 {
		m.Bad.Record("channel %d: receive ring address written while DMA runs", c)
	}
	ch := &m.rx.ch[c]
	if ch.pieces > 0 {
		m.rx.q[ch.queue].Pop()
	}
	ch.base, ch.idx, ch.fetched, ch.off, ch.pieces, ch.ioc, ch.stamp = 0, 0, false, 0, 0, false, false
	ch.base = m.Address(m.Channel(c, gmac4.ChanRxListHigh), m.Channel(c, gmac4.ChanRxList))
	m.Store(m.at.Channel(c)+gmac4.ChanCurRxDesc, uint32(ch.base))
}

// setRXControl is a write to RX_CONTROL. A start forgets tail writes before it.
func (m *Engine) setRXControl(c int, v uint32) {
	m.rx.mu.Lock()
	changed := (m.regs[(m.at.Channel(c)+gmac4.ChanRxControl)/4].Swap(v) ^ v) & gmac4.RxControlSR
	on := v&gmac4.RxControlSR != 0
	if ch := &m.rx.ch[c]; changed != 0 {
		ch.fetched = false
		if on {
			ch.stopped, ch.full = false, false
			ch.tailWritten.Store(false)
			ch.waiting.Store(false)
		}
	}
	m.rx.mu.Unlock()
	if changed != 0 && !on {
		m.Raise(c, gmac4.IntRPS)
	}
	m.rxEngine.Kick()
}

// fetchRX has the current descriptor in ch.desc, or suspends the channel.
func (m *Engine) fetchRX(c int) bool {
	ch := &m.rx.ch[c]
	if m.Channel(c, gmac4.ChanRxControl)&gmac4.RxControlSR == 0 || ch.dead.Load() {
		return false
	}
	for !ch.fetched {
		if ch.tailWritten.Swap(false) {
			ch.stopped = false
			ch.waiting.Store(false)
			ch.full = m.Channel(c, m.at.ChanRxTail) == uint32(m.rxAddr(c))
		}
		if ch.stopped {
			return false
		}
		atTail := m.Channel(c, m.at.ChanRxTail) == uint32(m.rxAddr(c)) && !ch.full
		if !atTail && m.takeRX(c) {
			return true
		}
		if ch.dead.Load() {
			return false
		}
		ch.stopped = true
		ch.waiting.Store(true)
		if !ch.tailWritten.Load() {
			m.Raise(c, gmac4.IntRBU)
		}
	}
	return true
}

// takeRX reads the current descriptor if the device owns it.
func (m *Engine) takeRX(c int) bool {
	ch := &m.rx.ch[c]
	w, ok := m.descriptor(m.rxAddr(c), false)
	if !ok {
		m.busError(c, &ch.dead, field.Put(gmac4.StatusREB, gmac4.BusErrDescriptorRead))
		return false
	}
	own := atomic.LoadUint32(&w[3])
	if own&gmac4.RDES3OWN == 0 {
		return false
	}
	ch.desc = [dwregs.DescriptorWords]uint32{w[0], w[1], w[2], own}
	ch.fetched = true
	return true
}

// descriptor is the descriptor at addr, or false on a bus error.
func (m *Engine) descriptor(addr uint64, write bool) ([]uint32, bool) {
	if m.faults.Hit(sim.DescriptorBusError) {
		return nil, false
	}
	b, err := m.mem.Slice(addr, dwregs.DescriptorSize, write)
	if err != nil {
		return nil, false
	}
	return sim.Words(b)
}

// busError stops a channel until the next reset.
func (m *Engine) busError(c int, dead *atomic.Bool, detail uint32) {
	dead.Store(true)
	m.Line.Mu.Lock()
	off := m.at.Channel(c) + gmac4.ChanStatus
	m.Store(off, m.Load(off)&^(gmac4.StatusREB|gmac4.StatusTEB))
	m.orLocked(off, gmac4.IntFBE|detail)
	m.Line.Mu.Unlock()
}

// transfer moves a frame, or what is left of it, to memory. It reports false
// when the frame must wait for descriptors. rx.mu is held.
func (m *Engine) transfer(c int, f *dwmac.RXFrame) bool {
	ch := &m.rx.ch[c]
	ch.busy.Store(true)
	defer ch.busy.Store(false)
	size := int(field.Get(gmac4.RxControlRBSZ, m.Channel(c, gmac4.ChanRxControl)))
	for {
		if ch.stamp && !m.writeContext(c) || !m.fetchRX(c) {
			return false
		}
		_, buffers := m.mac.Buffers(ch.desc)
		room := buffers * size
		last := ch.off+room >= f.N
		if last && f.Cut && ch.pieces > 0 {
			ch.off, ch.pieces, ch.ioc = 0, 0, false
			return true
		}
		if !m.fillRX(c, f, size) || !m.closeRX(c, f, last) {
			return false
		}
		if last {
			ch.stamp = f.Context && !f.Cut
			m.endRX(c)
			return true
		}
	}
}

// fillRX writes the next bytes of the frame into the buffers of the current
// descriptor.
func (m *Engine) fillRX(c int, f *dwmac.RXFrame, size int) bool {
	ch := &m.rx.ch[c]
	addrs, n := m.mac.Buffers(ch.desc)
	for _, addr := range addrs[:n] {
		if !m.writeRX(c, f, addr, size) {
			return false
		}
	}
	return true
}

func (m *Engine) writeRX(c int, f *dwmac.RXFrame, addr uint64, size int) bool {
	ch := &m.rx.ch[c]
	n := min(size, f.N-ch.off)
	if n <= 0 {
		return true
	}
	b, err := m.mem.Slice(addr, n, true)
	if err != nil || m.faults.Hit(sim.RXBusError) {
		m.busError(c, &ch.dead, field.Put(gmac4.StatusREB, gmac4.BusErrBufferWrite))
		return false
	}
	f.CopyTo(b, ch.off)
	ch.off += n
	m.Store(m.at.Channel(c)+gmac4.ChanCurRxBuf, uint32(addr))
	m.Store(m.at.Channel(c)+gmac4.ChanCurRxBufH, uint32(addr>>32))
	return true
}

// closeRX writes the current descriptor back and goes on to the next.
func (m *Engine) closeRX(c int, f *dwmac.RXFrame, last bool) bool {
	ch := &m.rx.ch[c]
	w, ok := m.descriptor(m.rxAddr(c), true)
	if !ok {
		m.busError(c, &ch.dead, field.Put(gmac4.StatusREB, gmac4.BusErrDescriptorWrite))
		return false
	}
	m.rx.junk = dwmac.Junk(m.rx.junk)
	wrong := uint32(m.rx.junk >> 16)
	d0, d1, d2, d3 := wrong, ^wrong, wrong*3, uint32(ch.off)&m.at.PL
	if m.cfg.JunkLengths {
		d3 = wrong & m.at.PL
	}
	if last && !f.Cut {
		d0, d1, d2 = m.mac.WriteBack(f, wrong)
		d3 = f.Status[3] | gmac4.RDES3LD | uint32(f.N)&m.at.PL
		if f.BadCount {
			d3 = d3&^m.at.PL | wrong&m.at.PL
		}
	}
	if ch.pieces == 0 && !f.NoFirst {
		d3 |= gmac4.RDES3FD
	}
	w[0], w[1], w[2] = d0, d1, d2
	ch.ioc = ch.ioc || ch.desc[3]&gmac4.RDES3IOC != 0
	ch.pieces++
	m.nextRX(c, w, d3)
	return true
}

// endRX is what follows a frame: an interrupt now or later, and the fetch of the
// next descriptor.
func (m *Engine) endRX(c int) {
	ch := &m.rx.ch[c]
	m.stat.rx[c].Add(1)
	if ch.ioc {
		m.stat.ioc.Add(1)
		ch.watchdog.Stop()
		m.Raise(c, gmac4.IntRI)
	} else {
		m.startWatchdog(c)
	}
	ch.off, ch.pieces, ch.ioc = 0, 0, false
	if ch.stamp && (m.cfg.LateContexts || !m.writeContext(c)) {
		return
	}
	m.fetchRX(c)
}

// writeContext writes the context that belongs to the last frame into the slot
// behind it. It reports false when it must wait for that slot.
func (m *Engine) writeContext(c int) bool {
	ch := &m.rx.ch[c]
	if !m.fetchRX(c) {
		return false
	}
	w, ok := m.descriptor(m.rxAddr(c), true)
	if !ok {
		m.busError(c, &ch.dead, field.Put(gmac4.StatusREB, gmac4.BusErrDescriptorWrite))
		return false
	}
	now := m.clock.Now()
	w[0], w[1], w[2] = uint32(now.Nanosecond()), uint32(now.Unix()), uint32(m.rx.junk)
	ch.stamp = false
	m.nextRX(c, w, gmac4.RDES3CTXT)
	return true
}

// nextRX gives the current descriptor back with d3 as its last word, and goes on to
// the next.
func (m *Engine) nextRX(c int, w []uint32, d3 uint32) {
	ch := &m.rx.ch[c]
	ch.fetched, ch.full = false, false
	if ch.idx++; ch.idx > m.Channel(c, m.at.ChanRxRingLen) {
		ch.idx = 0
	}
	m.Store(m.at.Channel(c)+gmac4.ChanCurRxDesc, uint32(m.rxAddr(c)))
	atomic.StoreUint32(&w[3], d3)
}

// startWatchdog starts the receive watchdog unless it runs. RWTU reads 0 where there
// is none.
func (m *Engine) startWatchdog(c int) {
	w := m.Channel(c, m.at.ChanRxWatchdog)
	cycles := time.Duration(w&gmac4.WatchdogRWT) * dwregs.WatchdogUnit << field.Get(gmac4.WatchdogRWTU, w)
	m.rx.ch[c].watchdog.Start(cycles * time.Second / time.Duration(m.cfg.ClockHz))
}

func (m *Engine) watchdogEnds(c int) {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	if m.rx.ch[c].watchdog.Due() {
		m.stat.watchdog.Add(1)
		m.Raise(c, gmac4.IntRI)
	}
}

// rxState is the receive state of channel c in DMA_Debug_Status.
func (m *Engine) rxState(c int) uint32 {
	ch := &m.rx.ch[c]
	switch {
	case ch.busy.Load():
		return gmac4.RxStateTransfer
	case ch.dead.Load() || m.Channel(c, gmac4.ChanRxControl)&gmac4.RxControlSR == 0:
		return gmac4.StateStopped
	case ch.waiting.Load():
		return gmac4.RxStateSuspended
	}
	return gmac4.RxStateWait
}

func (m *Engine) available(c int) int {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	n := 0
	m.eachArmed(c, func([]uint32) { n++ })
	return n
}

// eachArmed calls f with the descriptors that the device may use.
func (m *Engine) eachArmed(c int, f func(w []uint32)) {
	ch := &m.rx.ch[c]
	size, tail := uint64(m.Channel(c, m.at.ChanRxRingLen))+1, m.Channel(c, m.at.ChanRxTail)
	for i := range size {
		addr := ch.base + (uint64(ch.idx)+i)%size*m.stride(c)
		full := ch.full || ch.tailWritten.Load()
		if uint32(addr) == tail && (i > 0 || !full) && !(i == 0 && ch.fetched) {
			return
		}
		b, err := m.mem.Slice(addr, dwregs.DescriptorSize, false)
		if err != nil {
			return
		}
		w, ok := sim.Words(b)
		if !ok || atomic.LoadUint32(&w[3])&gmac4.RDES3OWN == 0 {
			return
		}
		f(w)
	}
}

// checkArmed records armed buffers that share bytes. Before the channel is started
// its list address need not be there yet.
func (m *Engine) checkArmed(c int) {
	if m.Channel(c, gmac4.ChanRxControl)&gmac4.RxControlSR == 0 {
		return
	}
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	size := uint64(field.Get(gmac4.RxControlRBSZ, m.Channel(c, gmac4.ChanRxControl)))
	var addrs []uint64
	m.eachArmed(c, func(w []uint32) {
		at, n := m.mac.Buffers([dwregs.DescriptorWords]uint32{w[0], w[1], w[2], atomic.LoadUint32(&w[3])})
		addrs = append(addrs, at[:n]...)
	})
	slices.SortFunc(addrs, cmp.Compare[uint64])
	for i := 1; i < len(addrs); i++ {
		if addrs[i] < addrs[i-1]+size {
			m.Bad.Record("channel %d: armed buffers at %#x and %#x share bytes", c, addrs[i-1], addrs[i])
		}
	}
}

// resetRX is the receiver's part of a reset.
func (m *Engine) resetRX() {
	for c := range m.rx.ch {
		ch := &m.rx.ch[c]
		ch.base, ch.idx, ch.fetched, ch.stopped, ch.full = 0, 0, false, false, false
		ch.off, ch.pieces, ch.ioc, ch.stamp = 0, 0, false, false
		ch.tailWritten.Store(false)
		ch.waiting.Store(false)
		ch.dead.Store(false)
	}
	for q := range m.rx.q {
		m.rx.q[q].Reset()
		m.rx.q[q].paused = false
	}
}
