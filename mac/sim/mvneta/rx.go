package mvneta

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// Frame sizes in bytes.
const (
	fcsLen   = 4
	minFrame = 64 // with FCS
)

// Deliver implements sim.Port. A frame of less than 60 bytes is padded, as the
// sender's MAC does.
func (m *Model) Deliver(frame []byte) {
	if m.faults.Hit(sim.LinkFlap) {
		m.flap()
	}
	if len(frame) < 14 || m.closed.Load() {
		return
	}
	m.mu.Lock()
	if m.onWire() {
		m.deliver(frame)
		m.updateLine()
	}
	kick := m.tx.wanted
	m.tx.wanted = false
	m.mu.Unlock()
	if kick {
		m.kickTX()
	}
}

func (m *Model) deliver(frame []byte) {
	buf := append(m.tx.scratch[:0], 0, 0) // the Marvell header
	buf = append(buf, frame...)
	for len(buf) < neta.HeaderSize+minFrame-fcsLen {
		buf = append(buf, 0)
	}
	good := !m.faults.Hit(sim.BadCRC)
	sum := crc32.ChecksumIEEE(buf[neta.HeaderSize:])
	if !good {
		sum = ^sum
	}
	buf = binary.LittleEndian.AppendUint32(buf, sum)
	m.tx.scratch = buf
	m.arrive(buf, good)
}

// DeliverWire delivers what is on the wire as it is: FCS included, right or wrong,
// and of any length.
func (m *Model) DeliverWire(wire []byte) {
	if m.closed.Load() || len(wire) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.onWire() {
		return
	}
	if len(wire) < 14+fcsLen {
		m.count(neta.MIBRXFragments, 1)
		return
	}
	buf := append(append(m.tx.scratch[:0], 0, 0), wire...)
	m.tx.scratch = buf
	f := wire[:len(wire)-fcsLen]
	m.arrive(buf, crc32.ChecksumIEEE(f) == binary.LittleEndian.Uint32(wire[len(f):]))
	m.updateLine()
}

// arrive takes a frame from the wire through the MAC. buf has the Marvell header
// before it and the FCS behind it.
func (m *Model) arrive(buf []byte, good bool) {
	if m.faults.Hit(sim.DropFrame) {
		return
	}
	f := buf[neta.HeaderSize : len(buf)-fcsLen]
	typ := binary.BigEndian.Uint16(f[12:])
	if typ == typeControl && len(f) >= 18 {
		m.control(f, good)
		return
	}
	// The counters are the MAC's, ahead of the address filter.
	limit := 2 * int(field.Get(neta.GMAC0MaxRX, m.load(neta.GMAC0)))
	m.countRX(f, len(f)+fcsLen, limit, good)
	queue, pass, exact := m.filter(f, typ)
	if !pass {
		m.stats.Filtered++
		return
	}
	tagged := len(f) >= 18 && uint32(typ) == m.load(neta.VLANType)&0xFFFF
	queue = m.route(f, typ, tagged, queue)
	r := rxFrame{queue: queue, data: buf, status: m.status(f, tagged, exact)}
	fail := func(code uint32) { r.status |= neta.RXError | field.Put(neta.RXErrorCode, code) }
	switch {
	case len(f)+fcsLen > limit:
		r.data = buf[:neta.HeaderSize+limit]
		fail(neta.RXErrorLength)
	case !good:
		fail(neta.RXErrorCRC)
	case m.faults.Hit(sim.Overflow):
		r.data, r.overflow = buf[:len(buf)/2], true
		fail(neta.RXErrorOverrun)
	}
	r.cut, r.noFirst = m.faults.Hit(sim.Truncated), m.faults.Hit(sim.MissingFirst)
	r.size = uint32(len(r.data))
	if m.faults.Hit(sim.BadLength) {
		r.size = m.random()
	}
	if m.load(neta.RXCommand)>>queue&1 == 0 {
		m.count(neta.Discarded, 1)
		return
	}
	m.queueFrame(&r)
}

// status is what the parser finds out, with junk where sources disagree.
func (m *Model) status(f []byte, tagged, exact bool) uint32 {
	s := m.random() & (neta.RXL4Type | neta.RXBPDU)
	if !exact {
		s |= neta.RXUnknownDA
	}
	if tagged {
		s |= neta.RXVLAN
	}
	typ, at, ok := offload.EtherType(f, 1)
	if ok && typ >= typeLeast {
		s |= neta.RXEthernetII
	}
	v := offload.Check(f)
	if !v.IPv4 && !v.IPv6 {
		return s
	}
	s |= field.Put(neta.RXL3Offset, uint32(at))
	l3 := uint32(neta.L3IPv6)
	switch {
	case v.IPv4 && v.HeaderError:
		l3 = neta.L3IPv4Bad
	case v.IPv4:
		l3 = neta.L3IPv4Good
	}
	s |= field.Put(neta.RXL3Type, l3) | field.Put(neta.RXIPHeader, uint32(v.Header/4))
	if v.Fragment {
		s |= neta.RXFragment
	}
	// The pseudo header is part of the sum, if the port was told so.
	known := v.Payload == offload.TCP || v.Payload == offload.UDP
	if known && !v.PayloadError && !v.Bypassed && !v.HeaderError && m.load(neta.PortConfig)&neta.ConfigPseudo != 0 {
		s |= neta.RXL4OK
	}
	return s
}

func (m *Model) countRX(f []byte, n, limit int, good bool) {
	m.countFrame(n)
	switch {
	case !good && n > limit:
		m.count(neta.MIBRXJabber, 1)
	case !good && n < minFrame:
		m.count(neta.MIBRXFragments, 1)
	case !good:
		m.count(neta.MIBRXCRC, 1)
	case n > limit:
		m.count(neta.MIBRXOversize, 1)
	case n < minFrame:
		m.count(neta.MIBRXUndersize, 1)
	}
	if !good || n > limit {
		m.count(neta.MIBRXBadFrames, 1)
		m.count(neta.MIBRXBadOctets, n)
		return
	}
	m.count(neta.MIBRXFrames, 1)
	m.count(neta.MIBRXOctets, n)
	switch a := mac.HardwareAddr(f[:6]); {
	case a == mac.Broadcast:
		m.count(neta.MIBRXBroadcast, 1)
	case a.Multicast():
		m.count(neta.MIBRXMulticast, 1)
	}
}
