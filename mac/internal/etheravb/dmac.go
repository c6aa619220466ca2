package etheravb

// AVB-DMAC: mode, status and queues.
const (
	CCC  uint32 = 0x0000
	DBAT uint32 = 0x0004
	DLR  uint32 = 0x0008 // load request by entry of the table
	CSR  uint32 = 0x000C
	ESR  uint32 = 0x0088
	APSR uint32 = 0x008C // from R-Car Gen3 on
	RCR  uint32 = 0x0090
	RPC  uint32 = 0x00B0
	RTC  uint32 = 0x00B4
	TGC  uint32 = 0x0300
	TCCR uint32 = 0x0304
	TSR  uint32 = 0x0308
)

// CDAR is the current descriptor address of an entry of the table.
func CDAR(entry int) uint32 { return 0x0010 + 4*uint32(entry) }

// CCC.
const (
	CCCOPC  uint32 = 3 << 0
	CCCGAC  uint32 = 1 << 7 // gPTP runs in CONFIG (Gen3)
	CCCDTSR uint32 = 1 << 8 // suspend data transfer
	CCCCSEL uint32 = 3 << 16
	CCCBOC  uint32 = 1 << 20 // big-endian
	CCCLBME uint32 = 1 << 24

	OPCReset     = 0
	OPCConfig    = 1
	OPCOperation = 2
	OPCStandby   = 3

	CSELHPB = 1 // gPTP runs on the peripheral bus clock
)

// CSR. OPS is one-hot: 1 << OPC.
const (
	CSROPS  uint32 = 15 << 0
	CSRDTS  uint32 = 1 << 8   // suspended
	CSRTPO  uint32 = 15 << 16 // transmission of queue 0 to 3 in progress
	CSRRPO  uint32 = 1 << 20  // reception in progress
	CSRTDUO uint32 = 1 << 21  // descriptor update pending
)

// ESR.
const (
	ESREQN uint32 = 31 << 0 // queue
	ESRET  uint32 = 15 << 8 // what went wrong
	ESREIL uint32 = 1 << 12 // another error was lost

	ErrDescRead  = 0
	ErrDescWrite = 1
	ErrDescType  = 2
	ErrDataRead  = 4
	ErrDataWrite = 5
	ErrFrameSize = 9 // transmission
)

// RCR. GbEth has another layout, of which one value is known (RCRGbEth).
const (
	RCREFFS uint32 = 1 << 0 // drop frames with errors
	RCRENCF uint32 = 1 << 1 // network control frames go to queue 1
	RCRESF  uint32 = 3 << 2 // stream filter
	RCRETS0 uint32 = 1 << 4 // extended descriptors in queue 0
	RCRRFCL uint32 = 0x1FFF << 16

	RFCLDefault = 0x1800 // what the manual recommends

	RCRGbEth uint32 = 0x60000000
)

// RTC: the longest frame by kind. Of GbEth's layout one value is known, for
// frames of 8 KiB.
const (
	RTCMFL0  uint32 = 0xFFF << 0
	RTCMFL1  uint32 = 0xFFF << 16
	RTCGbEth uint32 = 0x7FFC0000 | 8192
)

// TGC.
const (
	TGCTSM  uint32 = 15 << 0
	TGCTQP  uint32 = 3 << 4
	TGCTBD0 uint32 = 3 << 8
	TGCTBD1 uint32 = 3 << 12
	TGCTBD2 uint32 = 3 << 16
	TGCTBD3 uint32 = 3 << 20

	TQPNonAVB   = 0
	TQPAVBMode1 = 1 // queue 1 before queue 0, streams before both
)

// TCCR. Writing 0 to TSRQ has no effect; it clears itself when the queue has met a
// descriptor that is no frame.
const (
	TCCRTSRQ uint32 = 15 << 0
	TCCRTFEN uint32 = 1 << 8
	TCCRTFR  uint32 = 1 << 9
)

// Interrupts of the AVB-DMAC. A bit of a status register is cleared by writing 0
// to it; ones leave theirs alone, and reserved bits take 0 only. From Gen3 on the
// registers whose name ends in E and D set and clear bits of the control register.
const (
	DIC  uint32 = 0x0350 // descriptor interrupts
	DIS  uint32 = 0x0354
	EIC  uint32 = 0x0358 // errors
	EIS  uint32 = 0x035C
	RIC0 uint32 = 0x0360 // frame received, by queue
	RIS0 uint32 = 0x0364
	RIC1 uint32 = 0x0368 // warnings
	RIS1 uint32 = 0x036C
	RIC2 uint32 = 0x0370 // queue full, FIFO full
	RIS2 uint32 = 0x0374
	TIC  uint32 = 0x0378 // frame transmitted, by queue; timestamps
	TIS  uint32 = 0x037C
	ISS  uint32 = 0x0380 // summary
	CIE  uint32 = 0x0384 // which lines, where there are several
	DIL  uint32 = 0x0440
	RIE0 uint32 = 0x0460
	RID0 uint32 = 0x0464
	RIE2 uint32 = 0x0470
	RID2 uint32 = 0x0474
	TIE  uint32 = 0x0478
	TID  uint32 = 0x047C
)

// Bits of the status registers, and of the control registers beside them.
const (
	EISMREF uint32 = 1 << 0 // E-MAC reception error
	EISMTEF uint32 = 1 << 1 // E-MAC transmission error
	EISQEF  uint32 = 1 << 2 // queue error: ESR has it
	EISSEF  uint32 = 1 << 3
	EISTFFF uint32 = 1 << 8
	EISQFS  uint32 = 1 << 16 // something in RIS2

	EISReserved uint32 = 0x7FFF<<17 | 31<<11

	RISQueues    uint32 = 0x3FFFF << 0 // RIS0 and RIS2: queue q
	RIS0Reserved uint32 = 0x3FFF << 18
	RIS1RFWF     uint32 = 1 << 31
	RIS2RFFF     uint32 = 1 << 31 // FIFO full
	RIS2Reserved uint32 = 0x1FFF << 18

	TISFTF      uint32 = 15 << 0 // frame transmitted, queue q
	TISTFUF     uint32 = 1 << 8  // timestamp FIFO updated
	TISTFWF     uint32 = 1 << 9
	TISTDPF     uint32 = 15 << 16
	TISReserved uint32 = 0xFFF<<20 | 15<<12 | 15<<4

	DISReserved uint32 = 0xFFFF<<16 | 1
)

// ISS.
const (
	ISSFRS  uint32 = 1 << 0
	ISSFTS  uint32 = 1 << 2
	ISSES   uint32 = 1 << 6
	ISSMS   uint32 = 1 << 7 // E-MAC
	ISSTFUS uint32 = 1 << 8
	ISSRFWS uint32 = 1 << 12
	ISSCGIS uint32 = 1 << 13
	ISSDPS  uint32 = 0x7FFF << 17
)

// CIE. With all of them 0 the whole AVB-DMAC has one line (ch22 of Gen3).
const (
	CIECRIE uint32 = 1 << 0  // receive queues have lines of their own
	CIECTIE uint32 = 1 << 8  // transmit queues have
	CIERQFM uint32 = 1 << 16 // queue full with the queue
	CIECL0M uint32 = 1 << 17 // queue 0 has its own, too
)

// gPTP.
const (
	GCCR uint32 = 0x0390
	GTI  uint32 = 0x039C
	GIC  uint32 = 0x03AC
	GIS  uint32 = 0x03B0
	GCT0 uint32 = 0x03B8
	GIE  uint32 = 0x03CC
	GID  uint32 = 0x03D0

	GCCRTCR uint32 = 3 << 0
	GCCRLTO uint32 = 1 << 2
	GCCRLTI uint32 = 1 << 3

	GCCRRequests uint32 = 0x3F // which clear themselves
)
