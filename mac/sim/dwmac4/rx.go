package dwmac4

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
)

// receiver is the receive half: address filter, FIFO queues and DMA channels. mu
// guards all of it but the atomics.
type receiver struct {
	mu    sync.Mutex
	ch    [gmac4.MaxChannels]rxChannel
	q     [gmac4.MaxQueues]rxQueue
	slots []slot
	pad   [60]byte // a short frame, padded
	fcs   [4]byte
	frame rxFrame
	junk  uint64
}

// rxFrame is a frame as it goes into the FIFO and out to memory: its bytes, with
// FCS unless stripped, and the status of its last descriptor.
type rxFrame struct {
	pieces   [3][]byte
	n        int
	channel  int
	d0       uint32
	d1       uint32
	d2       uint32
	d3       uint32
	cut      bool // never write the last descriptor
	noFirst  bool // do not mark the first descriptor
	badCount bool // write a junk length
}

// copyTo copies the bytes from off on.
func (f *rxFrame) copyTo(dst []byte, off int) {
	for _, p := range f.pieces {
		if off >= len(p) {
			off -= len(p)
			continue
		}
		n := copy(dst, p[off:])
		dst, off = dst[n:], 0
	}
}

// Frame sizes in bytes, with FCS.
const (
	fcsLen   = 4
	minFrame = 64
	maxFrame = 16383
)

// Ethernet types.
const (
	typeARP     = 0x0806
	typeVLAN    = 0x8100
	typeSVLAN   = 0x88a8
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
	if !m.onWire() || m.closed.Load() || len(wire) == 0 {
		return
	}
	m.rx.mu.Lock()
	defer m.rx.mu.Unlock()
	if len(wire) < 14+fcsLen {
		if m.load(gmac4.MACConfig)&gmac4.ConfigRE != 0 {
			m.count(gmac4.MMC+dwregs.MMCRxRunt, 1)
		}
		return
	}
	f, fcs := wire[:len(wire)-fcsLen], wire[len(wire)-fcsLen:]
	m.arrive(f, fcs, crc32.ChecksumIEEE(f) == binary.LittleEndian.Uint32(fcs))
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
	config := m.load(gmac4.MACConfig)
	if config&gmac4.ConfigRE == 0 || m.faults.Hit(sim.DropFrame) {
		return false
	}
	if m.faults.Hit(sim.BadCRC) {
		good = false
	}
	typ := binary.BigEndian.Uint16(f[12:])
	var tci uint16
	tagged := len(f) >= 18 && (typ == typeVLAN || typ == typeSVLAN && m.load(gmac4.MACVLANTag)&gmac4.VLANTagESVL != 0)
	if tagged {
		tci = binary.BigEndian.Uint16(f[14:])
	}
	r := m.filter(f)
	if typ == typeControl {
		kick = m.pauseFrame(f, good)
		switch field.Get(dwregs.FilterPCF, m.load(gmac4.MACPacketFilter)) {
		case 0:
			r.pass = false
		case 1:
			r.pass = binary.BigEndian.Uint16(f[14:]) != opPause
		case 2:
			r.pass = true
		}
	}
	passVLAN := m.passesVLAN(tagged, tci)
	if !r.pass || !passVLAN && m.load(gmac4.MACPacketFilter)&dwregs.FilterVTFE != 0 {
		m.stat.filtered.Add(1)
		return kick
	}
	fr := &m.rx.frame
	*fr = rxFrame{d3: gmac4.RDES3RS2V | lengthType(f, typ, tagged)}
	fr.d2 = uint32(max(r.slot, 0)) << 19
	if r.hash {
		fr.d2 |= gmac4.RDES2HF
	}
	if r.failDA {
		fr.d2 |= gmac4.RDES2DAF
	}
	if r.failSource {
		fr.d2 |= gmac4.RDES2SAF
	}
	f = m.judge(fr, f, config, tagged, good)
	q := m.route(f, tagged, tci)
	if q >= m.cfg.Queues || m.load(gmac4.MACRxQCtrl0)&gmac4.RxQEnable(q) == 0 {
		m.stat.noQueue.Add(1)
		return kick
	}
	fr.channel = m.channelOf(q, r)
	if fr.channel >= m.cfg.Queues || m.dropsError(q, fr, len(f)+fcsLen) || !m.checksum(q, fr, f, config) {
		return kick
	}
	m.layOut(fr, f, fcs, config, typ, tagged, tci, passVLAN, good)
	m.queueFrame(q, fr)
	return kick || m.tx.pause.Load() != 0
}

// lengthType is RDES3.LT.
func lengthType(f []byte, typ uint16, tagged bool) uint32 {
	lt := uint32(gmac4.LTType)
	switch {
	case tagged && len(f) >= 18 && binary.BigEndian.Uint16(f[16:]) == typeVLAN:
		lt = gmac4.LTDoubleVLAN
	case tagged:
		lt = gmac4.LTVLAN
	case typ == typeARP && len(f) >= 22 && f[20] == 0 && f[21] == 1:
		lt = gmac4.LTARP
	case typ == typeControl:
		lt = gmac4.LTControl
	case typ < typeLeast:
		lt = gmac4.LTLength
	}
	return field.Put(gmac4.RDES3LT, lt)
}

// judge finds length and CRC errors, counts the frame, and returns it cut to what
// the receive watchdog lets through.
func (m *Model) judge(fr *rxFrame, f []byte, config uint32, tagged, good bool) []byte {
	n := len(f) + fcsLen
	limit, giant := maxFrame, 1518
	if config&gmac4.ConfigWD == 0 {
		limit = 2048
		if w := m.load(gmac4.MACWatchdog); w>>8&1 != 0 {
			limit += int(w&15) << 10
		} else if config&gmac4.ConfigJE != 0 {
			limit = 10240
		}
	}
	switch {
	case config&gmac4.ConfigGPSLCE != 0:
		giant = int(m.load(gmac4.MACExtConfig) & gmac4.ExtConfigGPSL)
	case config&gmac4.ConfigJE != 0:
		giant = 9018
	case config&gmac4.ConfigS2KP != 0:
		giant = 2000
	}
	if tagged && giant != 2000 {
		giant += 4
	}
	if n > limit {
		f, n, good = f[:limit-fcsLen], limit, false
		fr.d3 |= gmac4.RDES3RWT | gmac4.RDES3ES
		m.count(gmac4.MMC+dwregs.MMCRxWatchdog, 1)
	}
	if n > giant {
		fr.d3 |= gmac4.RDES3GP | gmac4.RDES3ES
	}
	if !good {
		fr.d3 |= gmac4.RDES3CE | gmac4.RDES3ES
	}
	m.countRX(f, n, giant, tagged, good)
	return f
}

func (m *Model) countRX(f []byte, n, giant int, tagged, good bool) {
	m.count(gmac4.MMC+dwregs.MMCRxPackets, 1)
	m.count(gmac4.MMC+dwregs.MMCRxOctets, n)
	m.count(gmac4.MMC+dwregs.MMCRx64+4*bin(n), 1)
	switch {
	case !good && n < minFrame:
		m.count(gmac4.MMC+dwregs.MMCRxRunt, 1)
		return
	case !good && n > giant:
		m.count(gmac4.MMC+dwregs.MMCRxJabber, 1)
		return
	case !good:
		m.count(gmac4.MMC+dwregs.MMCRxCRC, 1)
		return
	case n < minFrame:
		m.count(gmac4.MMC+dwregs.MMCRxUndersize, 1)
	case n > giant:
		m.count(gmac4.MMC+dwregs.MMCRxOversize, 1)
	}
	if typ := int(binary.BigEndian.Uint16(f[12:])); typ < typeLeast && 14+typ > len(f) {
		m.count(gmac4.MMC+dwregs.MMCRxLength, 1)
	}
	m.count(gmac4.MMC+dwregs.MMCRxOctetsG, n)
	if tagged {
		m.count(gmac4.MMC+dwregs.MMCRxVLAN, 1)
	}
	switch a := mac.HardwareAddr(f[:6]); {
	case a == mac.Broadcast:
		m.count(gmac4.MMC+dwregs.MMCRxBcastG, 1)
	case a.Multicast():
		m.count(gmac4.MMC+dwregs.MMCRxMcastG, 1)
	default:
		m.count(gmac4.MMC+dwregs.MMCRxUcastG, 1)
	}
}

// dropsError reports whether queue q drops a frame of n bytes for its errors.
func (m *Model) dropsError(q int, fr *rxFrame, n int) bool {
	mode := m.queue(q, gmac4.RxQOpMode)
	if mode&gmac4.RxQOpFEP != 0 {
		return false
	}
	if fr.d3&(gmac4.RDES3CE|gmac4.RDES3RWT) != 0 {
		return mode&gmac4.RxQOpRSF != 0
	}
	return n < minFrame && mode&gmac4.RxQOpFUP == 0
}

// layOut decides which bytes of the frame go to memory, and the rest of its
// status.
func (m *Model) layOut(fr *rxFrame, f, fcs []byte, config uint32, typ uint16, tagged bool, tci uint16, passVLAN, good bool) {
	strip := config&gmac4.ConfigCST != 0
	if typ < typeLeast {
		if strip = config&gmac4.ConfigACS != 0; strip && 14+int(typ) < len(f) {
			f = f[:14+typ]
		}
	}
	if !strip && fcs == nil {
		sum := crc32.ChecksumIEEE(f)
		if !good {
			sum = ^sum
		}
		binary.LittleEndian.PutUint32(m.rx.fcs[:], sum)
		fcs = m.rx.fcs[:]
	}
	fr.pieces[0] = f
	if tagged && m.stripsVLAN(passVLAN) {
		fr.pieces[0], fr.pieces[1] = f[:12], f[16:]
		if m.load(gmac4.MACVLANTag)&gmac4.VLANTagEVLRXS != 0 {
			fr.d0 = uint32(tci)
			fr.d3 |= gmac4.RDES3RS0V
		}
	}
	if !strip {
		fr.pieces[2] = fcs[:fcsLen]
	}
	for _, p := range fr.pieces {
		fr.n += len(p)
	}
	if m.faults.Hit(sim.Overflow) {
		fr.pieces[0], fr.pieces[1], fr.pieces[2] = f[:len(f)/2], nil, nil
		fr.n = len(f) / 2
		fr.d3 |= gmac4.RDES3OE | gmac4.RDES3ES
		m.count(gmac4.MMC+dwregs.MMCRxOverflow, 1)
	}
	fr.cut, fr.noFirst = m.faults.Hit(sim.Truncated), m.faults.Hit(sim.MissingFirst)
	fr.badCount = m.faults.Hit(sim.BadLength)
}

// stripsVLAN is VLAN_TAG.EVLS.
func (m *Model) stripsVLAN(pass bool) bool {
	switch field.Get(gmac4.VLANTagEVLS, m.load(gmac4.MACVLANTag)) {
	case 1:
		return pass
	case 2:
		return !pass
	case 3:
		return true
	}
	return false
}
