package emac

// Registers, by offset. Those between them must not be touched.
const (
	BasicCtl0  uint32 = 0x00
	BasicCtl1  uint32 = 0x04
	IntSta     uint32 = 0x08 // write 1 to clear; latches whether enabled or not
	IntEn      uint32 = 0x0C // same bits as IntSta
	TxCtl0     uint32 = 0x10
	TxCtl1     uint32 = 0x14
	TxFlowCtl  uint32 = 0x1C
	TxDescList uint32 = 0x20 // not a version register, as other cores have here
	RxCtl0     uint32 = 0x24
	RxCtl1     uint32 = 0x28
	RxDescList uint32 = 0x34
	RxFrmFlt   uint32 = 0x38
	RxHash0    uint32 = 0x40 // bins 63 to 32
	RxHash1    uint32 = 0x44 // bins 31 to 0
	MIICmd     uint32 = 0x48
	MIIData    uint32 = 0x4C
	TxDMASta   uint32 = 0xB0
	TxCurDesc  uint32 = 0xB4
	TxCurBuf   uint32 = 0xB8
	RxDMASta   uint32 = 0xC0
	RxCurDesc  uint32 = 0xC4
	RxCurBuf   uint32 = 0xC8
	RGMIISta   uint32 = 0xD0
)

// AddrSlots is the number of address filters; slot 0 is the station's own.
const AddrSlots = 8

// AddrHigh and AddrLow are the registers of address slot n, 0 to 7.
func AddrHigh(n int) uint32 { return 0x50 + 8*uint32(n) }
func AddrLow(n int) uint32  { return 0x54 + 8*uint32(n) }

// BasicCtl0 and BasicCtl1.
const (
	Ctl0Duplex   uint32 = 1 << 0 // full duplex
	Ctl0Loopback uint32 = 1 << 1 // sets itself around link changes (Linux)
	Ctl0Speed    uint32 = 3 << 2

	Speed1000 = 0
	Speed10   = 2
	Speed100  = 3

	Ctl1SoftRst uint32 = 1 << 0 // reads 1 until the reset is done
	Ctl1RxTxPri uint32 = 1 << 1
	Ctl1Burst   uint32 = 63 << 24

	// Ctl1Reset is BasicCtl1 after a reset: bursts of 8.
	Ctl1Reset uint32 = 8 << 24
)

// IntSta and IntEn.
const (
	IntTx          uint32 = 1 << 0
	IntTxDMAStop   uint32 = 1 << 1
	IntTxBufUA     uint32 = 1 << 2 // the next descriptor is not the device's
	IntTxTimeout   uint32 = 1 << 3
	IntTxUnderflow uint32 = 1 << 4
	IntTxEarly     uint32 = 1 << 5
	IntRx          uint32 = 1 << 8
	IntRxBufUA     uint32 = 1 << 9
	IntRxDMAStop   uint32 = 1 << 10 // FreeBSD calls this one RX_BUF_UA
	IntRxTimeout   uint32 = 1 << 11
	IntRxOverflow  uint32 = 1 << 12
	IntRxEarly     uint32 = 1 << 13
	IntRGMII       uint32 = 1 << 16 // in-band status has changed

	IntAll uint32 = 0x1FFFFFF // what Linux clears
)

// TxCtl0, TxCtl1 and TxFlowCtl.
const (
	TxCtl0FrmLen uint32 = 1 << 30 // raise the length at which sending is cut off
	TxCtl0En     uint32 = 1 << 31

	TxCtl1Flush   uint32 = 1 << 0 // flush the FIFO
	TxCtl1MD      uint32 = 1 << 1 // store and forward
	TxCtl1NextFrm uint32 = 1 << 2 // fetch the next frame while one is sent (BSP)
	TxCtl1TH      uint32 = 7 << 8
	TxCtl1DMAEn   uint32 = 1 << 30
	TxCtl1Start   uint32 = 1 << 31 // look at the descriptors; clears itself

	TxFlowEn   uint32 = 1 << 0
	TxFlowTime uint32 = 0xFFFF << 4 // in units of 512 bit times
)

// RxCtl0 and RxCtl1. The thresholds of flow control count from the full FIFO
// down, in KiB less one (manual; no open driver uses them).
const (
	RxCtl0PauseMD  uint32 = 1 << 17 // take unicast pause frames too
	RxCtl0FlowEn   uint32 = 1 << 16 // obey pause frames
	RxCtl0Check    uint32 = 1 << 27 // check IP, TCP, UDP and ICMP checksums
	RxCtl0StripFCS uint32 = 1 << 28
	RxCtl0Jumbo    uint32 = 1 << 29
	RxCtl0FrmLen   uint32 = 1 << 30
	RxCtl0En       uint32 = 1 << 31

	RxCtl1NoFlush   uint32 = 1 << 0 // keep frames in the FIFO while there are no buffers
	RxCtl1MD        uint32 = 1 << 1 // store and forward
	RxCtl1Runt      uint32 = 1 << 2 // forward frames of less than 64 bytes
	RxCtl1Err       uint32 = 1 << 3 // forward frames with errors
	RxCtl1TH        uint32 = 3 << 4
	RxCtl1FlowAct   uint32 = 3 << 20 // pause begins
	RxCtl1FlowDeact uint32 = 3 << 22 // pause ends
	RxCtl1FlowEn    uint32 = 1 << 24 // let the FIFO ask for pauses
	RxCtl1DMAEn     uint32 = 1 << 30
	RxCtl1Start     uint32 = 1 << 31 // look at the descriptors; clears itself
)

// RxFrmFlt. Linux's promiscuous mode is FltAll alone, FreeBSD's FltDisAddr alone.
const (
	FltAll          uint32 = 1 << 0 // pass everything, with RxDAFail on what would not have
	FltHashPerfect  uint32 = 1 << 1
	FltDAInverse    uint32 = 1 << 4
	FltSAInverse    uint32 = 1 << 5
	FltSA           uint32 = 1 << 6
	FltHashUni      uint32 = 1 << 8
	FltHashMulti    uint32 = 1 << 9
	FltCtl          uint32 = 3 << 12 // pause and other MAC control frames
	FltAllMulticast uint32 = 1 << 16
	FltDisBroadcast uint32 = 1 << 17
	FltDisAddr      uint32 = 1 << 31

	CtlDrop    = 0 // and 1
	CtlAll     = 2 // Linux
	CtlPassing = 3 // those that pass the address filter
)

// MIICmd.
const (
	MIIBusy  uint32 = 1 << 0
	MIIWrite uint32 = 1 << 1
	MIIReg   uint32 = 31 << 4
	MIIPHY   uint32 = 31 << 12
	MIIDiv   uint32 = 7 << 20 // MDC is the bus clock over 16 << MIIDiv, 3 at most
)

// AddrHigh.
const (
	AddrHighBytes uint32 = 0xFFFF
	AddrHighMask  uint32 = 63 << 24 // bytes that are not compared
	AddrHighSA    uint32 = 1 << 30  // compare the source address
	AddrHighEn    uint32 = 1 << 31  // slots 1 to 7 work only with it
)

// States of TxDMASta and RxDMASta.
const (
	DMAState uint32 = 7

	DMAStopped = 0
	DMAFetch   = 1

	TxWaitStatus = 2
	TxRead       = 3
	TxSuspended  = 6
	TxClose      = 7

	RxWaitFrame = 3
	RxSuspended = 4
	RxClose     = 5
	RxTransfer  = 7
)

// RGMIISta (manual; no open driver reads it).
const (
	RGMIIDuplex uint32 = 1 << 0
	RGMIISpeed  uint32 = 3 << 1
	RGMIILink   uint32 = 1 << 3

	RGMIISpeed10   = 0
	RGMIISpeed100  = 1
	RGMIISpeed1000 = 2
)
