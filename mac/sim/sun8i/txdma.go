package sun8i

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// txDMA is the transmit engine's position. It follows the chain as far as the
// descriptors are the device's; there it is suspended until it is told to look.
type txDMA struct {
	cur  uint32 // address of the current descriptor
	data []byte // the frame gathered so far

	partial bool   // a first descriptor has been seen, no last one
	ctl     uint32 // DescCtl of the first descriptor
	lastCtl uint32 // of the last
	last    uint32 // its address
	stuck   uint32 // a descriptor that keeps OWN for ever; 0: none

	suspended atomic.Bool
	holding   atomic.Bool // a frame is in the FIFO
	busy      atomic.Bool
	dead      atomic.Bool // after a bus error
}

// txFIFO is the room in the transmit FIFO in bytes.
const txFIFO = 4096

// setTXList is a write to TX_DMA_DESC_LIST.
func (m *Model) setTXList(v uint32) {
	m.tx.mu.Lock()
	defer m.tx.mu.Unlock()
	m.store(emac.TxDescList, v)
	if m.load(emac.TxCtl1)&emac.TxCtl1DMAEn != 0 {
		m.bad.Record("transmit list address written while DMA runs")
	}
	t := &m.tx
	t.cur, t.partial, t.data, t.stuck = v&^3, false, t.data[:0], 0
	t.holding.Store(false)
	t.gen++
	m.store(emac.TxCurDesc, t.cur)
}

// setTXControl is a write to TX_CTL1.
func (m *Model) setTXControl(v uint32) {
	t := &m.tx
	t.mu.Lock()
	old := m.load(emac.TxCtl1)
	m.store(emac.TxCtl1, v&^(emac.TxCtl1Start|emac.TxCtl1Flush))
	switch {
	case v&emac.TxCtl1DMAEn == 0:
		t.suspended.Store(false)
		if old&emac.TxCtl1DMAEn != 0 {
			m.raise(emac.IntTxDMAStop)
		}
	case v&emac.TxCtl1Start != 0:
		t.suspended.Store(false)
	}
	if v&emac.TxCtl1Flush != 0 && t.holding.Load() {
		t.gen++
		m.finish(emac.TxErrSummary)
	}
	t.mu.Unlock()
	m.kickTX()
}

func (m *Model) txRuns() bool {
	return m.load(emac.TxCtl1)&emac.TxCtl1DMAEn != 0 && !m.tx.dead.Load()
}

// gather collects the next frame and reports whether all of it is there. tx.mu is
// held.
func (m *Model) gather() bool {
	t := &m.tx
	t.busy.Store(true)
	defer t.busy.Store(false)
	for {
		w := m.fetchTX()
		if w == nil {
			return false
		}
		ctl, addr, next := w[emac.DescCtl], w[emac.DescAddr], w[emac.DescNext]
		switch {
		case ctl&emac.TxFirst != 0:
			if t.partial {
				m.bad.Record("transmit descriptor %#x starts a frame inside another", t.cur)
			}
			t.data, t.partial, t.ctl = t.data[:0], true, ctl
		case !t.partial:
			m.bad.Record("transmit descriptor %#x goes on a frame that has not started", t.cur)
			m.giveBack(w, t.cur, 0)
			m.advance(next)
			continue
		}
		if !m.readTX(addr, int(field.Get(emac.CtlSize, ctl))) {
			return false
		}
		if ctl&emac.TxLast != 0 {
			t.partial, t.lastCtl, t.last = false, ctl, t.cur
			t.holding.Store(true)
			m.advance(next)
			return true
		}
		m.giveBack(w, t.cur, 0)
		m.advance(next)
	}
}

// fetchTX returns the current descriptor when the device owns it, or suspends the
// engine.
func (m *Model) fetchTX() []uint32 {
	t := &m.tx
	if !m.txRuns() || t.suspended.Load() {
		return nil
	}
	w, ok := m.descriptor(t.cur, false)
	if !ok {
		m.txError()
		return nil
	}
	// A descriptor that keeps OWN for ever (sim.StuckOwn) must not be sent for ever.
	if t.cur != t.stuck && atomic.LoadUint32(&w[emac.DescStatus])&emac.DescOwn != 0 {
		return w
	}
	t.suspended.Store(true)
	m.raise(emac.IntTxBufUA)
	if t.partial {
		m.bad.Record("transmit descriptor %#x in the middle of a frame is not the device's", t.cur)
		t.partial = false
		m.raise(emac.IntTxUnderflow)
	}
	return nil
}

// txError stops the engine until the next reset.
func (m *Model) txError() {
	m.tx.dead.Store(true)
	m.raise(emac.IntTxDMAStop)
}

func (m *Model) readTX(addr uint32, n int) bool {
	t := &m.tx
	if n == 0 {
		return true
	}
	b, err := m.mem.Slice(uint64(addr), n, false)
	if err != nil || m.faults.Hit(sim.TXBusError) {
		m.txError()
		return false
	}
	if len(t.data)+n > txFIFO {
		m.bad.Record("transmit frame of more than %d bytes", txFIFO)
		return true
	}
	t.data = append(t.data, b...)
	m.store(emac.TxCurBuf, addr)
	return true
}

func (m *Model) advance(next uint32) {
	m.tx.cur = next &^ 3
	m.store(emac.TxCurDesc, m.tx.cur)
}

// giveBack writes the status of the descriptor at addr, w, back.
func (m *Model) giveBack(w []uint32, addr, status uint32) {
	if m.faults.Hit(sim.StuckOwn) {
		m.tx.stuck = addr
		return
	}
	m.tx.junk = dwmac.Junk(m.tx.junk)
	reserved := uint32(m.tx.junk>>16) & 0x7FFE_0000
	atomic.StoreUint32(&w[emac.DescStatus], status|reserved)
}

// finish gives the last descriptor of the frame in the FIFO back.
func (m *Model) finish(status uint32) {
	t := &m.tx
	t.data = t.data[:0]
	t.holding.Store(false)
	w, ok := m.descriptor(t.last, true)
	if !ok {
		m.txError()
		return
	}
	m.giveBack(w, t.last, status)
	if t.lastCtl&emac.TxInt != 0 {
		m.raise(emac.IntTx)
	}
}

// txState is TX_DMA_STA.
func (m *Model) txState() uint32 {
	t := &m.tx
	switch {
	case t.dead.Load():
		return emac.DMAStopped
	case t.busy.Load():
		return emac.TxRead
	case t.holding.Load():
		return emac.TxWaitStatus
	case !m.txRuns():
		return emac.DMAStopped
	case t.suspended.Load():
		return emac.TxSuspended
	}
	return emac.DMAFetch
}

// resetTX is the transmitter's part of a reset.
func (m *Model) resetTX() {
	t := &m.tx
	t.gen++
	t.pause.Store(0)
	t.cur, t.partial, t.data, t.stuck = 0, false, t.data[:0], 0
	t.suspended.Store(false)
	t.holding.Store(false)
	t.dead.Store(false)
}
