package xgmac2

import "fmt"

// RegName names the register at offset off for traces: "MAC_TxConfig", "DMA_CH0_TxTail".
// An offset that the map does not know is printed as a number.
func RegName(off uint32) string {
	switch {
	case off >= HashTable(0) && off <= HashTable(7) && off%4 == 0:
		return fmt.Sprintf("MAC_HashTable%d", (off-HashTable(0))/4)
	case off >= TxFlow(0) && off <= TxFlow(MaxTxFlow-1) && off%4 == 0:
		return fmt.Sprintf("MAC_Q%d_TxFlow", (off-TxFlow(0))/4)
	case off >= AddrHigh(0) && off < AddrHigh(MaxAddr) && off%4 == 0:
		half := "High"
		if off&4 != 0 {
			half = "Low"
		}
		return fmt.Sprintf("MAC_Addr%d_%s", (off-AddrHigh(0))/8, half)
	case off >= QueueBase(0) && off < QueueBase(MaxQueues):
		if name, ok := queueNames[(off-QueueBase(0))%QueueStride]; ok {
			return fmt.Sprintf("MTL_Q%d_%s", (off-QueueBase(0))/QueueStride, name)
		}
	case off >= ChanBase(0) && off < ChanBase(MaxChannels):
		if name, ok := chanNames[(off-ChanBase(0))%ChanStride]; ok {
			return fmt.Sprintf("DMA_CH%d_%s", (off-ChanBase(0))/ChanStride, name)
		}
	case off >= MMC && off < MMC+MMCSize:
		if name, ok := mmcNames[off-MMC]; ok {
			return name
		}
	default:
		if name, ok := commonNames[off]; ok {
			return name
		}
	}
	return fmt.Sprintf("0x%04x", off)
}

// The tables are never written.

var commonNames = map[uint32]string{
	MACTxConfig:       "MAC_TxConfig",
	MACRxConfig:       "MAC_RxConfig",
	MACPacketFilter:   "MAC_PacketFilter",
	MACWatchdog:       "MAC_Watchdog",
	MACVLANTag:        "MAC_VLANTag",
	MACVLANTagData:    "MAC_VLANTagData",
	MACVLANHash:       "MAC_VLANHash",
	MACVLANIncl:       "MAC_VLANIncl",
	MACInnerVLAN:      "MAC_InnerVLAN",
	MACRxFlow:         "MAC_RxFlow",
	MACRxQCtrl0:       "MAC_RxQCtrl0",
	MACRxQCtrl1:       "MAC_RxQCtrl1",
	MACRxQCtrl2:       "MAC_RxQCtrl2",
	MACRxQCtrl3:       "MAC_RxQCtrl3",
	MACIntStatus:      "MAC_IntStatus",
	MACIntEnable:      "MAC_IntEnable",
	MACRxTxStatus:     "MAC_RxTxStatus",
	MACPMT:            "MAC_PMT",
	MACRWKFilter:      "MAC_RWKFilter",
	MACLPI:            "MAC_LPI",
	MACLPITimers:      "MAC_LPITimers",
	MACVersion:        "MAC_Version",
	MACDebug:          "MAC_Debug",
	MACFeature0:       "MAC_Feature0",
	MACFeature1:       "MAC_Feature1",
	MACFeature2:       "MAC_Feature2",
	MACFeature3:       "MAC_Feature3",
	MACFeature4:       "MAC_Feature4",
	MACMDIOAddr:       "MAC_MDIOAddr",
	MACMDIOData:       "MAC_MDIOData",
	MACMDIOPort:       "MAC_MDIOPort",
	MACRSSControl:     "MAC_RSSControl",
	MACRSSAddr:        "MAC_RSSAddr",
	MACRSSData:        "MAC_RSSData",
	MACTSControl:      "MAC_TSControl",
	MACTSStatus:       "MAC_TSStatus",
	MTLOpMode:         "MTL_OpMode",
	MTLIntStatus:      "MTL_IntStatus",
	MTLRxQDMAMap0:     "MTL_RxQDMAMap0",
	MTLRxQDMAMap0 + 4: "MTL_RxQDMAMap1",
	MTLRxQDMAMap0 + 8: "MTL_RxQDMAMap2",
	MTLTCPrtyMap0:     "MTL_TCPrtyMap0",
	MTLTCPrtyMap1:     "MTL_TCPrtyMap1",
	DMAMode:           "DMA_Mode",
	DMASysBus:         "DMA_SysBus",
	DMAIntStatus:      "DMA_IntStatus",
	DMADebug0:         "DMA_Debug0",
	DMADebug0 + 4:     "DMA_Debug1",
	DMADebug0 + 8:     "DMA_Debug2",
	DMADebug0 + 12:    "DMA_Debug3",
	DMADebug4:         "DMA_Debug4",
	DMATxEDMA:         "DMA_TxEDMA",
	DMARxEDMA:         "DMA_RxEDMA",
}

var queueNames = map[uint32]string{
	TxQOpMode:    "TxQOpMode",
	TxQUnderflow: "TxQUnderflow",
	TxQDebug:     "TxQDebug",
	TCETS:        "TCETS",
	TCQuantum:    "TCQuantum",
	TCSlope:      "TCSlope",
	TCHiCredit:   "TCHiCredit",
	TCLoCredit:   "TCLoCredit",
	RxQOpMode:    "RxQOpMode",
	RxQMissed:    "RxQMissed",
	RxQDebug:     "RxQDebug",
	RxQFlow:      "RxQFlow",
	QIntEnable:   "QIntEnable",
	QIntStatus:   "QIntStatus",
}

var chanNames = map[uint32]string{
	ChanControl:    "Control",
	ChanTxControl:  "TxControl",
	ChanRxControl:  "RxControl",
	ChanTxListHigh: "TxListHigh",
	ChanTxList:     "TxList",
	ChanRxListHigh: "RxListHigh",
	ChanRxList:     "RxList",
	ChanTxTail:     "TxTail",
	ChanRxTail:     "RxTail",
	ChanTxRingLen:  "TxRingLen",
	ChanRxRingLen:  "RxRingLen",
	ChanIntEnable:  "IntEnable",
	ChanRxWatchdog: "RxWatchdog",
	ChanCurTxDesc:  "CurTxDesc",
	ChanCurRxDesc:  "CurRxDesc",
	ChanCurTxBufH:  "CurTxBufH",
	ChanCurTxBuf:   "CurTxBuf",
	ChanCurRxBufH:  "CurRxBufH",
	ChanCurRxBuf:   "CurRxBuf",
	ChanStatus:     "Status",
}
