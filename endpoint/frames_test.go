package endpoint

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// Frames for tests, built by hand so that they can be wrong.

var (
	macA = tcpip.LinkAddress("\x02\x00\x00\x00\x00\x0a")
	macB = tcpip.LinkAddress("\x02\x00\x00\x00\x00\x0b")
	ip4A = tcpip.AddrFrom4([4]byte{192, 0, 2, 1})
	ip4B = tcpip.AddrFrom4([4]byte{192, 0, 2, 2})
	ip6A = tcpip.AddrFrom16([16]byte{0xfd, 15: 1})
	ip6B = tcpip.AddrFrom16([16]byte{0xfd, 15: 2})
)

func ethernet(proto tcpip.NetworkProtocolNumber, payload ...[]byte) []byte {
	b := make([]byte, header.EthernetMinimumSize)
	header.Ethernet(b).Encode(&header.EthernetFields{SrcAddr: macB, DstAddr: macA, Type: proto})
	for _, p := range payload {
		b = append(b, p...)
	}
	return b
}

func ipv4(proto uint8, edit func(header.IPv4), payload ...[]byte) []byte {
	b := make([]byte, header.IPv4MinimumSize)
	n := len(b)
	for _, p := range payload {
		n += len(p)
	}
	h := header.IPv4(b)
	h.Encode(&header.IPv4Fields{TotalLength: uint16(n), TTL: 64, Protocol: proto, SrcAddr: ip4B, DstAddr: ip4A})
	if edit != nil {
		edit(h)
	}
	if int(h.HeaderLength()) <= len(h) { // tests may have made it longer
		h.SetChecksum(0)
		h.SetChecksum(^h.CalculateChecksum())
	}
	for _, p := range payload {
		b = append(b, p...)
	}
	return ethernet(header.IPv4ProtocolNumber, b)
}

func ipv6(next uint8, payload ...[]byte) []byte {
	b := make([]byte, header.IPv6MinimumSize)
	n := 0
	for _, p := range payload {
		n += len(p)
	}
	header.IPv6(b).Encode(&header.IPv6Fields{PayloadLength: uint16(n), TransportProtocol: tcpip.TransportProtocolNumber(next), HopLimit: 64, SrcAddr: ip6B, DstAddr: ip6A})
	for _, p := range payload {
		b = append(b, p...)
	}
	return ethernet(header.IPv6ProtocolNumber, b)
}

func udpHeader(payload int) []byte {
	b := make([]byte, header.UDPMinimumSize)
	header.UDP(b).Encode(&header.UDPFields{SrcPort: 1000, DstPort: 2000, Length: uint16(len(b) + payload)})
	return b
}

func tcpHeader(options int) []byte {
	b := make([]byte, header.TCPMinimumSize+options)
	header.TCP(b).Encode(&header.TCPFields{SrcPort: 1000, DstPort: 2000, DataOffset: uint8(len(b)), Flags: header.TCPFlagAck, WindowSize: 1000})
	for i := header.TCPMinimumSize; i < len(b); i++ {
		b[i] = header.TCPOptionNOP
	}
	return b
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func ipv6Fragment(next uint8, offset int, more bool, id uint32) []byte {
	b := make([]byte, header.IPv6FragmentHeaderSize)
	b[0] = next
	field := uint16(offset)
	if more {
		field |= 1
	}
	binary.BigEndian.PutUint16(b[2:], field)
	binary.BigEndian.PutUint32(b[4:], id)
	return b
}
