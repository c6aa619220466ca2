package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// checksum puts the verdict of the receive checksum engine into the frame's
// status. It reports false when queue q drops the frame for it.
func (m *Model) checksum(q int, fr *rxFrame, f []byte, config uint32) bool {
	if config&gmac4.ConfigIPC == 0 {
		return true
	}
	v := offload.Check(f)
	fr.d3 |= gmac4.RDES3RS1V
	fr.d1 = uint32(v.Payload)
	for _, b := range [...]struct {
		on  bool
		bit uint32
	}{
		{v.IPv4, gmac4.RDES1IPV4},
		{v.IPv6, gmac4.RDES1IPV6},
		{v.HeaderError, gmac4.RDES1IPHE},
		{v.PayloadError, gmac4.RDES1IPCE},
		{v.Bypassed, gmac4.RDES1IPCB},
	} {
		if b.on {
			fr.d1 |= b.bit
		}
	}
	if fr.d3&gmac4.RDES3ES == 0 {
		m.countIPC(v)
	}
	const keep = gmac4.RxQOpFEP | gmac4.RxQOpDISTCPEF
	mode := m.queue(q, gmac4.RxQOpMode)
	return !v.HeaderError && !v.PayloadError || mode&keep != 0 || mode&gmac4.RxQOpRSF == 0
}

// Counters of the checksum engine, offsets from the first.
const (
	ipcIPv4Good = 4 * iota
	ipcIPv4Header
	ipcIPv4NoPayload
	ipcIPv4Fragment
	ipcIPv4NoUDPSum
	ipcIPv6Good
	ipcIPv6Header
	ipcIPv6NoPayload
	ipcUDPGood
	ipcUDPError
	ipcTCPGood
	ipcTCPError
	ipcICMPGood
	ipcICMPError
)

func (m *Model) countIPC(v offload.Verdict) {
	add := func(counter uint32) {
		n := v.Length
		if counter >= ipcUDPGood {
			n -= v.Header // these counters leave out the IP header
		}
		m.count(mmcIPC+counter, 1)
		m.count(mmcIPC+mmcOctets+counter, n)
	}
	switch {
	case v.IPv4 && v.HeaderError:
		add(ipcIPv4Header)
		return
	case v.IPv6 && v.HeaderError:
		add(ipcIPv6Header)
		return
	case v.IPv4 && v.Fragment:
		add(ipcIPv4Fragment)
		return
	case v.IPv4 && v.Payload == offload.UDP && v.Bypassed:
		add(ipcIPv4NoUDPSum)
		return
	case v.IPv4 && v.Payload == offload.Unknown:
		add(ipcIPv4NoPayload)
		return
	case v.IPv6 && v.Payload == offload.Unknown:
		add(ipcIPv6NoPayload)
		return
	case v.IPv4:
		add(ipcIPv4Good)
	case v.IPv6:
		add(ipcIPv6Good)
	default:
		return
	}
	kind := uint32(ipcUDPGood)
	switch v.Payload {
	case offload.TCP:
		kind = ipcTCPGood
	case offload.ICMP:
		kind = ipcICMPGood
	}
	if v.PayloadError {
		kind += 4
	}
	add(kind)
}
