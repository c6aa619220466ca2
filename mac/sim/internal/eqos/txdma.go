package eqos

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// txChannel is one transmit DMA channel. It takes descriptors that the device
// owns until it meets the tail. The current descriptor stays where it is over a
// stop and start unless the ring's address is written.
type txChannel struct {
	base  uint64
	idx   uint32
	epoch uint64 // changes with every write of the ring's address

	data    []byte // the frame gathered so far
	segment []byte
	partial bool   // a first descriptor has been seen, no last one
	first   uint32 // TDES3 of the first descriptor
	tso     bool
	header  int    // of data, with tso
	last    uint32 // TDES2 of the last descriptor
	lastD3  uint32
	mss     int
	stopped bool // suspended until the next tail write
	stuck   bool // a frame that cannot leave
	budget  int  // descriptors until the ring has gone round without a tail write

	tailWritten atomic.Bool
	waiting     atomic.Bool // stopped, for DMA_Debug_Status
	holding     atomic.Bool // a frame is in the queue
	busy        atomic.Bool
	dead        atomic.Bool // after a bus error
}

// cpc is TDES3.CPC of the frame.
func (ch *txChannel) cpc() uint32 { return field.Get(dwregs.TDES3CPC, ch.first) }

func (m *Engine) txAddr(c int) uint64 {
	return m.tx.ch[c].base + uint64(m.tx.ch[c].idx)*m.stride(c)
}

// txSlots is the length of the ring.
func (m *Engine) txSlots(c int) int { return int(m.Channel(c, m.at.ChanTxRingLen)) + 1 }

// setTXList is a write to the ring's address.
func (m *Engine) setTXList(c int, r, v uint32) {
	m.tx.mu.Lock()
	defer m.tx.mu.Unlock()
	if r == gmac4.ChanTxList {
		v &= busMask
	}
	m.Store(m.at.Channel(c)+r, v)
	if m.Channel(c, gmac4.ChanTxControl)&gmac4.TxControlST != 0 {
		m.Bad.Record("channel %d: transmit ring address written while DMA runs", c)
	}
	ch := &m.tx.ch[c]
	ch.base = m.Address(m.Channel(c, gmac4.ChanTxListHigh), m.Channel(c, gmac4.ChanTxList))
	ch.idx, ch.partial, ch.data, ch.stuck = 0, false, ch.data[:0], false
	ch.epoch++
	ch.holding.Store(false)
	m.Store(m.at.Channel(c)+gmac4.ChanCurTxDesc, uint32(ch.base))
}

// setTXControl is a write to TX_CONTROL.
func (m *Engine) setTXControl(c int, v uint32) {
	m.tx.mu.Lock()
	changed := (m.regs[(m.at.Channel(c)+gmac4.ChanTxControl)/4].Swap(v) ^ v) & gmac4.TxControlST
	on := v&gmac4.TxControlST != 0
	if ch := &m.tx.ch[c]; changed != 0 && on {
		ch.stopped, ch.budget = false, m.txSlots(c)
		ch.waiting.Store(false)
	}
	m.tx.mu.Unlock()
	if changed != 0 && !on {
		m.Raise(c, gmac4.IntTPS)
	}
	m.txEngine.Kick()
}

// gather collects the next frame of channel c and reports whether all of it is
// there. The last descriptor stays the current one until finish. tx.mu is held.
func (m *Engine) gather(c int) bool {
	ch := &m.tx.ch[c]
	for {
		w := m.fetchTX(c)
		if w == nil {
			return false
		}
		d := [dwregs.DescriptorWords]uint32{w[0], w[1], w[2], atomic.LoadUint32(&w[3])}
		if d[3]&dwregs.TDES3CTXT != 0 {
			m.context(c, w, d)
			continue
		}
		if d[3]&dwregs.TDES3FD != 0 {
			if ch.partial {
				m.Bad.Record("channel %d: transmit descriptor %d starts a frame inside another", c, ch.idx)
			}
			m.begin(c, d)
		} else if !ch.partial {
			m.Bad.Record("channel %d: transmit descriptor %d goes on a frame that has not started", c, ch.idx)
			m.advanceTX(c, w, d[3]&^dwregs.TDES3OWN)
			continue
		}
		if !m.readTX(c, d) {
			return false
		}
		if d[3]&dwregs.TDES3LD == 0 {
			m.advanceTX(c, w, d[3]&^dwregs.TDES3OWN)
			continue
		}
		ch.partial, ch.last, ch.lastD3 = false, d[2], d[3]
		ch.holding.Store(true)
		return true
	}
}

// fetchTX returns the current descriptor when the device owns it, or suspends
// the channel.
func (m *Engine) fetchTX(c int) []uint32 {
	ch := &m.tx.ch[c]
	if m.Channel(c, gmac4.ChanTxControl)&gmac4.TxControlST == 0 || ch.dead.Load() {
		return nil
	}
	if ch.tailWritten.Swap(false) {
		ch.stopped, ch.budget = false, m.txSlots(c)
		ch.waiting.Store(false)
	}
	if ch.stopped {
		return nil
	}
	// Descriptors that keep OWN for ever (sim.StuckOwn) must not send for ever.
	if m.Channel(c, m.at.ChanTxTail) != uint32(m.txAddr(c)) && ch.budget > 0 {
		w, ok := m.descriptor(m.txAddr(c), false)
		if !ok {
			m.busError(c, &ch.dead, field.Put(gmac4.StatusTEB, gmac4.BusErrDescriptorRead))
			return nil
		}
		if atomic.LoadUint32(&w[3])&dwregs.TDES3OWN != 0 {
			return w
		}
	}
	ch.stopped = true
	ch.waiting.Store(true)
	m.Raise(c, gmac4.IntTBU)
	return nil
}

// context takes over a context descriptor. What it sets stays until changed.
func (m *Engine) context(c int, w []uint32, d [dwregs.DescriptorWords]uint32) {
	ch := &m.tx.ch[c]
	back := d[3] &^ dwregs.TDES3OWN
	if d[3]&dwregs.TDES3CtxTCMSSV != 0 {
		ch.mss = int(field.Get(dwregs.TDES2CtxMSS, d[2]))
		m.stat.mss.Add(1)
	}
	if ch.partial {
		m.Bad.Record("channel %d: context descriptor %d inside a frame", c, ch.idx)
		back |= dwregs.TDES3CtxCDE
		m.Raise(c, gmac4.IntCDE)
	}
	m.advanceTX(c, w, back)
}

// begin takes over a first descriptor.
func (m *Engine) begin(c int, d [dwregs.DescriptorWords]uint32) {
	ch := &m.tx.ch[c]
	ch.data, ch.partial, ch.first, ch.header = ch.data[:0], true, d[3], 0
	ch.tso = false
	if d[3]&dwregs.TDES3TSE != 0 {
		ch.tso = !m.cfg.NoTSO && m.Channel(c, gmac4.ChanTxControl)&gmac4.TxControlTSE != 0
		if !ch.tso {
			m.Bad.Record("channel %d: segmentation asked for and not enabled", c)
			ch.first = 0
		}
		ch.header = int(d[2] & dwregs.TDES2HL)
	}
}

// readTX adds the buffers of a descriptor to the frame.
func (m *Engine) readTX(c int, d [dwregs.DescriptorWords]uint32) bool {
	b1, b2 := field.Get(dwregs.TDES2B1L, d[2]), field.Get(dwregs.TDES2B2L, d[2])
	if m.cfg.AddressBits > 32 && m.Load(m.at.SysBus)&gmac4.SysBusEAME != 0 {
		return m.readBuffer(c, m.Address(d[1], d[0]), int(b1))
	}
	return m.readBuffer(c, uint64(d[0]), int(b1)) && m.readBuffer(c, uint64(d[1]), int(b2))
}

// maxGather bounds a frame: a header and the largest TPL.
const maxGather = dwregs.MaxHeader + dwregs.MaxPayload

func (m *Engine) readBuffer(c int, addr uint64, n int) bool {
	ch := &m.tx.ch[c]
	if n == 0 {
		return true
	}
	b, err := m.mem.Slice(addr, n, false)
	if err != nil || m.faults.Hit(sim.TXBusError) {
		m.busError(c, &ch.dead, field.Put(gmac4.StatusTEB, gmac4.BusErrBufferRead))
		return false
	}
	if len(ch.data)+n > maxGather {
		m.Bad.Record("channel %d: transmit frame of more than %d bytes", c, maxGather)
		return true
	}
	ch.data = append(ch.data, b...)
	m.Store(m.at.Channel(c)+gmac4.ChanCurTxBuf, uint32(addr))
	m.Store(m.at.Channel(c)+gmac4.ChanCurTxBufH, uint32(addr>>32))
	return true
}

// advanceTX writes the last word of the current descriptor back and goes on to
// the next.
func (m *Engine) advanceTX(c int, w []uint32, d3 uint32) {
	ch := &m.tx.ch[c]
	ch.budget--
	if ch.idx++; ch.idx > m.Channel(c, m.at.ChanTxRingLen) {
		ch.idx = 0
	}
	m.Store(m.at.Channel(c)+gmac4.ChanCurTxDesc, uint32(m.txAddr(c)))
	if !m.faults.Hit(sim.StuckOwn) {
		atomic.StoreUint32(&w[3], d3)
	}
}

// finish gives the last descriptor of a frame back, all words of it overwritten.
func (m *Engine) finish(c int, e TXErrors) {
	ch := &m.tx.ch[c]
	ch.data = ch.data[:0]
	ch.holding.Store(false)
	w, ok := m.descriptor(m.txAddr(c), true)
	if !ok {
		m.busError(c, &ch.dead, field.Put(gmac4.StatusTEB, gmac4.BusErrDescriptorWrite))
		return
	}
	m.tx.junk = dwmac.Junk(m.tx.junk)
	w[0], w[1], w[2] = uint32(m.tx.junk), uint32(m.tx.junk>>32), ^uint32(m.tx.junk)
	m.advanceTX(c, w, m.mac.TXStatus(e)|ch.lastD3&(dwregs.TDES3FD|dwregs.TDES3LD))
	if ch.last&dwregs.TDES2IOC != 0 {
		m.Raise(c, gmac4.IntTI)
	}
}

// txState is the transmit state of channel c in DMA_Debug_Status.
func (m *Engine) txState(c int) uint32 {
	ch := &m.tx.ch[c]
	switch {
	case ch.busy.Load() || ch.holding.Load():
		return gmac4.TxStateRead
	case ch.dead.Load() || m.Channel(c, gmac4.ChanTxControl)&gmac4.TxControlST == 0:
		return gmac4.StateStopped
	case ch.waiting.Load():
		return gmac4.TxStateSuspended
	}
	return gmac4.TxStateFetch
}

// resetTX is the transmitter's part of a reset.
func (m *Engine) resetTX() {
	m.tx.gen++
	m.tx.pause.Store(0)
	for c := range m.tx.ch {
		ch := &m.tx.ch[c]
		ch.base, ch.idx, ch.partial, ch.tso, ch.mss = 0, 0, false, false, 0
		ch.data, ch.stopped, ch.stuck = ch.data[:0], false, false
		ch.epoch++
		ch.tailWritten.Store(false)
		ch.waiting.Store(false)
		ch.holding.Store(false)
		ch.dead.Store(false)
	}
}
