// Package offload is the checksum and segmentation engines of modelled MACs:
// what the hardware does to the bytes of a frame, whatever the registers in
// front of it look like. Frames are without FCS.
package offload

import (
	"encoding/binary"
	"math/bits"
)

// Sum is a running one's complement sum of 16-bit big-endian words.
type Sum uint64

// Add returns the sum with b added. b starts at an even offset of what is
// summed.
func (s Sum) Add(b []byte) Sum {
	x, c := uint64(s), uint64(0)
	for len(b) >= 32 {
		x, c = bits.Add64(x, binary.BigEndian.Uint64(b[0:8]), 0)
		x, c = bits.Add64(x, binary.BigEndian.Uint64(b[8:16]), c)
		x, c = bits.Add64(x, binary.BigEndian.Uint64(b[16:24]), c)
		x, c = bits.Add64(x, binary.BigEndian.Uint64(b[24:32]), c)
		x, c = bits.Add64(x, 0, c)
		x += c
		b = b[32:]
	}
	for c = 0; len(b) >= 8; {
		x, c = bits.Add64(x, binary.BigEndian.Uint64(b), c)
		b = b[8:]
	}
	// A carry out of the top is worth one: 2^64 is 1 modulo 2^16 - 1.
	x, c = bits.Add64(x, 0, c)
	x += c
	for len(b) >= 2 {
		x, c = bits.Add64(x, uint64(binary.BigEndian.Uint16(b)), 0)
		x += c
		b = b[2:]
	}
	if len(b) == 1 {
		x, c = bits.Add64(x, uint64(b[0])<<8, 0)
		x += c
	}
	return Sum(x)
}

// AddWord returns the sum with one number added.
func (s Sum) AddWord(v uint32) Sum {
	x, c := bits.Add64(uint64(s), uint64(v), 0)
	return Sum(x + c)
}

// Fold is the sum in 16 bits, not complemented.
func (s Sum) Fold() uint16 {
	x := uint64(s)
	x = x>>32 + x&0xffffffff
	x = x>>32 + x&0xffffffff
	x = x>>16 + x&0xffff
	x = x>>16 + x&0xffff
	x = x>>16 + x&0xffff
	return uint16(x)
}

// Checksum is what goes into a checksum field.
func (s Sum) Checksum() uint16 { return ^s.Fold() }

// Protocol numbers.
const (
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58
)

const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
	typeVLAN = 0x8100
	typeQinQ = 0x88a8
)

// EtherType returns the type (or length) of a frame and the offset of what
// follows, looking behind at most tags VLAN tags. ok is false when the frame
// ends before.
func EtherType(f []byte, tags int) (typ uint16, next int, ok bool) {
	for at := 12; at+2 <= len(f); at += 4 {
		typ = binary.BigEndian.Uint16(f[at:])
		if typ != typeVLAN && typ != typeQinQ || tags == 0 {
			return typ, at + 2, true
		}
		tags--
	}
	return 0, 0, false
}

// pseudo is the sum of the pseudo header.
func pseudo(ip []byte, v6 bool, proto uint8, length int) Sum {
	s := Sum(0).AddWord(uint32(proto)).AddWord(uint32(length))
	if v6 {
		return s.Add(ip[8:40])
	}
	return s.Add(ip[12:20])
}

// field is the offset of the checksum in an L4 header, and the least length of
// one. ok is false for protocols that the engines do not know.
func field(proto uint8) (at, least int, ok bool) {
	switch proto {
	case protoTCP:
		return 16, 20, true
	case protoUDP:
		return 6, 8, true
	case protoICMP, protoICMPv6:
		return 2, 4, true
	}
	return 0, 0, false
}
