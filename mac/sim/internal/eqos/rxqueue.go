package eqos

import (
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// rxQueue is one MTL receive queue.
type rxQueue struct {
	dwmac.FIFO
	paused bool // the partner has been sent a pause
}

// rxFIFO is the programmed size of queue q in bytes.
func (m *Engine) rxFIFO(q int) int {
	return (int(field.Get(m.at.RQS, m.Queue(q, m.at.RxQOpMode))) + 1) * 256
}

// queueFrame hands a frame to DMA, or puts it into queue q when DMA cannot take
// it now. rx.mu is held.
func (m *Engine) queueFrame(q int, f *dwmac.RXFrame) {
	rq, ch := &m.rx.q[q], &m.rx.ch[f.Channel]
	if rq.Len() > 0 && ch.tailWritten.Load() {
		m.drain(f.Channel)
	}
	size := m.rxFIFO(q)
	if f.N > size && m.Queue(q, m.at.RxQOpMode)&gmac4.RxQOpRSF != 0 {
		m.overflow(q)
		return
	}
	if rq.Len() == 0 && ch.off == 0 && ch.pieces == 0 {
		if m.transfer(f.Channel, f) {
			return
		}
		if ch.pieces > 0 {
			ch.queue = q
			rq.Push(f)
			return
		}
	}
	if control := m.Channel(f.Channel, gmac4.ChanRxControl); control&m.at.RPF != 0 && control&gmac4.RxControlSR == 0 {
		m.missed(q, f.Channel)
		return
	}
	if rq.Bytes()+dwmac.Footprint(f.N) > size {
		m.overflow(q)
		return
	}
	rq.Push(f)
	m.flowControl(q)
}

// overflow counts a frame that found the FIFO of queue q full.
func (m *Engine) overflow(q int) {
	off := m.at.Queue(q) + m.at.RxQMissed
	m.bump(off, gmac4.RxQMissedOverflow, gmac4.RxQMissedOvfOver)
	m.count.Count(dwregs.MMCRxOverflow, 1)
	m.stat.overflow.Add(1)
	m.Or(m.at.Queue(q)+m.at.QIntStatus, gmac4.QIntRXOVF)
}

// missed counts a frame that stopped DMA flushed.
func (m *Engine) missed(q, c int) {
	m.bump(m.at.Queue(q)+m.at.RxQMissed, gmac4.RxQMissedMissed, gmac4.RxQMissedMisOver)
	if m.at.ChanMissed != 0 {
		m.bump(m.at.Channel(c)+m.at.ChanMissed, gmac4.MissedCount, gmac4.MissedOverflow)
	}
}

// bump adds one to the counter in field count, and sets over when it wraps.
func (m *Engine) bump(off, count, over uint32) {
	v := m.Load(off)
	n := field.Get(count, v) + 1
	next := v&^count | field.Put(count, n)
	if field.Put(count, n)&count == 0 {
		next |= over
	}
	m.Store(off, next)
}

// pumpRX moves what waits in the queues. It is the receive engine.
func (m *Engine) pumpRX() {
	m.rx.mu.Lock()
	for c := range m.cfg.Channels {
		m.drain(c)
	}
	kick := m.tx.pause.Load() != 0
	m.rx.mu.Unlock()
	if kick {
		m.txEngine.Kick()
	}
}

// drain moves waiting frames of channel c to memory, as far as there are
// descriptors.
func (m *Engine) drain(c int) {
	ch := &m.rx.ch[c]
	ch.busy.Store(true)
	defer ch.busy.Store(false)
	control := m.Channel(c, gmac4.ChanRxControl)
	if control&gmac4.RxControlSR == 0 {
		if control&m.at.RPF != 0 {
			m.flushRX(c)
		}
		return
	}
	if ch.stamp && !m.writeContext(c) {
		return
	}
	m.fetchRX(c)
	for {
		q := m.waitingQueue(c)
		if q < 0 || !m.transfer(c, m.rx.q[q].First()) {
			return
		}
		m.rx.q[q].Pop()
		m.flowControl(q)
	}
}

// waitingQueue is a queue whose first frame is for channel c, or -1.
func (m *Engine) waitingQueue(c int) int {
	if ch := &m.rx.ch[c]; ch.pieces > 0 {
		return ch.queue
	}
	for q := range m.cfg.RXQueues {
		if rq := &m.rx.q[q]; rq.Len() > 0 && rq.First().Channel == c {
			return q
		}
	}
	return -1
}

// flushRX throws away the frames that wait for a stopped channel.
func (m *Engine) flushRX(c int) {
	for {
		q := m.waitingQueue(c)
		if q < 0 {
			return
		}
		m.rx.q[q].Pop()
		m.rx.ch[c].off, m.rx.ch[c].pieces = 0, 0
		m.missed(q, c)
		m.flowControl(q)
	}
}

// threshold is the fill level that field level stands for.
func (m *Engine) threshold(q int, level uint32) int {
	return m.rxFIFO(q) - 1024 - 512*int(field.Get(level, m.Queue(q, m.at.Flow)))
}

// flowControl asks for a pause frame when the fill of queue q passes RFA, and
// for its end below RFD.
func (m *Engine) flowControl(q int) {
	rq := &m.rx.q[q]
	flow := m.Load(gmac4.TxFlow(0))
	if m.Queue(q, m.at.RxQOpMode)&gmac4.RxQOpEHFC == 0 || flow&gmac4.TxFlowTFE == 0 {
		return
	}
	switch {
	case !rq.paused && rq.Bytes() > m.threshold(q, m.at.RFA):
		rq.paused = true
		m.tx.pause.Store(pauseOn)
	case rq.paused && rq.Bytes() <= m.threshold(q, m.at.RFD):
		rq.paused = false
		if flow&gmac4.TxFlowDZPQ == 0 {
			m.tx.pause.Store(pauseOff)
		}
	}
}

// rxDebug is MTL_RxQq_Debug.
func (m *Engine) rxDebug(q int) uint32 {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	rq, level := &m.rx.q[q], uint32(0)
	switch {
	case rq.Len() == 0:
	case rq.Bytes()+dwmac.MinFrame > m.rxFIFO(q):
		level = 3
	case rq.Bytes() > m.threshold(q, m.at.RFA):
		level = 2
	default:
		level = 1
	}
	return field.Put(gmac4.RxQDebugPRXQ, uint32(rq.Len())) | field.Put(gmac4.RxQDebugRXQ, level)
}
