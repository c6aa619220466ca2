package gmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/dwregs"
)

// RegName names the register at offset off for traces: "MAC_Config", "DMA_CH0_TxTail".
// An offset that the map does not know is printed as a number.
func RegName(off uint32) string {
	switch {
	case off >= HashTable(0) && off <= HashTable(7) && off%4 == 0:
		return fmt.Sprintf("MAC_HashTable%d", (off-HashTable(0))/4)
	case off >= TxFlow(0) && off <= TxFlow(MaxQueues-1) && off%4 == 0:
		return fmt.Sprintf("MAC_Q%d_TxFlow", (off-TxFlow(0))/4)
	case off >= AddrHigh(0) && off < AddrHigh(128) && off%4 == 0:
		half := "High"
		if off&4 != 0 {
			half = "Low"
		}
		return fmt.Sprintf("MAC_Addr%d_%s", (off-AddrHigh(0))/8, half)
	case off >= QueueBase(0) && off < QueueBase(MaxQueues):
		if name, ok := queueNames[(off-QueueBase(0))%0x40]; ok {
			return fmt.Sprintf("MTL_Q%d_%s", (off-QueueBase(0))/0x40, name)
		}
	case off >= ChanBase(0) && off < ChanBase(MaxChannels):
		if name, ok := chanNames[(off-ChanBase(0))%0x80]; ok {
			return fmt.Sprintf("DMA_CH%d_%s", (off-ChanBase(0))/0x80, name)
		}
	case off >= MMC && off < MMC+dwregs.MMCSize:
		if name := dwregs.MMCName(off - MMC); name != "" {
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
	MACConfig:       "MAC_Config",
	MACExtConfig:    "MAC_ExtConfig",
	MACPacketFilter: "MAC_PacketFilter",
	MACWatchdog:     "MAC_Watchdog",
	MACVLANTag:      "MAC_VLANTag",
	MACVLANTagData:  "MAC_VLANTagData",
	MACVLANHash:     "MAC_VLANHash",
	MACVLANIncl:     "MAC_VLANIncl",
	MACInnerVLAN:    "MAC_InnerVLAN",
	MACRxFlow:       "MAC_RxFlow",
	MACRxQCtrl4:     "MAC_RxQCtrl4",
	MACTxQPrty0:     "MAC_TxQPrty0",
	MACTxQPrty1:     "MAC_TxQPrty1",
	MACRxQCtrl0:     "MAC_RxQCtrl0",
	MACRxQCtrl1:     "MAC_RxQCtrl1",
	MACRxQCtrl2:     "MAC_RxQCtrl2",
	MACRxQCtrl3:     "MAC_RxQCtrl3",
	MACIntStatus:    "MAC_IntStatus",
	MACIntEnable:    "MAC_IntEnable",
	MACRxTxStatus:   "MAC_RxTxStatus",
	MACPMT:          "MAC_PMT",
	MACRWKFilter:    "MAC_RWKFilter",
	MACLPI:          "MAC_LPI",
	MACLPITimers:    "MAC_LPITimers",
	MACLPIEntry:     "MAC_LPIEntry",
	MAC1usTic:       "MAC_1usTic",
	MACANControl:    "MAC_ANControl",
	MACANStatus:     "MAC_ANStatus",
	MACPHYIF:        "MAC_PHYIF",
	MACVersion:      "MAC_Version",
	MACDebug:        "MAC_Debug",
	MACFeature0:     "MAC_Feature0",
	MACFeature1:     "MAC_Feature1",
	MACFeature2:     "MAC_Feature2",
	MACFeature3:     "MAC_Feature3",
	MACMDIOAddr:     "MAC_MDIOAddr",
	MACMDIOData:     "MAC_MDIOData",
	MACARPAddr:      "MAC_ARPAddr",
	MACExtConfig1:   "MAC_ExtConfig1",
	MACTSStatus:     "MAC_TSStatus",
	MTLOpMode:       "MTL_OpMode",
	MTLIntStatus:    "MTL_IntStatus",
	MTLRxQDMAMap0:   "MTL_RxQDMAMap0",
	MTLRxQDMAMap1:   "MTL_RxQDMAMap1",
	DMAMode:         "DMA_Mode",
	DMASysBus:       "DMA_SysBus",
	DMAIntStatus:    "DMA_IntStatus",
	DMADebug0:       "DMA_Debug0",
	DMADebug1:       "DMA_Debug1",
	DMADebug2:       "DMA_Debug2",
}

var queueNames = map[uint32]string{
	TxQOpMode:    "TxQOpMode",
	TxQUnderflow: "TxQUnderflow",
	TxQDebug:     "TxQDebug",
	TxQETS:       "TxQETS",
	TxQQuantum:   "TxQQuantum",
	TxQSlope:     "TxQSlope",
	TxQHiCredit:  "TxQHiCredit",
	TxQLoCredit:  "TxQLoCredit",
	QInt:         "QInt",
	RxQOpMode:    "RxQOpMode",
	RxQMissed:    "RxQMissed",
	RxQDebug:     "RxQDebug",
	RxQControl:   "RxQControl",
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
	ChanSlot:       "Slot",
	ChanCurTxDesc:  "CurTxDesc",
	ChanCurRxDesc:  "CurRxDesc",
	ChanCurTxBufH:  "CurTxBufH",
	ChanCurTxBuf:   "CurTxBuf",
	ChanCurRxBufH:  "CurRxBufH",
	ChanCurRxBuf:   "CurRxBuf",
	ChanStatus:     "Status",
	ChanMissed:     "Missed",
}
