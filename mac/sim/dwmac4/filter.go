package dwmac4

import (
	"hash/crc32"
	"math/bits"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// slot is one perfect address filter as the core has taken it over.
type slot struct {
	addr    mac.HardwareAddr
	ignore  uint8 // bit i: byte i is not compared
	source  bool
	channel uint8
	index   uint8
}

func (s *slot) match(a []byte) bool {
	for i, b := range s.addr {
		if b != a[i] && s.ignore>>i&1 == 0 {
			return false
		}
	}
	return true
}

// writeAddress is a write to MAC_Address(n)_High or _Low. The core takes both
// over when Low is written.
func (m *Model) writeAddress(off, v uint32) {
	n := int(off-gmac4.AddrHigh(0)) / 8
	if n > m.cfg.PerfectSlots {
		return
	}
	if n == 0 && off == gmac4.AddrHigh(0) {
		v |= dwregs.AddrHighAE
	}
	m.store(off, v)
	if off == gmac4.AddrLow(n) {
		m.rx.mu.Lock()
		m.loadSlots()
		m.rx.mu.Unlock()
	}
}

// loadSlots reads the enabled address registers. rx.mu is held.
func (m *Model) loadSlots() {
	m.rx.slots = m.rx.slots[:0]
	for n := range m.cfg.PerfectSlots + 1 {
		high, low := m.load(gmac4.AddrHigh(n)), m.load(gmac4.AddrLow(n))
		if high&dwregs.AddrHighAE == 0 {
			continue
		}
		s := slot{
			addr:    mac.HardwareAddr{byte(low), byte(low >> 8), byte(low >> 16), byte(low >> 24), byte(high), byte(high >> 8)},
			channel: uint8(field.Get(dwregs.AddrHighDCS, high)), index: uint8(n),
		}
		if n > 0 {
			s.ignore, s.source = uint8(field.Get(dwregs.AddrHighMBC, high)), high&dwregs.AddrHighSA != 0
		}
		m.rx.slots = append(m.rx.slots, s)
	}
}

// match is what the address filter found.
type match struct {
	pass       bool
	hash       bool
	slot       int // index of the perfect filter that matched, or -1
	channel    int // its DMA channel
	failDA     bool
	failSource bool
}

// filter decides whether a frame passes MAC_Packet_Filter. rx.mu is held.
func (m *Model) filter(f []byte) match {
	pf := m.load(gmac4.MACPacketFilter)
	r := match{slot: -1}
	da := mac.HardwareAddr(f[:6])
	for i := range m.rx.slots {
		if s := &m.rx.slots[i]; !s.source && s.match(da[:]) {
			r.slot, r.channel = int(s.index), int(s.channel)
			break
		}
	}
	hash := func(on uint32) (pass bool) {
		perfect := r.slot >= 0
		if pf&on == 0 {
			return perfect
		}
		r.hash = m.inHash(da)
		return r.hash || pf&dwregs.FilterHPF != 0 && perfect
	}
	inverse := pf&dwregs.FilterDAIF != 0
	pass := false
	switch {
	case pf&dwregs.FilterPR != 0:
		return match{pass: true, slot: r.slot, channel: r.channel}
	case da == mac.Broadcast:
		pass = pf&dwregs.FilterDBF == 0
	case da.Multicast():
		pass = pf&dwregs.FilterPM != 0 || hash(dwregs.FilterHMC) != inverse
	default:
		pass = hash(dwregs.FilterHUC) != inverse
	}
	r.failDA = !pass
	if pf&dwregs.FilterSAF != 0 {
		r.failSource = m.fromSource(f[6:12]) == (pf&dwregs.FilterSAIF != 0)
		pass = pass && !r.failSource
	}
	r.pass = pass || pf&dwregs.FilterRA != 0
	return r
}

func (m *Model) fromSource(a []byte) bool {
	for i := range m.rx.slots {
		if s := &m.rx.slots[i]; s.source && s.match(a) {
			return true
		}
	}
	return false
}

// inHash looks an address up in the hash table: its bin is the top bits of the
// bit-reversed CRC-32 of the address.
func (m *Model) inHash(a mac.HardwareAddr) bool {
	if m.cfg.HashBins == 0 {
		return false
	}
	bin := bits.Reverse32(crc32.ChecksumIEEE(a[:])) >> (33 - bits.Len(uint(m.cfg.HashBins)))
	return m.load(gmac4.HashTable(int(bin/32)))>>(bin%32)&1 != 0
}

// passesVLAN is the VLAN filter (VTFE with one tag in MAC_VLAN_Tag): frames
// without tag pass, and all do while no VID is set.
func (m *Model) passesVLAN(tagged bool, tci uint16) bool {
	r := m.load(gmac4.MACVLANTag)
	vl := uint16(field.Get(gmac4.VLANTagVL, r))
	if !tagged {
		return true
	}
	if r&gmac4.VLANTagETV != 0 {
		vl, tci = vl&0xfff, tci&0xfff
	}
	return vl == 0 || (vl == tci) != (r&gmac4.VLANTagVTIM != 0)
}

// route picks the receive queue of a frame that has passed.
func (m *Model) route(f []byte, tagged bool, tci uint16) int {
	c1 := m.load(gmac4.MACRxQCtrl1)
	if f[0]&1 != 0 && c1&gmac4.RxQCtrl1MCBCQEN != 0 {
		return int(field.Get(gmac4.RxQCtrl1MCBCQ, c1))
	}
	if !tagged {
		return int(field.Get(gmac4.RxQCtrl1UPQ, c1))
	}
	for q := range m.cfg.Queues {
		if m.load(gmac4.MACRxQCtrl2+4*uint32(q/4))>>(8*(q%4))&0xff>>(tci>>13)&1 != 0 {
			return q
		}
	}
	return 0
}

// channelOf is the DMA channel of queue q, chosen by the address filter when the
// queue is mapped dynamically.
func (m *Model) channelOf(q int, r match) int {
	v := m.load(gmac4.RxQDMAMap(q)) >> (8 * (q % 4))
	c := int(v & 7)
	if v&0x10 != 0 && r.slot >= 0 {
		c = r.channel
	}
	return c
}
