package endpoint

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// layout is what the endpoint needs to know of a frame. It is found from bytes
// of the wire or of netstack and trusts none of them.
type layout struct {
	network tcpip.NetworkProtocolNumber // the Ethernet type
	// headers is the exact length of Ethernet, IP and TCP or UDP headers when the
	// frame carries TCP or UDP, is no fragment and has no IPv6 extension headers
	// but those for options. 0 for everything else.
	headers int
	// end is where the IP packet ends; what follows is Ethernet padding. It is the
	// frame's length when that is not known.
	end int
	// transport is TCP or UDP when headers is not 0, transportAt where its header
	// begins.
	transport   tcpip.TransportProtocolNumber
	transportAt int
	// options is set when there are options, of IPv4 or in IPv6 extension headers,
	// so that no engine need find the transport header.
	options bool
	// fragment is set for IPv4 and IPv6 fragments.
	fragment bool
}

const (
	ethernetHeader = header.EthernetMinimumSize
	ipv6End        = ethernetHeader + header.IPv6MinimumSize
)

// parse finds the layout of a frame of length bytes, of which b is the beginning.
func parse(b []byte, length int) layout {
	l := layout{end: length}
	if len(b) < ethernetHeader {
		return l
	}
	l.network = header.Ethernet(b).Type()
	switch l.network {
	case header.IPv4ProtocolNumber:
		l.parseIPv4(b, length)
	case header.IPv6ProtocolNumber:
		l.parseIPv6(b, length)
	}
	return l
}

func (l *layout) parseIPv4(b []byte, length int) {
	if len(b) < ethernetHeader+header.IPv4MinimumSize {
		return
	}
	ip := header.IPv4(b[ethernetHeader:])
	ihl := int(ip.HeaderLength())
	end := ethernetHeader + int(ip.TotalLength())
	if ip[0]>>4 != 4 || ihl < header.IPv4MinimumSize || end > length || end < ethernetHeader+ihl {
		return
	}
	l.end = end
	l.options = ihl > header.IPv4MinimumSize
	// More fragments, or an offset: RFC 791 section 3.1.
	if binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
		l.fragment = true
		return
	}
	l.parseTransport(b, ethernetHeader+ihl, tcpip.TransportProtocolNumber(ip.Protocol()))
}

func (l *layout) parseIPv6(b []byte, length int) {
	if len(b) < ipv6End {
		return
	}
	ip := header.IPv6(b[ethernetHeader:])
	end := ipv6End + int(ip.PayloadLength())
	if ip[0]>>4 != 6 || end > length {
		return
	}
	l.end = end
	if ip.NextHeader() == uint8(header.IPv6FragmentHeader) {
		l.fragment = true
		return
	}
	next, at := ip.NextHeader(), ipv6End
	for isIPv6Options(next) {
		if at+ipv6OptionsUnit > min(len(b), l.end) {
			return
		}
		l.options = true
		next, at = b[at], at+(int(b[at+1])+1)*ipv6OptionsUnit
	}
	l.parseTransport(b, at, tcpip.TransportProtocolNumber(next))
}

// ipv6OptionsUnit is the unit of an extension header's length in bytes, and its
// least size (RFC 8200 section 4.3).
const ipv6OptionsUnit = 8

// isIPv6Options reports whether a next header value is that of an extension header
// with options, or of netstack's experiment header, which has the same shape. Not
// the routing header: the pseudo-header has an address from inside of it.
func isIPv6Options(next uint8) bool {
	switch header.IPv6ExtensionHeaderIdentifier(next) {
	case header.IPv6HopByHopOptionsExtHdrIdentifier, header.IPv6DestinationOptionsExtHdrIdentifier, header.IPv6ExperimentExtHdrIdentifier:
		return true
	}
	return false
}

func (l *layout) parseTransport(b []byte, at int, protocol tcpip.TransportProtocolNumber) {
	size := 0
	switch protocol {
	case header.TCPProtocolNumber:
		if len(b) < at+header.TCPMinimumSize {
			return
		}
		if size = int(header.TCP(b[at:]).DataOffset()); size < header.TCPMinimumSize {
			return
		}
	case header.UDPProtocolNumber:
		size = header.UDPMinimumSize
	default:
		return
	}
	if at+size > l.end || at+size > len(b) {
		return
	}
	l.headers, l.transport, l.transportAt = at+size, protocol, at
}
