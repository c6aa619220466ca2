package gmac3

// DMA registers (manual: "DMA register map"). Further channels, which AV cores
// have, lie 0x100 apart.
const (
	DMABusMode   uint32 = 0x1000 // Bus_Mode
	DMATxPoll    uint32 = 0x1004 // Transmit_Poll_Demand
	DMARxPoll    uint32 = 0x1008 // Receive_Poll_Demand
	DMARxList    uint32 = 0x100C // Receive_Descriptor_List_Address
	DMATxList    uint32 = 0x1010 // Transmit_Descriptor_List_Address
	DMAStatus    uint32 = 0x1014 // Status, W1C
	DMAOpMode    uint32 = 0x1018 // Operation_Mode
	DMAIntEnable uint32 = 0x101C // Interrupt_Enable
	DMAMissed    uint32 = 0x1020 // Missed_Frame_And_Buffer_Overflow_Counter, cleared by reading
	DMAWatchdog  uint32 = 0x1024 // Receive_Interrupt_Watchdog_Timer, from 3.50
	DMAAXIMode   uint32 = 0x1028 // AXI_Bus_Mode
	DMAAXIStatus uint32 = 0x102C // AHB_or_AXI_Status
	DMACurTxDesc uint32 = 0x1048 // Current_Host_Transmit_Descriptor
	DMACurRxDesc uint32 = 0x104C // Current_Host_Receive_Descriptor
	DMACurTxBuf  uint32 = 0x1050 // Current_Host_Transmit_Buffer_Address
	DMACurRxBuf  uint32 = 0x1054 // Current_Host_Receive_Buffer_Address
	DMAFeature   uint32 = 0x1058 // HW_Feature; 0 on cores without it
)

// Bus_Mode.
const (
	BusSWR  uint32 = 1 << 0   // software reset, clears itself
	BusDA   uint32 = 1 << 1   // receive before transmit
	BusDSL  uint32 = 31 << 2  // bus words between descriptors in ring mode
	BusATDS uint32 = 1 << 7   // descriptors of eight words, from 3.50
	BusPBL  uint32 = 63 << 8  // burst in beats
	BusPR   uint32 = 3 << 14  // priority ratio
	BusFB   uint32 = 1 << 16  // fixed bursts
	BusRPBL uint32 = 63 << 17 // receive burst, with USP
	BusUSP  uint32 = 1 << 23  // separate bursts
	BusPBL8 uint32 = 1 << 24  // bursts count by 8, before 3.50 by 4
	BusAAL  uint32 = 1 << 25  // aligned bursts
	BusMB   uint32 = 1 << 26  // mixed bursts
)

// Status (W1C) and Interrupt_Enable. GLI and what is above it are not in the
// latter: they are cleared and masked where they come from.
const (
	IntTI  uint32 = 1 << 0  // transmit interrupt (IC)
	IntTPS uint32 = 1 << 1  // transmit stopped
	IntTU  uint32 = 1 << 2  // no owned transmit descriptor: normal idle
	IntTJT uint32 = 1 << 3  // jabber
	IntOVF uint32 = 1 << 4  // receive FIFO overflow
	IntUNF uint32 = 1 << 5  // transmit underflow
	IntRI  uint32 = 1 << 6  // receive interrupt
	IntRU  uint32 = 1 << 7  // no owned receive descriptor
	IntRPS uint32 = 1 << 8  // receive stopped
	IntRWT uint32 = 1 << 9  // frame longer than the watchdog
	IntETI uint32 = 1 << 10 // early transmit
	IntFBI uint32 = 1 << 13 // fatal bus error
	IntERI uint32 = 1 << 14 // early receive
	IntAIS uint32 = 1 << 15 // abnormal summary
	IntNIS uint32 = 1 << 16 // normal summary

	StatusRS  uint32 = 7 << 17 // receive state
	StatusTS  uint32 = 7 << 20 // transmit state
	StatusEB  uint32 = 7 << 23 // what failed, with FBI
	StatusGLI uint32 = 1 << 26 // line interface: MACRGSMII, MACANStatus
	StatusGMI uint32 = 1 << 27 // counters
	StatusGPI uint32 = 1 << 28 // wake-up: MACPMT
	StatusTTI uint32 = 1 << 29 // time stamp: MACTSStatus
	StatusLPI uint32 = 1 << 30 // MACLPI

	// StatusMAC are the causes outside of the DMA.
	StatusMAC = StatusGLI | StatusGMI | StatusGPI | StatusTTI | StatusLPI

	// IntNormal and IntAbnormal are the causes behind the two summaries, IntAll
	// the bits that a write can clear.
	IntNormal   = IntTI | IntTU | IntRI | IntERI
	IntAbnormal = IntTPS | IntTJT | IntOVF | IntUNF | IntRU | IntRPS | IntRWT | IntETI | IntFBI
	IntAll      = IntNormal | IntAbnormal | IntAIS | IntNIS
)

// States of StatusRS and StatusTS.
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

// Bits of StatusEB.
const (
	BusErrTX         = 1 // transmit DMA
	BusErrRead       = 2
	BusErrDescriptor = 4
)

// Operation_Mode.
const (
	OpSR   uint32 = 1 << 1 // start receive
	OpOSF  uint32 = 1 << 2 // operate on second frame
	OpRTC  uint32 = 3 << 3
	OpFUF  uint32 = 1 << 6  // forward undersized good frames
	OpFEF  uint32 = 1 << 7  // forward error frames
	OpEFC  uint32 = 1 << 8  // hardware flow control
	OpRFA  uint32 = 3 << 9  // pause from: full - (n+1) KiB; the highest bit of n is OpRFA2
	OpRFD  uint32 = 3 << 11 // pause until: full - (n+1) KiB; the highest bit of n is OpRFD2
	OpST   uint32 = 1 << 13 // start transmit
	OpTTC  uint32 = 7 << 14
	OpFTF  uint32 = 1 << 20 // flush transmit FIFO, clears itself
	OpTSF  uint32 = 1 << 21 // transmit store and forward
	OpRFD2 uint32 = 1 << 22
	OpRFA2 uint32 = 1 << 23
	OpDFF  uint32 = 1 << 24 // keep frames for which no descriptor is free
	OpRSF  uint32 = 1 << 25 // receive store and forward
	OpDT   uint32 = 1 << 26 // keep frames with a bad L4 checksum
)

// Missed_Frame_And_Buffer_Overflow_Counter and the watchdog.
const (
	MissedNoBuffer     uint32 = 0xFFFF << 0 // frames for which there was no descriptor
	MissedNoBufferOver uint32 = 1 << 16
	MissedOverflow     uint32 = 0x7FF << 17 // frames that found the FIFO full
	MissedOverflowOver uint32 = 1 << 28

	WatchdogRIWT uint32 = 0xFF // in dwregs.WatchdogUnit
)

// HW_Feature.
const (
	FeatMII     uint32 = 1 << 0
	FeatGMII    uint32 = 1 << 1
	FeatHD      uint32 = 1 << 2
	FeatExtHash uint32 = 1 << 3 // hash table of 128 or 256
	FeatHash    uint32 = 1 << 4
	FeatAddr    uint32 = 1 << 5 // more address slots than one
	FeatPCS     uint32 = 1 << 6
	FeatL3L4    uint32 = 1 << 7
	FeatSMA     uint32 = 1 << 8 // MDIO
	FeatRWK     uint32 = 1 << 9
	FeatMGK     uint32 = 1 << 10
	FeatMMC     uint32 = 1 << 11
	FeatTS1     uint32 = 1 << 12
	FeatTS2     uint32 = 1 << 13
	FeatEEE     uint32 = 1 << 14
	FeatAV      uint32 = 1 << 15
	FeatTxCOE   uint32 = 1 << 16
	FeatRxCOE1  uint32 = 1 << 17 // receive checksum engine, type 1
	FeatRxCOE2  uint32 = 1 << 18 // type 2
	FeatRxFIFO  uint32 = 1 << 19 // larger than 2 KiB
	FeatRxCh    uint32 = 3 << 20
	FeatTxCh    uint32 = 3 << 22
	FeatEnhDesc uint32 = 1 << 24 // enhanced descriptors
	FeatActPHY  uint32 = 7 << 28

	ActPHYGMII  = 0
	ActPHYRGMII = 1
	ActPHYSGMII = 2
	ActPHYRMII  = 4
	ActPHYSMII  = 6
)
