package gmac4

// MTL registers (manual: "EQOS_MTL registers").
const (
	MTLOpMode     uint32 = 0xC00 // MTL_Operation_Mode
	MTLIntStatus  uint32 = 0xC20 // MTL_Interrupt_Status: bit q is queue q
	MTLRxQDMAMap0 uint32 = 0xC30 // MTL_RxQ_DMA_Map0: queues 0 to 3
	MTLRxQDMAMap1 uint32 = 0xC34 // MTL_RxQ_DMA_Map1: queues 4 to 7

	OpModeDTXSTS  uint32 = 1 << 1 // drop transmit status
	OpModeRAA     uint32 = 1 << 2 // receive arbitration: 0 strict, 1 weighted
	OpModeSCHALG  uint32 = 3 << 5 // transmit scheduling: 0 WRR, 3 strict
	OpModeCNTPRST uint32 = 1 << 8
	OpModeCNTCLR  uint32 = 1 << 9

	SchedWRR    = 0
	SchedStrict = 3

	MTLIntQueues uint32 = 0xFF
	MTLIntDBG    uint32 = 1 << 16
	MTLIntMAC    uint32 = 1 << 17
	MTLIntEST    uint32 = 1 << 18
)

// RxQDMAMap is the register of receive queue q, RxQDMAChannel its field there.
func RxQDMAMap(q int) uint32     { return MTLRxQDMAMap0 + 4*uint32(q/4) }
func RxQDMAChannel(q int) uint32 { return 15 << (8 * uint(q%4)) }

// QueueBase is where the MTL registers of queue q start.
func QueueBase(q int) uint32 { return 0xD00 + 0x40*uint32(q) }

// MTL queue registers, offsets from QueueBase.
const (
	TxQOpMode    uint32 = 0x00 // MTL_TxQn_Operation_Mode
	TxQUnderflow uint32 = 0x04 // MTL_TxQn_Underflow, cleared by reading
	TxQDebug     uint32 = 0x08 // MTL_TxQn_Debug
	TxQETS       uint32 = 0x10 // MTL_TxQn_ETS_Control
	TxQQuantum   uint32 = 0x18 // MTL_TxQn_Quantum_Weight
	TxQSlope     uint32 = 0x1C // MTL_TxQn_SendSlopeCredit
	TxQHiCredit  uint32 = 0x20 // MTL_TxQn_HiCredit
	TxQLoCredit  uint32 = 0x24 // MTL_TxQn_LoCredit
	QInt         uint32 = 0x2C // MTL_Qn_Interrupt_Control_Status
	RxQOpMode    uint32 = 0x30 // MTL_RxQn_Operation_Mode
	RxQMissed    uint32 = 0x34 // MTL_RxQn_Missed_Packet_Overflow_Cnt, cleared by reading
	RxQDebug     uint32 = 0x38 // MTL_RxQn_Debug
	RxQControl   uint32 = 0x3C // MTL_RxQn_Control

	TxQOpFTQ   uint32 = 1 << 0 // flush, clears itself
	TxQOpTSF   uint32 = 1 << 1 // store and forward
	TxQOpTXQEN uint32 = 3 << 2
	TxQOpTTC   uint32 = 7 << 4
	TxQOpTQS   uint32 = 0x1FF << 16 // 256-byte blocks less one

	TxQEnabled = 2

	TxQDebugPAUSED uint32 = 1 << 0
	TxQDebugTRC    uint32 = 3 << 1 // read controller
	TxQDebugTWC    uint32 = 1 << 3
	TxQDebugTXQ    uint32 = 1 << 4 // queue not empty
	TxQDebugSTS    uint32 = 1 << 5 // status FIFO full
	TxQDebugPTXQ   uint32 = 7 << 16

	TRCIdle  = 0
	TRCRead  = 1
	TRCWait  = 2
	TRCFlush = 3

	TxQQuantumISCQW uint32 = 0x1FFFFF

	QIntTXUNF  uint32 = 1 << 0 // W1C
	QIntTXUIE  uint32 = 1 << 8
	QIntRXOVF  uint32 = 1 << 16 // W1C
	QIntRXOIE  uint32 = 1 << 24
	QIntStatus        = QIntTXUNF | QIntRXOVF

	RxQOpRTC      uint32 = 3 << 0
	RxQOpFUP      uint32 = 1 << 3      // forward undersized good frames
	RxQOpFEP      uint32 = 1 << 4      // forward error frames
	RxQOpRSF      uint32 = 1 << 5      // store and forward
	RxQOpDISTCPEF uint32 = 1 << 6      // keep frames with a bad L4 checksum
	RxQOpEHFC     uint32 = 1 << 7      // hardware flow control
	RxQOpRFA      uint32 = 63 << 8     // pause from: full - (1 KiB + n*512)
	RxQOpRFD      uint32 = 63 << 14    // pause until: full - (1 KiB + n*512)
	RxQOpRQS      uint32 = 0x3FF << 20 // 256-byte blocks less one

	RxQMissedOverflow uint32 = 0x7FF << 0
	RxQMissedOvfOver  uint32 = 1 << 11
	RxQMissedMissed   uint32 = 0x7FF << 16
	RxQMissedMisOver  uint32 = 1 << 27

	RxQDebugRWC  uint32 = 1 << 0
	RxQDebugRRC  uint32 = 3 << 1
	RxQDebugRXQ  uint32 = 3 << 4       // fill level, 0 empty
	RxQDebugPRXQ uint32 = 0x3FFF << 16 // frames

	RxQControlWEGT uint32 = 7 << 0
)

// DMA registers (manual: "EQOS_DMA registers").
const (
	DMAMode      uint32 = 0x1000 // DMA_Mode
	DMASysBus    uint32 = 0x1004 // DMA_SysBus_Mode
	DMAIntStatus uint32 = 0x1008 // DMA_Interrupt_Status
	DMADebug0    uint32 = 0x100C // DMA_Debug_Status0: channels 0 to 2
	DMADebug1    uint32 = 0x1010 // DMA_Debug_Status1: channels 3 to 6
	DMADebug2    uint32 = 0x1014 // DMA_Debug_Status2: channel 7

	DMAModeSWR  uint32 = 1 << 0 // software reset, clears itself
	DMAModeDA   uint32 = 1 << 1
	DMAModeTXPR uint32 = 1 << 11
	DMAModePR   uint32 = 7 << 12
	DMAModeINTM uint32 = 3 << 16

	SysBusFB     uint32 = 1 << 0
	SysBusBLEN4  uint32 = 1 << 1
	SysBusBLEN8  uint32 = 1 << 2
	SysBusBLEN16 uint32 = 1 << 3
	SysBusBLEN   uint32 = 0x7F << 1
	SysBusEAME   uint32 = 1 << 11 // addresses of more than 32 bits
	SysBusAAL    uint32 = 1 << 12 // aligned bursts
	SysBusONEKB  uint32 = 1 << 13
	SysBusMB     uint32 = 1 << 14
	SysBusRB     uint32 = 1 << 15
	SysBusRDOSR  uint32 = 15 << 16
	SysBusWROSR  uint32 = 15 << 24

	DMAIntChannels uint32 = 0xFF
	DMAIntMTL      uint32 = 1 << 16
	DMAIntMAC      uint32 = 1 << 17
)

// DebugState finds the states of channel c: the register, and the masks of its
// receive (RPS) and transmit (TPS) state there. 0 is stopped.
func DebugState(c int) (reg, rps, tps uint32) {
	if c < 3 {
		shift := uint(8 + 8*c)
		return DMADebug0, 15 << shift, 15 << (shift + 4)
	}
	shift := uint(8 * ((c - 3) % 4))
	return DMADebug1 + 4*uint32((c-3)/4), 15 << shift, 15 << (shift + 4)
}

// States of DebugState.
const (
	StateStopped = 0

	TxStateFetch     = 1
	TxStateWait      = 2
	TxStateRead      = 3
	TxStateSuspended = 6
	TxStateClose     = 7

	RxStateFetch     = 1
	RxStateWait      = 3
	RxStateSuspended = 4
	RxStateClose     = 5
	RxStateTransfer  = 7
)

// ChanBase is where the registers of DMA channel c start.
func ChanBase(c int) uint32 { return 0x1100 + 0x80*uint32(c) }

// DMA channel registers, offsets from ChanBase.
const (
	ChanControl    uint32 = 0x00 // DMA_CHi_Control
	ChanTxControl  uint32 = 0x04 // DMA_CHi_Tx_Control
	ChanRxControl  uint32 = 0x08 // DMA_CHi_Rx_Control
	ChanTxListHigh uint32 = 0x10 // DMA_CHi_TxDesc_List_HAddress
	ChanTxList     uint32 = 0x14 // DMA_CHi_TxDesc_List_Address
	ChanRxListHigh uint32 = 0x18 // DMA_CHi_RxDesc_List_HAddress
	ChanRxList     uint32 = 0x1C // DMA_CHi_RxDesc_List_Address
	ChanTxTail     uint32 = 0x20 // DMA_CHi_TxDesc_Tail_Pointer, low 32 bits
	ChanRxTail     uint32 = 0x28 // DMA_CHi_RxDesc_Tail_Pointer, low 32 bits
	ChanTxRingLen  uint32 = 0x2C // DMA_CHi_TxDesc_Ring_Length: slots less one
	ChanRxRingLen  uint32 = 0x30 // DMA_CHi_RxDesc_Ring_Length: slots less one
	ChanIntEnable  uint32 = 0x34 // DMA_CHi_Interrupt_Enable
	ChanRxWatchdog uint32 = 0x38 // DMA_CHi_Rx_Interrupt_Watchdog_Timer
	ChanSlot       uint32 = 0x3C // DMA_CHi_Slot_Function_Control_Status
	ChanCurTxDesc  uint32 = 0x44 // DMA_CHi_Current_App_TxDesc
	ChanCurRxDesc  uint32 = 0x4C // DMA_CHi_Current_App_RxDesc
	ChanCurTxBufH  uint32 = 0x50 // DMA_CHi_Current_App_TxBuffer_H
	ChanCurTxBuf   uint32 = 0x54 // DMA_CHi_Current_App_TxBuffer
	ChanCurRxBufH  uint32 = 0x58 // DMA_CHi_Current_App_RxBuffer_H
	ChanCurRxBuf   uint32 = 0x5C // DMA_CHi_Current_App_RxBuffer
	ChanStatus     uint32 = 0x60 // DMA_CHi_Status, W1C
	ChanMissed     uint32 = 0x64 // DMA_CHi_Miss_Frame_Cnt

	ControlMSS   uint32 = 0x3FFF
	ControlPBLx8 uint32 = 1 << 16
	ControlDSL   uint32 = 7 << 18 // gap between descriptors in bus words
	ControlSPH   uint32 = 1 << 24 // split header

	TxControlST   uint32 = 1 << 0
	TxControlOSP  uint32 = 1 << 4 // fetch the next frame early
	TxControlTSE  uint32 = 1 << 12
	TxControlPBL  uint32 = 63 << 16
	TxControlEDSE uint32 = 1 << 28

	RxControlSR   uint32 = 1 << 0
	RxControlRBSZ uint32 = 0x3FFF << 1 // buffer size in bytes
	RxControlPBL  uint32 = 63 << 16
	RxControlRPF  uint32 = 1 << 31 // flush when stopped

	RingLenMask uint32 = 0x3FF

	WatchdogRWT  uint32 = 0xFF    // in dwregs.WatchdogUnit
	WatchdogRWTU uint32 = 3 << 16 // unit = 256 << n clocks; absent on early 4.x

	MissedCount    uint32 = 0x7FF
	MissedOverflow uint32 = 1 << 15
)

// DMA_CHi_Status (W1C) and DMA_CHi_Interrupt_Enable. The two summary bits of the
// enable register have their place in Facts.
const (
	IntTI  uint32 = 1 << 0  // transmit interrupt (IOC)
	IntTPS uint32 = 1 << 1  // transmit stopped
	IntTBU uint32 = 1 << 2  // no owned transmit descriptor: normal idle
	IntRI  uint32 = 1 << 6  // receive interrupt
	IntRBU uint32 = 1 << 7  // no owned receive descriptor
	IntRPS uint32 = 1 << 8  // receive stopped
	IntRWT uint32 = 1 << 9  // frame longer than the watchdog
	IntETI uint32 = 1 << 10 // early transmit
	IntERI uint32 = 1 << 11 // early receive
	IntFBE uint32 = 1 << 12 // fatal bus error
	IntCDE uint32 = 1 << 13 // context descriptor error

	StatusAIS uint32 = 1 << 14 // abnormal summary
	StatusNIS uint32 = 1 << 15 // normal summary
	StatusTEB uint32 = 7 << 16 // transmit bus error
	StatusREB uint32 = 7 << 19 // receive bus error

	// IntNormal and IntAbnormal are the causes behind the two summaries.
	IntNormal   = IntTI | IntTBU | IntRI | IntERI
	IntAbnormal = IntTPS | IntRBU | IntRPS | IntRWT | IntETI | IntFBE | IntCDE
)

// Codes of StatusTEB and StatusREB.
const (
	BusErrBufferWrite     = 4
	BusErrBufferRead      = 5
	BusErrDescriptorWrite = 6
	BusErrDescriptorRead  = 7
)
