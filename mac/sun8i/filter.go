package sun8i

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/emac"
)

// newFilter is the address filter: seven exact slots beside the own one, then all
// groups or everything. The hash table is not used: FreeBSD alone does. Linux and
// FreeBSD have everything pass with one bit each, which here are both set.
func (c *Core) newFilter() dwmac.Filter {
	return dwmac.NewFilter(c.regs, dwmac.FilterRegisters{
		Mode: emac.RxFrmFlt, AddrHigh: emac.AddrHigh, AddrLow: emac.AddrLow,
		Perfect: c.info.PerfectFilters,
		Modes: dwmac.FilterModes{
			Everything: emac.FltAll | emac.FltDisAddr, Control: emac.CtlAll << 12,
			AllMulticast: emac.FltAllMulticast,
		},
	})
}

// resetFilter clears what a reset may have left in the filter.
func (c *Core) resetFilter() {
	c.regs.Write32(emac.RxFrmFlt, 0)
	c.regs.Write32(emac.RxHash0, 0)
	c.regs.Write32(emac.RxHash1, 0)
	for n := 1; n < emac.AddrSlots; n++ {
		c.regs.Write32(emac.AddrHigh(n), 0)
		c.regs.Write32(emac.AddrLow(n), 0)
	}
	c.filter.Reset()
}

// SetFilter implements mac.Core.SetFilter.
func (c *Core) SetFilter(f mac.Filter) error {
	c.filter.Set(f)
	return nil
}
