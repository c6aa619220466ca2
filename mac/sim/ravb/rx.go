package ravb

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/sim"
)

// receiver is the receive half. mu guards all of it.
type receiver struct {
	mu    sync.Mutex
	q     [etheravb.MaxQueues]rxQueue
	pad   [60]byte // a short frame, padded
	frame []byte   // the frame as it goes to memory
	junk  uint64
}

// Frame sizes in bytes, with FCS.
const (
	fcsLen   = 4
	minFrame = 64
)

// Ethernet types.
const (
	typeControl = 0x8808
	typePTP     = 0x88F7
)

// pauseAddr is the group address of IEEE 802.3 Annex 31B.
var pauseAddr = mac.HardwareAddr{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}

const opPause = 1

// Deliver implements sim.Port. A frame of less than 60 bytes is padded, as the
// sender's MAC does.
func (m *Model) Deliver(frame []byte) {
	if m.faults.Hit(sim.LinkFlap) {
		sim.FlapLink(m.clock, *m.link.Load(), m.SetLink)
	}
	if !m.onWire() || len(frame) < 14 || m.closed.Load() {
		return
	}
	m.rx.mu.Lock()
	if len(frame) < len(m.rx.pad) {
		n := copy(m.rx.pad[:], frame)
		clear(m.rx.pad[n:])
		frame = m.rx.pad[:]
	}
	kick := m.arrive(frame, true)
	m.rx.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

// DeliverWire delivers what is on the wire as it is: FCS included, right or wrong,
// and of any length.
func (m *Model) DeliverWire(wire []byte) {
	if !m.onWire() || m.closed.Load() || len(wire) < 14+fcsLen {
		return
	}
	m.rx.mu.Lock()
	f, fcs := wire[:len(wire)-fcsLen], wire[len(wire)-fcsLen:]
	kick := m.arrive(f, crc32.ChecksumIEEE(f) == binary.LittleEndian.Uint32(fcs))
	m.rx.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

// arrive takes a frame from the wire through the E-MAC. It reports whether the
// transmitter has something to do now. rx.mu is held.
func (m *Model) arrive(f []byte, good bool) (kick bool) {
	ecmr := m.load(etheravb.ECMR)
	if ecmr&etheravb.ECMRRE == 0 || m.faults.Hit(sim.DropFrame) {
		return false
	}
	if m.faults.Hit(sim.BadCRC) {
		good = false
	}
	if binary.BigEndian.Uint16(f[12:]) == typeControl {
		kick = m.pauseFrame(f, good, ecmr)
		if ecmr&etheravb.ECMRPFR == 0 {
			return kick
		}
	}
	if !m.accepts(f, ecmr) {
		m.stat.filtered.Add(1)
		return kick
	}
	f, msc := m.judge(f, good)
	rcr := m.load(etheravb.RCR)
	if m.cfg.Variant != GbEth && msc&etheravb.MSCErrors != 0 && rcr&etheravb.RCREFFS != 0 {
		return kick
	}
	q := etheravb.BestEffort
	if m.cfg.Variant != GbEth && rcr&etheravb.RCRENCF != 0 && networkControl(f) {
		q = etheravb.NetworkControl
	}
	m.transfer(q, m.append(f, ecmr), msc)
	return kick
}

// accepts is the address filter: the own address, every group, or everything.
func (m *Model) accepts(f []byte, ecmr uint32) bool {
	a := mac.HardwareAddr(f[:6])
	hi, lo := m.load(etheravb.MAHR), m.load(etheravb.MALR)
	own := mac.HardwareAddr{byte(hi >> 24), byte(hi >> 16), byte(hi >> 8), byte(hi), byte(lo >> 8), byte(lo)}
	return ecmr&etheravb.ECMRPRM != 0 || a.Multicast() || a == own
}

// networkControl says what goes to the network control queue: frames of gPTP, and
// those to the addresses of IEEE 802.1 that bridges keep. The manual's own list is not
// public.
func networkControl(f []byte) bool {
	reserved := mac.HardwareAddr{0x01, 0x80, 0xc2, 0x00, 0x00, f[5]} == mac.HardwareAddr(f[:6]) && f[5] < 0x10
	return reserved || binary.BigEndian.Uint16(f[12:]) == typePTP
}

// judge finds what is wrong with a frame, counts it, and returns it cut to the
// longest one (RFLR).
func (m *Model) judge(f []byte, good bool) (cut []byte, msc uint32) {
	limit := int(m.load(etheravb.RFLR)&0x3FFFF) - fcsLen
	for _, e := range [...]struct {
		on           bool
		bit, counter uint32
	}{
		{!good, etheravb.MSCCRC, etheravb.CEFCR},
		{len(f)+fcsLen < minFrame, etheravb.MSCRTSF, etheravb.TSFRCR},
		{len(f) > limit, etheravb.MSCRTLF, etheravb.TLFRCR},
		{f[0]&1 != 0, etheravb.MSCMC, etheravb.MAFCR},
	} {
		if e.on {
			msc |= e.bit
			m.count(e.counter)
		}
	}
	return f[:min(len(f), max(limit, 14))], msc
}

// count adds one to a counter of the E-MAC, which stops at its largest value.
func (m *Model) count(off uint32) {
	if v := m.load(off); v != 0xFFFFFFFF {
		m.store(off, v+1)
	}
}

// pauseFrame looks at a received MAC control frame, and reports whether the
// transmitter may go on. rx.mu is held.
func (m *Model) pauseFrame(f []byte, good bool, ecmr uint32) bool {
	if !good || len(f) < 18 || mac.HardwareAddr(f[:6]) != pauseAddr || binary.BigEndian.Uint16(f[14:]) != opPause {
		return false
	}
	m.count(etheravb.PFRCR)
	if ecmr&etheravb.ECMRRXF == 0 {
		return false
	}
	quanta := time.Duration(binary.BigEndian.Uint16(f[16:]))
	if quanta == 0 && ecmr&etheravb.ECMRZPF == 0 {
		return false
	}
	m.stopTimers()
	if quanta == 0 {
		return true
	}
	// One quantum is 512 bit times.
	d := quanta * 512 * time.Microsecond / time.Duration(max(m.link.Load().Speed, 10))
	m.tx.pausedUntil.Store(m.clock.Now().Add(d).UnixNano())
	if m.tx.resume == nil {
		m.tx.resume = m.clock.AfterFunc(d, m.pauseOver)
	} else {
		m.tx.resume.Reset(d)
	}
	return false
}

func (m *Model) pauseOver() {
	until := m.tx.pausedUntil.Load()
	if until != 0 && m.clock.Now().UnixNano() >= until && m.tx.pausedUntil.CompareAndSwap(until, 0) {
		m.kickTX()
	}
}
