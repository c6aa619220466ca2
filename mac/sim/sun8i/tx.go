package sun8i

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// transmitter is the transmit half. mu guards all of it but the atomics, and is
// not held while a frame is on its way through out. running says that somebody
// runs the engine; others leave it to him, since he looks again after each frame
// for which he let go of mu.
type transmitter struct {
	mu      sync.Mutex
	running bool
	gen     uint64 // changes with every reset, stop and new list
	txDMA
	out     func(frame []byte)
	control [dwmac.MinFrame - dwmac.FCSLen]byte // a pause frame
	junk    uint64

	pause atomic.Uint32 // a pause frame to send: pauseOn or pauseOff
	hold  dwmac.Hold    // by the partner; guarded by rx.mu
}

const (
	pauseOn  = 1
	pauseOff = 2
)

// pumpTX is the transmit engine: it fetches a frame into the FIFO and sends it.
func (m *Model) pumpTX() {
	t := &m.tx
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		return
	}
	t.running = true
	for more := true; more && !m.closed.Load(); {
		more = m.sendPause()
		more = m.sendOne() || more
	}
	t.running = false
}

// blocked reports whether no frame may leave: transmitter off, link down, or
// paused by the partner.
func (m *Model) blocked() bool {
	loop := m.load(emac.BasicCtl0)&emac.Ctl0Loopback != 0
	return m.load(emac.TxCtl0)&emac.TxCtl0En == 0 || !m.link.Load().Up && !loop || m.tx.hold.Active()
}

// sendOne sends the next frame and reports whether there was one. A frame that is
// in the FIFO leaves whether DMA has been stopped meanwhile or not.
func (m *Model) sendOne() bool {
	t := &m.tx
	if !t.holding.Load() && !m.gather() || m.blocked() {
		return false
	}
	gen := t.gen
	status := m.sendFrame()
	if t.gen == gen && t.holding.Load() {
		m.finish(status)
	}
	return true
}

// sendFrame sends what gather has collected and returns its status.
func (m *Model) sendFrame() (status uint32) {
	t := &m.tx
	f := t.data
	if t.ctl&emac.TxCRCOff != 0 {
		f = f[:max(len(f)-dwmac.FCSLen, 0)] // the frame brings its own FCS
	}
	for len(f) < dwmac.MinFrame-dwmac.FCSLen {
		f = append(f, 0)
	}
	if cic := field.Get(emac.TxCIC, t.ctl); cic != emac.CICNone {
		status = m.insert(f, cic)
	}
	m.emit(f)
	return status
}

// insert puts checksums into a frame and returns its status.
func (m *Model) insert(f []byte, cic uint32) (status uint32) {
	if m.load(emac.TxCtl1)&emac.TxCtl1MD == 0 {
		m.bad.Record("checksum insertion without store and forward")
		return 0
	}
	header, payload := offload.Insert(f, offload.Mode(cic))
	if header {
		status |= emac.TxHeaderErr | emac.TxErrSummary
	}
	if payload {
		status |= emac.TxPayloadErr | emac.TxErrSummary
	}
	m.stat.checksums.Add(1)
	return status
}

// emit puts a frame on the wire with the lock released.
func (m *Model) emit(f []byte) {
	t := &m.tx
	m.stat.tx.Add(1)
	out, loop := t.out, m.load(emac.BasicCtl0)&emac.Ctl0Loopback != 0
	t.mu.Unlock()
	switch {
	case loop:
		m.deliver(f)
	case out != nil && m.onWire():
		out(f)
	}
	t.mu.Lock()
}

// sendPause sends the pause frame that the receiver asked for. A pause from the
// partner does not hold it up.
func (m *Model) sendPause() bool {
	if m.load(emac.TxCtl0)&emac.TxCtl0En == 0 || !m.link.Load().Up {
		return false
	}
	kind := m.tx.pause.Swap(0)
	if kind == 0 {
		return false
	}
	quanta := uint16(0)
	if kind == pauseOn {
		quanta = uint16(field.Get(emac.TxFlowTime, m.load(emac.TxFlowCtl)))
	}
	dwmac.PutPause(&m.tx.control, m.load(emac.AddrHigh(0)), m.load(emac.AddrLow(0)), quanta)
	m.emit(m.tx.control[:])
	return true
}

// pauseFrame looks at a received MAC control frame, and reports whether the
// transmitter may go on. rx.mu is held.
func (m *Model) pauseFrame(f []byte, good bool) bool {
	ctl := m.load(emac.RxCtl0)
	quanta, pause := dwmac.Pause(f)
	if !good || !pause || ctl&emac.RxCtl0FlowEn == 0 {
		return false
	}
	if a := mac.HardwareAddr(f[:6]); a != dwmac.PauseAddr && (ctl&emac.RxCtl0PauseMD == 0 || !m.rx.filter.Own(a)) {
		return false
	}
	return m.tx.hold.Take(quanta, m.link.Load().Speed)
}
