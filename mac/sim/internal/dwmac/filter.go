package dwmac

import (
	"hash/crc32"
	"math/bits"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
)

// Filter is an address filter. The caller serialises its methods.
type Filter struct {
	slots []slot
}

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

// Load takes over the n address slots whose registers words returns.
func (f *Filter) Load(n int, words func(n int) (high, low uint32)) {
	f.slots = f.slots[:0]
	for i := range n {
		high, low := words(i)
		if high&dwregs.AddrHighAE == 0 {
			continue
		}
		s := slot{
			addr:    mac.HardwareAddr{byte(low), byte(low >> 8), byte(low >> 16), byte(low >> 24), byte(high), byte(high >> 8)},
			channel: uint8(field.Get(dwregs.AddrHighDCS, high)), index: uint8(i),
		}
		if i > 0 {
			s.ignore, s.source = uint8(field.Get(dwregs.AddrHighMBC, high)), high&dwregs.AddrHighSA != 0
		}
		f.slots = append(f.slots, s)
	}
}

// Own reports whether a is the address in slot 0.
func (f *Filter) Own(a mac.HardwareAddr) bool {
	return len(f.slots) > 0 && f.slots[0].index == 0 && f.slots[0].addr == a
}

// Match is what an address filter found.
type Match struct {
	Pass       bool
	Hash       bool
	Slot       int // index of the perfect filter that matched, or -1
	Channel    int // its DMA channel
	FailDA     bool
	FailSource bool
}

// Decide decides whether a frame passes filter register mode. hash looks an
// address up in the hash table.
func (f *Filter) Decide(mode uint32, frame []byte, hash func(mac.HardwareAddr) bool) Match {
	r := Match{Slot: -1}
	da := mac.HardwareAddr(frame[:6])
	for i := range f.slots {
		if s := &f.slots[i]; !s.source && s.match(da[:]) {
			r.Slot, r.Channel = int(s.index), int(s.channel)
			break
		}
	}
	inTable := func(on uint32) (pass bool) {
		perfect := r.Slot >= 0
		if mode&on == 0 {
			return perfect
		}
		r.Hash = hash(da)
		return r.Hash || mode&dwregs.FilterHPF != 0 && perfect
	}
	inverse := mode&dwregs.FilterDAIF != 0
	pass := false
	switch {
	case mode&dwregs.FilterPR != 0:
		return Match{Pass: true, Slot: r.Slot, Channel: r.Channel}
	case da == mac.Broadcast:
		pass = mode&dwregs.FilterDBF == 0
	case da.Multicast():
		pass = mode&dwregs.FilterPM != 0 || inTable(dwregs.FilterHMC) != inverse
	default:
		pass = inTable(dwregs.FilterHUC) != inverse
	}
	r.FailDA = !pass
	if mode&dwregs.FilterSAF != 0 {
		r.FailSource = f.fromSource(frame[6:12]) == (mode&dwregs.FilterSAIF != 0)
		pass = pass && !r.FailSource
	}
	r.Pass = pass || mode&dwregs.FilterRA != 0
	return r
}

func (f *Filter) fromSource(a []byte) bool {
	for i := range f.slots {
		if s := &f.slots[i]; s.source && s.match(a) {
			return true
		}
	}
	return false
}

// HashBin is the bin of an address in a table of bins, a power of two: the top
// bits of the bit-reversed CRC-32 of the address.
func HashBin(a mac.HardwareAddr, bins int) int {
	return int(bits.Reverse32(crc32.ChecksumIEEE(a[:])) >> (33 - bits.Len(uint(bins))))
}
