package dwmac

import (
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

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

// CountIPC counts what the receive checksum engine has found in a good frame.
func (c *MMC) CountIPC(v offload.Verdict) { CountIPC(c, v) }

// CountIPC is MMC.CountIPC for any counters.
func CountIPC(c Counters, v offload.Verdict) {
	add := func(counter uint32) {
		n := v.Length
		if counter >= ipcUDPGood {
			n -= v.Header // these counters leave out the IP header
		}
		c.Count(dwregs.MMCRxIPv4Good+counter, 1)
		c.Count(dwregs.MMCRxIPv4Good+dwregs.MMCIPCOctets+counter, n)
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
