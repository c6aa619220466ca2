package neta

// DescriptorSize is the size in bytes of a descriptor of either kind,
// DescriptorWords in words. There is no OWN bit: counters say whose it is.
const (
	DescriptorSize  = 32
	DescriptorWords = 8
)

// Words of a receive descriptor.
const (
	RXStatus = 0
	RXSize   = 1 // 31:16 bytes of data, 15:0 the parser's
	RXBuffer = 2 // address: software's, or the BM's
	RXCookie = 4 // with a BM: the first four bytes of the buffer
)

// Fields of a receive descriptor. The error bits are those of the frame and
// stand in its first descriptor, as does the size, which is that of the whole
// frame: Marvell header, frame, FCS.
const (
	RXL3Offset   uint32 = 0x7F << 0
	RXIPHeader   uint32 = 0x1F << 8 // in words
	RXPool       uint32 = 3 << 13
	RXError      uint32 = 1 << 16
	RXErrorCode  uint32 = 3 << 17
	RXVLAN       uint32 = 1 << 19
	RXBPDU       uint32 = 1 << 20
	RXL4Type     uint32 = 3 << 21 // sources differ on the values
	RXEthernetII uint32 = 1 << 23
	RXL3Type     uint32 = 3 << 24
	RXIPHeaderOK uint32 = 1 << 25 // of RXL3Type: IPv4 with a good header, or IPv6
	RXLast       uint32 = 1 << 26
	RXFirst      uint32 = 1 << 27
	RXUnknownDA  uint32 = 1 << 28
	RXL4OK       uint32 = 1 << 30
	RXFragment   uint32 = 1 << 31

	RXSizeBytes uint32 = 0xFFFF << 16

	RXErrorCRC      = 0
	RXErrorOverrun  = 1
	RXErrorLength   = 2 // longer than the largest frame
	RXErrorResource = 3 // no buffer

	// RXL3Type without the parser (PnC).
	L3Unknown   = 0
	L3IPv4Bad   = 1
	L3IPv6      = 2
	L3IPv4Good  = 3
	L4OtherType = 2
)

// Words of a transmit descriptor. Words 3 to 7 are left alone.
const (
	TXCommand = 0
	TXSize    = 1 // 31:16 bytes of data, 15:0 initial checksum
	TXBuffer  = 2
)

// Fields of a transmit descriptor. The checksum fields stand in the first
// descriptor of a frame.
const (
	TXL3Offset   uint32 = 0x7F << 0
	TXIPHeader   uint32 = 0x1F << 8 // in words
	TXUDP        uint32 = 1 << 16
	TXIPv6       uint32 = 1 << 17
	TXIPChecksum uint32 = 1 << 18
	TXPad        uint32 = 1 << 19
	TXLast       uint32 = 1 << 20
	TXFirst      uint32 = 1 << 21
	TXL4Mode     uint32 = 3 << 30

	TXL4Partial = 0
	TXL4Full    = 1
	TXL4None    = 2

	TXSizeBytes uint32 = 0xFFFF << 16
	// MaxPiece is the most bytes of one descriptor.
	MaxPiece = 0xFFFF
)

const (
	// HeaderSize is the length of the Marvell header that the port puts before
	// every received frame: two zero bytes, which align the IP header.
	HeaderSize = 2
	// MaxMTU is the largest MTU, in bytes without Ethernet header (Linux).
	MaxMTU = 9676
)
