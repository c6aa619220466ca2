package emac

// A descriptor is four words: status, control and size, buffer address, address
// of the next one. The device always follows the last; there is no ring length,
// and no end-of-ring flag. Of all words it writes back the first alone.
const (
	DescriptorSize  = 16
	DescriptorWords = 4

	DescStatus = 0
	DescCtl    = 1
	DescAddr   = 2
	DescNext   = 3
)

// DescOwn, in DescStatus, gives a descriptor to the device.
const DescOwn uint32 = 1 << 31

// DescCtl of both directions. FreeBSD declares a size of 12 bits, Linux one of
// 11; all give at most MaxBuffer.
const (
	CtlSize  uint32 = 0x7FF
	CtlChain uint32 = 1 << 24

	MaxBuffer = 2047 // bytes
)

// DescCtl of transmit.
const (
	TxCRCOff uint32 = 1 << 26
	TxCIC    uint32 = 3 << 27 // checksum insertion
	TxFirst  uint32 = 1 << 29
	TxLast   uint32 = 1 << 30
	TxInt    uint32 = 1 << 31 // interrupt when sent; with TxLast only

	CICNone    = 0
	CICHeader  = 1 // IPv4 header
	CICPartial = 2 // and the payload, without pseudo-header
	CICFull    = 3 // and with it
)

// DescStatus of transmit, written back with the last descriptor of a frame.
const (
	TxDeferred     uint32 = 1 << 0
	TxUnderflow    uint32 = 1 << 1
	TxExDefer      uint32 = 1 << 2
	TxCollisions   uint32 = 15 << 3
	TxExCollisions uint32 = 1 << 8
	TxLate         uint32 = 1 << 9
	TxNoCarrier    uint32 = 1 << 10
	TxPayloadErr   uint32 = 1 << 12 // payload checksum not inserted
	TxLengthErr    uint32 = 1 << 14
	TxErrSummary   uint32 = 1 << 15 // Linux
	TxHeaderErr    uint32 = 1 << 16 // IP header checksum not inserted
)

// RxIntOff, in DescCtl of receive, keeps a frame that ends here from
// interrupting.
const RxIntOff uint32 = 1 << 31

// DescStatus of receive. What a frame's end found out is in its last descriptor.
const (
	RxPayloadErr uint32 = 1 << 0 // payload checksum wrong
	RxCRC        uint32 = 1 << 1
	RxDribble    uint32 = 1 << 2
	RxPHYErr     uint32 = 1 << 3
	RxWatchdog   uint32 = 1 << 4 // more than 2048 bytes; FreeBSD: length error
	RxType       uint32 = 1 << 5 // the two bytes are a type; an IP packet was checked
	RxLate       uint32 = 1 << 6 // late collision
	RxHeaderErr  uint32 = 1 << 7 // IP header checksum wrong
	RxLast       uint32 = 1 << 8
	RxFirst      uint32 = 1 << 9
	RxOverflow   uint32 = 1 << 11
	RxLengthErr  uint32 = 1 << 12 // length field and length differ (Linux)
	RxSAFail     uint32 = 1 << 13
	RxNoBuf      uint32 = 1 << 14      // cut off for want of buffers
	RxErrSummary uint32 = 1 << 15      // Linux
	RxLen        uint32 = 0x3FFF << 16 // of the whole frame, with FCS
	RxDAFail     uint32 = 1 << 30
)
