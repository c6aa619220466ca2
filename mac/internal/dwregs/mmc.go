package dwregs

// MMC counters (manual: "MMC registers"), offsets from the start of the block.
const (
	MMCControl     uint32 = 0x000
	MMCRxInt       uint32 = 0x004 // cleared by reading the counter
	MMCTxInt       uint32 = 0x008
	MMCRxIntMask   uint32 = 0x00C // 1 = masked
	MMCTxIntMask   uint32 = 0x010 // 1 = masked
	MMCTxOctets    uint32 = 0x014 // good and bad
	MMCTxPackets   uint32 = 0x018 // good and bad
	MMCTxBcastG    uint32 = 0x01C
	MMCTxMcastG    uint32 = 0x020
	MMCTx64        uint32 = 0x024 // first of six size bins
	MMCTxUcast     uint32 = 0x03C
	MMCTxMcast     uint32 = 0x040
	MMCTxBcast     uint32 = 0x044
	MMCTxUnderflow uint32 = 0x048
	MMCTxSingle    uint32 = 0x04C
	MMCTxMulti     uint32 = 0x050
	MMCTxDeferred  uint32 = 0x054
	MMCTxLate      uint32 = 0x058
	MMCTxExcessive uint32 = 0x05C
	MMCTxCarrier   uint32 = 0x060
	MMCTxOctetsG   uint32 = 0x064
	MMCTxPacketsG  uint32 = 0x068
	MMCTxExDefer   uint32 = 0x06C
	MMCTxPause     uint32 = 0x070
	MMCTxVLAN      uint32 = 0x074
	MMCTxOversize  uint32 = 0x078
	MMCRxPackets   uint32 = 0x080 // good and bad
	MMCRxOctets    uint32 = 0x084 // good and bad
	MMCRxOctetsG   uint32 = 0x088
	MMCRxBcastG    uint32 = 0x08C
	MMCRxMcastG    uint32 = 0x090
	MMCRxCRC       uint32 = 0x094
	MMCRxAlign     uint32 = 0x098
	MMCRxRunt      uint32 = 0x09C
	MMCRxJabber    uint32 = 0x0A0
	MMCRxUndersize uint32 = 0x0A4
	MMCRxOversize  uint32 = 0x0A8
	MMCRx64        uint32 = 0x0AC // first of six size bins
	MMCRxUcastG    uint32 = 0x0C4
	MMCRxLength    uint32 = 0x0C8
	MMCRxRange     uint32 = 0x0CC
	MMCRxPause     uint32 = 0x0D0
	MMCRxOverflow  uint32 = 0x0D4
	MMCRxVLAN      uint32 = 0x0D8
	MMCRxWatchdog  uint32 = 0x0DC
	MMCRxError     uint32 = 0x0E0
	MMCIPCIntMask  uint32 = 0x100 // 1 = masked
	MMCIPCInt      uint32 = 0x108

	// Receive checksum engine, packets. Their octets are MMCIPCOctets further on.
	MMCRxIPv4Good   uint32 = 0x110
	MMCRxIPv4HdrErr uint32 = 0x114
	MMCRxIPv6HdrErr uint32 = 0x128
	MMCRxUDPErr     uint32 = 0x134
	MMCRxTCPErr     uint32 = 0x13C
	MMCRxICMPErr    uint32 = 0x144

	MMCReset       uint32 = 1 << 0
	MMCStop        uint32 = 1 << 1
	MMCResetOnRead uint32 = 1 << 2
	MMCFreeze      uint32 = 1 << 3
	MMCPreset      uint32 = 1 << 4
	MMCPresetFull  uint32 = 1 << 5
)

// MMCSize is the size of the block in bytes, MMCIPCOctets the distance from a
// packet counter of the checksum engine to that of its octets.
const (
	MMCSize      uint32 = 0x200
	MMCIPCOctets uint32 = 0x40
)

// MMCName is the name of the register at off in the block, or "".
func MMCName(off uint32) string { return mmcNames[off] }

// mmcNames is never written.
var mmcNames = map[uint32]string{
	MMCControl:      "MMC_Control",
	MMCRxInt:        "MMC_RxInt",
	MMCTxInt:        "MMC_TxInt",
	MMCRxIntMask:    "MMC_RxIntMask",
	MMCTxIntMask:    "MMC_TxIntMask",
	MMCTxOctets:     "MMC_TxOctets",
	MMCTxPackets:    "MMC_TxPackets",
	MMCTxBcastG:     "MMC_TxBcastG",
	MMCTxMcastG:     "MMC_TxMcastG",
	MMCTx64:         "MMC_Tx64",
	MMCTxUcast:      "MMC_TxUcast",
	MMCTxMcast:      "MMC_TxMcast",
	MMCTxBcast:      "MMC_TxBcast",
	MMCTxUnderflow:  "MMC_TxUnderflow",
	MMCTxSingle:     "MMC_TxSingle",
	MMCTxMulti:      "MMC_TxMulti",
	MMCTxDeferred:   "MMC_TxDeferred",
	MMCTxLate:       "MMC_TxLate",
	MMCTxExcessive:  "MMC_TxExcessive",
	MMCTxCarrier:    "MMC_TxCarrier",
	MMCTxOctetsG:    "MMC_TxOctetsG",
	MMCTxPacketsG:   "MMC_TxPacketsG",
	MMCTxExDefer:    "MMC_TxExDefer",
	MMCTxPause:      "MMC_TxPause",
	MMCTxVLAN:       "MMC_TxVLAN",
	MMCTxOversize:   "MMC_TxOversize",
	MMCRxPackets:    "MMC_RxPackets",
	MMCRxOctets:     "MMC_RxOctets",
	MMCRxOctetsG:    "MMC_RxOctetsG",
	MMCRxBcastG:     "MMC_RxBcastG",
	MMCRxMcastG:     "MMC_RxMcastG",
	MMCRxCRC:        "MMC_RxCRC",
	MMCRxAlign:      "MMC_RxAlign",
	MMCRxRunt:       "MMC_RxRunt",
	MMCRxJabber:     "MMC_RxJabber",
	MMCRxUndersize:  "MMC_RxUndersize",
	MMCRxOversize:   "MMC_RxOversize",
	MMCRx64:         "MMC_Rx64",
	MMCRxUcastG:     "MMC_RxUcastG",
	MMCRxLength:     "MMC_RxLength",
	MMCRxRange:      "MMC_RxRange",
	MMCRxPause:      "MMC_RxPause",
	MMCRxOverflow:   "MMC_RxOverflow",
	MMCRxVLAN:       "MMC_RxVLAN",
	MMCRxWatchdog:   "MMC_RxWatchdog",
	MMCRxError:      "MMC_RxError",
	MMCIPCIntMask:   "MMC_IPCIntMask",
	MMCIPCInt:       "MMC_IPCInt",
	MMCRxIPv4Good:   "MMC_RxIPv4Good",
	MMCRxIPv4HdrErr: "MMC_RxIPv4HdrErr",
	MMCRxIPv6HdrErr: "MMC_RxIPv6HdrErr",
	MMCRxUDPErr:     "MMC_RxUDPErr",
	MMCRxTCPErr:     "MMC_RxTCPErr",
	MMCRxICMPErr:    "MMC_RxICMPErr",
}
