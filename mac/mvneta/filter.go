package mvneta

import (
	"bytes"
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/neta"
)

// filterState is what the address filter's registers are to hold. Every entry that
// accepts names queue 0, the default: another one would take its frames elsewhere.
type filterState struct {
	address     mac.HardwareAddr
	filter      mac.Filter
	everyone    bool       // unicast to anybody
	unicast     [4]uint32  // by the last four bits of the address
	special     [64]uint32 // 01:00:5e:00:00:xx, exactly
	other       [64]uint32 // other groups, by CRC-8
	initialised bool
}

// specialGroup is the beginning of the groups that have entries of their own.
var specialGroup = []byte{0x01, 0x00, 0x5e, 0x00, 0x00}

const acceptFour = neta.EntryAccept | neta.EntryAccept<<8 | neta.EntryAccept<<16 | neta.EntryAccept<<24

// plan works out the filter for address a. Further stations pass by table when
// they differ from a in the last four bits alone, and otherwise everybody's do.
func plan(a mac.HardwareAddr, f mac.Filter) filterState {
	s := filterState{address: a, filter: f, everyone: f.Promiscuous, initialised: true}
	for _, u := range f.Unicast {
		s.everyone = s.everyone || !bytes.Equal(u[:5], a[:5]) || u[5]>>4 != a[5]>>4
		accept(s.unicast[:], u[5]&15)
	}
	accept(s.unicast[:], a[5]&15)
	for _, g := range f.Multicast {
		if bytes.HasPrefix(g[:], specialGroup) {
			accept(s.special[:], g[5])
		} else {
			accept(s.other[:], neta.Hash(g))
		}
	}
	if s.everyone {
		fill(s.unicast[:])
	}
	if f.AllMulticast || f.Promiscuous {
		fill(s.special[:])
		fill(s.other[:])
	}
	return s
}

func accept(table []uint32, entry uint8) { table[entry/4] |= neta.EntryAccept << (8 * (entry % 4)) }

func fill(table []uint32) {
	for i := range table {
		table[i] = acceptFour
	}
}

// SetFilter implements mac.Core.SetFilter.
func (c *Core) SetFilter(f mac.Filter) error {
	c.writeFilter(plan(c.filter.address, f))
	return nil
}

// SetAddress implements mac.Core.SetAddress.
func (c *Core) SetAddress(a mac.HardwareAddr) error {
	if !a.Usable() {
		return fmt.Errorf("mvneta: address %s: neither zero nor a group can be a station: %w", a, mac.ErrConfig)
	}
	c.writeFilter(plan(a, c.filter.filter))
	return nil
}

// writeFilter programs next where it differs from what is. While frames flow the
// filter is opened to everyone first and closed last; an address in the tables
// before and after passes all the time.
func (c *Core) writeFilter(next filterState) {
	now := &c.filter
	fresh := !now.initialised
	if next.everyone && (fresh || !now.everyone) {
		c.set(neta.PortConfig, neta.ConfigPromiscuous)
		c.set(neta.TypePriority, neta.PriorityForceUnicast)
	}
	c.writeTable(neta.UnicastTable, now.unicast[:], next.unicast[:])
	c.writeTable(neta.SpecialTable, now.special[:], next.special[:])
	c.writeTable(neta.MulticastTable, now.other[:], next.other[:])
	if fresh || now.everyone != next.everyone || now.address != next.address {
		c.writeAddress(next.address, next.everyone)
	}
	if !next.everyone && (fresh || now.everyone) {
		c.clear(neta.PortConfig, neta.ConfigPromiscuous)
		c.clear(neta.TypePriority, neta.PriorityForceUnicast)
	}
	c.filter = next
}

// writeAddress programs the station address, which stands at all ones while
// everybody's frames pass (Linux).
func (c *Core) writeAddress(a mac.HardwareAddr, everyone bool) {
	if everyone {
		a = mac.Broadcast
	}
	c.regs.Write32(neta.MACLow, uint32(a[4])<<8|uint32(a[5]))
	c.regs.Write32(neta.MACHigh, uint32(a[0])<<24|uint32(a[1])<<16|uint32(a[2])<<8|uint32(a[3]))
}

func (c *Core) writeTable(base uint32, now, next []uint32) {
	for i, v := range next {
		if v != now[i] {
			c.regs.Write32(base+4*uint32(i), v)
		}
	}
}

// clearFilter writes zeros to all tables.
func (c *Core) clearFilter() {
	for i := range uint32(64) {
		c.regs.Write32(neta.SpecialTable+4*i, 0)
		c.regs.Write32(neta.MulticastTable+4*i, 0)
	}
	for i := range uint32(4) {
		c.regs.Write32(neta.UnicastTable+4*i, 0)
	}
	c.filter = filterState{}
}
