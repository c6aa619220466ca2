package gmac3

// Sizes of a descriptor in bytes: normal and enhanced ones have four words,
// extended ones (BusATDS) eight, the first four as those of enhanced ones.
const (
	DescriptorSize = 16
	ExtendedSize   = 32
)

// Words 2 and 3 hold the addresses of buffer 1 and 2; of chained descriptors word
// 3 is the address of the next descriptor.

// Word 0 of a receive descriptor. Its control is in word 1.
const (
	RDES0Payload uint32 = 1 << 0 // payload checksum error; of extended descriptors: RDES4 valid
	RDES0CE      uint32 = 1 << 1 // CRC
	RDES0DBE     uint32 = 1 << 2 // dribble bits
	RDES0RE      uint32 = 1 << 3 // receive error
	RDES0RWT     uint32 = 1 << 4 // watchdog
	RDES0FT      uint32 = 1 << 5 // type frame, not a length
	RDES0LC      uint32 = 1 << 6 // late collision
	RDES0Header  uint32 = 1 << 7 // IP header checksum error; giant with the engine off
	RDES0LS      uint32 = 1 << 8 // last descriptor of the frame
	RDES0FS      uint32 = 1 << 9 // first descriptor of the frame
	RDES0VLAN    uint32 = 1 << 10
	RDES0OE      uint32 = 1 << 11      // overflow
	RDES0LE      uint32 = 1 << 12      // length field and length differ
	RDES0SAF     uint32 = 1 << 13      // source filter failed
	RDES0DE      uint32 = 1 << 14      // cut for want of a descriptor
	RDES0ES      uint32 = 1 << 15      // error summary
	RDES0FL      uint32 = 0x3FFF << 16 // frame length with FCS, valid with LS
	RDES0AFM     uint32 = 1 << 30      // destination filter failed
	RDES0OWN     uint32 = 1 << 31      // owned by the device
)

// Word 1 of a receive descriptor.
const (
	RDES1RBS1 uint32 = 0x7FF << 0 // size of buffer 1, normal
	RDES1RBS2 uint32 = 0x7FF << 11
	RDES1RCH  uint32 = 1 << 24 // chained
	RDES1RER  uint32 = 1 << 25 // last slot of the ring
	RDES1DIC  uint32 = 1 << 31 // no interrupt on completion

	ERDES1RBS1 uint32 = 0x1FFF << 0 // enhanced
	ERDES1RCH  uint32 = 1 << 14
	ERDES1RER  uint32 = 1 << 15
	ERDES1RBS2 uint32 = 0x1FFF << 16
)

// Word 4 of an extended receive descriptor, valid with RDES0Payload.
const (
	RDES4PT   uint32 = 7 << 0 // payload type
	RDES4IPHE uint32 = 1 << 3 // IP header error
	RDES4IPPE uint32 = 1 << 4 // payload checksum error
	RDES4IPCB uint32 = 1 << 5 // checksum engine bypassed
	RDES4IPV4 uint32 = 1 << 6
	RDES4IPV6 uint32 = 1 << 7

	PTUnknown = 0
	PTUDP     = 1
	PTTCP     = 2
	PTICMP    = 3
)

// Word 0 of a transmit descriptor, write-back; of normal descriptors OWN is all
// that is read of it.
const (
	TDES0DB   uint32 = 1 << 0 // deferred
	TDES0UF   uint32 = 1 << 1 // underflow
	TDES0ED   uint32 = 1 << 2 // excessive deferral
	TDES0CC   uint32 = 15 << 3
	TDES0VF   uint32 = 1 << 7
	TDES0EC   uint32 = 1 << 8  // excessive collisions
	TDES0LCO  uint32 = 1 << 9  // late collision
	TDES0NC   uint32 = 1 << 10 // no carrier
	TDES0LCA  uint32 = 1 << 11 // loss of carrier
	TDES0IPE  uint32 = 1 << 12 // payload checksum error
	TDES0FF   uint32 = 1 << 13 // flushed
	TDES0JT   uint32 = 1 << 14 // jabber
	TDES0ES   uint32 = 1 << 15 // error summary
	TDES0IHE  uint32 = 1 << 16 // IP header error
	TDES0TTSS uint32 = 1 << 17 // time stamp in words 2 and 3, or 6 and 7
	TDES0OWN  uint32 = 1 << 31 // owned by the device
)

// Word 1 of a normal transmit descriptor.
const (
	TDES1TBS1 uint32 = 0x7FF << 0 // size of buffer 1
	TDES1TBS2 uint32 = 0x7FF << 11
	TDES1TTSE uint32 = 1 << 22 // time stamp
	TDES1DP   uint32 = 1 << 23 // no padding
	TDES1TCH  uint32 = 1 << 24 // chained
	TDES1TER  uint32 = 1 << 25 // last slot of the ring
	TDES1DC   uint32 = 1 << 26 // no FCS
	TDES1CIC  uint32 = 3 << 27 // checksum insertion
	TDES1FS   uint32 = 1 << 29 // first descriptor of the frame
	TDES1LS   uint32 = 1 << 30 // last descriptor of the frame
	TDES1IC   uint32 = 1 << 31 // interrupt on completion
)

// Words 0 and 1 of an enhanced transmit descriptor.
const (
	ETDES0TCH  uint32 = 1 << 20
	ETDES0TER  uint32 = 1 << 21
	ETDES0CIC  uint32 = 3 << 22
	ETDES0TTSE uint32 = 1 << 25
	ETDES0DP   uint32 = 1 << 26
	ETDES0DC   uint32 = 1 << 27
	ETDES0FS   uint32 = 1 << 28
	ETDES0LS   uint32 = 1 << 29
	ETDES0IC   uint32 = 1 << 30

	ETDES1TBS1 uint32 = 0x1FFF << 0
	ETDES1TBS2 uint32 = 0x1FFF << 16
)

// Checksum insertion.
const (
	CICNone    = 0
	CICHeader  = 1 // IPv4 header only
	CICPartial = 2 // header and payload, pseudo-header sum is in the frame
	CICFull    = 3 // header, payload and pseudo-header
)

// Limits of the buffer size fields in bytes.
const (
	MaxBuffer         = 0x7FF
	MaxEnhancedBuffer = 0x1FFF
)
