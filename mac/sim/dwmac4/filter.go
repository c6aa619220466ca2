package dwmac4

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

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

// loadSlots has the filter take over the address registers. rx.mu is held.
func (m *Model) loadSlots() {
	m.rx.filter.Load(m.cfg.PerfectSlots+1, func(n int) (high, low uint32) {
		return m.load(gmac4.AddrHigh(n)), m.load(gmac4.AddrLow(n))
	})
}

// inHash looks an address up in the hash table.
func (m *Model) inHash(a mac.HardwareAddr) bool {
	if m.cfg.HashBins == 0 {
		return false
	}
	bin := dwmac.HashBin(a, m.cfg.HashBins)
	return m.load(gmac4.HashTable(bin/32))>>(bin%32)&1 != 0
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
func (m *Model) channelOf(q int, r dwmac.Match) int {
	v := m.load(gmac4.RxQDMAMap(q)) >> (8 * (q % 4))
	c := int(v & 7)
	if v&0x10 != 0 && r.Slot >= 0 {
		c = r.Channel
	}
	return c
}
