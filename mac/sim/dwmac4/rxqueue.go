package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// rxQueue is one MTL receive queue: frames that DMA has not taken yet. The
// entries and their memory are used again and again.
type rxQueue struct {
	ring   []rxEntry
	head   int
	count  int
	bytes  int
	paused bool // the partner has been sent a pause
}

type rxEntry struct {
	frame rxFrame
	data  []byte
}

// footprint is the room that a frame takes in the FIFO, status included.
func footprint(n int) int { return (n + 15) &^ 7 }

func (q *rxQueue) first() *rxEntry { return &q.ring[q.head] }

func (q *rxQueue) push(f *rxFrame) {
	if q.count == len(q.ring) {
		ring := make([]rxEntry, 2*len(q.ring)+8)
		for i := range q.count {
			ring[i] = q.ring[(q.head+i)%len(q.ring)]
		}
		q.ring, q.head = ring, 0
	}
	e := &q.ring[(q.head+q.count)%len(q.ring)]
	if cap(e.data) < f.n {
		e.data = make([]byte, f.n, max(f.n, 2048))
	}
	e.data = e.data[:f.n]
	f.copyTo(e.data, 0)
	e.frame = *f
	e.frame.pieces = [3][]byte{e.data}
	q.count++
	q.bytes += footprint(f.n)
}

func (q *rxQueue) pop() {
	q.bytes -= footprint(q.first().frame.n)
	q.head = (q.head + 1) % len(q.ring)
	q.count--
}

func (q *rxQueue) reset() { q.head, q.count, q.bytes, q.paused = 0, 0, 0, false }

// rxFIFO is the programmed size of queue q in bytes.
func (m *Model) rxFIFO(q int) int {
	return (int(field.Get(gmac4.RxQOpRQS, m.queue(q, gmac4.RxQOpMode))) + 1) * 256
}

// queueFrame hands a frame to DMA, or puts it into queue q when DMA cannot take
// it now. rx.mu is held.
func (m *Model) queueFrame(q int, f *rxFrame) {
	rq, ch := &m.rx.q[q], &m.rx.ch[f.channel]
	if rq.count > 0 && ch.tailWritten.Load() {
		m.drain(f.channel)
	}
	size := m.rxFIFO(q)
	if f.n > size && m.queue(q, gmac4.RxQOpMode)&gmac4.RxQOpRSF != 0 {
		m.overflow(q)
		return
	}
	if rq.count == 0 && ch.off == 0 && ch.pieces == 0 {
		if m.transfer(f.channel, f) {
			return
		}
		if ch.pieces > 0 {
			ch.queue = q
			rq.push(f)
			return
		}
	}
	if m.channel(f.channel, gmac4.ChanRxControl)&(gmac4.RxControlSR|gmac4.RxControlRPF) == gmac4.RxControlRPF {
		m.missed(q, f.channel)
		return
	}
	if rq.bytes+footprint(f.n) > size {
		m.overflow(q)
		return
	}
	rq.push(f)
	m.flowControl(q)
}

// overflow counts a frame that found the FIFO of queue q full.
func (m *Model) overflow(q int) {
	off := gmac4.QueueBase(q) + gmac4.RxQMissed
	m.bump(off, gmac4.RxQMissedOverflow, gmac4.RxQMissedOvfOver)
	m.count(gmac4.MMC+dwregs.MMCRxOverflow, 1)
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
		m.kickTX()
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
		if q < 0 || !m.transfer(c, &m.rx.q[q].first().frame) {
			return
		}
		m.rx.q[q].pop()
		m.flowControl(q)
	}
}

// waitingQueue is a queue whose first frame is for channel c, or -1.
func (m *Model) waitingQueue(c int) int {
	if ch := &m.rx.ch[c]; ch.pieces > 0 {
		return ch.queue
	}
	for q := range m.cfg.Queues {
		if rq := &m.rx.q[q]; rq.count > 0 && rq.first().frame.channel == c {
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
		m.rx.q[q].pop()
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
	case !rq.paused && rq.bytes > m.threshold(q, gmac4.RxQOpRFA):
		rq.paused = true
		m.tx.pause.Store(pauseOn)
	case rq.paused && rq.bytes <= m.threshold(q, gmac4.RxQOpRFD):
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
	case rq.count == 0:
	case rq.bytes+minFrame > m.rxFIFO(q):
		level = 3
	case rq.bytes > m.threshold(q, gmac4.RxQOpRFA):
		level = 2
	default:
		level = 1
	}
	return field.Put(gmac4.RxQDebugPRXQ, uint32(rq.count)) | field.Put(gmac4.RxQDebugRXQ, level)
}
