package eqos

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// Load and Store are a register as it is, without effects.
func (m *Engine) Load(off uint32) uint32     { return m.regs[off/4].Load() }
func (m *Engine) Store(off uint32, v uint32) { m.regs[off/4].Store(v) }

// Channel is register off of channel c, Queue that of queue q.
func (m *Engine) Channel(c int, off uint32) uint32 { return m.Load(m.at.Channel(c) + off) }
func (m *Engine) Queue(q int, off uint32) uint32   { return m.Load(m.at.Queue(q) + off) }

func (m *Engine) doorbell(off uint32) bool {
	_, r, ok := Split(off, m.at.Channel(0), m.at.Channel(1)-m.at.Channel(0), maxChannels)
	return ok && (r == m.at.ChanTxTail || r == m.at.ChanRxTail)
}

// Resetting reports whether a reset is under way: writes change nothing.
func (m *Engine) Resetting() bool { return m.resetting.Load() }

// Kick has both engines look again. No lock is held.
func (m *Engine) Kick() {
	m.txEngine.Kick()
	m.rxEngine.Kick()
}

// ReadChannel is a read in the block of channel c.
func (m *Engine) ReadChannel(c int, r uint32) uint32 {
	if c >= m.cfg.Channels {
		return 0
	}
	off := m.at.Channel(c) + r
	if m.at.ChanMissed != 0 && r == m.at.ChanMissed {
		return m.regs[off/4].Swap(0)
	}
	return m.Load(off)
}

// ReadQueue is a read in the block of queue q.
func (m *Engine) ReadQueue(q int, r uint32) uint32 {
	if q >= m.queues() {
		return 0
	}
	off := m.at.Queue(q) + r
	switch r {
	case gmac4.TxQUnderflow, m.at.RxQMissed:
		return m.regs[off/4].Swap(0)
	case gmac4.TxQDebug:
		return m.txDebug(q)
	case m.at.RxQDebug:
		return m.rxDebug(q)
	}
	return m.Load(off)
}

// queues is how many blocks of queue registers there are.
func (m *Engine) queues() int { return max(m.cfg.Channels, m.cfg.RXQueues) }

// States builds one register with the states of channels.
func (m *Engine) States(off uint32) (v uint32) {
	for c := range m.cfg.Channels {
		if reg, rps, tps := m.at.Debug(c); reg == off {
			v |= field.Put(rps, m.rxState(c)) | field.Put(tps, m.txState(c))
		}
	}
	return v
}

// Sending reports whether a frame is on its way, Paused whether the partner holds
// all back.
func (m *Engine) Sending() bool {
	for c := range m.cfg.Channels {
		if m.tx.ch[c].busy.Load() {
			return true
		}
	}
	return false
}

// Paused reports whether a pause frame of the partner holds frames back.
func (m *Engine) Paused() bool { return m.tx.hold.Active() }

// WriteQueue is a write to queue q, but for its interrupts. kick asks for Kick.
// Write is held.
func (m *Engine) WriteQueue(q int, r, v uint32) (kick bool) {
	off := m.at.Queue(q) + r
	switch r {
	case gmac4.TxQUnderflow, gmac4.TxQDebug, m.at.RxQMissed, m.at.RxQDebug:
		return false
	case gmac4.TxQOpMode:
		if v&gmac4.TxQOpFTQ != 0 {
			m.flushTX(q)
			v &^= gmac4.TxQOpFTQ
		}
		if m.queues() == 1 {
			fixed := m.at.TQS | gmac4.TxQOpTXQEN
			v = v&^fixed | m.Load(off)&fixed
		}
	}
	m.Store(off, v)
	if r == m.at.RxQOpMode {
		m.checkFIFO()
	}
	return true
}

// WriteMAC is a write to a MAC register that both cores have. kick asks for Kick.
// Write is held.
func (m *Engine) WriteMAC(off, v uint32) (kick bool) {
	if off >= gmac4.AddrHigh(0) && off <= gmac4.AddrLow(127) {
		m.writeAddress(off, v)
		return false
	}
	if i, _, ok := Split(off, gmac4.TxFlow(0), 4, uint32(m.at.TxFlows)); ok {
		if v&gmac4.TxFlowFCB != 0 && i == 0 {
			m.tx.pause.Store(pauseOn)
		}
		m.Store(off, v&^gmac4.TxFlowFCB)
		return v&gmac4.TxFlowFCB != 0
	}
	if i, _, ok := Split(off, gmac4.HashTable(0), 4, 8); ok && i >= m.cfg.HashBins/32 {
		return false
	}
	m.Store(off, v)
	if off == gmac4.MACRxQCtrl0 {
		m.checkFIFO()
		return true
	}
	return false
}

// checkFIFO records receive queues that are together larger than the FIFO. Those
// that are off take no part: their size may be what the reset has left.
func (m *Engine) checkFIFO() {
	sum := 0
	for q := range m.cfg.RXQueues {
		if m.enabled(q) {
			sum += m.rxFIFO(q)
		}
	}
	if sum > m.cfg.RXFIFO {
		m.Bad.Record("receive queues of %d bytes in a FIFO of %d", sum, m.cfg.RXFIFO)
	}
}

// enabled reports whether receive queue q is on.
func (m *Engine) enabled(q int) bool { return m.Load(gmac4.MACRxQCtrl0)&gmac4.RxQEnable(q) != 0 }

// WriteChannel is a write in the block of channel c.
func (m *Engine) WriteChannel(c int, r, v uint32) {
	if c >= m.cfg.Channels || m.resetting.Load() {
		return
	}
	off := m.at.Channel(c) + r
	switch r {
	case m.at.ChanTxTail:
		m.Store(off, v&busMask)
		m.tx.ch[c].tailWritten.Store(true)
		m.txEngine.Kick()
	case m.at.ChanRxTail:
		m.Store(off, v&busMask)
		ch := &m.rx.ch[c]
		ch.tailWritten.Store(true)
		if m.cfg.CheckArmed {
			m.checkArmed(c)
		}
		if ch.waiting.Load() || m.cfg.Inline {
			m.rxEngine.Kick()
		}
	case gmac4.ChanStatus:
		m.ClearBits(off, v)
	case m.at.ChanIntEnable:
		m.SetInt(off, v)
	case gmac4.ChanTxListHigh, gmac4.ChanTxList:
		m.setTXList(c, r, v)
	case gmac4.ChanRxListHigh, gmac4.ChanRxList:
		m.setRXList(c, r, v)
	case gmac4.ChanTxControl:
		m.setTXControl(c, v)
	case gmac4.ChanRxControl:
		m.setRXControl(c, v&^field.Put(gmac4.RxControlRBSZ, 7))
	case m.at.ChanTxRingLen, m.at.ChanRxRingLen:
		m.Store(off, v&m.at.RingLen)
	case m.at.ChanRxWatchdog:
		m.Store(off, v&m.at.Watchdog)
	case gmac4.ChanCurTxDesc, gmac4.ChanCurRxDesc, gmac4.ChanCurTxBuf, gmac4.ChanCurTxBufH, gmac4.ChanCurRxBuf, gmac4.ChanCurRxBufH:
	default:
		if m.at.ChanMissed == 0 || r != m.at.ChanMissed {
			m.Store(off, v)
		}
	}
}

// WriteMode is a write to DMA_Mode.
func (m *Engine) WriteMode(v uint32) {
	if v&gmac4.DMAModeSWR == 0 {
		if !m.resetting.Load() {
			m.SetInt(m.at.Mode, v)
		}
		return
	}
	m.Write.Lock()
	defer m.Write.Unlock()
	m.rx.mu.Lock()
	m.tx.mu.Lock()
	m.setReset()
	m.tx.mu.Unlock()
	m.rx.mu.Unlock()
	m.resets++
	slow, dead := m.faults.Hit(sim.SlowReset), m.faults.Hit(sim.DeadReset)
	if !slow && !dead {
		m.resetting.Store(false)
		return
	}
	m.resetting.Store(true)
	m.Store(m.at.Mode, gmac4.DMAModeSWR)
	if dead {
		return
	}
	this := m.resets
	m.clock.AfterFunc(m.cfg.SlowReset, func() {
		m.Write.Lock()
		defer m.Write.Unlock()
		if m.resets == this {
			m.Store(m.at.Mode, 0)
			m.resetting.Store(false)
		}
	})
}

// setReset puts every register and engine into its state after a reset. The
// caller holds Write, rx.mu and tx.mu, or nobody else knows the model yet.
func (m *Engine) setReset() {
	m.stopTimers()
	m.resetTX()
	m.resetRX()
	m.Line.Mu.Lock()
	defer m.Line.Mu.Unlock()
	for i := range m.regs {
		m.regs[i].Store(0)
	}
	for n := range m.cfg.PerfectSlots + 1 {
		m.Store(gmac4.AddrHigh(n), 0xffff)
		m.Store(gmac4.AddrLow(n), 0xffffffff)
	}
	m.Store(gmac4.AddrHigh(0), dwregs.AddrHighAE|0xffff)
	m.loadSlots()
	m.mac.Reset()
	m.UpdateLine()
}

// stopTimers ends what runs on the clock. rx.mu and tx.mu are held.
func (m *Engine) stopTimers() {
	for c := range m.rx.ch {
		m.rx.ch[c].watchdog.Stop()
	}
	m.tx.hold.End()
}

// writeAddress is a write to MAC_Address(n)_High or _Low. The core takes both
// over when Low is written.
func (m *Engine) writeAddress(off, v uint32) {
	n := int(off-gmac4.AddrHigh(0)) / 8
	if n > m.cfg.PerfectSlots {
		return
	}
	if n == 0 && off == gmac4.AddrHigh(0) {
		v |= dwregs.AddrHighAE
	}
	m.Store(off, v)
	if off == gmac4.AddrLow(n) {
		m.rx.mu.Lock()
		m.loadSlots()
		m.rx.mu.Unlock()
	}
}

// loadSlots has the filter take over the address registers. rx.mu is held.
func (m *Engine) loadSlots() {
	m.rx.filter.Load(m.cfg.PerfectSlots+1, func(n int) (high, low uint32) {
		return m.Load(gmac4.AddrHigh(n)), m.Load(gmac4.AddrLow(n))
	})
}

// inHash looks an address up in the hash table.
func (m *Engine) inHash(a mac.HardwareAddr) bool {
	if m.cfg.HashBins == 0 {
		return false
	}
	bin := dwmac.HashBin(a, m.cfg.HashBins)
	return m.Load(gmac4.HashTable(bin/32))>>(bin%32)&1 != 0
}
