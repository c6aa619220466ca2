package dwmac1000

import (
	"encoding/binary"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// maxFrame is the longest frame in bytes, with FCS.
const maxFrame = 16383

// Words of RXFrame.Status.
const (
	status0 = iota // RDES0
	status4        // RDES4, of extended descriptors
)

// writeAddress is a write to an address register. The core takes both over when
// Low is written.
func (m *Model) writeAddress(off, v uint32) {
	n := int(off-gmac3.AddrHigh(0)) / 8
	if off >= gmac3.AddrHigh(16) {
		n = 16 + int(off-gmac3.AddrHigh(16))/8
	}
	if n > m.cfg.PerfectSlots {
		return
	}
	if n == 0 && off == gmac3.AddrHigh(0) {
		v |= dwregs.AddrHighAE
	}
	m.store(off, v)
	if off == gmac3.AddrLow(n) {
		m.rx.mu.Lock()
		m.loadSlots()
		m.rx.mu.Unlock()
	}
}

// loadSlots has the filter take over the address registers. rx.mu is held.
func (m *Model) loadSlots() {
	m.rx.filter.Load(m.cfg.PerfectSlots+1, func(n int) (high, low uint32) {
		return m.load(gmac3.AddrHigh(n)) &^ dwregs.AddrHighDCS, m.load(gmac3.AddrLow(n))
	})
}

// inHash looks an address up in the hash table.
func (m *Model) inHash(a mac.HardwareAddr) bool {
	if m.cfg.HashBins == 0 {
		return false
	}
	bin := dwmac.HashBin(a, m.cfg.HashBins)
	return m.load(gmac3.HashTable(m.cfg.HashBins, bin/32))>>(bin%32)&1 != 0
}

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
		m.txEngine.Kick()
	}
}

// DeliverWire delivers what is on the wire as it is: FCS included, right or wrong,
// and of any length.
func (m *Model) DeliverWire(wire []byte) {
	if !m.onWire() || m.closed.Load() || len(wire) == 0 {
		return
	}
	if len(wire) < 14+dwmac.FCSLen {
		if m.load(gmac3.MACConfig)&gmac3.ConfigRE != 0 {
			m.mmc.Count(dwregs.MMCRxRunt, 1)
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

// arrive takes a frame from the wire through the MAC. fcs is nil when it is simply
// right. It reports whether the transmitter has something to do now. rx.mu is held.
func (m *Model) arrive(f, fcs []byte, good bool) (kick bool) {
	config := m.load(gmac3.MACConfig)
	if config&gmac3.ConfigRE == 0 || m.faults.Hit(sim.DropFrame) {
		return false
	}
	if m.faults.Hit(sim.BadCRC) {
		good = false
	}
	typ := binary.BigEndian.Uint16(f[12:])
	tagged := len(f) >= 18 && typ == dwmac.TypeVLAN
	mode := m.load(gmac3.MACFilter)
	r := m.rx.filter.Decide(mode, f, m.inHash)
	if typ == dwmac.TypeControl {
		kick = m.pauseFrame(f, good)
		r.Pass = dwmac.PassControl(field.Get(dwregs.FilterPCF, mode), f, r.Pass)
	}
	if !r.Pass || mode&dwregs.FilterVTFE != 0 && tagged && !m.passesVLAN(binary.BigEndian.Uint16(f[14:])) {
		m.stat.filtered.Add(1)
		return kick
	}
	fr := &m.rx.frame
	*fr = dwmac.RXFrame{}
	w0 := &fr.Status[status0]
	for _, x := range [...]struct {
		on  bool
		bit uint32
	}{
		{typ >= dwmac.TypeLeast, gmac3.RDES0FT}, {tagged, gmac3.RDES0VLAN},
		{r.FailDA, gmac3.RDES0AFM}, {r.FailSource, gmac3.RDES0SAF},
		{typ < dwmac.TypeLeast && 14+int(typ) > len(f), gmac3.RDES0LE},
		// Without the engine these two say something else.
		{config&gmac3.ConfigIPC == 0 && r.Slot > 0, gmac3.RDES0Payload},
	} {
		if x.on {
			*w0 |= x.bit
		}
	}
	f = m.judge(fr, f, config, tagged, good)
	m.rx.trailer = m.rx.trailer[:0]
	if m.dropsError(*w0, len(f)+dwmac.FCSLen) || !m.checksum(fr, f, config) {
		return kick
	}
	m.layOut(fr, f, fcs, config, typ, good)
	m.queueFrame(fr)
	return kick || m.tx.pause.Load() != 0
}

// passesVLAN is the VLAN filter for a tagged frame. All pass while no VID is set.
func (m *Model) passesVLAN(tci uint16) bool {
	r := m.load(gmac3.MACVLANTag)
	vl := uint16(r & gmac3.VLANTagVL)
	if r&gmac3.VLANTagETV != 0 {
		vl, tci = vl&0xfff, tci&0xfff
	}
	return vl == 0 || vl == tci
}

// judge finds length and CRC errors, counts the frame, and returns it cut to what
// the receive watchdog lets through.
func (m *Model) judge(fr *dwmac.RXFrame, f []byte, config uint32, tagged, good bool) []byte {
	n := len(f) + dwmac.FCSLen
	limit, giant := maxFrame, 1518
	if config&gmac3.ConfigWD == 0 {
		limit = 2048
		if config&gmac3.ConfigJE != 0 {
			limit = 10240
		}
	}
	switch {
	case config&gmac3.ConfigJE != 0:
		giant = 9018
	case config&gmac3.Config2K != 0:
		giant = 2000
	}
	if tagged && giant != 2000 {
		giant += 4
	}
	w0 := &fr.Status[status0]
	if n > limit {
		f, n, good = f[:limit-dwmac.FCSLen], limit, false
		*w0 |= gmac3.RDES0RWT | gmac3.RDES0ES
		m.mmc.Count(dwregs.MMCRxWatchdog, 1)
	}
	if m.rx.giant = n > giant; m.rx.giant {
		*w0 |= gmac3.RDES0ES
		if config&gmac3.ConfigIPC == 0 {
			*w0 |= gmac3.RDES0Header
		}
	}
	if !good {
		*w0 |= gmac3.RDES0CE | gmac3.RDES0ES
	}
	m.mmc.CountRX(f, n, giant, tagged, good)
	return f
}

// dropsError reports whether the FIFO drops a frame of n bytes for its errors.
func (m *Model) dropsError(w0 uint32, n int) bool {
	mode := m.load(gmac3.DMAOpMode)
	if mode&gmac3.OpFEF != 0 {
		return false
	}
	if w0&(gmac3.RDES0CE|gmac3.RDES0RWT) != 0 || m.rx.giant {
		return mode&gmac3.OpRSF != 0
	}
	return n < dwmac.MinFrame && mode&gmac3.OpFUF == 0
}

// checksum puts the verdict of the receive checksum engine into the frame's
// status. It reports false when the FIFO drops the frame for it.
func (m *Model) checksum(fr *dwmac.RXFrame, f []byte, config uint32) bool {
	if config&gmac3.ConfigIPC == 0 {
		return true
	}
	v := offload.Check(f)
	w0 := &fr.Status[status0]
	if *w0&gmac3.RDES0ES == 0 {
		m.mmc.CountIPC(v)
	}
	bad := v.HeaderError || v.PayloadError
	switch {
	case m.cfg.RXChecksum == 1:
		if v.HeaderError {
			*w0 |= gmac3.RDES0Header
		}
		m.rx.trailer = append(m.rx.trailer, payloadSum(f)...)
		return true
	case m.load(gmac3.DMABusMode)&gmac3.BusATDS != 0:
		*w0 |= gmac3.RDES0Payload // word 4 is valid
		fr.Status[status4] = extendedStatus(v)
		if v.HeaderError {
			*w0 |= gmac3.RDES0Header
		}
	default:
		*w0 = *w0&^gmac3.RDES0FT | m.shortStatus(v, *w0&gmac3.RDES0FT != 0)
	}
	if bad && m.cfg.SummarySums {
		*w0 |= gmac3.RDES0ES
	}
	const keep = gmac3.OpFEF | gmac3.OpDT
	mode := m.load(gmac3.DMAOpMode)
	return !bad || mode&keep != 0 || mode&gmac3.OpRSF == 0
}

// payloadSum is what an engine of type 1 appends: the checksum of what follows the
// IPv4 header, without pseudo-header.
func payloadSum(f []byte) []byte {
	_, at, ok := offload.EtherType(f, 1)
	if !ok || len(f) < at+20 || f[at]>>4 != 4 {
		return []byte{0, 0}
	}
	at = min(at+4*int(f[at]&15), len(f))
	return binary.BigEndian.AppendUint16(nil, offload.Sum(0).Add(f[at:]).Checksum())
}

// extendedStatus is RDES4.
func extendedStatus(v offload.Verdict) uint32 {
	w := uint32(v.Payload)
	for _, b := range [...]struct {
		on  bool
		bit uint32
	}{
		{v.IPv4, gmac3.RDES4IPV4}, {v.IPv6, gmac3.RDES4IPV6}, {v.HeaderError, gmac3.RDES4IPHE},
		{v.PayloadError, gmac3.RDES4IPPE}, {v.Bypassed, gmac3.RDES4IPCB},
	} {
		if b.on {
			w |= b.bit
		}
	}
	return w
}

// shortStatus are FT and the two checksum bits of RDES0 where there is no RDES4.
// isType says that the frame has a type and not a length.
func (m *Model) shortStatus(v offload.Verdict, isType bool) uint32 {
	unknown := !v.HeaderError && v.Payload == offload.Unknown
	switch {
	case !isType:
		return 0
	case unknown && m.cfg.VouchesForAll:
		return gmac3.RDES0FT
	case !v.IPv4 && !v.IPv6:
		return gmac3.RDES0Header | gmac3.RDES0Payload
	case v.HeaderError:
		return gmac3.RDES0FT | gmac3.RDES0Header
	case unknown:
		return gmac3.RDES0Payload
	case v.PayloadError:
		return gmac3.RDES0FT | gmac3.RDES0Payload
	}
	return gmac3.RDES0FT
}

// layOut decides which bytes of the frame go to memory, and the rest of its
// status.
func (m *Model) layOut(fr *dwmac.RXFrame, f, fcs []byte, config uint32, typ uint16, good bool) {
	strip := config&gmac3.ConfigCST != 0
	if typ < dwmac.TypeLeast {
		if strip = config&gmac3.ConfigACS != 0; strip && 14+int(typ) < len(f) {
			f = f[:14+typ]
		}
	}
	if !strip {
		if fcs == nil {
			m.rx.fcs = dwmac.FCS(f, good)
			fcs = m.rx.fcs[:]
		}
		fr.Pieces[1] = fcs[:dwmac.FCSLen]
	}
	fr.Pieces[0], fr.Pieces[2] = f, m.rx.trailer
	for _, p := range fr.Pieces {
		fr.N += len(p)
	}
	if m.faults.Hit(sim.Overflow) {
		fr.Pieces = [3][]byte{f[:len(f)/2]}
		fr.N = len(f) / 2
		fr.Status[status0] |= gmac3.RDES0OE | gmac3.RDES0ES
		m.mmc.Count(dwregs.MMCRxOverflow, 1)
	}
	fr.Cut, fr.NoFirst = m.faults.Hit(sim.Truncated), m.faults.Hit(sim.MissingFirst)
	fr.BadCount = m.faults.Hit(sim.BadLength)
}
