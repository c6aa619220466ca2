package dwmac4

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

func (c *Core) newFilter() dwmac.Filter {
	return dwmac.NewFilter(c.regs, dwmac.FilterRegisters{
		Mode:     gmac4.MACPacketFilter,
		AddrHigh: gmac4.AddrHigh, AddrLow: gmac4.AddrLow,
		Hash:    gmac4.HashTable,
		Perfect: c.info.PerfectFilters, Bins: c.info.HashBins,
	})
}

// SetFilter implements mac.Core.SetFilter.
func (c *Core) SetFilter(f mac.Filter) error {
	c.filter.Set(f)
	return nil
}
