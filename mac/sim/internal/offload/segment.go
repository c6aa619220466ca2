package offload

import "encoding/binary"

// Segmenter cuts one large TCP or UDP frame into segments (TSO, USO).
type Segmenter struct {
	header, payload []byte
	mss             int
	ip, l4          int
	v6, udp         bool
	off             int
	index           int
}

// TCP flags.
const (
	tcpFIN = 0x01
	tcpPSH = 0x08
	tcpCWR = 0x80
)

// NewSegmenter prepares the segmentation of payload behind header, which holds
// all headers, the last l4Len bytes of them being TCP's or (8 bytes) UDP's. ok is
// false when the header is not one of TCP or UDP over IP.
func NewSegmenter(header, payload []byte, l4Len, mss int) (s Segmenter, ok bool) {
	typ, ip, ok := EtherType(header, 2)
	if !ok || mss <= 0 {
		return s, false
	}
	s = Segmenter{header: header, payload: payload, mss: mss, ip: ip, l4: len(header) - l4Len, udp: l4Len == 8}
	least := 20
	switch typ {
	case typeIPv4:
	case typeIPv6:
		s.v6, least = true, 40
	default:
		return s, false
	}
	return s, s.l4 >= ip+least && (s.udp || l4Len >= 20)
}

// Next builds the next segment in buf, which grows as needed. more is false when
// there is none left. A frame without payload is one segment.
func (s *Segmenter) Next(buf []byte) (segment []byte, more bool) {
	if s.off >= len(s.payload) && s.index > 0 {
		return buf, false
	}
	n := min(s.mss, len(s.payload)-s.off)
	f := append(append(buf[:0], s.header...), s.payload[s.off:s.off+n]...)
	ip, l4 := f[s.ip:s.l4], f[s.l4:]
	proto := uint8(protoTCP)
	if s.udp {
		proto = protoUDP
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
	} else {
		binary.BigEndian.PutUint32(l4[4:], binary.BigEndian.Uint32(l4[4:])+uint32(s.off))
		if s.off+n < len(s.payload) {
			l4[13] &^= tcpFIN | tcpPSH
		}
		if s.index > 0 {
			l4[13] &^= tcpCWR
		}
	}
	if s.v6 {
		binary.BigEndian.PutUint16(ip[4:], uint16(len(f)-s.ip-40))
	} else {
		binary.BigEndian.PutUint16(ip[2:], uint16(len(f)-s.ip))
		binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(ip[4:])+uint16(s.index))
		header4Sum(ip)
	}
	insertL4(ip, l4, s.v6, proto, Full)
	s.off += n
	s.index++
	return f, true
}
