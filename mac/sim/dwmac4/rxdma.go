package dwmac4

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

	timer    sim.Timer
	armed    bool
	deadline time.Time

	tailWritten atomic.Bool
	waiting     atomic.Bool // stopped: a tail write must wake the engine
	busy        atomic.Bool
	dead        atomic.Bool // after a bus error
}

// stride is the distance of descriptors of channel c in bytes.
func (m *Model) stride(c int) uint64 {
	return dwregs.DescriptorSize + 8*uint64(field.Get(gmac4.ControlDSL, m.channel(c, gmac4.ChanControl)))
}

func (m *Model) rxAddr(c int) uint64 {
	return m.rx.ch[c].base + uint64(m.rx.ch[c].idx)*m.stride(c)
}

// address puts the words of a device address together.
func (m *Model) address(high, low uint32) uint64 {
	if m.cfg.AddressBits <= 32 || m.load(gmac4.DMASysBus)&gmac4.SysBusEAME == 0 {
		return uint64(low)
	}
	return uint64(high)&(1<<(m.cfg.AddressBits-32)-1)<<32 | uint64(low)
}

// setRXList is a write to the ring's address.
func (m *Model) setRXList(c int, r, v uint32) {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	if r == gmac4.ChanRxList {
		v &= busMask
	}
	m.store(gmac4.ChanBase(c)+r, v)
	if m.channel(c, gmac4.ChanRxControl)&gmac4.RxControlSR != 0 {
		m.bad.Record("channel %d: receive ring address written while DMA runs", c)
	}
	ch := &m.rx.ch[c]
	if ch.pieces > 0 {
		m.rx.q[ch.queue].Pop()
	}
	ch.base, ch.idx, ch.fetched, ch.off, ch.pieces, ch.ioc = 0, 0, false, 0, 0, false
	ch.base = m.address(m.channel(c, gmac4.ChanRxListHigh), m.channel(c, gmac4.ChanRxList))
	m.store(gmac4.ChanBase(c)+gmac4.ChanCurRxDesc, uint32(ch.base))
}

// setRXControl is a write to RX_CONTROL. A start forgets tail writes before it.
func (m *Model) setRXControl(c int, v uint32) {
	m.rx.mu.Lock()
	changed := (m.regs[(gmac4.ChanBase(c)+gmac4.ChanRxControl)/4].Swap(v) ^ v) & gmac4.RxControlSR
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
		m.raise(c, gmac4.IntRPS)
	}
	m.rxEngine.Kick()
}

// fetchRX has the current descriptor in ch.desc, or suspends the channel.
func (m *Model) fetchRX(c int) bool {
	ch := &m.rx.ch[c]
	if m.channel(c, gmac4.ChanRxControl)&gmac4.RxControlSR == 0 || ch.dead.Load() {
		return false
	}
	for !ch.fetched {
		if ch.tailWritten.Swap(false) {
			ch.stopped = false
			ch.waiting.Store(false)
			ch.full = m.channel(c, gmac4.ChanRxTail) == uint32(m.rxAddr(c))
		}
		if ch.stopped {
			return false
		}
		atTail := m.channel(c, gmac4.ChanRxTail) == uint32(m.rxAddr(c)) && !ch.full
		if !atTail && m.takeRX(c) {
			return true
		}
		if ch.dead.Load() {
			return false
		}
		ch.stopped = true
		ch.waiting.Store(true)
		if !ch.tailWritten.Load() {
			m.raise(c, gmac4.IntRBU)
		}
	}
	return true
}

// takeRX reads the current descriptor if the device owns it.
func (m *Model) takeRX(c int) bool {
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
func (m *Model) descriptor(addr uint64, write bool) ([]uint32, bool) {
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
func (m *Model) busError(c int, dead *atomic.Bool, detail uint32) {
	dead.Store(true)
	m.line.Mu.Lock()
	off := gmac4.ChanBase(c) + gmac4.ChanStatus
	m.store(off, m.load(off)&^(gmac4.StatusREB|gmac4.StatusTEB))
	m.orLocked(off, gmac4.IntFBE|detail)
	m.line.Mu.Unlock()
}

// transfer moves a frame, or what is left of it, to memory. It reports false
// when the frame must wait for descriptors. rx.mu is held.
func (m *Model) transfer(c int, f *dwmac.RXFrame) bool {
	ch := &m.rx.ch[c]
	ch.busy.Store(true)
	defer ch.busy.Store(false)
	size := int(field.Get(gmac4.RxControlRBSZ, m.channel(c, gmac4.ChanRxControl)))
	for {
		if !m.fetchRX(c) {
			return false
		}
		room := 0
		if ch.desc[3]&gmac4.RDES3BUF1V != 0 {
			room = size
		}
		if ch.desc[3]&gmac4.RDES3BUF2V != 0 {
			room += size
		}
		last := ch.off+room >= f.N
		if last && f.Cut && ch.pieces > 0 {
			ch.off, ch.pieces, ch.ioc = 0, 0, false
			return true
		}
		if !m.fillRX(c, f, size) || !m.closeRX(c, f, last) {
			return false
		}
		if last {
			m.endRX(c)
			return true
		}
	}
}

// fillRX writes the next bytes of the frame into the buffers of the current
// descriptor.
func (m *Model) fillRX(c int, f *dwmac.RXFrame, size int) bool {
	ch := &m.rx.ch[c]
	d := &ch.desc
	if d[3]&gmac4.RDES3BUF1V != 0 && !m.writeRX(c, f, m.address(d[1], d[0]), size) {
		return false
	}
	return d[3]&gmac4.RDES3BUF2V == 0 || m.writeRX(c, f, m.address(d[3]&0xffff, d[2]), size)
}

func (m *Model) writeRX(c int, f *dwmac.RXFrame, addr uint64, size int) bool {
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
	m.store(gmac4.ChanBase(c)+gmac4.ChanCurRxBuf, uint32(addr))
	m.store(gmac4.ChanBase(c)+gmac4.ChanCurRxBufH, uint32(addr>>32))
	return true
}

// closeRX writes the current descriptor back and goes on to the next.
func (m *Model) closeRX(c int, f *dwmac.RXFrame, last bool) bool {
	ch := &m.rx.ch[c]
	w, ok := m.descriptor(m.rxAddr(c), true)
	if !ok {
		m.busError(c, &ch.dead, field.Put(gmac4.StatusREB, gmac4.BusErrDescriptorWrite))
		return false
	}
	m.rx.junk = dwmac.Junk(m.rx.junk)
	wrong := uint32(m.rx.junk >> 16)
	d0, d1, d2, d3 := wrong, ^wrong, wrong*3, uint32(ch.off)&gmac4.RDES3PL
	if m.cfg.JunkLengths {
		d3 = wrong & gmac4.RDES3PL
	}
	if last && !f.Cut {
		d2, d3 = f.Status[2], f.Status[3]|gmac4.RDES3LD|uint32(f.N)&gmac4.RDES3PL
		if f.Status[3]&gmac4.RDES3RS0V != 0 {
			d0 = f.Status[0]
		}
		if f.Status[3]&gmac4.RDES3RS1V != 0 {
			d1 = f.Status[1] | wrong<<16
		}
		if f.BadCount {
			d3 = d3&^gmac4.RDES3PL | wrong&gmac4.RDES3PL
		}
	}
	if ch.pieces == 0 && !f.NoFirst {
		d3 |= gmac4.RDES3FD
	}
	w[0], w[1], w[2] = d0, d1, d2
	ch.ioc = ch.ioc || ch.desc[3]&gmac4.RDES3IOC != 0
	ch.pieces++
	ch.fetched, ch.full = false, false
	if ch.idx++; ch.idx > m.channel(c, gmac4.ChanRxRingLen) {
		ch.idx = 0
	}
	m.store(gmac4.ChanBase(c)+gmac4.ChanCurRxDesc, uint32(m.rxAddr(c)))
	atomic.StoreUint32(&w[3], d3)
	return true
}

// endRX is what follows a frame: an interrupt now or later, and the fetch of the
// next descriptor.
func (m *Model) endRX(c int) {
	ch := &m.rx.ch[c]
	m.stat.rx[c].Add(1)
	if ch.ioc {
		m.stat.ioc.Add(1)
		ch.stopWatchdog()
		m.raise(c, gmac4.IntRI)
	} else {
		m.startWatchdog(c)
	}
	ch.off, ch.pieces, ch.ioc = 0, 0, false
	m.fetchRX(c)
}

// startWatchdog starts the receive watchdog unless it runs.
func (m *Model) startWatchdog(c int) {
	ch, w := &m.rx.ch[c], m.channel(c, gmac4.ChanRxWatchdog)
	if ch.armed || w&gmac4.WatchdogRWT == 0 {
		return
	}
	cycles := time.Duration(w&gmac4.WatchdogRWT) * dwregs.WatchdogUnit << field.Get(gmac4.WatchdogRWTU, w)
	d := cycles * time.Second / time.Duration(m.cfg.ClockHz)
	ch.armed, ch.deadline = true, m.clock.Now().Add(d)
	if ch.timer == nil {
		ch.timer = m.clock.AfterFunc(d, func() { m.watchdog(c) })
	} else {
		ch.timer.Reset(d)
	}
}

func (ch *rxChannel) stopWatchdog() {
	if ch.armed {
		ch.armed = false
		ch.timer.Stop()
	}
}

func (m *Model) watchdog(c int) {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	if ch := &m.rx.ch[c]; ch.armed && !m.clock.Now().Before(ch.deadline) {
		ch.armed = false
		m.stat.watchdog.Add(1)
		m.raise(c, gmac4.IntRI)
	}
}

// rxState is the receive state of channel c in DMA_Debug_Status.
func (m *Model) rxState(c int) uint32 {
	ch := &m.rx.ch[c]
	switch {
	case ch.busy.Load():
		return gmac4.RxStateTransfer
	case ch.dead.Load() || m.channel(c, gmac4.ChanRxControl)&gmac4.RxControlSR == 0:
		return gmac4.StateStopped
	case ch.waiting.Load():
		return gmac4.RxStateSuspended
	}
	return gmac4.RxStateWait
}

// RXAvailable is how many descriptors receive channel c may use as things stand:
// those that the device owns from the current one up to the tail.
func (m *Model) RXAvailable(c int) int {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	n := 0
	m.eachArmed(c, func([]uint32) { n++ })
	return n
}

// eachArmed calls f with the descriptors that the device may use.
func (m *Model) eachArmed(c int, f func(w []uint32)) {
	ch := &m.rx.ch[c]
	size, tail := uint64(m.channel(c, gmac4.ChanRxRingLen))+1, m.channel(c, gmac4.ChanRxTail)
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
func (m *Model) checkArmed(c int) {
	if m.channel(c, gmac4.ChanRxControl)&gmac4.RxControlSR == 0 {
		return
	}
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	size := uint64(field.Get(gmac4.RxControlRBSZ, m.channel(c, gmac4.ChanRxControl)))
	var addrs []uint64
	m.eachArmed(c, func(w []uint32) {
		d3 := atomic.LoadUint32(&w[3])
		if d3&gmac4.RDES3BUF1V != 0 {
			addrs = append(addrs, m.address(w[1], w[0]))
		}
		if d3&gmac4.RDES3BUF2V != 0 {
			addrs = append(addrs, m.address(d3&0xffff, w[2]))
		}
	})
	slices.SortFunc(addrs, cmp.Compare[uint64])
	for i := 1; i < len(addrs); i++ {
		if addrs[i] < addrs[i-1]+size {
			m.bad.Record("channel %d: armed buffers at %#x and %#x share bytes", c, addrs[i-1], addrs[i])
		}
	}
}

// resetRX is the receiver's part of a reset.
func (m *Model) resetRX() {
	for c := range m.rx.ch {
		ch := &m.rx.ch[c]
		ch.base, ch.idx, ch.fetched, ch.stopped, ch.full = 0, 0, false, false, false
		ch.off, ch.pieces, ch.ioc = 0, 0, false
		ch.tailWritten.Store(false)
		ch.waiting.Store(false)
		ch.dead.Store(false)
	}
	for q := range m.rx.q {
		m.rx.q[q].Reset()
		m.rx.q[q].paused = false
	}
}
