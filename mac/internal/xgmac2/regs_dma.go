package xgmac2

// MTL registers (manual: "XGMAC_MTL registers").
const (
	MTLOpMode     uint32 = 0x1000 // MTL_Operation_Mode
	MTLIntStatus  uint32 = 0x1020 // MTL_Interrupt_Status: bit q is queue q
	MTLRxQDMAMap0 uint32 = 0x1030 // MTL_RxQ_DMA_Map0 to 3, see RxQDMAMap
	MTLTCPrtyMap0 uint32 = 0x1040 // MTL_TC_Prty_Map0: traffic classes 0 to 3
	MTLTCPrtyMap1 uint32 = 0x1044 // MTL_TC_Prty_Map1: traffic classes 4 to 7

	OpModeRAA    uint32 = 1 << 2 // receive arbitration: 0 strict, 1 weighted
	OpModeETSALG uint32 = 3 << 5 // transmit scheduling: 0 WRR, 1 WFQ, 2 DWRR

	SchedWRR = 0
)

// RxQDMAMap is the register of receive queue q, RxQDMAField the byte of the queue
// there: a channel, or RxQDMADynamic to have it chosen by RSS or by the address.
func RxQDMAMap(q int) uint32   { return MTLRxQDMAMap0 + 4*uint32(q/4) }
func RxQDMAField(q int) uint32 { return 0xFF << (8 * uint(q%4)) }

const (
	RxQDMAChannel uint32 = 15
	RxQDMADynamic uint32 = 1 << 7
)

// QueueStride is the distance of queues, and ChanStride that of channels.
const (
	QueueStride uint32 = 0x80
	ChanStride  uint32 = 0x80
)

// QueueBase is where the MTL registers of queue q start.
func QueueBase(q int) uint32 { return 0x1100 + QueueStride*uint32(q) }

// MTL queue registers, offsets from QueueBase. Those of traffic classes lie among
// them.
const (
	TxQOpMode    uint32 = 0x00 // MTL_TxQn_Operation_Mode
	TxQUnderflow uint32 = 0x04 // MTL_TxQn_Underflow, cleared by reading
	TxQDebug     uint32 = 0x08 // MTL_TxQn_Debug
	TCETS        uint32 = 0x10 // MTL_TCn_ETS_Control
	TCQuantum    uint32 = 0x18 // MTL_TCn_Quantum_Weight
	TCSlope      uint32 = 0x1C // MTL_TCn_SendSlopeCredit
	TCHiCredit   uint32 = 0x20 // MTL_TCn_HiCredit
	TCLoCredit   uint32 = 0x24 // MTL_TCn_LoCredit
	RxQOpMode    uint32 = 0x40 // MTL_RxQn_Operation_Mode
	RxQMissed    uint32 = 0x44 // MTL_RxQn_Missed_Pkt_Overflow_Cnt, cleared by reading
	RxQDebug     uint32 = 0x48 // MTL_RxQn_Debug
	RxQFlow      uint32 = 0x50 // MTL_RxQn_Flow_Control
	QIntEnable   uint32 = 0x70 // MTL_Qn_Interrupt_Enable
	QIntStatus   uint32 = 0x74 // MTL_Qn_Interrupt_Status, W1C

	TxQOpFTQ   uint32 = 1 << 0 // flush, clears itself
	TxQOpTSF   uint32 = 1 << 1 // store and forward
	TxQOpTXQEN uint32 = 3 << 2
	TxQOpTTC   uint32 = 7 << 4
	TxQOpTC    uint32 = 7 << 8      // Q2TCMAP, traffic class of the queue
	TxQOpTQS   uint32 = 0x3FF << 16 // 256-byte blocks less one

	TxQEnabled = 2

	TxQDebugTRC uint32 = 3 << 1 // read controller
	TxQDebugTXQ uint32 = 1 << 4 // queue not empty

	TRCIdle = 0
	TRCRead = 1

	TCETSTSA uint32 = 3 << 0 // 0 strict, 1 credit based, 2 ETS
	TSAETS          = 2

	TCQuantumQW uint32 = 0x1FFFFF

	RxQOpRTC      uint32 = 3 << 0
	RxQOpFUP      uint32 = 1 << 3      // forward undersized good frames
	RxQOpFEP      uint32 = 1 << 4      // forward error frames
	RxQOpRSF      uint32 = 1 << 5      // store and forward
	RxQOpDISTCPEF uint32 = 1 << 6      // keep frames with a bad checksum
	RxQOpEHFC     uint32 = 1 << 7      // hardware flow control
	RxQOpRQS      uint32 = 0x3FF << 16 // 256-byte blocks less one

	RxQFlowRFA uint32 = 63 << 1  // pause from: full - (1 KiB + n*512)
	RxQFlowRFD uint32 = 63 << 17 // pause until: full - (1 KiB + n*512)

	RxQMissedOverflow uint32 = 0x7FF << 0
	RxQMissedOvfOver  uint32 = 1 << 11
	RxQMissedMissed   uint32 = 0x7FF << 16
	RxQMissedMisOver  uint32 = 1 << 27

	RxQDebugRXQ  uint32 = 3 << 4       // fill level, 0 empty
	RxQDebugPRXQ uint32 = 0x3FFF << 16 // frames

	QIntTXUNF uint32 = 1 << 0
	QIntABPS  uint32 = 1 << 1
	QIntRXOVF uint32 = 1 << 16
)

// DMA registers (manual: "XGMAC_DMA registers").
const (
	DMAMode      uint32 = 0x3000 // DMA_Mode
	DMASysBus    uint32 = 0x3004 // DMA_SysBus_Mode
	DMAIntStatus uint32 = 0x3008 // DMA_Interrupt_Status
	DMADebug0    uint32 = 0x3020 // DMA_Debug_Status0: channels 0 to 2; see DebugState
	DMADebug4    uint32 = 0x3030
	DMATxEDMA    uint32 = 0x3040 // DMA_Tx_EDMA_Control
	DMARxEDMA    uint32 = 0x3044 // DMA_Rx_EDMA_Control

	DMAModeSWR  uint32 = 1 << 0  // software reset, clears itself
	DMAModeINTM uint32 = 3 << 12 // GMAC4: bits 17:16

	SysBusUNDEF  uint32 = 1 << 0 // bursts of any length
	SysBusBLEN4  uint32 = 1 << 1
	SysBusBLEN8  uint32 = 1 << 2
	SysBusBLEN16 uint32 = 1 << 3
	SysBusBLEN32 uint32 = 1 << 4
	SysBusBLEN   uint32 = 0x7F << 1
	SysBusEAME   uint32 = 1 << 11 // addresses of more than 32 bits
	SysBusAAL    uint32 = 1 << 12 // aligned bursts
	SysBusRDOSR  uint32 = 63 << 16
	SysBusWROSR  uint32 = 63 << 24

	// EDMADescriptors is how many descriptors the core may prefetch, as a field of
	// two bits or more for each class of channels: all of them at their largest.
	EDMADescriptors uint32 = 0x3FFFFFFF

	DMAIntChannels uint32 = 0xFFFF
	DMAIntMTL      uint32 = 1 << 16
	DMAIntMAC      uint32 = 1 << 17
)

// DebugState is where the states of channel c are: register and fields (amd-xgbe,
// dwc-xlgmac). The first register has three channels, the others four. A core
// without these registers reads 0, which is StateStopped.
func DebugState(c int) (reg, rps, tps uint32) {
	if c < 3 {
		shift := uint(8 + 8*c)
		return DMADebug0, 15 << shift, 15 << (shift + 4)
	}
	shift := uint(8 * ((c - 3) % 4))
	return DMADebug0 + 4 + 4*uint32((c-3)/4), 15 << shift, 15 << (shift + 4)
}

// States of DebugState.
const (
	StateStopped = 0

	TxStateFetch     = 1
	TxStateRead      = 3
	TxStateSuspended = 6

	RxStateWait      = 3
	RxStateSuspended = 4
	RxStateTransfer  = 7
)

// ChanBase is where the registers of DMA channel c start.
func ChanBase(c int) uint32 { return 0x3100 + ChanStride*uint32(c) }

// DMA channel registers, offsets from ChanBase.
const (
	ChanControl    uint32 = 0x00 // DMA_CHi_Control
	ChanTxControl  uint32 = 0x04 // DMA_CHi_Tx_Control
	ChanRxControl  uint32 = 0x08 // DMA_CHi_Rx_Control
	ChanTxListHigh uint32 = 0x10 // DMA_CHi_TxDesc_List_HAddress
	ChanTxList     uint32 = 0x14 // DMA_CHi_TxDesc_List_LAddress
	ChanRxListHigh uint32 = 0x18 // DMA_CHi_RxDesc_List_HAddress
	ChanRxList     uint32 = 0x1C // DMA_CHi_RxDesc_List_LAddress
	ChanTxTail     uint32 = 0x24 // DMA_CHi_TxDesc_Tail_LPointer
	ChanRxTail     uint32 = 0x2C // DMA_CHi_RxDesc_Tail_LPointer
	ChanTxRingLen  uint32 = 0x30 // DMA_CHi_TxDesc_Ring_Length: slots less one
	ChanRxRingLen  uint32 = 0x34 // DMA_CHi_RxDesc_Ring_Length: slots less one
	ChanIntEnable  uint32 = 0x38 // DMA_CHi_Interrupt_Enable
	ChanRxWatchdog uint32 = 0x3C // DMA_CHi_Rx_Interrupt_Watchdog_Timer
	ChanCurTxDesc  uint32 = 0x44 // DMA_CHi_Current_App_TxDesc_L
	ChanCurRxDesc  uint32 = 0x4C // DMA_CHi_Current_App_RxDesc_L
	ChanCurTxBufH  uint32 = 0x50 // DMA_CHi_Current_App_TxBuffer_H
	ChanCurTxBuf   uint32 = 0x54 // DMA_CHi_Current_App_TxBuffer_L
	ChanCurRxBufH  uint32 = 0x58 // DMA_CHi_Current_App_RxBuffer_H
	ChanCurRxBuf   uint32 = 0x5C // DMA_CHi_Current_App_RxBuffer_L
	ChanStatus     uint32 = 0x60 // DMA_CHi_Status, W1C

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

	// RingLenMask is how many slots less one a ring can have: drivers use up to 4096.
	RingLenMask uint32 = 0xFFF

	WatchdogRWT uint32 = 0xFF // in dwregs.WatchdogUnit
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
	IntFBE uint32 = 1 << 12 // fatal bus error
	IntCDE uint32 = 1 << 13 // context descriptor error

	StatusAIS uint32 = 1 << 14 // abnormal summary
	StatusNIS uint32 = 1 << 15 // normal summary
	StatusTEB uint32 = 7 << 16 // transmit bus error
	StatusREB uint32 = 7 << 19 // receive bus error

	// IntNormal and IntAbnormal are the causes behind the two summaries.
	IntNormal   = IntTI | IntTBU | IntRI
	IntAbnormal = IntTPS | IntRBU | IntRPS | IntFBE | IntCDE
)
