package emac

import "fmt"

// RegName names the register at offset off for traces: "RX_CTL1", "ADDR_HIGH3".
// An offset that the map does not know is printed as a number.
func RegName(off uint32) string {
	if off >= AddrHigh(0) && off < AddrHigh(AddrSlots) && off%4 == 0 {
		half := "HIGH"
		if off&4 != 0 {
			half = "LOW"
		}
		return fmt.Sprintf("ADDR_%s%d", half, (off-AddrHigh(0))/8)
	}
	if name, ok := names[off]; ok {
		return name
	}
	return fmt.Sprintf("0x%04x", off)
}

// names is never written.
var names = map[uint32]string{
	BasicCtl0:  "BASIC_CTL0",
	BasicCtl1:  "BASIC_CTL1",
	IntSta:     "INT_STA",
	IntEn:      "INT_EN",
	TxCtl0:     "TX_CTL0",
	TxCtl1:     "TX_CTL1",
	TxFlowCtl:  "TX_FLOW_CTL",
	TxDescList: "TX_DMA_DESC_LIST",
	RxCtl0:     "RX_CTL0",
	RxCtl1:     "RX_CTL1",
	RxDescList: "RX_DMA_DESC_LIST",
	RxFrmFlt:   "RX_FRM_FLT",
	RxHash0:    "RX_HASH0",
	RxHash1:    "RX_HASH1",
	MIICmd:     "MII_CMD",
	MIIData:    "MII_DATA",
	TxDMASta:   "TX_DMA_STA",
	TxCurDesc:  "TX_CUR_DESC",
	TxCurBuf:   "TX_CUR_BUF",
	RxDMASta:   "RX_DMA_STA",
	RxCurDesc:  "RX_CUR_DESC",
	RxCurBuf:   "RX_CUR_BUF",
	RGMIISta:   "RGMII_STA",
}
