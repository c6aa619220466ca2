package xgmac2

// MaxRxBuffer is the largest receive buffer in bytes (RX_CONTROL.RBSZ). Transmit
// descriptors are those of GMAC4: see dwregs.
const MaxRxBuffer = 16383

// Receive descriptor, read format. RDES0 and RDES1 hold the address of buffer 1,
// low and high, RDES2 and RDES3 that of buffer 2. There are no bits that say which
// of the two are there: an address of 0 is none.
const (
	RDES3IOC uint32 = 1 << 30 // interrupt on completion
	RDES3OWN uint32 = 1 << 31 // owned by the device; also in the write-back
)

// Receive descriptor, write-back format. RDES3CTXT marks a context, a time stamp,
// which is in the slot behind the last one of its frame. RDES3CDA in the frame's last
// descriptor announces it.
const (
	RDES0VLAN      uint32 = 0xFFFF << 0
	RDES0InnerVLAN uint32 = 0xFFFF << 16

	// RDES1 is the hash of RSS, with RDES3RSV.

	RDES2HL    uint32 = 0x3FF << 0
	RDES2TNP   uint32 = 1 << 11 // tunnel
	RDES2VF    uint32 = 1 << 15
	RDES2SAF   uint32 = 1 << 16
	RDES2DAF   uint32 = 1 << 17
	RDES2HF    uint32 = 1 << 18
	RDES2MADRM uint32 = 0xFF << 19 // perfect filter that matched

	RDES3PL   uint32 = 0x3FFF << 0 // frame length with FCS, valid with LD
	RDES3ES   uint32 = 1 << 15     // error, RDES3ET says which; checksums too
	RDES3ET   uint32 = 15 << 16    // kind of error with ES, of the type field without
	RDES3L34T uint32 = 15 << 20    // network and transport protocol
	RDES3RSV  uint32 = 1 << 26     // RDES1 is a hash
	RDES3CDA  uint32 = 1 << 27     // a context follows
	RDES3LD   uint32 = 1 << 28
	RDES3FD   uint32 = 1 << 29
	RDES3CTXT uint32 = 1 << 30

	// The bits of a context.
	RDES3CtxTSA uint32 = 1 << 4 // time stamp in RDES0 and RDES1
	RDES3CtxTSD uint32 = 1 << 6 // time stamp dropped
)

// Values of RDES3ET with ES set. 5 and 6 are checksums (amd-xgbe), the others are
// of samsung sxgbe alone.
const (
	ErrGMII     = 1
	ErrWatchdog = 2
	ErrCRC      = 3
	ErrGiant    = 4
	ErrIPHeader = 5
	ErrL4       = 6
	ErrOverflow = 7
)

// Values of RDES3ET without ES, with other numbers for other type fields.
const (
	TypeSTag       = 8
	TypeCTag       = 9
	TypeDoubleLow  = 10 // C-C, S-S, C-S, S-C
	TypeDoubleHigh = 13
)

// Values of RDES3L34T. Those of IPv6 have bit 3 set.
const (
	L34None  = 0
	L34TCP   = 1
	L34UDP   = 2
	L34ICMP  = 3
	L34Other = 7
	L34IPv6  = 8
)
