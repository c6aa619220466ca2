package sun8i

import (
	"hash/crc32"
	"math/bits"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
)

// slot is one address filter that is enabled.
type slot struct {
	addr   mac.HardwareAddr
	ignore uint8 // bit i: byte i is not compared
}

func (s *slot) match(a mac.HardwareAddr) bool {
	for i, b := range s.addr {
		if b != a[i] && s.ignore>>i&1 == 0 {
			return false
		}
	}
	return true
}

// loadSlots reads the enabled address registers. Slot 0 always is. rx.mu is held.
func (m *Model) loadSlots() {
	m.rx.slots = m.rx.slots[:0]
	for n := range emac.AddrSlots {
		high, low := m.load(emac.AddrHigh(n)), m.load(emac.AddrLow(n))
		if n > 0 && high&(emac.AddrHighEn|emac.AddrHighSA) != emac.AddrHighEn {
			continue
		}
		s := slot{addr: mac.HardwareAddr{byte(low), byte(low >> 8), byte(low >> 16), byte(low >> 24), byte(high), byte(high >> 8)}}
		if n > 0 {
			s.ignore = uint8(field.Get(emac.AddrHighMask, high))
		}
		m.rx.slots = append(m.rx.slots, s)
	}
}

// filter decides whether a frame passes RX_FRM_FLT, and whether its address would
// have. rx.mu is held.
func (m *Model) filter(f []byte) (pass, matched bool) {
	flt, da := m.load(emac.RxFrmFlt), mac.HardwareAddr(f[:6])
	perfect := false
	for i := range m.rx.slots {
		perfect = perfect || m.rx.slots[i].match(da)
	}
	hash := func(on uint32) bool {
		if flt&on == 0 {
			return perfect
		}
		return m.inHash(da) || flt&emac.FltHashPerfect != 0 && perfect
	}
	inverse := flt&emac.FltDAInverse != 0
	switch {
	case flt&emac.FltDisAddr != 0:
		matched = true
	case da == mac.Broadcast:
		matched = flt&emac.FltDisBroadcast == 0
	case da.Multicast():
		matched = flt&emac.FltAllMulticast != 0 || hash(emac.FltHashMulti) != inverse
	default:
		matched = hash(emac.FltHashUni) != inverse
	}
	return matched || flt&emac.FltAll != 0, matched
}

// inHash looks an address up in the hash table: its bin is the top bits of the
// bit-reversed CRC-32 of the address.
func (m *Model) inHash(a mac.HardwareAddr) bool {
	bin := bits.Reverse32(crc32.ChecksumIEEE(a[:])) >> 26
	reg := emac.RxHash1
	if bin >= 32 {
		reg = emac.RxHash0
	}
	return m.load(reg)>>(bin%32)&1 != 0
}
