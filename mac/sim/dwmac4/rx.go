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
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// receiver is the receive half: address filter, FIFO queues and DMA channels. mu
// guards all of it but the atomics.
type receiver struct {
	mu     sync.Mutex
	ch     [gmac4.MaxChannels]rxChannel
	q      [gmac4.MaxQueues]rxQueue
	filter dwmac.Filter
	pad    [60]byte // a short frame, padded
	fcs    [dwmac.FCSLen]byte
	frame  dwmac.RXFrame
	junk   uint64
}

// maxFrame is the longest frame in bytes, with FCS.
const maxFrame = 16383

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
		m.txEngine.Kick()
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
	if len(wire) < 14+dwmac.FCSLen {
		if m.load(gmac4.MACConfig)&gmac4.ConfigRE != 0 {
			m.mmc.Count(dwregs.MMCRxRunt, 1)
		}
		return
	}
	f, fcs := wire[:len(wire)-dwmac.FCSLen], wire[len(wire)-dwmac.FCSLen:]
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
	tagged := len(f) >= 18 && (typ == dwmac.TypeVLAN || typ == dwmac.TypeSVLAN && m.load(gmac4.MACVLANTag)&gmac4.VLANTagESVL != 0)
	if tagged {
		tci = binary.BigEndian.Uint16(f[14:])
	}
	r := m.rx.filter.Decide(m.load(gmac4.MACPacketFilter), f, m.inHash)
	if typ == dwmac.TypeControl {
		kick = m.pauseFrame(f, good)
		switch field.Get(dwregs.FilterPCF, m.load(gmac4.MACPacketFilter)) {
		case 0:
			r.Pass = false
		case 1:
			r.Pass = binary.BigEndian.Uint16(f[14:]) != dwmac.OpPause
		case 2:
			r.Pass = true
		}
	}
	passVLAN := m.passesVLAN(tagged, tci)
	if !r.Pass || !passVLAN && m.load(gmac4.MACPacketFilter)&dwregs.FilterVTFE != 0 {
		m.stat.filtered.Add(1)
		return kick
	}
	fr := &m.rx.frame
	*fr = dwmac.RXFrame{Status: [4]uint32{3: gmac4.RDES3RS2V | lengthType(f, typ, tagged)}}
	fr.Status[2] = uint32(max(r.Slot, 0)) << 19
	if r.Hash {
		fr.Status[2] |= gmac4.RDES2HF
	}
	if r.FailDA {
		fr.Status[2] |= gmac4.RDES2DAF
	}
	if r.FailSource {
		fr.Status[2] |= gmac4.RDES2SAF
	}
	f = m.judge(fr, f, config, tagged, good)
	q := m.route(f, tagged, tci)
	if q >= m.cfg.Queues || m.load(gmac4.MACRxQCtrl0)&gmac4.RxQEnable(q) == 0 {
		m.stat.noQueue.Add(1)
		return kick
	}
	fr.Channel = m.channelOf(q, r)
	if fr.Channel >= m.cfg.Queues || m.dropsError(q, fr, len(f)+dwmac.FCSLen) || !m.checksum(q, fr, f, config) {
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
	case tagged && len(f) >= 18 && binary.BigEndian.Uint16(f[16:]) == dwmac.TypeVLAN:
		lt = gmac4.LTDoubleVLAN
	case tagged:
		lt = gmac4.LTVLAN
	case typ == dwmac.TypeARP && len(f) >= 22 && f[20] == 0 && f[21] == 1:
		lt = gmac4.LTARP
	case typ == dwmac.TypeControl:
		lt = gmac4.LTControl
	case typ < dwmac.TypeLeast:
		lt = gmac4.LTLength
	}
	return field.Put(gmac4.RDES3LT, lt)
}

// judge finds length and CRC errors, counts the frame, and returns it cut to what
// the receive watchdog lets through.
func (m *Model) judge(fr *dwmac.RXFrame, f []byte, config uint32, tagged, good bool) []byte {
	n := len(f) + dwmac.FCSLen
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
		f, n, good = f[:limit-dwmac.FCSLen], limit, false
		fr.Status[3] |= gmac4.RDES3RWT | gmac4.RDES3ES
		m.mmc.Count(dwregs.MMCRxWatchdog, 1)
	}
	if n > giant {
		fr.Status[3] |= gmac4.RDES3GP | gmac4.RDES3ES
	}
	if !good {
		fr.Status[3] |= gmac4.RDES3CE | gmac4.RDES3ES
	}
	m.mmc.CountRX(f, n, giant, tagged, good)
	return f
}

// dropsError reports whether queue q drops a frame of n bytes for its errors.
func (m *Model) dropsError(q int, fr *dwmac.RXFrame, n int) bool {
	mode := m.queue(q, gmac4.RxQOpMode)
	if mode&gmac4.RxQOpFEP != 0 {
		return false
	}
	if fr.Status[3]&(gmac4.RDES3CE|gmac4.RDES3RWT) != 0 {
		return mode&gmac4.RxQOpRSF != 0
	}
	return n < dwmac.MinFrame && mode&gmac4.RxQOpFUP == 0
}

// layOut decides which bytes of the frame go to memory, and the rest of its
// status.
func (m *Model) layOut(fr *dwmac.RXFrame, f, fcs []byte, config uint32, typ uint16, tagged bool, tci uint16, passVLAN, good bool) {
	strip := config&gmac4.ConfigCST != 0
	if typ < dwmac.TypeLeast {
		if strip = config&gmac4.ConfigACS != 0; strip && 14+int(typ) < len(f) {
			f = f[:14+typ]
		}
	}
	if !strip && fcs == nil {
		m.rx.fcs = dwmac.FCS(f, good)
		fcs = m.rx.fcs[:]
	}
	fr.Pieces[0] = f
	if tagged && m.stripsVLAN(passVLAN) {
		fr.Pieces[0], fr.Pieces[1] = f[:12], f[16:]
		if m.load(gmac4.MACVLANTag)&gmac4.VLANTagEVLRXS != 0 {
			fr.Status[0] = uint32(tci)
			fr.Status[3] |= gmac4.RDES3RS0V
		}
	}
	if !strip {
		fr.Pieces[2] = fcs[:dwmac.FCSLen]
	}
	for _, p := range fr.Pieces {
		fr.N += len(p)
	}
	if m.faults.Hit(sim.Overflow) {
		fr.Pieces[0], fr.Pieces[1], fr.Pieces[2] = f[:len(f)/2], nil, nil
		fr.N = len(f) / 2
		fr.Status[3] |= gmac4.RDES3OE | gmac4.RDES3ES
		m.mmc.Count(dwregs.MMCRxOverflow, 1)
	}
	fr.Cut, fr.NoFirst = m.faults.Hit(sim.Truncated), m.faults.Hit(sim.MissingFirst)
	fr.BadCount = m.faults.Hit(sim.BadLength)
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
