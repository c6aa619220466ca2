package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/eqos"
)

// Receiving implements eqos.MAC.
func (m *chip) Receiving() eqos.Receiving {
	config := m.Load(gmac4.MACConfig)
	set := eqos.Receiving{
		On: config&gmac4.ConfigRE != 0, Checksum: config&gmac4.ConfigIPC != 0,
		StripType: config&gmac4.ConfigCST != 0, StripLength: config&gmac4.ConfigACS != 0,
		Limit: eqos.MaxFrame, Giant: 1518,
	}
	if config&gmac4.ConfigWD == 0 {
		set.Limit = 2048
		if w := m.Load(gmac4.MACWatchdog); w>>8&1 != 0 {
			set.Limit += int(w&15) << 10
		} else if config&gmac4.ConfigJE != 0 {
			set.Limit = 10240
		}
	}
	switch {
	case config&gmac4.ConfigGPSLCE != 0:
		set.Giant = int(m.Load(gmac4.MACExtConfig) & gmac4.ExtConfigGPSL)
	case config&gmac4.ConfigJE != 0:
		set.Giant = 9018
	case config&gmac4.ConfigS2KP != 0:
		set.Giant, set.FixedGiant = 2000, true
	}
	return set
}

// Route implements eqos.MAC.
func (m *chip) Route(a *eqos.Arrival) int {
	c1 := m.Load(gmac4.MACRxQCtrl1)
	if a.Frame[0]&1 != 0 && c1&gmac4.RxQCtrl1MCBCQEN != 0 {
		return int(field.Get(gmac4.RxQCtrl1MCBCQ, c1))
	}
	if !a.Tagged {
		return int(field.Get(gmac4.RxQCtrl1UPQ, c1))
	}
	return m.Priority(a.TCI)
}

// ChannelOf implements eqos.MAC: the address filter chooses when the queue is mapped
// dynamically.
func (m *chip) ChannelOf(q int, a *eqos.Arrival) int {
	v := m.Load(gmac4.RxQDMAMap(q)) >> (8 * (q % 4))
	if v&0x10 != 0 && a.Match.Slot >= 0 {
		return a.Match.Channel
	}
	return int(v & 7)
}

// Status implements eqos.MAC.
func (m *chip) Status(a *eqos.Arrival, f *dwmac.RXFrame) {
	set := func(on bool, word *uint32, bits uint32) {
		if on {
			*word |= bits
		}
	}
	d0, d1, d2, d3 := &f.Status[0], &f.Status[1], &f.Status[2], &f.Status[3]
	*d2 = uint32(max(a.Match.Slot, 0)) << 19
	set(a.Match.Hash, d2, gmac4.RDES2HF)
	set(a.Match.FailDA, d2, gmac4.RDES2DAF)
	set(a.Match.FailSource, d2, gmac4.RDES2SAF)
	*d3 = gmac4.RDES3RS2V | lengthType(a)
	set(a.Watchdog, d3, gmac4.RDES3RWT|gmac4.RDES3ES)
	set(a.Giant, d3, gmac4.RDES3GP|gmac4.RDES3ES)
	set(a.BadCRC, d3, gmac4.RDES3CE|gmac4.RDES3ES)
	set(a.Overflow, d3, gmac4.RDES3OE|gmac4.RDES3ES)
	if a.TagWanted {
		*d0 = uint32(a.TCI)
		*d3 |= gmac4.RDES3RS0V
	}
	if a.Checked {
		v := &a.Verdict
		*d3 |= gmac4.RDES3RS1V
		*d1 = uint32(v.Payload)
		set(v.IPv4, d1, gmac4.RDES1IPV4)
		set(v.IPv6, d1, gmac4.RDES1IPV6)
		set(v.HeaderError, d1, gmac4.RDES1IPHE)
		set(v.PayloadError, d1, gmac4.RDES1IPCE)
		set(v.Bypassed, d1, gmac4.RDES1IPCB)
	}
}

// lengthType is RDES3.LT.
func lengthType(a *eqos.Arrival) uint32 {
	lt, f := uint32(gmac4.LTType), a.Frame
	switch {
	case a.DoubleTagged():
		lt = gmac4.LTDoubleVLAN
	case a.Tagged:
		lt = gmac4.LTVLAN
	case a.Type == dwmac.TypeARP && len(f) >= 22 && f[20] == 0 && f[21] == 1:
		lt = gmac4.LTARP
	case a.Type == dwmac.TypeControl:
		lt = gmac4.LTControl
	case a.Type < dwmac.TypeLeast:
		lt = gmac4.LTLength
	}
	return field.Put(gmac4.RDES3LT, lt)
}

// WriteBack implements eqos.MAC.
func (m *chip) WriteBack(f *dwmac.RXFrame, junk uint32) (d0, d1, d2 uint32) {
	d0, d1, d2 = junk, ^junk, f.Status[2]
	if f.Status[3]&gmac4.RDES3RS0V != 0 {
		d0 = f.Status[0]
	}
	if f.Status[3]&gmac4.RDES3RS1V != 0 {
		d1 = f.Status[1] | junk<<16
	}
	return d0, d1, d2
}

// Buffers implements eqos.MAC.
func (m *chip) Buffers(d [4]uint32) (addr [2]uint64, n int) {
	if d[3]&gmac4.RDES3BUF1V != 0 {
		addr[n] = m.Address(d[1], d[0])
		n++
	}
	if d[3]&gmac4.RDES3BUF2V != 0 {
		addr[n] = m.Address(d[3]&0xffff, d[2])
		n++
	}
	return addr, n
}

// TXStatus implements eqos.MAC.
func (m *chip) TXStatus(e eqos.TXErrors) (status uint32) {
	if e.Header {
		status |= gmac4.TDES3IHE | gmac4.TDES3ES
	}
	if e.Payload {
		status |= gmac4.TDES3PCE | gmac4.TDES3ES
	}
	if e.Flushed {
		status |= gmac4.TDES3FF | gmac4.TDES3ES
	}
	return status
}
