package dwmac4

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
func (m *Model) rxFIFO(q int) int {
	return (int(field.Get(gmac4.RxQOpRQS, m.queue(q, gmac4.RxQOpMode))) + 1) * 256
}

// queueFrame hands a frame to DMA, or puts it into queue q when DMA cannot take
// it now. rx.mu is held.
func (m *Model) queueFrame(q int, f *dwmac.RXFrame) {
	rq, ch := &m.rx.q[q], &m.rx.ch[f.Channel]
	if rq.Len() > 0 && ch.tailWritten.Load() {
		m.drain(f.Channel)
	}
	size := m.rxFIFO(q)
	if f.N > size && m.queue(q, gmac4.RxQOpMode)&gmac4.RxQOpRSF != 0 {
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
	if m.channel(f.Channel, gmac4.ChanRxControl)&(gmac4.RxControlSR|gmac4.RxControlRPF) == gmac4.RxControlRPF {
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
func (m *Model) overflow(q int) {
	off := gmac4.QueueBase(q) + gmac4.RxQMissed
	m.bump(off, gmac4.RxQMissedOverflow, gmac4.RxQMissedOvfOver)
	m.mmc.Count(dwregs.MMCRxOverflow, 1)
	m.stat.overflow.Add(1)
	m.or(gmac4.QueueBase(q)+gmac4.QInt, gmac4.QIntRXOVF)
}

// missed counts a frame that stopped DMA flushed.
func (m *Model) missed(q, c int) {
	m.bump(gmac4.QueueBase(q)+gmac4.RxQMissed, gmac4.RxQMissedMissed, gmac4.RxQMissedMisOver)
	m.bump(gmac4.ChanBase(c)+gmac4.ChanMissed, gmac4.MissedCount, gmac4.MissedOverflow)
}

// bump adds one to the counter in field count, and sets over when it wraps.
func (m *Model) bump(off, count, over uint32) {
	v := m.load(off)
	n := field.Get(count, v) + 1
	next := v&^count | field.Put(count, n)
	if field.Put(count, n)&count == 0 {
		next |= over
	}
	m.store(off, next)
}

// pumpRX moves what waits in the queues. It is the receive engine.
func (m *Model) pumpRX() {
	m.rx.mu.Lock()
	for c := range m.cfg.Queues {
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
func (m *Model) drain(c int) {
	ch := &m.rx.ch[c]
	ch.busy.Store(true)
	defer ch.busy.Store(false)
	control := m.channel(c, gmac4.ChanRxControl)
	if control&gmac4.RxControlSR == 0 {
		if control&gmac4.RxControlRPF != 0 {
			m.flushRX(c)
		}
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
func (m *Model) waitingQueue(c int) int {
	if ch := &m.rx.ch[c]; ch.pieces > 0 {
		return ch.queue
	}
	for q := range m.cfg.Queues {
		if rq := &m.rx.q[q]; rq.Len() > 0 && rq.First().Channel == c {
			return q
		}
	}
	return -1
}

// flushRX throws away the frames that wait for a stopped channel.
func (m *Model) flushRX(c int) {
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

// threshold is the fill level that field level of RxQOpMode stands for.
func (m *Model) threshold(q int, level uint32) int {
	return m.rxFIFO(q) - 1024 - 512*int(field.Get(level, m.queue(q, gmac4.RxQOpMode)))
}

// flowControl asks for a pause frame when the fill of queue q passes RFA, and
// for its end below RFD.
func (m *Model) flowControl(q int) {
	rq := &m.rx.q[q]
	flow := m.load(gmac4.TxFlow(0))
	if m.queue(q, gmac4.RxQOpMode)&gmac4.RxQOpEHFC == 0 || flow&gmac4.TxFlowTFE == 0 {
		return
	}
	switch {
	case !rq.paused && rq.Bytes() > m.threshold(q, gmac4.RxQOpRFA):
		rq.paused = true
		m.tx.pause.Store(pauseOn)
	case rq.paused && rq.Bytes() <= m.threshold(q, gmac4.RxQOpRFD):
		rq.paused = false
		if flow&gmac4.TxFlowDZPQ == 0 {
			m.tx.pause.Store(pauseOff)
		}
	}
}

// rxDebug is MTL_RxQq_Debug.
func (m *Model) rxDebug(q int) uint32 {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	rq, level := &m.rx.q[q], uint32(0)
	switch {
	case rq.Len() == 0:
	case rq.Bytes()+dwmac.MinFrame > m.rxFIFO(q):
		level = 3
	case rq.Bytes() > m.threshold(q, gmac4.RxQOpRFA):
		level = 2
	default:
		level = 1
	}
	return field.Put(gmac4.RxQDebugPRXQ, uint32(rq.Len())) | field.Put(gmac4.RxQDebugRXQ, level)
}
