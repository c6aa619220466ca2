package sun8i

import (
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// queueFrame hands a frame to DMA, or keeps it when DMA cannot take it now. rx.mu
// is held.
func (m *Model) queueFrame(f *dwmac.RXFrame) {
	q, d := &m.rx.fifo, &m.rx.dma
	m.drain()
	if q.Len() == 0 && d.pieces == 0 && m.transfer(f) {
		return
	}
	switch ctl := m.load(emac.RxCtl1); {
	case d.suspended.Load() && ctl&emac.RxCtl1NoFlush == 0:
		m.stat.missed.Add(1)
	case q.Bytes()+dwmac.Footprint(f.N) > m.cfg.RXFIFO:
		m.stat.overflow.Add(1)
		m.raise(emac.IntRxOverflow)
	default:
		q.Push(f)
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
	for q.Len() > 0 && m.transfer(q.First()) {
		q.Pop()
		m.flowControl()
	}
}

// flowControl asks for a pause frame when the FIFO fills beyond one threshold, and
// for the end of the pause below the other.
func (m *Model) flowControl() {
	r, ctl := &m.rx, m.load(emac.RxCtl1)
	if ctl&emac.RxCtl1FlowEn == 0 || m.load(emac.TxFlowCtl)&emac.TxFlowEn == 0 {
		return
	}
	threshold := func(mask uint32) int { return m.cfg.RXFIFO - 1024*(1+int(field.Get(mask, ctl))) }
	switch {
	case !r.paused && r.fifo.Bytes() > threshold(emac.RxCtl1FlowAct):
		r.paused = true
		m.tx.pause.Store(pauseOn)
	case r.paused && r.fifo.Bytes() <= threshold(emac.RxCtl1FlowDeact):
		r.paused = false
		m.tx.pause.Store(pauseOff)
	}
}
