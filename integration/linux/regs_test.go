//go:build linux

package linux

// Registers and bits that the checks look at, by the manual's names (DesignWare
// Cores Ethernet QoS Databook). They are not shared with the model, which could
// be wrong in them.
const (
	macConfig       = 0x0000
	macPacketFilter = 0x0008
	macTxFlow       = 0x0070
	macRxFlow       = 0x0090

	configRE   = 1 << 0
	configTE   = 1 << 1
	configIPC  = 1 << 27
	filterPR   = 1 << 0
	filterHMC  = 1 << 2
	flowEnable = 1 << 1 // Q0_Tx_Flow_Ctrl.TFE
	rxFlowRFE  = 1 << 0

	mtlTxQDebug = 0x0d08
	debugPaused = 1 << 0
)

// Registers of DMA channel 0; those of channel c are c * 0x80 on.
const (
	dmaTxControl   = 0x1104
	dmaRxControl   = 0x1108
	dmaTxList      = 0x1114
	dmaRxList      = 0x111c
	dmaTxTail      = 0x1120
	dmaRxTail      = 0x1128
	dmaTxRingLen   = 0x112c
	dmaRxRingLen   = 0x1130
	dmaIntEnable   = 0x1134
	dmaRxWatchdog  = 0x1138
	dmaCurrentRx   = 0x114c
	dmaStatus      = 0x1160
	channelStride  = 0x80
	controlStart   = 1 << 0
	statusRI       = 1 << 6
	statusRBU      = 1 << 7
	descriptorSize = 16
)

// Bits of descriptors.
const (
	descOWN   = 1 << 31
	descCTXT  = 1 << 30
	rdes3IOC  = 1 << 30
	tdes2IOC  = 1 << 31
	tdes3LD   = 1 << 28
	ethernetH = 14
	fcsLength = 4
)
