package eqos

import (
	"encoding/binary"
	"sync"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// receiver is the receive half: address filter, FIFO queues and DMA channels. mu
// guards all of it but the atomics.
type receiver struct {
	mu      sync.Mutex
	ch      [maxChannels]rxChannel
	q       [maxChannels]rxQueue
	filter  dwmac.Filter
	pad     [dwmac.MinFrame - dwmac.FCSLen]byte // a short frame, padded
	fcs     [dwmac.FCSLen]byte
	arrival Arrival
	frame   dwmac.RXFrame
	junk    uint64
}

// MaxFrame is the longest frame in bytes, with FCS.
const MaxFrame = 16383

// Arrival is a frame on its way through the MAC.
type Arrival struct {
	// Frame is without FCS, and cut to what the receive watchdog lets through.
	Frame []byte
	Type  uint16
	// Tagged frames have the tag TCI.
	Tagged bool
	TCI    uint16
	Match  dwmac.Match
	// BadCRC, Watchdog, Giant and Overflow are what is wrong with it.
	BadCRC, Watchdog, Giant, Overflow bool
	// Verdict is the checksum engine's, with Checked.
	Checked bool
	Verdict offload.Verdict
	// TagWanted: the tag has been stripped, and goes into the descriptor.
	TagWanted bool
	// Hash is for the model.
	Hash   uint32
	Hashed bool
}

// DoubleTagged reports whether a second tag follows the first.
func (a *Arrival) DoubleTagged() bool {
	return a.Tagged && len(a.Frame) >= 18 && binary.BigEndian.Uint16(a.Frame[16:]) == dwmac.TypeVLAN
}

// arriving is a frame at the MAC's door.
func (m *Engine) arriving(frame []byte) {
	if m.faults.Hit(sim.LinkFlap) {
		sim.FlapLink(m.clock, *m.link.Load(), m.setLink)
	}
	if m.onWire() {
		m.deliver(frame)
	}
}

func (m *Engine) deliver(frame []byte) {
	if len(frame) < 14 || m.closed.Load() {
		return
	}
	m.rx.mu.Lock()
	kick := m.arrive(dwmac.Pad(&m.rx.pad, frame), nil, true)
	m.rx.mu.Unlock()
	if kick {
		m.txEngine.Kick()
	}
}

func (m *Engine) deliverWire(wire []byte) {
	if !m.onWire() || m.closed.Load() || len(wire) == 0 {
		return
	}
	if len(wire) < 14+dwmac.FCSLen {
		if m.mac.Receiving().On {
			m.count.Count(dwregs.MMCRxRunt, 1)
		}
		return
	}
	m.rx.mu.Lock()
	kick := m.arrive(dwmac.SplitFCS(wire))
	m.rx.mu.Unlock()
	if kick {
		m.txEngine.Kick()
	}
}

// arrive takes a frame from the wire through the MAC. fcs is nil when it is
// simply right. It reports whether the transmitter has something to do now.
// rx.mu is held.
func (m *Engine) arrive(f, fcs []byte, good bool) (kick bool) {
	set := m.mac.Receiving()
	if !set.On || m.faults.Hit(sim.DropFrame) {
		return false
	}
	if m.faults.Hit(sim.BadCRC) {
		good = false
	}
	a := &m.rx.arrival
	*a = Arrival{Frame: f, Type: binary.BigEndian.Uint16(f[12:]), BadCRC: !good}
	a.Tagged = len(f) >= 18 && (a.Type == dwmac.TypeVLAN || a.Type == dwmac.TypeSVLAN && m.Load(gmac4.MACVLANTag)&gmac4.VLANTagESVL != 0)
	if a.Tagged {
		a.TCI = binary.BigEndian.Uint16(f[14:])
	}
	mode := m.Load(gmac4.MACPacketFilter)
	a.Match = m.rx.filter.Decide(mode, f, m.inHash)
	if a.Type == dwmac.TypeControl {
		kick = m.pauseFrame(f, good)
		a.Match.Pass = dwmac.PassControl(field.Get(dwregs.FilterPCF, mode), f, a.Match.Pass)
	}
	passVLAN := m.passesVLAN(a.Tagged, a.TCI)
	if !a.Match.Pass || !passVLAN && mode&dwregs.FilterVTFE != 0 {
		m.stat.filtered.Add(1)
		return kick
	}
	m.judge(a, &set)
	q := m.mac.Route(a)
	if q >= m.cfg.RXQueues || !m.enabled(q) {
		m.stat.noQueue.Add(1)
		return kick
	}
	fr := &m.rx.frame
	*fr = dwmac.RXFrame{Channel: m.mac.ChannelOf(q, a)}
	if fr.Channel >= m.cfg.Channels || m.dropsError(q, a) || set.Checksum && !m.checksum(q, a) {
		return kick
	}
	m.layOut(fr, a, fcs, &set, passVLAN)
	m.mac.Status(a, fr)
	m.queueFrame(q, fr)
	return kick || m.tx.pause.Load() != 0
}

// passesVLAN is the VLAN filter (VTFE with one tag in MAC_VLAN_Tag): frames
// without tag pass, and all do while no VID is set.
func (m *Engine) passesVLAN(tagged bool, tci uint16) bool {
	r := m.Load(gmac4.MACVLANTag)
	vl := uint16(field.Get(gmac4.VLANTagVL, r))
	if !tagged {
		return true
	}
	if r&gmac4.VLANTagETV != 0 {
		vl, tci = vl&0xfff, tci&0xfff
	}
	return vl == 0 || (vl == tci) != (r&gmac4.VLANTagVTIM != 0)
}

// Priority is the queue of a tagged frame by its priority, by MAC_RxQ_Ctrl2 and 3.
func (m *Engine) Priority(tci uint16) int {
	for q := range m.cfg.RXQueues {
		if q < 8 && m.Load(gmac4.MACRxQCtrl2+4*uint32(q/4))>>(8*(q%4))&0xff>>(tci>>13)&1 != 0 {
			return q
		}
	}
	return 0
}

// judge finds length errors, counts the frame, and cuts it to what the receive
// watchdog lets through.
func (m *Engine) judge(a *Arrival, set *Receiving) {
	n, giant := len(a.Frame)+dwmac.FCSLen, set.Giant
	if a.Tagged && !set.FixedGiant {
		giant += 4
	}
	if n > set.Limit {
		a.Frame, n, a.BadCRC, a.Watchdog = a.Frame[:set.Limit-dwmac.FCSLen], set.Limit, true, true
		m.count.Count(dwregs.MMCRxWatchdog, 1)
	}
	a.Giant = n > giant
	dwmac.CountRX(m.count, a.Frame, n, giant, a.Tagged, !a.BadCRC)
}

// dropsError reports whether queue q drops a frame for its errors.
func (m *Engine) dropsError(q int, a *Arrival) bool {
	mode := m.Queue(q, m.at.RxQOpMode)
	if mode&gmac4.RxQOpFEP != 0 {
		return false
	}
	if a.BadCRC {
		return mode&gmac4.RxQOpRSF != 0
	}
	return len(a.Frame)+dwmac.FCSLen < dwmac.MinFrame && mode&gmac4.RxQOpFUP == 0
}

// checksum is the receive checksum engine. It reports false when queue q drops the
// frame for it.
func (m *Engine) checksum(q int, a *Arrival) bool {
	v := offload.Check(a.Frame)
	a.Checked, a.Verdict = true, v
	if !a.BadCRC && !a.Giant {
		dwmac.CountIPC(m.count, v)
	}
	const keep = gmac4.RxQOpFEP | gmac4.RxQOpDISTCPEF
	mode := m.Queue(q, m.at.RxQOpMode)
	return !v.HeaderError && !v.PayloadError || mode&keep != 0 || mode&gmac4.RxQOpRSF == 0
}

// layOut decides which bytes of the frame go to memory.
func (m *Engine) layOut(fr *dwmac.RXFrame, a *Arrival, fcs []byte, set *Receiving, passVLAN bool) {
	f, strip := a.Frame, set.StripType
	if a.Type < dwmac.TypeLeast {
		if strip = set.StripLength; strip && 14+int(a.Type) < len(f) {
			f = f[:14+a.Type]
		}
	}
	if !strip && fcs == nil {
		m.rx.fcs = dwmac.FCS(f, !a.BadCRC)
		fcs = m.rx.fcs[:]
	}
	fr.Pieces[0] = f
	if a.Tagged && m.stripsVLAN(passVLAN) {
		fr.Pieces[0], fr.Pieces[1] = f[:12], f[16:]
		a.TagWanted = m.Load(gmac4.MACVLANTag)&gmac4.VLANTagEVLRXS != 0
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
		a.Overflow = true
		m.count.Count(dwregs.MMCRxOverflow, 1)
	}
	fr.Cut, fr.NoFirst = m.faults.Hit(sim.Truncated), m.faults.Hit(sim.MissingFirst)
	fr.BadCount = m.faults.Hit(sim.BadLength)
}

// stripsVLAN is VLAN_TAG.EVLS.
func (m *Engine) stripsVLAN(pass bool) bool {
	switch field.Get(gmac4.VLANTagEVLS, m.Load(gmac4.MACVLANTag)) {
	case 1:
		return pass
	case 2:
		return !pass
	case 3:
		return true
	}
	return false
}
