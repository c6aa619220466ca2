package sun8i

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// loadSlots takes over the address registers. Slot 0 is always enabled. rx.mu is
// held.
func (m *Model) loadSlots() {
	m.rx.filter.Load(emac.AddrSlots, func(n int) (high, low uint32) {
		high, low = m.load(emac.AddrHigh(n)), m.load(emac.AddrLow(n))
		if n == 0 {
			high |= emac.AddrHighEn
		}
		return high, low
	})
}

// filter decides whether a frame passes RX_FRM_FLT, which has the filter of
// Synopsys's cores with its bits in other places. rx.mu is held.
func (m *Model) filter(f []byte) dwmac.Match {
	flt, mode := m.load(emac.RxFrmFlt), uint32(0)
	for _, b := range [...]struct{ here, there uint32 }{
		{emac.FltDisAddr, dwregs.FilterPR}, {emac.FltAll, dwregs.FilterRA},
		{emac.FltHashUni, dwregs.FilterHUC}, {emac.FltHashMulti, dwregs.FilterHMC}, {emac.FltHashPerfect, dwregs.FilterHPF},
		{emac.FltAllMulticast, dwregs.FilterPM}, {emac.FltDisBroadcast, dwregs.FilterDBF},
		{emac.FltDAInverse, dwregs.FilterDAIF}, {emac.FltSA, dwregs.FilterSAF}, {emac.FltSAInverse, dwregs.FilterSAIF},
	} {
		if flt&b.here != 0 {
			mode |= b.there
		}
	}
	return m.rx.filter.Decide(mode, f, m.inHash)
}

func (m *Model) inHash(a mac.HardwareAddr) bool {
	bin, reg := dwmac.HashBin(a, 64), emac.RxHash1
	if bin >= 32 {
		reg = emac.RxHash0
	}
	return m.load(reg)>>(bin%32)&1 != 0
}
