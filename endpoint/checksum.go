package endpoint

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// fillChecksum computes the TCP or UDP checksum of a plain frame in place.
func fillChecksum(b []byte, l *layout) {
	segment := b[l.transportAt:l.end]
	sum := pseudoSum(b, l.network, l.transport, len(segment))
	switch l.transport {
	case header.TCPProtocolNumber:
		tcp := header.TCP(segment)
		tcp.SetChecksum(0)
		tcp.SetChecksum(^checksum.Checksum(segment, sum))
	case header.UDPProtocolNumber:
		udp := header.UDP(segment)
		udp.SetChecksum(0)
		udp.SetChecksum(udpChecksum(checksum.Checksum(segment, sum)))
	}
}

// udpChecksum is the checksum field for a sum: 0 would mean that there is none
// (RFC 768).
func udpChecksum(sum uint16) uint16 {
	if sum != 0xffff {
		sum = ^sum
	}
	return sum
}

// pseudoSum is the sum over the pseudo-header of an IP frame.
func pseudoSum(b []byte, network tcpip.NetworkProtocolNumber, transport tcpip.TransportProtocolNumber, length int) uint16 {
	ip := b[ethernetHeader:]
	if network == header.IPv4ProtocolNumber {
		h := header.IPv4(ip)
		return header.PseudoHeaderChecksum(transport, h.SourceAddress(), h.DestinationAddress(), uint16(length))
	}
	h := header.IPv6(ip)
	return header.PseudoHeaderChecksum(transport, h.SourceAddress(), h.DestinationAddress(), uint16(length))
}
