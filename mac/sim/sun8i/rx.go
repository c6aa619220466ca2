package sun8i

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// receiver is the receive half: address filter, FIFO and DMA. mu guards all of it
// but the atomics.
type receiver struct {
	mu    sync.Mutex
	dma   rxDMA
	fifo  rxFIFO
	slots []slot
	pad   [60]byte // a short frame, padded
	frame rxFrame
	junk  uint64
}

// rxFrame is a frame on its way to memory: its bytes, with FCS unless stripped, and
// the status of its last descriptor.
type rxFrame struct {
	data     []byte
	status   uint32
	cut      bool // never write the last descriptor
	noFirst  bool // do not mark the first descriptor
	badCount bool // write a junk length
}

// Frame sizes in bytes, with FCS.
const (
	fcsLen   = 4
	minFrame = 64
	watchdog = 2048 // frames are cut off here
	maxFrame = 16383
)

// Ethernet types.
const (
	typeControl = 0x8808
	typeLeast   = 0x0600 // below is a length
)

// Deliver implements sim.Port. A frame of less than 60 bytes is padded, as the
// sender's MAC does.
func (m *Model) Deliver(frame []byte) {
	if m.faults.Hit(sim.LinkFlap) {
		m.flap()
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
	if len(frame) < len(m.rx.pad) {
		n := copy(m.rx.pad[:], frame)
		clear(m.rx.pad[n:])
		frame = m.rx.pad[:]
	}
	kick := m.arrive(frame, nil, true)
	m.rx.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

// DeliverWire delivers what is on the wire as it is: FCS included, right or
// wrong, and of any length.
func (m *Model) DeliverWire(wire []byte) {
	if !m.onWire() || len(wire) < 14+fcsLen {
		return
	}
	m.rx.mu.Lock()
	f, fcs := wire[:len(wire)-fcsLen], wire[len(wire)-fcsLen:]
	kick := m.arrive(f, fcs, crc32.ChecksumIEEE(f) == binary.LittleEndian.Uint32(fcs))
	m.rx.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

// flap takes the link down for a millisecond.
func (m *Model) flap() {
	up := *m.link.Load()
	if !up.Up {
		return
	}
	m.SetLink(mac.Link{})
	m.clock.AfterFunc(time.Millisecond, func() { m.SetLink(up) })
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
	pass, matched := m.filter(f)
	if binary.BigEndian.Uint16(f[12:]) == typeControl {
		kick = m.pauseFrame(f, good)
		switch field.Get(emac.FltCtl, m.load(emac.RxFrmFlt)) {
		case emac.CtlAll:
			pass = true
		case emac.CtlPassing:
		default:
			pass = false
		}
	}
	if !pass {
		m.stat.filtered.Add(1)
		return kick
	}
	fr := &m.rx.frame
	*fr = rxFrame{data: fr.data[:0]}
	if !matched {
		fr.status |= emac.RxDAFail
	}
	limit := watchdog
	if ctl&(emac.RxCtl0Jumbo|emac.RxCtl0FrmLen) != 0 {
		limit = maxFrame
	}
	if len(f)+fcsLen > limit {
		f, good = f[:limit-fcsLen], false
		fr.status |= emac.RxWatchdog
	}
	if !good {
		fr.status |= emac.RxCRC
	}
	if m.dropsInFIFO(fr, len(f)+fcsLen) {
		return kick
	}
	m.judge(fr, f, ctl)
	m.layOut(fr, f, fcs, good)
	m.queueFrame(fr)
	return kick || m.tx.pause.Load() != 0
}

// dropsInFIFO reports whether a frame of n bytes never leaves the FIFO.
func (m *Model) dropsInFIFO(fr *rxFrame, n int) bool {
	ctl := m.load(emac.RxCtl1)
	bad := fr.status&(emac.RxCRC|emac.RxWatchdog) != 0
	return bad && ctl&(emac.RxCtl1Err|emac.RxCtl1MD) == emac.RxCtl1MD || n < minFrame && ctl&emac.RxCtl1Runt == 0
}

// judge puts the verdict of the checksum engine into the status: three bits that
// mean something together (full checksum offload, type 2).
func (m *Model) judge(fr *rxFrame, f []byte, ctl uint32) {
	typed := binary.BigEndian.Uint16(f[12:]) >= typeLeast
	if ctl&emac.RxCtl0Check == 0 {
		if typed {
			fr.status |= emac.RxType
		}
		return
	}
	v := offload.Check(f)
	switch {
	case !typed:
	case !v.IPv4 && !v.IPv6:
		fr.status |= emac.RxHeaderErr | emac.RxPayloadErr
	case v.HeaderError:
		fr.status |= emac.RxType | emac.RxHeaderErr
	case v.Bypassed || v.Payload == offload.Unknown:
		fr.status |= emac.RxPayloadErr
	case v.PayloadError:
		fr.status |= emac.RxType | emac.RxPayloadErr
	default:
		fr.status |= emac.RxType
	}
}

// layOut decides which bytes of the frame go to memory, and the rest of its
// status.
func (m *Model) layOut(fr *rxFrame, f, fcs []byte, good bool) {
	fr.data = append(fr.data[:0], f...)
	if m.load(emac.RxCtl0)&emac.RxCtl0StripFCS == 0 {
		if fcs == nil {
			sum := crc32.ChecksumIEEE(f)
			if !good {
				sum = ^sum
			}
			fr.data = binary.LittleEndian.AppendUint32(fr.data, sum)
		} else {
			fr.data = append(fr.data, fcs...)
		}
	}
	if m.faults.Hit(sim.Overflow) {
		fr.data = fr.data[:len(f)/2]
		fr.status |= emac.RxOverflow
		m.raise(emac.IntRxOverflow)
	}
	fr.cut, fr.noFirst = m.faults.Hit(sim.Truncated), m.faults.Hit(sim.MissingFirst)
	fr.badCount = m.faults.Hit(sim.BadLength)
}
