package sun8i

import (
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
)

// rxFIFO holds frames that DMA has not taken yet. Entries and their memory are used
// again and again.
type rxFIFO struct {
	ring   []rxFrame
	head   int
	count  int
	bytes  int
	paused bool // the partner has been sent a pause
}

// footprint is the room that a frame takes in the FIFO, status included.
func footprint(n int) int { return (n + 15) &^ 7 }

func (q *rxFIFO) first() *rxFrame { return &q.ring[q.head] }

func (q *rxFIFO) push(f *rxFrame) {
	if q.count == len(q.ring) {
		ring := make([]rxFrame, 2*len(q.ring)+8)
		for i := range q.count {
			ring[i] = q.ring[(q.head+i)%len(q.ring)]
		}
		q.ring, q.head = ring, 0
	}
	e := &q.ring[(q.head+q.count)%len(q.ring)]
	data := append(e.data[:0], f.data...)
	*e = *f
	e.data = data
	q.count++
	q.bytes += footprint(len(data))
}

func (q *rxFIFO) pop() {
	q.bytes -= footprint(len(q.first().data))
	q.head = (q.head + 1) % len(q.ring)
	q.count--
}

func (q *rxFIFO) reset() { q.head, q.count, q.bytes, q.paused = 0, 0, 0, false }

// queueFrame hands a frame to DMA, or keeps it when DMA cannot take it now. rx.mu
// is held.
func (m *Model) queueFrame(f *rxFrame) {
	q, d := &m.rx.fifo, &m.rx.dma
	m.drain()
	if q.count == 0 && d.pieces == 0 && m.transfer(f) {
		return
	}
	switch ctl := m.load(emac.RxCtl1); {
	case d.suspended.Load() && ctl&emac.RxCtl1NoFlush == 0:
		m.stat.missed.Add(1)
	case q.bytes+footprint(len(f.data)) > m.cfg.RXFIFO:
		m.stat.overflow.Add(1)
		m.raise(emac.IntRxOverflow)
	default:
		q.push(f)
		m.flowControl()
	}
}

// pumpRX moves what waits in the FIFO. It is the receive engine.
func (m *Model) pumpRX() {
	m.rx.mu.Lock()
	m.drain()
	kick := m.tx.pause.Load() != 0
	m.rx.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

// drain moves waiting frames to memory, as far as there are descriptors.
func (m *Model) drain() {
	q := &m.rx.fifo
	for q.count > 0 && m.transfer(q.first()) {
		q.pop()
		m.flowControl()
	}
}

// flowControl asks for a pause frame when the FIFO fills beyond one threshold, and
// for the end of the pause below the other.
func (m *Model) flowControl() {
	q, ctl := &m.rx.fifo, m.load(emac.RxCtl1)
	if ctl&emac.RxCtl1FlowEn == 0 || m.load(emac.TxFlowCtl)&emac.TxFlowEn == 0 {
		return
	}
	threshold := func(mask uint32) int { return m.cfg.RXFIFO - 1024*(1+int(field.Get(mask, ctl))) }
	switch {
	case !q.paused && q.bytes > threshold(emac.RxCtl1FlowAct):
		q.paused = true
		m.tx.pause.Store(pauseOn)
	case q.paused && q.bytes <= threshold(emac.RxCtl1FlowDeact):
		q.paused = false
		m.tx.pause.Store(pauseOff)
	}
}
