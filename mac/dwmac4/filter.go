package dwmac4

import (
	"hash/crc32"
	"math/bits"
	"slices"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// filterState is what the address filter's registers hold. After a reset they
// hold its zero value.
type filterState struct {
	mode  uint32                // MAC_Packet_Filter
	hash  [8]uint32             // MAC_Hash_Table_Reg
	slots [127]mac.HardwareAddr // MAC_Address1 and up; zero is unused
}

// hashBin is the bin of a in a hash table of bins entries, 64, 128 or 256: the
// top bits of the bit-reversed CRC-32 of the address.
func hashBin(a mac.HardwareAddr, bins int) int {
	top := bits.Reverse32(crc32.ChecksumIEEE(a[:]))
	return int(top >> (32 - bits.TrailingZeros(uint(bins))))
}

// plan works out the filter for f on a core with perfect slots and bins. It
// starts from what is programmed: an address keeps the slot it has.
//
// Exact slots go to station addresses first and then to groups. What is left is
// hashed; with no hash table, or more addresses left than it has bins, all groups
// or everything passes.
func (now *filterState) plan(f mac.Filter, perfect, bins int) filterState {
	// Frames for hash and exact matches pass; pause frames end in the MAC.
	next := filterState{mode: gmac4.FilterHPF}
	if f.Promiscuous {
		next.slots = now.slots
		next.mode |= gmac4.FilterPR | gmac4.Put(gmac4.FilterPCF, gmac4.PCFAll)
		return next
	}
	if f.AllMulticast {
		f.Multicast = nil
		next.mode |= gmac4.FilterPM
	}
	unicast, multicast := now.place(next.slots[:min(perfect, len(next.slots))], f)
	if len(unicast) > bins {
		next.mode |= gmac4.FilterPR
		return next
	}
	if len(unicast) > 0 {
		next.mode |= gmac4.FilterHUC
		next.addHash(unicast, bins)
	}
	switch {
	case len(multicast) > bins:
		next.mode |= gmac4.FilterPM
	case len(multicast) > 0:
		next.mode |= gmac4.FilterHMC
		next.addHash(multicast, bins)
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
		b := hashBin(a, bins)
		s.hash[b/32] |= 1 << (b % 32)
	}
}

// SetFilter implements mac.Core.SetFilter. It never touches address 0, the
// station's own. While frames flow the filter is widened first and narrowed last:
// an address wanted before and after passes all the time.
func (c *Core) SetFilter(f mac.Filter) error {
	next := c.filter.plan(f, c.info.PerfectFilters, c.info.HashBins)
	hash := next.hash
	for i := range hash {
		hash[i] |= c.filter.hash[i]
	}
	c.writeHash(hash)
	c.writeMode(next.mode | c.filter.mode)
	for i, a := range next.slots {
		if a == c.filter.slots[i] {
			continue
		}
		if a == (mac.HardwareAddr{}) {
			c.regs.Write32(gmac4.AddrHigh(i+1), 0)
			c.regs.Write32(gmac4.AddrLow(i+1), 0)
		} else {
			c.writeAddress(i+1, a)
		}
	}
	c.filter.slots = next.slots
	c.writeHash(next.hash)
	c.writeMode(next.mode)
	return nil
}

func (c *Core) writeHash(hash [8]uint32) {
	for i, v := range hash {
		if v != c.filter.hash[i] {
			c.regs.Write32(gmac4.HashTable(i), v)
		}
	}
	c.filter.hash = hash
}

func (c *Core) writeMode(mode uint32) {
	if mode != c.filter.mode {
		c.regs.Write32(gmac4.MACPacketFilter, mode)
		c.filter.mode = mode
	}
}
