package dwmac1000

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

const (
	pauseOn  = 1
	pauseOff = 2
)

// pumpTX is the transmit engine: it sends what the ring holds, one frame after the
// other.
func (m *Model) pumpTX() {
	t := &m.tx
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running {
		return
	}
	t.running = true
	for more := true; more && !m.closed.Load(); {
		t.busy.Store(true)
		more = m.sendPause()
		more = m.sendOne() || more
		t.busy.Store(false)
	}
	t.running = false
}

// blocked reports whether no frame may leave: transmitter off, link down, or
// paused by the partner.
func (m *Model) blocked() bool {
	config := m.load(gmac3.MACConfig)
	return config&gmac3.ConfigTE == 0 || !m.link.Load().Up && config&gmac3.ConfigLM == 0 || m.tx.hold.Active()
}

// sendOne sends the next frame and reports whether there was one.
func (m *Model) sendOne() bool {
	t := &m.tx
	if m.blocked() || !m.gather() {
		return false
	}
	gen, epoch := t.gen, t.epoch
	status := m.sendFrame()
	if t.gen == gen && t.epoch == epoch {
		m.finish(status)
	}
	return true
}

// sendFrame sends what gather has collected, and returns its write-back status.
func (m *Model) sendFrame() (status uint32) {
	t := &m.tx
	f := t.data
	if t.noFCS && len(f) > dwmac.FCSLen {
		f = f[:len(f)-dwmac.FCSLen] // the frame brings its own FCS
	} else if !t.noPad {
		for len(f) < dwmac.MinFrame-dwmac.FCSLen {
			f = append(f, 0)
		}
	}
	if t.cic != gmac3.CICNone && !m.cfg.NoTXChecksum {
		status = m.insert(f)
	}
	if len(f) >= 14 {
		m.emit(f)
	}
	return status
}

// insert puts checksums into a frame and returns its write-back status. A frame
// that the FIFO cannot hold together with a burst has left it before its end is
// there.
func (m *Model) insert(f []byte) (status uint32) {
	mode, bus := m.load(gmac3.DMAOpMode), m.load(gmac3.DMABusMode)
	if mode&gmac3.OpTSF == 0 {
		m.bad.Record("checksum insertion without store and forward")
		return 0
	}
	burst := 8 * int(field.Get(gmac3.BusPBL, bus))
	if bus&gmac3.BusPBL8 != 0 {
		if burst *= 8; m.cfg.Version < 0x35 {
			burst /= 2
		}
	}
	if len(f)+burst > m.cfg.TXFIFO {
		m.bad.Record("checksum insertion into a frame of %d bytes with a FIFO of %d and a burst of %d", len(f), m.cfg.TXFIFO, burst)
		return 0
	}
	header, payload := offload.Insert(f, offload.Mode(m.tx.cic))
	if header {
		status |= gmac3.TDES0IHE | gmac3.TDES0ES
	}
	if payload {
		status |= gmac3.TDES0IPE | gmac3.TDES0ES
	}
	m.stat.checksums.Add(1)
	return status
}

// emit counts a frame and puts it on the wire with the lock released.
func (m *Model) emit(f []byte) {
	t := &m.tx
	m.stat.tx.Add(1)
	m.mmc.CountTX(f)
	out, loop := t.out, m.load(gmac3.MACConfig)&gmac3.ConfigLM != 0
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
	if m.load(gmac3.MACConfig)&gmac3.ConfigTE == 0 || !m.link.Load().Up {
		return false
	}
	kind := m.tx.pause.Swap(0)
	if kind == 0 {
		return false
	}
	quanta := uint16(0)
	if kind == pauseOn {
		quanta = uint16(field.Get(gmac3.FlowPT, m.load(gmac3.MACFlow)))
	}
	dwmac.PutPause(&m.tx.control, m.load(gmac3.AddrHigh(0)), m.load(gmac3.AddrLow(0)), quanta)
	m.mmc.Count(dwregs.MMCTxPause, 1)
	m.emit(m.tx.control[:])
	return true
}

// pauseFrame looks at a received MAC control frame, and reports whether the
// transmitter may go on. rx.mu is held.
func (m *Model) pauseFrame(f []byte, good bool) bool {
	quanta, pause := dwmac.Pause(f)
	if !good || !pause {
		return false
	}
	flow := m.load(gmac3.MACFlow)
	if a := mac.HardwareAddr(f[:6]); a != dwmac.PauseAddr && (!m.rx.filter.Own(a) || flow&gmac3.FlowUP == 0) {
		return false
	}
	m.mmc.Count(dwregs.MMCRxPause, 1)
	if flow&gmac3.FlowRFE == 0 {
		return false
	}
	return m.tx.hold.Take(quanta, m.link.Load().Speed)
}
