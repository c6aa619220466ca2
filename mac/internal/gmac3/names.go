package gmac3

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/dwregs"
)

// RegName names the register at offset off for traces: "MAC_Config", "DMA_TxPoll".
// An offset that the map does not know is printed as a number.
func RegName(off uint32) string {
	switch {
	case off >= AddrHigh(0) && off <= AddrLow(15) && off%4 == 0:
		return addrName((off-AddrHigh(0))/8, off)
	case off >= AddrHigh(16) && off <= AddrLow(MaxAddrs-1) && off%4 == 0:
		return addrName(16+(off-AddrHigh(16))/8, off)
	case off >= MACExtHash && off < MACExtHash+0x20 && off%4 == 0:
		return fmt.Sprintf("MAC_HashTable%d", (off-MACExtHash)/4)
	case off >= MMC && off < MMC+dwregs.MMCSize:
		if name := dwregs.MMCName(off - MMC); name != "" {
			return name
		}
	default:
		if name, ok := names[off]; ok {
			return name
		}
	}
	return fmt.Sprintf("0x%04x", off)
}

func addrName(n, off uint32) string {
	if off&4 != 0 {
		return fmt.Sprintf("MAC_Addr%d_Low", n)
	}
	return fmt.Sprintf("MAC_Addr%d_High", n)
}

// names is never written.
var names = map[uint32]string{
	MACConfig:      "MAC_Config",
	MACFilter:      "MAC_FrameFilter",
	MACHashHigh:    "MAC_HashHigh",
	MACHashLow:     "MAC_HashLow",
	MACMIIAddr:     "MAC_MIIAddr",
	MACMIIData:     "MAC_MIIData",
	MACFlow:        "MAC_Flow",
	MACVLANTag:     "MAC_VLANTag",
	MACVersion:     "MAC_Version",
	MACDebug:       "MAC_Debug",
	MACWakeup:      "MAC_Wakeup",
	MACPMT:         "MAC_PMT",
	MACLPI:         "MAC_LPI",
	MACLPITimers:   "MAC_LPITimers",
	MACIntStatus:   "MAC_IntStatus",
	MACIntMask:     "MAC_IntMask",
	MACANControl:   "MAC_ANControl",
	MACANStatus:    "MAC_ANStatus",
	MACANAdvertise: "MAC_ANAdvertise",
	MACANPartner:   "MAC_ANPartner",
	MACANExpansion: "MAC_ANExpansion",
	MACTBI:         "MAC_TBI",
	MACRGSMII:      "MAC_RGSMII",
	MACWatchdog:    "MAC_Watchdog",
	MACTSStatus:    "MAC_TSStatus",
	DMABusMode:     "DMA_BusMode",
	DMATxPoll:      "DMA_TxPoll",
	DMARxPoll:      "DMA_RxPoll",
	DMARxList:      "DMA_RxList",
	DMATxList:      "DMA_TxList",
	DMAStatus:      "DMA_Status",
	DMAOpMode:      "DMA_OpMode",
	DMAIntEnable:   "DMA_IntEnable",
	DMAMissed:      "DMA_Missed",
	DMAWatchdog:    "DMA_Watchdog",
	DMAAXIMode:     "DMA_AXIMode",
	DMAAXIStatus:   "DMA_AXIStatus",
	DMACurTxDesc:   "DMA_CurTxDesc",
	DMACurRxDesc:   "DMA_CurRxDesc",
	DMACurTxBuf:    "DMA_CurTxBuf",
	DMACurRxBuf:    "DMA_CurRxBuf",
	DMAFeature:     "DMA_Feature",
}
