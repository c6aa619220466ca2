package sun8i

import (
	"encoding/binary"
	"sync"

	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// receiver is the receive half: address filter, FIFO and DMA. mu guards all of it
// but the atomics.
type receiver struct {
	mu     sync.Mutex
	dma    rxDMA
	fifo   dwmac.FIFO
	paused bool // the partner has been sent a pause
	filter dwmac.Filter
	pad    [dwmac.MinFrame - dwmac.FCSLen]byte // a short frame, padded
	fcs    [dwmac.FCSLen]byte
	frame  dwmac.RXFrame
	junk   uint64
}

// Lengths at which frames are cut off, in bytes with FCS.
const (
	watchdog = 2048
	maxFrame = 16383
)

// Deliver implements sim.Port. A frame of less than 60 bytes is padded, as the
// sender's MAC does.
func (m *Model) Deliver(frame []byte) {
	if m.faults.Hit(sim.LinkFlap) {
		sim.FlapLink(m.clock, *m.link.Load(), m.SetLink)
	}
	if m.onWire() {
		m.deliver(frame)
	}
}

func (m *Model) deliver(frame []byte) {
	if len(frame) < 14 || m.closed.Load() {
		return
	}
	m.rx.mu.Lock()
	kick := m.arrive(dwmac.Pad(&m.rx.pad, frame), nil, true)
	m.rx.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

// DeliverWire delivers what is on the wire as it is: FCS included, right or
// wrong, and of any length.
func (m *Model) DeliverWire(wire []byte) {
	if !m.onWire() || len(wire) < 14+dwmac.FCSLen {
		return
	}
	m.rx.mu.Lock()
	kick := m.arrive(dwmac.SplitFCS(wire))
	m.rx.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

// arrive takes a frame from the wire through the MAC. fcs is nil when it is
// simply right. It reports whether the transmitter has something to do now.
// rx.mu is held.
func (m *Model) arrive(f, fcs []byte, good bool) (kick bool) {
	ctl := m.load(emac.RxCtl0)
	if ctl&emac.RxCtl0En == 0 || !m.clocked() || m.faults.Hit(sim.DropFrame) {
		return false
	}
	if m.faults.Hit(sim.BadCRC) {
		good = false
	}
	r := m.filter(f)
	if binary.BigEndian.Uint16(f[12:]) == dwmac.TypeControl {
		kick = m.pauseFrame(f, good)
		switch field.Get(emac.FltCtl, m.load(emac.RxFrmFlt)) {
		case emac.CtlAll:
			r.Pass = true
		case emac.CtlPassing:
		default:
			r.Pass = false
		}
	}
	if !r.Pass {
		m.stat.filtered.Add(1)
		return kick
	}
	fr := &m.rx.frame
	*fr = dwmac.RXFrame{}
	status := &fr.Status[emac.DescStatus]
	if r.FailDA {
		*status |= emac.RxDAFail
	}
	if r.FailSource {
		*status |= emac.RxSAFail
	}
	limit := watchdog
	if ctl&(emac.RxCtl0Jumbo|emac.RxCtl0FrmLen) != 0 {
		limit = maxFrame
	}
	if len(f)+dwmac.FCSLen > limit {
		f, good = f[:limit-dwmac.FCSLen], false
		*status |= emac.RxWatchdog
	}
	if !good {
		*status |= emac.RxCRC
	}
	*status |= judge(f, ctl)
	if m.dropsInFIFO(*status, len(f)+dwmac.FCSLen) {
		return kick
	}
	m.layOut(fr, f, fcs, good)
	m.queueFrame(fr)
	return kick || m.tx.pause.Load() != 0
}

// dropsInFIFO reports whether a frame of n bytes never leaves the FIFO. That one
// with a wrong checksum is among the bad ones, Linux relies on: its decoder does not
// look at those bits.
func (m *Model) dropsInFIFO(status uint32, n int) bool {
	ctl := m.load(emac.RxCtl1)
	bad := status&(emac.RxCRC|emac.RxWatchdog) != 0 || status&emac.RxType != 0 && status&(emac.RxHeaderErr|emac.RxPayloadErr) != 0
	return bad && ctl&(emac.RxCtl1Err|emac.RxCtl1MD) == emac.RxCtl1MD || n < dwmac.MinFrame && ctl&emac.RxCtl1Runt == 0
}

// judge is the verdict of the checksum engine: three bits of the status that mean
// something together (full checksum offload, type 2).
func judge(f []byte, ctl uint32) uint32 {
	if binary.BigEndian.Uint16(f[12:]) < dwmac.TypeLeast {
		return 0
	}
	if ctl&emac.RxCtl0Check == 0 {
		return emac.RxType
	}
	v := offload.Check(f)
	switch {
	case !v.IPv4 && !v.IPv6:
		return emac.RxHeaderErr | emac.RxPayloadErr
	case v.HeaderError:
		return emac.RxType | emac.RxHeaderErr
	case v.Bypassed || v.Payload == offload.Unknown:
		return emac.RxPayloadErr
	case v.PayloadError:
		return emac.RxType | emac.RxPayloadErr
	}
	return emac.RxType
}

// layOut decides which bytes of the frame go to memory, and the rest of its
// status.
func (m *Model) layOut(fr *dwmac.RXFrame, f, fcs []byte, good bool) {
	if m.load(emac.RxCtl0)&emac.RxCtl0StripFCS == 0 {
		if fcs == nil {
			m.rx.fcs = dwmac.FCS(f, good)
			fcs = m.rx.fcs[:]
		}
		fr.Pieces[1] = fcs
	}
	fr.Pieces[0] = f
	if m.faults.Hit(sim.Overflow) {
		fr.Pieces = [3][]byte{f[:len(f)/2]}
		fr.Status[emac.DescStatus] |= emac.RxOverflow
		m.raise(emac.IntRxOverflow)
	}
	for _, p := range fr.Pieces {
		fr.N += len(p)
	}
	fr.Cut, fr.NoFirst = m.faults.Hit(sim.Truncated), m.faults.Hit(sim.MissingFirst)
	fr.BadCount = m.faults.Hit(sim.BadLength)
}
