package dwxgmac2

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/eqos"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// Receiving implements eqos.MAC.
func (m *chip) Receiving() eqos.Receiving {
	config := m.Load(xgmac2.MACRxConfig)
	set := eqos.Receiving{
		On: config&xgmac2.RxConfigRE != 0, Checksum: config&xgmac2.RxConfigIPC != 0,
		StripType: config&xgmac2.RxConfigCST != 0, StripLength: config&xgmac2.RxConfigACS != 0,
		Limit: eqos.MaxFrame, Giant: 1518,
	}
	if config&xgmac2.RxConfigWD == 0 {
		set.Limit = 2048
		if w := m.Load(xgmac2.MACWatchdog); w>>8&1 != 0 {
			set.Limit += int(w&15) << 10
		} else if config&xgmac2.RxConfigJE != 0 {
			set.Limit = 10240
		}
	}
	switch {
	case config&xgmac2.RxConfigGPSLCE != 0:
		set.Giant = int(field.Get(xgmac2.RxConfigGPSL, config))
	case config&xgmac2.RxConfigJE != 0:
		set.Giant = 9018
	case config&xgmac2.RxConfigS2KP != 0:
		set.Giant, set.FixedGiant = 2000, true
	}
	return set
}

// Route implements eqos.MAC.
func (m *chip) Route(a *eqos.Arrival) int {
	c1 := m.Load(xgmac2.MACRxQCtrl1)
	if a.Frame[0]&1 != 0 && c1&xgmac2.RxQCtrl1MCBCQEN != 0 {
		return int(field.Get(xgmac2.RxQCtrl1MCBCQ, c1))
	}
	if !a.Tagged {
		return int(field.Get(xgmac2.RxQCtrl1UPQ, c1))
	}
	return m.Priority(a.TCI)
}

// ChannelOf implements eqos.MAC. A queue that is mapped dynamically has its frames'
// channel chosen by RSS, and by the address that matched where that has no hash.
func (m *chip) ChannelOf(q int, a *eqos.Arrival) int {
	m.hash(a)
	v := field.Get(xgmac2.RxQDMAField(q), m.Load(xgmac2.RxQDMAMap(q)))
	switch {
	case v&xgmac2.RxQDMADynamic == 0:
		return int(v & xgmac2.RxQDMAChannel)
	case a.Hashed:
		return m.rss.channel(a.Hash)
	case a.Match.Slot >= 0:
		return a.Match.Channel
	}
	return 0
}

// noTag is a status whose first word is junk.
const noTag = 1 << 31

// Status implements eqos.MAC.
func (m *chip) Status(a *eqos.Arrival, f *dwmac.RXFrame) {
	set := func(on bool, word *uint32, bits uint32) {
		if on {
			*word |= bits
		}
	}
	d0, d1, d2, d3 := &f.Status[0], &f.Status[1], &f.Status[2], &f.Status[3]
	if *d0 = noTag; a.TagWanted {
		*d0 = uint32(a.TCI)
	}
	*d2 = field.Put(xgmac2.RDES2MADRM, uint32(max(a.Match.Slot, 0)))
	set(a.Match.Hash, d2, xgmac2.RDES2HF)
	set(a.Match.FailDA, d2, xgmac2.RDES2DAF)
	set(a.Match.FailSource, d2, xgmac2.RDES2SAF)
	if a.Checked {
		*d3 |= field.Put(xgmac2.RDES3L34T, protocol(&a.Verdict))
	}
	if a.Hashed {
		*d1 = a.Hash
		*d3 |= xgmac2.RDES3RSV
	}
	if e := errorOf(a); e != 0 {
		*d3 |= xgmac2.RDES3ES | field.Put(xgmac2.RDES3ET, e)
	} else {
		*d3 |= field.Put(xgmac2.RDES3ET, typeOf(a))
	}
	if f.Context = m.cfg.Contexts; f.Context {
		*d3 |= xgmac2.RDES3CDA
	}
}

// errorOf is RDES3.ET of a frame with an error: one code for all that is wrong.
func errorOf(a *eqos.Arrival) uint32 {
	switch {
	case a.Overflow:
		return xgmac2.ErrOverflow
	case a.Watchdog:
		return xgmac2.ErrWatchdog
	case a.BadCRC:
		return xgmac2.ErrCRC
	case a.Giant:
		return xgmac2.ErrGiant
	case a.Checked && a.Verdict.HeaderError:
		return xgmac2.ErrIPHeader
	case a.Checked && a.Verdict.PayloadError:
		return xgmac2.ErrL4
	}
	return 0
}

// typeOf is RDES3.ET of a frame without one.
func typeOf(a *eqos.Arrival) uint32 {
	switch {
	case a.DoubleTagged():
		return xgmac2.TypeDoubleLow
	case a.Tagged && a.Type == dwmac.TypeSVLAN:
		return xgmac2.TypeSTag
	case a.Tagged:
		return xgmac2.TypeCTag
	}
	return 0
}

// protocol is RDES3.L34T.
func protocol(v *offload.Verdict) (t uint32) {
	switch {
	case v.HeaderError || !v.IPv4 && !v.IPv6:
		return xgmac2.L34None
	case v.Payload == offload.TCP:
		t = xgmac2.L34TCP
	case v.Payload == offload.UDP:
		t = xgmac2.L34UDP
	case v.Payload == offload.ICMP:
		t = xgmac2.L34ICMP
	default:
		t = xgmac2.L34Other
	}
	if v.IPv6 {
		t |= xgmac2.L34IPv6
	}
	return t
}

// WriteBack implements eqos.MAC. RDES0 without a tag and RDES1 without a hash are
// junk.
func (m *chip) WriteBack(f *dwmac.RXFrame, junk uint32) (d0, d1, d2 uint32) {
	d0, d1, d2 = junk, ^junk, f.Status[2]
	if f.Status[0] != noTag {
		d0 = f.Status[0]
	}
	if f.Status[3]&xgmac2.RDES3RSV != 0 {
		d1 = f.Status[1]
	}
	return d0, d1, d2
}

// Buffers implements eqos.MAC. A buffer at address 0 is none; the address of the
// second one ends below the bits of RDES3.
func (m *chip) Buffers(d [4]uint32) (addr [2]uint64, n int) {
	for _, a := range [...]uint64{m.Address(d[1], d[0]), m.Address(d[3]&^(xgmac2.RDES3OWN|xgmac2.RDES3IOC), d[2])} {
		if a != 0 {
			addr[n] = a
			n++
		}
	}
	return addr, n
}

// TXStatus implements eqos.MAC: this core says nothing of errors.
func (m *chip) TXStatus(eqos.TXErrors) uint32 { return 0 }
