package dwmac1000

import (
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// queueFrame hands a frame to DMA, or puts it into the FIFO when DMA cannot take it
// now. rx.mu is held.
func (m *Model) queueFrame(f *dwmac.RXFrame) {
	r := &m.rx
	r.retry = !m.cfg.StaysSuspended
	if r.fifo.Len() > 0 {
		m.drain()
	}
	mode := m.load(gmac3.DMAOpMode)
	if f.N > m.cfg.RXFIFO && mode&gmac3.OpRSF != 0 {
		m.overflow()
		return
	}
	if r.fifo.Len() == 0 && r.pieces == 0 {
		if m.transfer(f) {
			return
		}
		if r.pieces > 0 {
			r.fifo.Push(f)
			return
		}
	}
	if mode&(gmac3.OpSR|gmac3.OpDFF) == gmac3.OpSR && r.waiting.Load() {
		m.bump(gmac3.MissedNoBuffer, gmac3.MissedNoBufferOver) // flushed
		return
	}
	if r.fifo.Bytes()+dwmac.Footprint(f.N) > m.cfg.RXFIFO {
		m.overflow()
		return
	}
	r.fifo.Push(f)
	m.flowControl()
}

// overflow counts a frame that found the FIFO full.
func (m *Model) overflow() {
	m.bump(gmac3.MissedOverflow, gmac3.MissedOverflowOver)
	m.mmc.Count(dwregs.MMCRxOverflow, 1)
	m.stat.overflow.Add(1)
	m.raise(gmac3.IntOVF)
}

// bump adds one to a counter in the register of missed frames, and sets over when
// it wraps.
func (m *Model) bump(count, over uint32) {
	v := m.load(gmac3.DMAMissed)
	n := field.Get(count, v) + 1
	next := v&^count | field.Put(count, n)
	if field.Put(count, n) == 0 {
		next |= over
	}
	m.store(gmac3.DMAMissed, next)
}

// pumpRX moves what waits in the FIFO. It is the receive engine.
func (m *Model) pumpRX() {
	m.rx.mu.Lock()
	m.drain()
	kick := m.tx.pause.Load() != 0
	m.rx.mu.Unlock()
	if kick {
		m.txEngine.Kick()
	}
}

// drain moves waiting frames to memory, as far as there are descriptors.
func (m *Model) drain() {
	r := &m.rx
	r.busy.Store(true)
	defer r.busy.Store(false)
	for m.fetchRX() && r.fifo.Len() > 0 && m.transfer(r.fifo.First()) {
		r.fifo.Pop()
		m.flowControl()
	}
}

// threshold is the fill level that n of OpRFA or OpRFD stands for.
func (m *Model) threshold(low, high uint32) int {
	mode := m.load(gmac3.DMAOpMode)
	n := field.Get(low, mode)
	if mode&high != 0 {
		n |= 4
	}
	return m.cfg.RXFIFO - 1024*int(n+1)
}

// flowControl asks for a pause frame when the fill of the FIFO passes RFA, and for
// its end below RFD.
func (m *Model) flowControl() {
	r, flow := &m.rx, m.load(gmac3.MACFlow)
	if m.load(gmac3.DMAOpMode)&gmac3.OpEFC == 0 || flow&gmac3.FlowTFE == 0 {
		return
	}
	switch {
	case !r.paused && r.fifo.Bytes() > m.threshold(gmac3.OpRFA, gmac3.OpRFA2):
		r.paused = true
		m.tx.pause.Store(pauseOn)
	case r.paused && r.fifo.Bytes() <= m.threshold(gmac3.OpRFD, gmac3.OpRFD2):
		r.paused = false
		if flow&gmac3.FlowDZPQ == 0 {
			m.tx.pause.Store(pauseOff)
		}
	}
}

// rxDebug is the receiver's part of the debug register.
func (m *Model) rxDebug() uint32 {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	q, level := &m.rx.fifo, uint32(0)
	switch {
	case q.Len() == 0:
	case q.Bytes()+dwmac.MinFrame > m.cfg.RXFIFO:
		level = 3
	case q.Bytes() > m.threshold(gmac3.OpRFA, gmac3.OpRFA2):
		level = 2
	default:
		level = 1
	}
	return field.Put(gmac3.DebugRXF, level)
}
