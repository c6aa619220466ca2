package sun8i

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// rxDMA is the receive engine. It follows the chain as far as the descriptors are
// the device's; there it is suspended, until it is told to look, or a frame comes
// and it looks for itself.
type rxDMA struct {
	cur     uint32                       // address of the current descriptor
	desc    [emac.DescriptorWords]uint32 // the current descriptor, fetched ahead
	fetched bool

	off    int // bytes of the current frame that are in memory
	pieces int // descriptors that the current frame has used

	suspended atomic.Bool
	busy      atomic.Bool
	dead      atomic.Bool // after a bus error
}

// setRXList is a write to RX_DMA_DESC_LIST.
func (m *Model) setRXList(v uint32) {
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	m.store(emac.RxDescList, v)
	if m.load(emac.RxCtl1)&emac.RxCtl1DMAEn != 0 {
		m.bad.Record("receive list address written while DMA runs")
	}
	d := &m.rx.dma
	d.cur, d.fetched, d.off, d.pieces = v&^3, false, 0, 0
	m.store(emac.RxCurDesc, d.cur)
}

// setRXControl is a write to RX_CTL1.
func (m *Model) setRXControl(v uint32) {
	m.rx.mu.Lock()
	d := &m.rx.dma
	old := m.load(emac.RxCtl1)
	m.store(emac.RxCtl1, v&^emac.RxCtl1Start)
	switch {
	case v&emac.RxCtl1DMAEn == 0:
		d.fetched = false
		d.suspended.Store(false)
		if old&emac.RxCtl1DMAEn != 0 {
			m.raise(emac.IntRxDMAStop)
		}
	case v&emac.RxCtl1Start != 0:
		d.suspended.Store(false)
		m.fetchRX()
	}
	m.rx.mu.Unlock()
	m.kickRX()
}

func (m *Model) rxRuns() bool {
	return m.load(emac.RxCtl1)&emac.RxCtl1DMAEn != 0 && !m.rx.dma.dead.Load()
}

// fetchRX has the current descriptor in dma.desc, or suspends the engine.
func (m *Model) fetchRX() bool {
	d := &m.rx.dma
	if !m.rxRuns() {
		return false
	}
	if d.fetched {
		return true
	}
	w, ok := m.descriptor(d.cur, false)
	if !ok {
		m.rxError()
		return false
	}
	status := atomic.LoadUint32(&w[emac.DescStatus])
	if status&emac.DescOwn == 0 {
		if !d.suspended.Swap(true) {
			m.raise(emac.IntRxBufUA)
		}
		return false
	}
	d.desc = [emac.DescriptorWords]uint32{status, w[emac.DescCtl], w[emac.DescAddr], w[emac.DescNext]}
	d.fetched = true
	d.suspended.Store(false)
	return true
}

// descriptor is the descriptor at addr, or false on a bus error.
func (m *Model) descriptor(addr uint32, write bool) ([]uint32, bool) {
	if m.faults.Hit(sim.DescriptorBusError) {
		return nil, false
	}
	b, err := m.mem.Slice(uint64(addr), emac.DescriptorSize, write)
	if err != nil {
		return nil, false
	}
	return sim.Words(b)
}

// rxError stops the engine until the next reset.
func (m *Model) rxError() {
	m.rx.dma.dead.Store(true)
	m.raise(emac.IntRxDMAStop)
}

// transfer moves a frame, or what is left of it, to memory. It reports false when
// the frame must wait for a descriptor, and true when it is gone. rx.mu is held.
//
// The next descriptor is fetched before the current one is closed: where there is
// none, the frame is cut off here and said to be.
func (m *Model) transfer(f *dwmac.RXFrame) bool {
	d := &m.rx.dma
	d.busy.Store(true)
	defer d.busy.Store(false)
	if !m.fetchRX() {
		return false
	}
	for {
		size := int(field.Get(emac.CtlSize, d.desc[emac.DescCtl]))
		last := d.off+size >= f.N
		if last && f.Cut && d.pieces > 0 {
			d.off, d.pieces = 0, 0
			return true
		}
		if !m.fillRX(f, size) {
			return false
		}
		this, ctl := d.cur, d.desc[emac.DescCtl]
		d.cur, d.fetched = d.desc[emac.DescNext]&^3, false
		more := m.fetchRX()
		status := f.Status[emac.DescStatus]
		if !last && !more {
			last, status = true, status|emac.RxNoBuf
		}
		m.store(emac.RxCurDesc, d.cur)
		if !m.closeRX(this, f, status, last) {
			return false
		}
		if last {
			d.off, d.pieces = 0, 0
			m.stat.rx.Add(1)
			if ctl&emac.RxIntOff == 0 {
				m.raise(emac.IntRx)
			}
			return true
		}
	}
}

// fillRX writes the next bytes of the frame into the buffer of the current
// descriptor.
func (m *Model) fillRX(f *dwmac.RXFrame, size int) bool {
	d := &m.rx.dma
	n := min(size, f.N-d.off)
	if n <= 0 {
		return true
	}
	addr := d.desc[emac.DescAddr]
	b, err := m.mem.Slice(uint64(addr), n, true)
	if err != nil || m.faults.Hit(sim.RXBusError) {
		m.rxError()
		return false
	}
	f.CopyTo(b, d.off)
	d.off += n
	m.store(emac.RxCurBuf, addr)
	return true
}

// rxErrors make the error summary.
const rxErrors = emac.RxCRC | emac.RxPHYErr | emac.RxWatchdog | emac.RxLate | emac.RxOverflow | emac.RxNoBuf

// closeRX writes the status of the descriptor at addr back.
func (m *Model) closeRX(addr uint32, f *dwmac.RXFrame, status uint32, last bool) bool {
	d := &m.rx.dma
	w, ok := m.descriptor(addr, true)
	if !ok {
		m.rxError()
		return false
	}
	m.rx.junk = dwmac.Junk(m.rx.junk)
	wrong := uint32(m.rx.junk >> 16)
	length := uint32(d.off)
	if m.cfg.JunkLengths && !last || f.BadCount && last {
		length = wrong
	}
	out := field.Put(emac.RxLen, length) | wrong&(1<<10) // reserved
	if last && !f.Cut {
		out |= status | emac.RxLast
		if status&rxErrors != 0 {
			out |= emac.RxErrSummary
		}
	} else {
		out |= wrong & (emac.RxCRC | emac.RxPayloadErr | emac.RxType) // not valid here
	}
	if d.pieces == 0 && !f.NoFirst {
		out |= emac.RxFirst
	}
	d.pieces++
	atomic.StoreUint32(&w[emac.DescStatus], out)
	return true
}

// rxState is RX_DMA_STA.
func (m *Model) rxState() uint32 {
	d := &m.rx.dma
	switch {
	case d.dead.Load():
		return emac.DMAStopped
	case d.busy.Load():
		return emac.RxTransfer
	case !m.rxRuns():
		return emac.DMAStopped
	case d.suspended.Load():
		return emac.RxSuspended
	}
	return emac.RxWaitFrame
}

// resetRX is the receiver's part of a reset.
func (m *Model) resetRX() {
	d := &m.rx.dma
	d.cur, d.fetched, d.off, d.pieces = 0, false, 0, 0
	d.suspended.Store(false)
	d.dead.Store(false)
	m.rx.fifo.Reset()
	m.rx.paused = false
}
