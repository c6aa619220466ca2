package xgmac2

// MMC is where the counters start. Those without a comment are 64 bits wide, the
// lower half first (manual: "MMC registers"; stmmac mmc_core.c).
const MMC uint32 = 0x800

// MMCSize is the size of the block in bytes, MMCIPCOctets the distance from a packet
// counter of the checksum engine to that of its octets.
const (
	MMCSize      uint32 = 0x400
	MMCIPCOctets uint32 = 0x70
)

// MMC registers, offsets from the start of the block. The bits of MMCControl are
// those of GMAC4 (dwregs). Receive and transmit interrupts are enabled by ones, those
// of the checksum engine masked.
const (
	MMCControl     uint32 = 0x000
	MMCRxInt       uint32 = 0x004 // cleared by reading the counter
	MMCTxInt       uint32 = 0x008
	MMCRxIntEnable uint32 = 0x00C // 1 = enabled
	MMCTxIntEnable uint32 = 0x010 // 1 = enabled
	MMCTxOctets    uint32 = 0x014 // good and bad
	MMCTxPackets   uint32 = 0x01C // good and bad
	MMCTxBcastG    uint32 = 0x024
	MMCTxMcastG    uint32 = 0x02C
	MMCTx64        uint32 = 0x034 // first of six size bins
	MMCTxUcast     uint32 = 0x064
	MMCTxMcast     uint32 = 0x06C
	MMCTxBcast     uint32 = 0x074
	MMCTxUnderflow uint32 = 0x07C
	MMCTxOctetsG   uint32 = 0x084
	MMCTxPacketsG  uint32 = 0x08C
	MMCTxPause     uint32 = 0x094
	MMCTxVLAN      uint32 = 0x09C
	MMCTxLPIUsec   uint32 = 0x0A4 // 32 bits
	MMCTxLPITran   uint32 = 0x0A8 // 32 bits
	MMCRxPackets   uint32 = 0x100 // good and bad
	MMCRxOctets    uint32 = 0x108 // good and bad
	MMCRxOctetsG   uint32 = 0x110
	MMCRxBcastG    uint32 = 0x118
	MMCRxMcastG    uint32 = 0x120
	MMCRxCRC       uint32 = 0x128
	MMCRxRunt      uint32 = 0x130 // 32 bits
	MMCRxJabber    uint32 = 0x134 // 32 bits
	MMCRxUndersize uint32 = 0x138 // 32 bits
	MMCRxOversize  uint32 = 0x13C // 32 bits
	MMCRx64        uint32 = 0x140 // first of six size bins
	MMCRxUcastG    uint32 = 0x170
	MMCRxLength    uint32 = 0x178
	MMCRxRange     uint32 = 0x180
	MMCRxPause     uint32 = 0x188
	MMCRxOverflow  uint32 = 0x190
	MMCRxVLAN      uint32 = 0x198
	MMCRxWatchdog  uint32 = 0x1A0 // 32 bits
	MMCRxLPIUsec   uint32 = 0x1A4 // 32 bits
	MMCRxLPITran   uint32 = 0x1A8 // 32 bits
	MMCRxDiscard   uint32 = 0x1AC // good and bad
	MMCRxDiscardO  uint32 = 0x1B4 // octets
	MMCRxAlign     uint32 = 0x1BC
	MMCFPETxMask   uint32 = 0x204 // 1 = masked
	MMCFPERxMask   uint32 = 0x224 // 1 = masked
	MMCIPCIntMask  uint32 = 0x25C // 1 = masked
	MMCIPCInt      uint32 = 0x260

	// Receive checksum engine, packets.
	MMCRxIPv4Good    uint32 = 0x264
	MMCRxIPv4HdrErr  uint32 = 0x26C
	MMCRxIPv4NoPay   uint32 = 0x274
	MMCRxIPv4Frag    uint32 = 0x27C
	MMCRxIPv4NoUDP   uint32 = 0x284
	MMCRxIPv6Good    uint32 = 0x28C
	MMCRxIPv6HdrErr  uint32 = 0x294
	MMCRxIPv6NoPay   uint32 = 0x29C
	MMCRxUDPGood     uint32 = 0x2A4
	MMCRxUDPErr      uint32 = 0x2AC
	MMCRxTCPGood     uint32 = 0x2B4
	MMCRxTCPErr      uint32 = 0x2BC
	MMCRxICMPGood    uint32 = 0x2C4
	MMCRxICMPErr     uint32 = 0x2CC
	MMCRxICMPErrOcts uint32 = MMCRxICMPErr + MMCIPCOctets // the last counter
)

// mmcNames is never written.
var mmcNames = map[uint32]string{
	MMCControl: "MMC_Control", MMCRxInt: "MMC_RxInt", MMCTxInt: "MMC_TxInt",
	MMCRxIntEnable: "MMC_RxIntEnable", MMCTxIntEnable: "MMC_TxIntEnable",
	MMCTxOctets: "MMC_TxOctets", MMCTxPackets: "MMC_TxPackets", MMCTxBcastG: "MMC_TxBcastG", MMCTxMcastG: "MMC_TxMcastG",
	MMCTx64: "MMC_Tx64", MMCTxUcast: "MMC_TxUcast", MMCTxMcast: "MMC_TxMcast", MMCTxBcast: "MMC_TxBcast",
	MMCTxUnderflow: "MMC_TxUnderflow", MMCTxOctetsG: "MMC_TxOctetsG", MMCTxPacketsG: "MMC_TxPacketsG",
	MMCTxPause: "MMC_TxPause", MMCTxVLAN: "MMC_TxVLAN", MMCTxLPIUsec: "MMC_TxLPIUsec", MMCTxLPITran: "MMC_TxLPITran",
	MMCRxPackets: "MMC_RxPackets", MMCRxOctets: "MMC_RxOctets", MMCRxOctetsG: "MMC_RxOctetsG", MMCRxBcastG: "MMC_RxBcastG",
	MMCRxMcastG: "MMC_RxMcastG", MMCRxCRC: "MMC_RxCRC", MMCRxRunt: "MMC_RxRunt", MMCRxJabber: "MMC_RxJabber",
	MMCRxUndersize: "MMC_RxUndersize", MMCRxOversize: "MMC_RxOversize", MMCRx64: "MMC_Rx64", MMCRxUcastG: "MMC_RxUcastG",
	MMCRxLength: "MMC_RxLength", MMCRxRange: "MMC_RxRange", MMCRxPause: "MMC_RxPause", MMCRxOverflow: "MMC_RxOverflow",
	MMCRxVLAN: "MMC_RxVLAN", MMCRxWatchdog: "MMC_RxWatchdog", MMCRxLPIUsec: "MMC_RxLPIUsec", MMCRxLPITran: "MMC_RxLPITran",
	MMCRxDiscard: "MMC_RxDiscard", MMCRxDiscardO: "MMC_RxDiscardOctets", MMCRxAlign: "MMC_RxAlign",
	MMCFPETxMask: "MMC_FPETxIntMask", MMCFPERxMask: "MMC_FPERxIntMask", MMCIPCIntMask: "MMC_IPCIntMask", MMCIPCInt: "MMC_IPCInt",
	MMCRxIPv4Good: "MMC_RxIPv4Good", MMCRxIPv4HdrErr: "MMC_RxIPv4HdrErr", MMCRxIPv4NoPay: "MMC_RxIPv4NoPay",
	MMCRxIPv4Frag: "MMC_RxIPv4Frag", MMCRxIPv4NoUDP: "MMC_RxIPv4NoUDP", MMCRxIPv6Good: "MMC_RxIPv6Good",
	MMCRxIPv6HdrErr: "MMC_RxIPv6HdrErr", MMCRxIPv6NoPay: "MMC_RxIPv6NoPay", MMCRxUDPGood: "MMC_RxUDPGood",
	MMCRxUDPErr: "MMC_RxUDPErr", MMCRxTCPGood: "MMC_RxTCPGood", MMCRxTCPErr: "MMC_RxTCPErr",
	MMCRxICMPGood: "MMC_RxICMPGood", MMCRxICMPErr: "MMC_RxICMPErr",
}
