package etheravb

import "github.com/barewire/barewire/mac/internal/field"

// DescriptorSize is the size in bytes of a descriptor: a control word and a
// pointer. ExtendedSize is that of a receive descriptor with a timestamp, three
// words more.
const (
	DescriptorSize = 8
	ExtendedSize   = 20
)

// The control word. Who owns a descriptor is said by its type alone.
const (
	DescDT  uint32 = 15 << 28   // type
	DescDIE uint32 = 15 << 24   // descriptor interrupt, 0 none
	DescDS  uint32 = 0xFFF << 0 // bytes

	// Receive.
	DescTR  uint32 = 1 << 12 // truncated
	DescEI  uint32 = 1 << 13 // error
	DescPS  uint32 = 3 << 14 // padding
	DescMSC uint32 = 0xFF << 16

	// Transmit.
	DescTag uint32 = 0x3FF << 12
	DescTSR uint32 = 1 << 22 // timestamp
)

// Types.
const (
	DTLEmpty  = 0x2 // a link that has been followed
	DTEEmpty  = 0x3 // nothing; an end that has been met
	DTFMid    = 0x4
	DTFStart  = 0x5
	DTFEnd    = 0x6
	DTFSingle = 0x7
	DTLink    = 0x8
	DTLinkFix = 0x9 // stays a link
	DTEOS     = 0xA
	DTFEmpty  = 0xC // receive: to be filled; transmit: sent
)

// Type is a control word of that type and nothing else.
func Type(dt uint32) uint32 { return field.Put(DescDT, dt) }

// MSC, the E-MAC's status of a received frame.
const (
	MSCCRC  uint32 = 1 << 16
	MSCRFE  uint32 = 1 << 17 // signalled by the PHY
	MSCRTSF uint32 = 1 << 18 // too short
	MSCRTLF uint32 = 1 << 19 // too long
	MSCFRE  uint32 = 1 << 20 // residual bits
	MSCCRL  uint32 = 1 << 21 // carrier lost
	MSCCEEF uint32 = 1 << 22 // carrier extension
	MSCMC   uint32 = 1 << 23 // multicast, no error

	// MSCErrors are those that make a frame a bad one.
	MSCErrors = MSCCRC | MSCRFE | MSCRTSF | MSCRTLF | MSCCEEF
)

// Limits in bytes.
const (
	MaxData      = 0xFFF // DescDS
	MaxRCarFrame = 2047  // transmitted by R-Car, without FCS
	MaxGbEthSend = 1522  // transmitted by GbEth, without FCS
	MaxGbEthRecv = 8192  // received by GbEth, without FCS
)

// What the checksum engines append to a frame, in bytes.
const (
	SumTrailer = 2 // R-Car: the sum of all behind the Ethernet header
	TOETrailer = 4 // GbEth: a result for the IPv4 header, one for the payload

	TOEGood      = 0x0000
	TOEUnchecked = 0xFFFF
)
