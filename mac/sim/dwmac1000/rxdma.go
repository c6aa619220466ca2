package dwmac1000

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// receiver is the receive half: address filter, FIFO and DMA. mu guards all of it
// but the atomics.
type receiver struct {
	mu     sync.Mutex
	filter dwmac.Filter
	fifo   dwmac.FIFO
	paused bool // the partner has been sent a pause

	pad     [dwmac.MinFrame - dwmac.FCSLen]byte // a short frame, padded
	fcs     [dwmac.FCSLen]byte
	trailer []byte // what the checksum engine appends
	giant   bool   // the frame is one
	frame   dwmac.RXFrame
	junk    uint64

	base, addr uint32
	desc       descriptor // the current descriptor, fetched ahead
	fetched    bool
	stopped    bool // suspended for want of a descriptor
	told       bool // RU has been raised for it
	retry      bool // a frame has come: look again

	off    int  // bytes of the current frame that are in memory
	pieces int  // descriptors that the current frame has used
	soon   bool // one of them wants an interrupt

	watchdog dwmac.Watchdog

	polled  atomic.Bool // a poll demand has come
	waiting atomic.Bool // stopped, for others to see
	busy    atomic.Bool
	dead    atomic.Bool // after a bus error
}

// descriptor is one as the device has read it.
type descriptor [4]uint32

func (r *receiver) start() {
	r.fetched, r.stopped, r.told = false, false, false
	r.polled.Store(false)
	r.waiting.Store(false)
}

// setRXList is a write to the ring's address.
func (m *Model) setRXList(v uint32) {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	m.store(gmac3.DMARxList, v)
	if m.load(gmac3.DMAOpMode)&gmac3.OpSR != 0 {
		m.bad.Record("receive list address written while DMA runs")
	}
	r := &m.rx
	if r.pieces > 0 && r.fifo.Len() > 0 {
		r.fifo.Pop()
	}
	r.base, r.addr, r.fetched, r.off, r.pieces, r.soon = v, v, false, 0, 0, false
	m.store(gmac3.DMACurRxDesc, v)
}

// words are the words of the descriptor at addr, or false on a bus error.
func (m *Model) words(addr uint32, write bool) ([]uint32, bool) {
	if m.faults.Hit(sim.DescriptorBusError) {
		return nil, false
	}
	size := gmac3.DescriptorSize
	if m.load(gmac3.DMABusMode)&gmac3.BusATDS != 0 {
		size = gmac3.ExtendedSize
	}
	b, err := m.mem.Slice(uint64(addr), size, write)
	if err != nil {
		return nil, false
	}
	return sim.Words(b)
}

// following is where the descriptor after the one at addr is. end says that addr is
// in the last slot of a ring, chained that word 3 holds the answer. The end of a
// ring wins.
func (m *Model) following(addr, base, word3 uint32, end, chained bool) uint32 {
	switch mode := m.load(gmac3.DMABusMode); {
	case end:
		return base
	case chained:
		return word3 & busMask
	case mode&gmac3.BusATDS != 0:
		return addr + gmac3.ExtendedSize + 8*field.Get(gmac3.BusDSL, mode)
	default:
		return addr + gmac3.DescriptorSize + 8*field.Get(gmac3.BusDSL, mode)
	}
}

// rxControl decodes word 1 of a receive descriptor.
func (m *Model) rxControl(w1 uint32) (size1, size2 int, end, chained bool) {
	if m.cfg.NormalDescriptors {
		size1, size2 = int(field.Get(gmac3.RDES1RBS1, w1)), int(field.Get(gmac3.RDES1RBS2, w1))
		end, chained = w1&gmac3.RDES1RER != 0, w1&gmac3.RDES1RCH != 0
	} else {
		size1, size2 = int(field.Get(gmac3.ERDES1RBS1, w1)), int(field.Get(gmac3.ERDES1RBS2, w1))
		end, chained = w1&gmac3.ERDES1RER != 0, w1&gmac3.ERDES1RCH != 0
	}
	if chained {
		size2 = 0
	}
	mask := ^7 // the bus
	return size1 & mask, size2 & mask, end, chained
}

// fetchRX has the current descriptor in rx.desc, or suspends the DMA.
func (m *Model) fetchRX() bool {
	r := &m.rx
	if m.load(gmac3.DMAOpMode)&gmac3.OpSR == 0 || r.dead.Load() {
		return false
	}
	for !r.fetched {
		if r.polled.Swap(false) || r.retry {
			r.stopped, r.retry = false, false
			r.waiting.Store(false)
		}
		if r.stopped {
			return false
		}
		if m.takeRX() {
			r.told = false
			return true
		}
		if r.dead.Load() {
			return false
		}
		r.stopped = true
		r.waiting.Store(true)
		if !r.told && !r.polled.Load() {
			r.told = true
			m.raise(gmac3.IntRU)
		}
	}
	return true
}

// takeRX reads the current descriptor if the device owns it.
func (m *Model) takeRX() bool {
	r := &m.rx
	w, ok := m.words(r.addr, false)
	if !ok {
		m.rxBusError(gmac3.BusErrRead | gmac3.BusErrDescriptor)
		return false
	}
	own := atomic.LoadUint32(&w[0])
	if own&gmac3.RDES0OWN == 0 {
		return false
	}
	r.desc, r.fetched = descriptor{own, w[1], w[2], w[3]}, true
	return true
}

func (m *Model) rxBusError(what uint32) {
	m.rx.dead.Store(true)
	m.busError(field.Put(gmac3.StatusEB, what))
}

// transfer moves a frame, or what is left of it, to memory. It reports false when
// the frame must wait for descriptors. rx.mu is held.
func (m *Model) transfer(f *dwmac.RXFrame) bool {
	r := &m.rx
	r.busy.Store(true)
	defer r.busy.Store(false)
	for {
		if !m.fetchRX() {
			return false
		}
		size1, size2, _, _ := m.rxControl(r.desc[1])
		last := r.off+size1+size2 >= f.N
		if last && f.Cut && r.pieces > 0 {
			r.off, r.pieces, r.soon = 0, 0, false
			return true
		}
		if !m.writeRX(f, r.desc[2], size1) || !m.writeRX(f, r.desc[3], size2) {
			return false
		}
		torn := !last && m.tears()
		if !m.closeRX(f, last, torn) {
			return false
		}
		if last || torn {
			m.endRX()
			return true
		}
	}
}

// tears reports whether the frame ends in the current descriptor for want of the
// next one: the DMA does not wait for it unless it is told to (DFF).
func (m *Model) tears() bool {
	if m.load(gmac3.DMAOpMode)&gmac3.OpDFF != 0 {
		return false
	}
	d := &m.rx.desc
	_, _, end, chained := m.rxControl(d[1])
	w, ok := m.words(m.following(m.rx.addr, m.rx.base, d[3], end, chained), false)
	return ok && atomic.LoadUint32(&w[0])&gmac3.RDES0OWN == 0
}

func (m *Model) writeRX(f *dwmac.RXFrame, addr uint32, size int) bool {
	r := &m.rx
	n := min(size, f.N-r.off)
	if n <= 0 {
		return true
	}
	b, err := m.mem.Slice(uint64(addr), n, true)
	if err != nil || m.faults.Hit(sim.RXBusError) {
		m.rxBusError(0)
		return false
	}
	f.CopyTo(b, r.off)
	r.off += n
	m.store(gmac3.DMACurRxBuf, addr)
	return true
}

// closeRX writes the current descriptor back and goes on to the next. Control in
// word 1 stays as it is.
func (m *Model) closeRX(f *dwmac.RXFrame, last, torn bool) bool {
	r := &m.rx
	w, ok := m.words(r.addr, true)
	if !ok {
		m.rxBusError(gmac3.BusErrDescriptor)
		return false
	}
	r.junk = dwmac.Junk(r.junk)
	wrong := uint32(r.junk >> 16)
	w0 := field.Put(gmac3.RDES0FL, uint32(r.off))
	if m.cfg.JunkLengths {
		w0 = field.Put(gmac3.RDES0FL, wrong)
	}
	if torn {
		w0 = gmac3.RDES0LS | gmac3.RDES0DE | gmac3.RDES0ES | field.Put(gmac3.RDES0FL, uint32(r.off))
	}
	extended := len(w) == gmac3.ExtendedSize/4
	if extended {
		w[5] = wrong
	}
	if last && !f.Cut {
		w0 = f.Status[status0] | gmac3.RDES0LS | field.Put(gmac3.RDES0FL, uint32(f.N))
		if f.BadCount {
			w0 = w0&^gmac3.RDES0FL | field.Put(gmac3.RDES0FL, wrong)
		}
		if extended {
			w[4] = f.Status[status4] | wrong&^uint32(0xFF)
		}
	} else if extended {
		w[4] = wrong
	}
	if r.pieces == 0 && !f.NoFirst {
		w0 |= gmac3.RDES0FS
	}
	if m.cfg.Overwrites {
		stamp := w[2:4]
		if extended {
			stamp = w[6:8]
		}
		stamp[0], stamp[1] = wrong*3, ^wrong
	}
	d := r.desc
	r.soon = r.soon || d[1]&gmac3.RDES1DIC == 0
	r.pieces++
	r.fetched = false
	_, _, end, chained := m.rxControl(d[1])
	r.addr = m.following(r.addr, r.base, d[3], end, chained)
	m.store(gmac3.DMACurRxDesc, r.addr)
	atomic.StoreUint32(&w[0], w0)
	return true
}

// endRX is what follows a frame: an interrupt now or later, and the fetch of the
// next descriptor.
func (m *Model) endRX() {
	r := &m.rx
	m.stat.rx.Add(1)
	if r.soon {
		m.stat.ri.Add(1)
		r.watchdog.Stop()
		m.raise(gmac3.IntRI)
	} else {
		m.startWatchdog()
	}
	r.off, r.pieces, r.soon, r.retry = 0, 0, false, false
	m.fetchRX()
}

// startWatchdog starts the receive watchdog unless it runs.
func (m *Model) startWatchdog() {
	cycles := time.Duration(m.load(gmac3.DMAWatchdog)) * dwregs.WatchdogUnit
	m.rx.watchdog.Start(cycles * time.Second / time.Duration(m.cfg.ClockHz))
}

func (m *Model) watchdogEnds() {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	if m.rx.watchdog.Due() {
		m.stat.watchdog.Add(1)
		m.raise(gmac3.IntRI)
	}
}

// rxState is the receive state in the status register.
func (m *Model) rxState() uint32 {
	r := &m.rx
	switch {
	case r.busy.Load():
		return gmac3.RxStateTransfer
	case r.dead.Load() || m.load(gmac3.DMAOpMode)&gmac3.OpSR == 0:
		return gmac3.StateStopped
	case r.waiting.Load():
		return gmac3.RxStateSuspended
	}
	return gmac3.RxStateWait
}

// checkArmed records armed buffers that share bytes.
func (m *Model) checkArmed() {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	if m.load(gmac3.DMAOpMode)&gmac3.OpSR == 0 {
		return
	}
	type span struct{ from, size uint32 }
	var spans []span
	addr := m.rx.addr
	for range 4096 {
		w, ok := m.words(addr, false)
		if !ok || atomic.LoadUint32(&w[0])&gmac3.RDES0OWN == 0 {
			break
		}
		size1, size2, end, chained := m.rxControl(w[1])
		spans = append(spans, span{w[2], uint32(size1)})
		if size2 > 0 {
			spans = append(spans, span{w[3], uint32(size2)})
		}
		if addr = m.following(addr, m.rx.base, w[3], end, chained); addr == m.rx.addr {
			break
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].from+spans[i-1].size {
			m.bad.Record("armed buffers at %#x and %#x share bytes", spans[i-1].from, spans[i].from)
		}
	}
}

// resetRX is the receiver's part of a reset.
func (m *Model) resetRX() {
	r := &m.rx
	r.start()
	r.base, r.addr, r.off, r.pieces, r.soon, r.retry, r.paused = 0, 0, 0, 0, false, false, false
	r.dead.Store(false)
	r.fifo.Reset()
}
