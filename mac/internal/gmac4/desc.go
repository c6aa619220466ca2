package gmac4

// MaxRxBuffer is the largest receive buffer in bytes (RX_CONTROL.RBSZ). Transmit
// descriptors are those of dwregs, but for their write-back.
const MaxRxBuffer = 16383

// Transmit normal descriptor, write-back format (last descriptor of a frame).
// Others only get OWN cleared.
const (
	TDES3IHE  uint32 = 1 << 0 // IP header error
	TDES3DB   uint32 = 1 << 1 // deferred
	TDES3UF   uint32 = 1 << 2 // underflow
	TDES3ED   uint32 = 1 << 3 // excessive deferral
	TDES3CC   uint32 = 15 << 4
	TDES3EC   uint32 = 1 << 8  // excessive collisions
	TDES3LC   uint32 = 1 << 9  // late collision
	TDES3NC   uint32 = 1 << 10 // no carrier
	TDES3LoC  uint32 = 1 << 11 // loss of carrier
	TDES3PCE  uint32 = 1 << 12 // payload checksum error
	TDES3FF   uint32 = 1 << 13 // flushed
	TDES3JT   uint32 = 1 << 14 // jabber
	TDES3ES   uint32 = 1 << 15 // error summary
	TDES3TTSS uint32 = 1 << 17 // timestamp in TDES0 and TDES1
)

// Receive descriptor, read format. RDES0 and RDES1 hold the address of buffer 1,
// low and high, RDES2 that of buffer 2, low.
const (
	RDES3BUF1V uint32 = 1 << 24
	RDES3BUF2V uint32 = 1 << 25
	RDES3IOC   uint32 = 1 << 30 // interrupt on completion
	RDES3OWN   uint32 = 1 << 31 // owned by the device; also in the write-back
)

// Receive descriptor, write-back format. RDES3CTXT marks a timestamp, which
// follows the last descriptor of its frame in a slot of its own.
const (
	RDES0VLAN      uint32 = 0xFFFF << 0  // valid with RDES3RS0V
	RDES0InnerVLAN uint32 = 0xFFFF << 16 // valid with RDES3RS0V

	RDES1PT   uint32 = 7 << 0 // payload type
	RDES1IPHE uint32 = 1 << 3 // IP header error
	RDES1IPV4 uint32 = 1 << 4
	RDES1IPV6 uint32 = 1 << 5
	RDES1IPCB uint32 = 1 << 6 // checksum engine bypassed
	RDES1IPCE uint32 = 1 << 7 // payload checksum error
	RDES1TSA  uint32 = 1 << 14
	RDES1TD   uint32 = 1 << 15

	PTUnknown = 0
	PTUDP     = 1
	PTTCP     = 2
	PTICMP    = 3

	RDES2HL  uint32 = 0x3FF << 0
	RDES2VF  uint32 = 1 << 15
	RDES2SAF uint32 = 1 << 16
	RDES2DAF uint32 = 1 << 17
	RDES2HF  uint32 = 1 << 18

	RDES3PL   uint32 = 0x7FFF << 0 // frame length with FCS, valid with LD
	RDES3ES   uint32 = 1 << 15     // CE, GP, RWT, OE, RE or DE; never a checksum
	RDES3LT   uint32 = 7 << 16     // kind of the length or type field
	RDES3DE   uint32 = 1 << 19     // dribble bits
	RDES3RE   uint32 = 1 << 20     // receive error
	RDES3OE   uint32 = 1 << 21     // overflow
	RDES3RWT  uint32 = 1 << 22     // watchdog
	RDES3GP   uint32 = 1 << 23     // giant
	RDES3CE   uint32 = 1 << 24     // CRC
	RDES3RS0V uint32 = 1 << 25     // RDES0 valid
	RDES3RS1V uint32 = 1 << 26     // RDES1 valid
	RDES3RS2V uint32 = 1 << 27     // RDES2 valid
	RDES3LD   uint32 = 1 << 28
	RDES3FD   uint32 = 1 << 29
	RDES3CTXT uint32 = 1 << 30
)

// Kinds of RDES3LT.
const (
	LTLength     = 0
	LTType       = 1
	LTARP        = 3
	LTVLAN       = 4
	LTDoubleVLAN = 5
	LTControl    = 6
	LTOAM        = 7
)
