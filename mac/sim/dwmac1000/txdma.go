package dwmac1000

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// transmitter is the transmit half. mu guards all of it but the atomics, and is
// not held while a frame is on its way through out. running says that somebody runs
// the engine; others leave it to him, since he looks again after each frame for
// which he let go of mu.
//
// DMA takes descriptors that the device owns until it meets one that it does not,
// and is suspended then until the next poll demand. The current descriptor stays
// where it is over a stop and start unless the ring's address is written.
type transmitter struct {
	mu      sync.Mutex
	running bool
	gen     uint64 // changes with every reset
	epoch   uint64 // changes with every write of the ring's address
	out     func(frame []byte)
	control [dwmac.MinFrame - dwmac.FCSLen]byte // a pause frame
	junk    uint64

	base, addr uint32
	data       []byte // the frame gathered so far
	partial    bool   // a first descriptor has been seen, no last one
	cic        uint32 // of the first descriptor
	noFCS      bool   // of the first descriptor
	noPad      bool
	last       txDescriptor
	stopped    bool
	stuck      map[uint32]bool // descriptors never given back (sim.StuckOwn)

	pause atomic.Uint32 // a pause frame to send: pauseOn or pauseOff
	hold  dwmac.Hold    // by the partner; guarded by rx.mu

	polled  atomic.Bool // a poll demand has come
	waiting atomic.Bool // stopped, for others to see
	holding atomic.Bool // a frame is in the FIFO
	busy    atomic.Bool
	dead    atomic.Bool // after a bus error
}

// txDescriptor is a transmit descriptor, decoded.
type txDescriptor struct {
	words                  []uint32
	w                      descriptor
	first, last, interrupt bool
	end, chained           bool
	noFCS, noPad           bool
	cic                    uint32
	size1, size2           int
	control                uint32 // of word 0 in enhanced descriptors
}

func (t *transmitter) start() {
	t.stopped = false
	t.waiting.Store(false)
}

// setTXList is a write to the ring's address.
func (m *Model) setTXList(v uint32) {
	m.tx.mu.Lock()
	defer m.tx.mu.Unlock()
	m.store(gmac3.DMATxList, v)
	if m.load(gmac3.DMAOpMode)&gmac3.OpST != 0 {
		m.bad.Record("transmit list address written while DMA runs")
	}
	t := &m.tx
	t.base, t.addr, t.partial, t.data, t.stuck = v, v, false, t.data[:0], nil
	t.epoch++
	t.holding.Store(false)
	m.store(gmac3.DMACurTxDesc, v)
}

// decodeTX decodes the words of a transmit descriptor.
func (m *Model) decodeTX(words []uint32) txDescriptor {
	d := txDescriptor{words: words, w: descriptor{atomic.LoadUint32(&words[0]), words[1], words[2], words[3]}}
	is := func(w, bit uint32) bool { return w&bit != 0 }
	w0, w1 := d.w[0], d.w[1]
	if m.cfg.NormalDescriptors {
		d.first, d.last, d.interrupt = is(w1, gmac3.TDES1FS), is(w1, gmac3.TDES1LS), is(w1, gmac3.TDES1IC)
		d.end, d.chained = is(w1, gmac3.TDES1TER), is(w1, gmac3.TDES1TCH)
		d.noFCS, d.noPad, d.cic = is(w1, gmac3.TDES1DC), is(w1, gmac3.TDES1DP), field.Get(gmac3.TDES1CIC, w1)
		d.size1, d.size2 = int(field.Get(gmac3.TDES1TBS1, w1)), int(field.Get(gmac3.TDES1TBS2, w1))
	} else {
		const control = gmac3.ETDES0IC | gmac3.ETDES0LS | gmac3.ETDES0FS | gmac3.ETDES0DC | gmac3.ETDES0DP |
			gmac3.ETDES0TTSE | gmac3.ETDES0CIC | gmac3.ETDES0TER | gmac3.ETDES0TCH
		d.control = w0 & control
		d.first, d.last, d.interrupt = is(w0, gmac3.ETDES0FS), is(w0, gmac3.ETDES0LS), is(w0, gmac3.ETDES0IC)
		d.end, d.chained = is(w0, gmac3.ETDES0TER), is(w0, gmac3.ETDES0TCH)
		d.noFCS, d.noPad, d.cic = is(w0, gmac3.ETDES0DC), is(w0, gmac3.ETDES0DP), field.Get(gmac3.ETDES0CIC, w0)
		d.size1, d.size2 = int(field.Get(gmac3.ETDES1TBS1, w1)), int(field.Get(gmac3.ETDES1TBS2, w1))
	}
	if d.chained {
		d.size2 = 0
	}
	return d
}

// gather collects the next frame and reports whether all of it is there. The last
// descriptor stays the current one until finish. tx.mu is held.
func (m *Model) gather() bool {
	t := &m.tx
	for {
		d, ok := m.fetchTX()
		if !ok {
			return false
		}
		switch {
		case d.first:
			if t.partial {
				m.bad.Record("transmit descriptor at %#x starts a frame inside another", t.addr)
			}
			t.data, t.partial, t.cic, t.noFCS, t.noPad = t.data[:0], true, d.cic, d.noFCS, d.noPad
		case !t.partial:
			m.bad.Record("transmit descriptor at %#x goes on a frame that has not started", t.addr)
			m.advanceTX(&d, d.control)
			continue
		}
		if !m.readBuffer(d.w[2], d.size1) || !m.readBuffer(d.w[3], d.size2) {
			return false
		}
		if !d.last {
			m.advanceTX(&d, d.control)
			continue
		}
		d.words = nil
		t.partial, t.last = false, d
		t.holding.Store(true)
		return true
	}
}

// fetchTX returns the current descriptor when the device owns it, or suspends the
// DMA.
func (m *Model) fetchTX() (txDescriptor, bool) {
	t := &m.tx
	if m.load(gmac3.DMAOpMode)&gmac3.OpST == 0 || t.dead.Load() {
		return txDescriptor{}, false
	}
	if t.polled.Swap(false) {
		t.start()
	}
	if t.stopped {
		return txDescriptor{}, false
	}
	w, ok := m.words(t.addr, true)
	if !ok {
		m.txBusError(gmac3.BusErrRead | gmac3.BusErrDescriptor)
		return txDescriptor{}, false
	}
	// A descriptor that keeps OWN for ever must not send for ever.
	if atomic.LoadUint32(&w[0])&gmac3.TDES0OWN != 0 && !t.stuck[t.addr] {
		return m.decodeTX(w), true
	}
	t.stopped = true
	t.waiting.Store(true)
	m.raise(gmac3.IntTU)
	return txDescriptor{}, false
}

func (m *Model) txBusError(what uint32) {
	m.tx.dead.Store(true)
	m.busError(field.Put(gmac3.StatusEB, gmac3.BusErrTX|what))
}

// maxGather bounds a frame.
const maxGather = 1 << 16

func (m *Model) readBuffer(addr uint32, n int) bool {
	t := &m.tx
	if n == 0 {
		return true
	}
	b, err := m.mem.Slice(uint64(addr), n, false)
	if err != nil || m.faults.Hit(sim.TXBusError) {
		m.txBusError(gmac3.BusErrRead)
		return false
	}
	if len(t.data)+n > maxGather {
		m.bad.Record("transmit frame of more than %d bytes", maxGather)
		return true
	}
	t.data = append(t.data, b...)
	m.store(gmac3.DMACurTxBuf, addr)
	return true
}

// advanceTX writes word 0 of descriptor d back and goes on to the next.
func (m *Model) advanceTX(d *txDescriptor, w0 uint32) {
	t := &m.tx
	at := t.addr
	t.addr = m.following(t.addr, t.base, d.w[3], d.end, d.chained)
	m.store(gmac3.DMACurTxDesc, t.addr)
	if m.faults.Hit(sim.StuckOwn) {
		if t.stuck == nil {
			t.stuck = map[uint32]bool{}
		}
		t.stuck[at] = true
		return
	}
	atomic.StoreUint32(&d.words[0], w0)
}

// finish gives the last descriptor of a frame back, with its status. It has been
// read before, but for its words that a time stamp may take.
func (m *Model) finish(status uint32) {
	t := &m.tx
	t.data = t.data[:0]
	t.holding.Store(false)
	w, ok := m.words(t.addr, true)
	if !ok {
		m.txBusError(gmac3.BusErrDescriptor)
		return
	}
	d := t.last
	d.words = w
	t.junk = dwmac.Junk(t.junk)
	control := d.control
	if m.cfg.Overwrites {
		stamp := w[2:4]
		if len(w) == gmac3.ExtendedSize/4 {
			stamp = w[6:8]
		}
		stamp[0], stamp[1] = uint32(t.junk), uint32(t.junk>>32)
		if !m.cfg.NormalDescriptors {
			control = uint32(t.junk>>8) & (gmac3.ETDES0IC | gmac3.ETDES0CIC | gmac3.ETDES0TER | gmac3.ETDES0TCH)
		}
	}
	m.advanceTX(&d, status|control)
	if d.interrupt {
		m.raise(gmac3.IntTI)
	}
}

// flushTX throws away what the FIFO holds (OpFTF). A frame is sent as soon as it is
// there, so that it holds nothing but part of one. tx.mu is held.
func (m *Model) flushTX() {
	m.tx.partial, m.tx.data = false, m.tx.data[:0]
}

// txState is the transmit state in the status register.
func (m *Model) txState() uint32 {
	t := &m.tx
	switch {
	case t.busy.Load() || t.holding.Load():
		return gmac3.TxStateRead
	case t.dead.Load() || m.load(gmac3.DMAOpMode)&gmac3.OpST == 0:
		return gmac3.StateStopped
	case t.waiting.Load():
		return gmac3.TxStateSuspended
	}
	return gmac3.TxStateFetch
}

// resetTX is the transmitter's part of a reset.
func (m *Model) resetTX() {
	t := &m.tx
	t.gen++
	t.epoch++
	t.start()
	t.pause.Store(0)
	t.base, t.addr, t.partial, t.data, t.stuck = 0, 0, false, t.data[:0], nil
	t.polled.Store(false)
	t.holding.Store(false)
	t.dead.Store(false)
}
