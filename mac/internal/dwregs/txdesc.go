package dwregs

// Descriptors of GMAC4 and XGMAC have four words. Receive descriptors differ between
// the two, transmit descriptors only in what is written back.
const (
	DescriptorSize  = 16 // bytes
	DescriptorWords = 4
)

// Limits of the transmit descriptor's fields, in bytes.
const (
	MaxPiece   = 16383     // TDES2.B1L
	MaxFrame   = 32767     // TDES3.FL
	MaxPayload = 1<<18 - 1 // TDES3.TPL
	MaxHeader  = 1023      // TDES2.HL
	MaxMSS     = 16383     // TDES2.MSS
	MinMSS     = 64
)

// Transmit normal descriptor of GMAC4 and XGMAC, read format. TDES0 and TDES1 hold
// the buffer address, low and high. In the write-back OWN is cleared.
const (
	TDES2B1L  uint32 = 0x3FFF << 0  // length of buffer 1; with TSE the header's
	TDES2HL   uint32 = 0x3FF << 0   // header length (TSO)
	TDES2VTIR uint32 = 3 << 14      // VLAN tag
	TDES2B2L  uint32 = 0x3FFF << 16 // length of buffer 2
	TDES2TTSE uint32 = 1 << 30      // timestamp
	TDES2IOC  uint32 = 1 << 31      // interrupt on completion

	TDES3FL   uint32 = 0x7FFF << 0  // frame length without FCS
	TDES3TPL  uint32 = 0x3FFFF << 0 // payload length (TSO)
	TDES3CIC  uint32 = 3 << 16      // checksum insertion
	TDES3TSE  uint32 = 1 << 18      // segment
	TDES3THL  uint32 = 15 << 19     // TCP header length in words (TSO)
	TDES3SAIC uint32 = 7 << 23      // source address
	TDES3CPC  uint32 = 3 << 26      // CRC and pad: 0 = both inserted
	TDES3LD   uint32 = 1 << 28      // last descriptor of the frame
	TDES3FD   uint32 = 1 << 29      // first descriptor of the frame
	TDES3CTXT uint32 = 1 << 30      // context descriptor
	TDES3OWN  uint32 = 1 << 31      // owned by the device

	CICNone    = 0
	CICHeader  = 1 // IPv4 header only
	CICPartial = 2 // header and payload, pseudo-header sum is in the frame
	CICFull    = 3 // header, payload and pseudo-header
)

// Transmit context descriptor (TDES3CTXT set).
const (
	TDES2CtxMSS    uint32 = 0x3FFF << 0
	TDES2CtxIVT    uint32 = 0xFFFF << 16 // inner VLAN tag
	TDES3CtxVT     uint32 = 0xFFFF << 0  // VLAN tag
	TDES3CtxVLTV   uint32 = 1 << 16
	TDES3CtxIVLTV  uint32 = 1 << 17
	TDES3CtxCDE    uint32 = 1 << 23 // write-back: descriptor error
	TDES3CtxTCMSSV uint32 = 1 << 26 // MSS valid
	TDES3CtxOSTC   uint32 = 1 << 27
)
