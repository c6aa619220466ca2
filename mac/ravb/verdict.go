package ravb

import (
	"encoding/binary"
	"math/bits"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Judge implements ring.Judge.
func (r *rxRing) Judge(pool *pagepool.Pool, frames []ring.Frame) {
	for i := range frames {
		f := &frames[i]
		if f.Flags&ring.Trailer == 0 {
			continue
		}
		p := f.Pieces[0]
		head := pool.Bytes(p.Page)[p.Off : p.Off+p.Len]
		if len(head) < 14 {
			continue // the device may split a frame anywhere: left to software
		}
		if r.trailer == etheravb.SumTrailer {
			f.Flags |= judgeSum(head, int(f.Len), uint16(f.Trailer))
		} else {
			f.Flags |= judgeTOE(head, uint16(f.Trailer), uint16(f.Trailer>>16))
		}
	}
}

// Ethernet types and IP protocols.
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86DD
	typeVLAN = 0x8100

	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58
)

// judgeTOE is GbEth's verdict: a result for the IPv4 header and one for the payload.
// IPv6 has no header checksum, so that the first one says nothing there.
func judgeTOE(head []byte, ip, payload uint16) ring.Flags {
	wrong := func(v uint16) bool { return v != etheravb.TOEGood && v != etheravb.TOEUnchecked }
	switch {
	case wrong(ip) || wrong(payload):
		return ring.ChecksumBad
	case payload != etheravb.TOEGood:
		return 0
	case ip == etheravb.TOEGood || etherType(head) == typeIPv6:
		return ring.ChecksumGood
	}
	return 0
}

// etherType is the type of a frame, behind one VLAN tag if there is one. head has 14
// bytes or more.
func etherType(head []byte) uint16 {
	typ := binary.BigEndian.Uint16(head[12:])
	if typ == typeVLAN && len(head) >= 18 {
		typ = binary.BigEndian.Uint16(head[16:])
	}
	return typ
}

// judgeSum makes a verdict of R-Car's sum over everything behind the Ethernet header
// of a frame of length bytes, which begins with head, 14 bytes or more. trailer is the
// sum as the frame's bytes have it, the first one lowest. Nothing is said of tagged
// frames, fragments, extension headers and padding: those are left to software.
func judgeSum(head []byte, length int, trailer uint16) ring.Flags {
	sum := uint32(bits.ReverseBytes16(trailer))
	ip, n := head[14:], length-14
	switch typ := binary.BigEndian.Uint16(head[12:]); {
	case typ == typeIPv4 && len(ip) >= 28:
		return judgeIPv4(ip, n, sum)
	case typ == typeIPv6 && len(ip) >= 48:
		return judgeIPv6(ip, n, sum)
	}
	return 0
}

// judgeIPv4: a header that is right sums up to nothing, so that the sum of all is
// that of the payload.
func judgeIPv4(ip []byte, n int, sum uint32) ring.Flags {
	size, total := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	fragment := binary.BigEndian.Uint16(ip[6:])&0x3FFF != 0
	if ip[0]>>4 != 4 || size < 20 || len(ip) < size+8 || total != n || fragment || ip[9] == protoICMPv6 {
		return 0
	}
	if !zero(add(0, ip[:size])) {
		return ring.ChecksumBad
	}
	l4 := ip[size:]
	if ip[9] == protoUDP && l4[6] == 0 && l4[7] == 0 {
		return 0 // no checksum
	}
	return judgePayload(ip[9], ip[12:20], l4, n-size, sum)
}

// judgeIPv6: the header has no checksum and is taken off the sum.
func judgeIPv6(ip []byte, n int, sum uint32) ring.Flags {
	if ip[0]>>4 != 6 || 40+int(binary.BigEndian.Uint16(ip[4:])) != n || ip[6] == protoICMP {
		return 0
	}
	return judgePayload(ip[6], ip[8:40], ip[40:], n-40, sum+uint32(^fold(add(0, ip[:40]))))
}

// judgePayload looks at a payload of n bytes, which begins with l4 and sums up to sum
// without pseudo-header.
func judgePayload(proto byte, addresses, l4 []byte, n int, sum uint32) ring.Flags {
	switch proto {
	case protoUDP:
		if int(binary.BigEndian.Uint16(l4[4:])) != n {
			return 0
		}
	case protoTCP, protoICMPv6:
	case protoICMP:
		addresses, proto, n = nil, 0, 0 // no pseudo-header
	default:
		return 0
	}
	if zero(add(sum+uint32(proto)+uint32(n), addresses)) {
		return ring.ChecksumGood
	}
	return ring.ChecksumBad
}

// add is the one's complement sum (RFC 1071) of b, which has an even length, going on
// from sum.
func add(sum uint32, b []byte) uint32 {
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	return sum
}

func fold(sum uint32) uint16 {
	sum = sum>>16 + sum&0xFFFF
	return uint16(sum>>16 + sum)
}

// zero reports whether a sum is nothing, which has two forms.
func zero(sum uint32) bool { return fold(sum) == 0xFFFF || sum == 0 }
