package dwmac

import (
	"hash/crc32"
	"math/bits"
	"slices"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
)

// FilterRegisters says where the registers of an address filter are and how much
// it holds.
type FilterRegisters struct {
	// Mode is the frame or packet filter register.
	Mode uint32
	// AddrHigh and AddrLow are address slot n. Slot 0 is the station's own.
	AddrHigh, AddrLow func(n int) uint32
	// Hash is the register of bins 32*n to 32*n+31.
	Hash func(n int) uint32
	// Perfect is the number of slots beside slot 0, at most 127. Bins is 0, 64,
	// 128 or 256.
	Perfect, Bins int
	// Modes are the bits of Mode. Zero: those of GMAC3, GMAC4 and XGMAC.
	Modes FilterModes
}

// FilterModes are the bits of a filter's mode register.
type FilterModes struct {
	// Always is set at all times.
	Always uint32
	// Everything passes all frames but MAC control frames, Control those too.
	Everything, Control uint32
	AllMulticast        uint32
	// HashUnicast and HashMulticast pass what the hash table has.
	HashUnicast, HashMulticast uint32
}

// synopsysModes pass frames for hash and exact matches; pause frames end in the
// MAC.
func synopsysModes() FilterModes {
	return FilterModes{
		Always:     dwregs.FilterHPF,
		Everything: dwregs.FilterPR, Control: field.Put(dwregs.FilterPCF, dwregs.PCFAll),
		AllMulticast: dwregs.FilterPM,
		HashUnicast:  dwregs.FilterHUC, HashMulticast: dwregs.FilterHMC,
	}
}

// Filter is the address filter of a core. Its methods are serialised by the
// caller.
type Filter struct {
	regs mac.Registers
	at   FilterRegisters
	now  filterState
}

// filterState is what the registers of a filter hold. After a reset they hold its
// zero value.
type filterState struct {
	mode  uint32
	hash  [8]uint32
	slots [127]mac.HardwareAddr // slot 1 and up; zero is unused
}

// NewFilter returns the filter at these registers, as after a reset.
func NewFilter(regs mac.Registers, at FilterRegisters) Filter {
	at.Perfect = min(max(at.Perfect, 0), len(filterState{}.slots))
	if at.Modes == (FilterModes{}) {
		at.Modes = synopsysModes()
	}
	return Filter{regs: regs, at: at}
}

// Reset says that the core has been reset.
func (f *Filter) Reset() { f.now = filterState{} }

// Address reads the station address.
func (f *Filter) Address() mac.HardwareAddr {
	hi, lo := f.regs.Read32(f.at.AddrHigh(0)), f.regs.Read32(f.at.AddrLow(0))
	return mac.HardwareAddr{byte(lo), byte(lo >> 8), byte(lo >> 16), byte(lo >> 24), byte(hi), byte(hi >> 8)}
}

// SetAddress writes the station address.
func (f *Filter) SetAddress(a mac.HardwareAddr) { f.write(0, a) }

// write fills address slot n; High first, the core takes both with Low.
func (f *Filter) write(n int, a mac.HardwareAddr) {
	hi, lo := AddressWords(a)
	f.regs.Write32(f.at.AddrHigh(n), hi|dwregs.AddrHighAE)
	f.regs.Write32(f.at.AddrLow(n), lo)
}

// AddressWords is an address as the two registers of a slot hold it.
func AddressWords(a mac.HardwareAddr) (hi, lo uint32) {
	return uint32(a[5])<<8 | uint32(a[4]),
		uint32(a[3])<<24 | uint32(a[2])<<16 | uint32(a[1])<<8 | uint32(a[0])
}

// HashBin is the bin of a in a hash table of bins entries, 64, 128 or 256: the
// top bits of the bit-reversed CRC-32 of the address.
func HashBin(a mac.HardwareAddr, bins int) int {
	top := bits.Reverse32(crc32.ChecksumIEEE(a[:]))
	return int(top >> (32 - bits.TrailingZeros(uint(bins))))
}

// Set programs the filter. It never touches slot 0. While frames flow the filter
// is widened first and narrowed last: an address wanted before and after passes
// all the time.
func (f *Filter) Set(want mac.Filter) {
	next := f.now.plan(want, &f.at)
	hash := next.hash
	for i := range hash {
		hash[i] |= f.now.hash[i]
	}
	f.writeHash(hash)
	f.writeMode(next.mode | f.now.mode)
	for i, a := range next.slots[:f.at.Perfect] {
		if a == f.now.slots[i] {
			continue
		}
		if a == (mac.HardwareAddr{}) {
			f.regs.Write32(f.at.AddrHigh(i+1), 0)
			f.regs.Write32(f.at.AddrLow(i+1), 0)
		} else {
			f.write(i+1, a)
		}
	}
	f.now.slots = next.slots
	f.writeHash(next.hash)
	f.writeMode(next.mode)
}

func (f *Filter) writeHash(hash [8]uint32) {
	for i, v := range hash {
		if v != f.now.hash[i] {
			f.regs.Write32(f.at.Hash(i), v)
		}
	}
	f.now.hash = hash
}

func (f *Filter) writeMode(mode uint32) {
	if mode != f.now.mode {
		f.regs.Write32(f.at.Mode, mode)
		f.now.mode = mode
	}
}

// plan works out the filter for f on a core with perfect slots and bins. It
// starts from what is programmed: an address keeps the slot it has.
//
// Exact slots go to station addresses first and then to groups. What is left is
// hashed; with no hash table, or more addresses left than it has bins, all groups
// or everything passes.
func (now *filterState) plan(f mac.Filter, at *FilterRegisters) filterState {
	next := filterState{mode: at.Modes.Always}
	if f.Promiscuous {
		next.slots = now.slots
		next.mode |= at.Modes.Everything | at.Modes.Control
		return next
	}
	if f.AllMulticast {
		f.Multicast = nil
		next.mode |= at.Modes.AllMulticast
	}
	unicast, multicast := now.place(next.slots[:at.Perfect], f)
	if len(unicast) > at.Bins {
		next.mode |= at.Modes.Everything
		return next
	}
	if len(unicast) > 0 {
		next.mode |= at.Modes.HashUnicast
		next.addHash(unicast, at.Bins)
	}
	switch {
	case len(multicast) > at.Bins:
		next.mode |= at.Modes.AllMulticast
	case len(multicast) > 0:
		next.mode |= at.Modes.HashMulticast
		next.addHash(multicast, at.Bins)
	}
	return next
}

// place fills the exact slots and returns the addresses that found none. Only a
// station address that finds no free slot moves a group out of its own.
func (now *filterState) place(slots []mac.HardwareAddr, f mac.Filter) (unicast, multicast []mac.HardwareAddr) {
	freshUnicast, freshMulticast := now.keep(slots, f.Unicast), now.keep(slots, f.Multicast)
	for _, a := range freshUnicast {
		i := slices.Index(slots, mac.HardwareAddr{})
		if i < 0 {
			if i = slices.IndexFunc(slots, mac.HardwareAddr.Multicast); i < 0 {
				unicast = append(unicast, a)
				continue
			}
			multicast = append(multicast, slots[i])
		}
		slots[i] = a
	}
	for _, a := range freshMulticast {
		if i := slices.Index(slots, mac.HardwareAddr{}); i >= 0 {
			slots[i] = a
		} else {
			multicast = append(multicast, a)
		}
	}
	return unicast, multicast
}

// keep puts addresses that have a slot into the same one again and returns the
// others.
func (now *filterState) keep(slots, addrs []mac.HardwareAddr) (fresh []mac.HardwareAddr) {
	for _, a := range addrs {
		if i := slices.Index(now.slots[:len(slots)], a); i >= 0 {
			slots[i] = a
		} else {
			fresh = append(fresh, a)
		}
	}
	return fresh
}

func (s *filterState) addHash(addrs []mac.HardwareAddr, bins int) {
	for _, a := range addrs {
		b := HashBin(a, bins)
		s.hash[b/32] |= 1 << (b % 32)
	}
}
