package eqos

import (
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
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
	gen     uint64 // changes with every reset
	ch      [maxChannels]txChannel
	out     func(frame []byte)
	control [60]byte // a pause frame
	junk    uint64

	pause atomic.Uint32 // a pause frame to send: pauseOn or pauseOff
	hold  dwmac.Hold    // by the partner; guarded by rx.mu
}

const (
	pauseOn  = 1
	pauseOff = 2
)

// pumpTX is the transmit engine: it sends what the channels hold, one frame of
// each in turn.
func (m *Engine) pumpTX() {
	t := &m.tx
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		return
	}
	t.running = true
	for more := true; more && !m.closed.Load(); {
		more = m.sendPause()
		for c := range m.cfg.Channels {
			t.ch[c].busy.Store(true)
			more = m.sendOne(c) || more
			t.ch[c].busy.Store(false)
		}
	}
	t.running = false
}

// blocked reports whether no frame may leave: transmitter off, link down, or
// paused by the partner.
func (m *Engine) blocked() bool {
	return !m.mac.Transmitting() || !m.link.Load().Up && !m.mac.Loopback() || m.tx.hold.Active()
}

// sendOne sends the next frame of channel c and reports whether there was one.
func (m *Engine) sendOne(c int) bool {
	ch := &m.tx.ch[c]
	if ch.stuck || m.Queue(c, gmac4.TxQOpMode)&gmac4.TxQOpTXQEN == 0 || m.blocked() || !m.gather(c) {
		return false
	}
	gen, epoch := m.tx.gen, ch.epoch
	e, fits := m.sendFrame(c)
	if m.tx.gen != gen || ch.epoch != epoch {
		return true
	}
	if !fits {
		ch.stuck = true
		return false
	}
	m.finish(c, e)
	return true
}

// sendFrame sends what gather has collected: one frame or its segments. fits is
// false when the queue's FIFO can never hold it.
func (m *Engine) sendFrame(c int) (e TXErrors, fits bool) {
	ch := &m.tx.ch[c]
	if ch.tso {
		return e, m.sendSegments(c)
	}
	f := ch.data
	if ch.cpc() >= 2 && len(f) > dwmac.FCSLen {
		f = f[:len(f)-dwmac.FCSLen] // the frame brings its own FCS
	}
	for len(f) < dwmac.MinFrame-dwmac.FCSLen {
		f = append(f, 0)
	}
	if n := int(field.Get(dwregs.TDES3FL, ch.first)); n != len(ch.data) {
		m.Bad.Record("channel %d: TDES3.FL %d, descriptors hold %d", c, n, len(ch.data))
	}
	if !m.fitsFIFO(c, len(f)) {
		return e, false
	}
	if cic := field.Get(dwregs.TDES3CIC, ch.first); cic != dwregs.CICNone && !m.cfg.NoTXChecksum {
		e = m.insert(c, f, cic)
	}
	m.emit(c, f)
	return e, true
}

// insert puts checksums into a frame.
func (m *Engine) insert(c int, f []byte, cic uint32) (e TXErrors) {
	if m.Queue(c, gmac4.TxQOpMode)&gmac4.TxQOpTSF == 0 {
		m.Bad.Record("channel %d: checksum insertion without store and forward", c)
		return e
	}
	e.Header, e.Payload = offload.Insert(f, offload.Mode(cic))
	m.stat.checksums.Add(1)
	return e
}

// sendSegments sends a frame of the segmentation engine.
func (m *Engine) sendSegments(c int) bool {
	ch := &m.tx.ch[c]
	mss := ch.mss
	if mss == 0 {
		mss = int(field.Get(m.at.ControlMSS, m.Channel(c, gmac4.ChanControl)))
	}
	l4 := 4 * int(field.Get(dwregs.TDES3THL, ch.first))
	if n := int(ch.first & dwregs.TDES3TPL); n != len(ch.data)-ch.header {
		m.Bad.Record("channel %d: TDES3.TPL %d, descriptors hold %d", c, n, len(ch.data)-ch.header)
	}
	header, payload := ch.data[:ch.header], ch.data[ch.header:]
	s, ok := offload.NewSegmenter(header, payload, l4, mss)
	if !ok || mss < dwregs.MinMSS || len(payload) == 0 {
		m.Bad.Record("channel %d: segmentation of %d bytes behind a header of %d (L4 %d), MSS %d", c, len(payload), len(header), l4, mss)
		return false
	}
	if !m.fitsFIFO(c, len(header)+min(mss, len(payload))) {
		return false
	}
	m.stat.tsoFrames.Add(1)
	for gen := m.tx.gen; m.tx.gen == gen; {
		var more bool
		if ch.segment, more = s.Next(ch.segment); !more {
			return true
		}
		for len(ch.segment) < dwmac.MinFrame-dwmac.FCSLen {
			ch.segment = append(ch.segment, 0)
		}
		m.stat.tsoSegments.Add(1)
		m.emit(c, ch.segment)
	}
	return true
}

// fitsFIFO reports whether a frame of n bytes and one burst fit into the queue,
// which storing before forwarding needs.
func (m *Engine) fitsFIFO(c, n int) bool {
	mode := m.Queue(c, gmac4.TxQOpMode)
	if mode&gmac4.TxQOpTSF == 0 {
		return true
	}
	burst := 8 * int(field.Get(gmac4.TxControlPBL, m.Channel(c, gmac4.ChanTxControl)))
	if m.Channel(c, gmac4.ChanControl)&gmac4.ControlPBLx8 != 0 {
		burst *= 8
	}
	return n+burst <= (int(field.Get(m.at.TQS, mode))+1)*256
}

// emit counts a frame and puts it on the wire with the lock released.
func (m *Engine) emit(c int, f []byte) {
	t := &m.tx
	m.stat.tx[c].Add(1)
	dwmac.CountTX(m.count, f)
	out, loop := t.out, m.mac.Loopback()
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
func (m *Engine) sendPause() bool {
	if !m.mac.Transmitting() || !m.link.Load().Up {
		return false
	}
	kind := m.tx.pause.Swap(0)
	if kind == 0 {
		return false
	}
	quanta := uint16(0)
	if kind == pauseOn {
		quanta = uint16(field.Get(gmac4.TxFlowPT, m.Load(gmac4.TxFlow(0))))
	}
	dwmac.PutPause(&m.tx.control, m.Load(gmac4.AddrHigh(0)), m.Load(gmac4.AddrLow(0)), quanta)
	m.count.Count(dwregs.MMCTxPause, 1)
	m.emit(0, m.tx.control[:])
	return true
}

// pauseFrame looks at a received MAC control frame, and reports whether the
// transmitter may go on. rx.mu is held.
func (m *Engine) pauseFrame(f []byte, good bool) bool {
	quanta, pause := dwmac.Pause(f)
	if !good || !pause {
		return false
	}
	if a := mac.HardwareAddr(f[:6]); a != dwmac.PauseAddr {
		if !m.rx.filter.Own(a) || m.Load(gmac4.MACRxFlow)&gmac4.RxFlowUP == 0 {
			return false
		}
	}
	m.count.Count(dwregs.MMCRxPause, 1)
	if m.Load(gmac4.MACRxFlow)&gmac4.RxFlowRFE == 0 {
		return false
	}
	return m.tx.hold.Take(quanta, m.link.Load().Speed)
}

// flushTX throws away what queue c holds (TXQ_OP_MODE.FTQ).
func (m *Engine) flushTX(c int) {
	m.tx.mu.Lock()
	defer m.tx.mu.Unlock()
	ch := &m.tx.ch[c]
	if ch.stuck {
		ch.stuck = false
		m.finish(c, TXErrors{Flushed: true})
	}
}

// txDebug is MTL_TxQq_Debug.
func (m *Engine) txDebug(q int) (v uint32) {
	if m.tx.ch[q].holding.Load() {
		v = gmac4.TxQDebugTXQ | field.Put(gmac4.TxQDebugTRC, gmac4.TRCRead) | field.Put(gmac4.TxQDebugPTXQ, 1)
	}
	if m.tx.hold.Active() {
		v |= gmac4.TxQDebugPAUSED
	}
	return v
}
