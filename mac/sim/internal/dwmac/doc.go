// Package dwmac is what the models of the Synopsys MACs do in the same way: the
// address filter, the management counters, the receive FIFO, pause frames, the
// interrupt line and the engines' goroutines. What registers look like is each
// model's own business.
package dwmac

import (
	"encoding/binary"
	"hash/crc32"
)

// Frame sizes in bytes. MinFrame is with FCS.
const (
	FCSLen   = 4
	MinFrame = 64
)

// Ethernet types.
const (
	TypeARP     = 0x0806
	TypeVLAN    = 0x8100
	TypeSVLAN   = 0x88a8
	TypeControl = 0x8808
	TypeLeast   = 0x0600 // below is a length
)

// FCS is the frame check sequence of f, or a wrong one.
func FCS(f []byte, right bool) (fcs [FCSLen]byte) {
	sum := crc32.ChecksumIEEE(f)
	if !right {
		sum = ^sum
	}
	binary.LittleEndian.PutUint32(fcs[:], sum)
	return fcs
}

// Junk steps a generator of unlikely values.
func Junk(s uint64) uint64 {
	s ^= s << 13
	s ^= s >> 7
	s ^= s << 17
	return s
}
