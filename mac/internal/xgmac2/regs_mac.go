package xgmac2

// MAC registers (manual: "XGMAC_MAC registers"; stmmac dwxgmac2.h, amd-xgbe
// xgbe-common.h).
const (
	MACTxConfig     uint32 = 0x000 // MAC_Tx_Configuration
	MACRxConfig     uint32 = 0x004 // MAC_Rx_Configuration
	MACPacketFilter uint32 = 0x008 // MAC_Packet_Filter
	MACWatchdog     uint32 = 0x00C // MAC_WD_JB_Timeout
	MACHashTable    uint32 = 0x010 // MAC_Hash_Table_Reg(n), see HashTable
	MACVLANTag      uint32 = 0x050 // MAC_VLAN_Tag(_Ctrl)
	MACVLANTagData  uint32 = 0x054 // MAC_VLAN_Tag_Data
	MACVLANHash     uint32 = 0x058 // MAC_VLAN_Hash_Table
	MACVLANIncl     uint32 = 0x060 // MAC_VLAN_Incl
	MACInnerVLAN    uint32 = 0x064 // MAC_Inner_VLAN_Incl
	MACTxFlow       uint32 = 0x070 // MAC_Qn_Tx_Flow_Ctrl, see TxFlow
	MACRxFlow       uint32 = 0x090 // MAC_Rx_Flow_Ctrl
	MACRxQCtrl0     uint32 = 0x0A0 // MAC_RxQ_Ctrl0
	MACRxQCtrl1     uint32 = 0x0A4 // MAC_RxQ_Ctrl1
	MACRxQCtrl2     uint32 = 0x0A8 // MAC_RxQ_Ctrl2
	MACRxQCtrl3     uint32 = 0x0AC // MAC_RxQ_Ctrl3
	MACIntStatus    uint32 = 0x0B0 // MAC_Interrupt_Status
	MACIntEnable    uint32 = 0x0B4 // MAC_Interrupt_Enable
	MACRxTxStatus   uint32 = 0x0B8 // MAC_Rx_Tx_Status
	MACPMT          uint32 = 0x0C0 // MAC_PMT_Control_Status
	MACRWKFilter    uint32 = 0x0C4 // MAC_RWK_Packet_Filter
	MACLPI          uint32 = 0x0D0 // MAC_LPI_Control_Status
	MACLPITimers    uint32 = 0x0D4 // MAC_LPI_Timers_Control
	MACVersion      uint32 = 0x110 // MAC_Version
	MACDebug        uint32 = 0x114 // MAC_Debug
	MACFeature0     uint32 = 0x11C // MAC_HW_Feature0
	MACFeature1     uint32 = 0x120 // MAC_HW_Feature1
	MACFeature2     uint32 = 0x124 // MAC_HW_Feature2
	MACFeature3     uint32 = 0x128 // MAC_HW_Feature3
	MACFeature4     uint32 = 0x12C // MAC_HW_Feature4
	MACMDIOAddr     uint32 = 0x200 // MDIO_Single_Command_Address
	MACMDIOData     uint32 = 0x204 // MDIO_Single_Command_Control_Data
	MACMDIOPort     uint32 = 0x220 // MDIO_Clause_22_Port: bit n is PHY n
	MACAddr         uint32 = 0x300 // MAC_Address0_High, see AddrHigh and AddrLow
	MACRSSControl   uint32 = 0xC80 // MAC_RSS_Control
	MACRSSAddr      uint32 = 0xC88 // MAC_RSS_Address
	MACRSSData      uint32 = 0xC8C // MAC_RSS_Data
	MACTSControl    uint32 = 0xD00 // MAC_Timestamp_Control
	MACTSStatus     uint32 = 0xD20 // MAC_Timestamp_Status
)

// HashTable is MAC_Hash_Table_Reg(n), n 0 to 7. Bin b is bit b%32 of register b/32.
func HashTable(n int) uint32 { return MACHashTable + 4*uint32(n) }

// MaxTxFlow is how many queues have a register for flow control.
const MaxTxFlow = 8

// TxFlow is MAC_Q(q)_Tx_Flow_Ctrl.
func TxFlow(q int) uint32 { return MACTxFlow + 4*uint32(q) }

// MaxAddr is how many address slots there can be, the station's own included.
const MaxAddr = 32

// AddrHigh and AddrLow are MAC_Address(n)_High and _Low. High is written first:
// the core takes both over when Low is written.
func AddrHigh(n int) uint32 { return MACAddr + 8*uint32(n) }
func AddrLow(n int) uint32  { return MACAddr + 8*uint32(n) + 4 }

// MAC_Tx_Configuration. The speed code depends on the interface to the PHY as well
// as on the speed.
const (
	TxConfigTE   uint32 = 1 << 0  // transmitter enable
	TxConfigJD   uint32 = 1 << 16 // jabber timer off
	TxConfigSARC uint32 = 7 << 20
	TxConfigSS   uint32 = 7 << 29 // speed

	Speed10G        = 0
	Speed2500GMII   = 2
	Speed1000GMII   = 3
	Speed100MII     = 4
	Speed5000XGMII  = 5
	Speed2500XGMII  = 6
	Speed10MII      = 7
	SpeedReserved1  = 1
	speedCodesCount = 8
)

// SpeedOf is the link speed in Mbit/s that a code of TxConfigSS stands for, 0 when
// it stands for none.
func SpeedOf(code uint32) int {
	return [speedCodesCount]int{10_000, 0, 2500, 1000, 100, 5000, 2500, 10}[code%speedCodesCount]
}

// MAC_Rx_Configuration.
const (
	RxConfigRE     uint32 = 1 << 0  // receiver enable
	RxConfigACS    uint32 = 1 << 1  // strip pad and FCS of length frames
	RxConfigCST    uint32 = 1 << 2  // strip FCS of type frames
	RxConfigDCRCC  uint32 = 1 << 3  // CRC check off
	RxConfigGPSLCE uint32 = 1 << 6  // giant limit from GPSL
	RxConfigWD     uint32 = 1 << 7  // receive watchdog off
	RxConfigJE     uint32 = 1 << 8  // jumbo frames
	RxConfigIPC    uint32 = 1 << 9  // receive checksum engine
	RxConfigLM     uint32 = 1 << 10 // loopback
	RxConfigS2KP   uint32 = 1 << 11 // frames up to 2000 bytes are no giants
	RxConfigHDSMS  uint32 = 7 << 12 // largest split header
	RxConfigGPSL   uint32 = 0x3FFF << 16
	RxConfigARPEN  uint32 = 1 << 31
)

// MaxGiant is the largest giant limit in use, in bytes with FCS (stmmac: 16368).
const MaxGiant = 16368

// MAC_VLAN_Tag and MAC_VLAN_Incl.
const (
	VLANTagVL     uint32 = 0xFFFF
	VLANTagETV    uint32 = 1 << 16
	VLANTagVTIM   uint32 = 1 << 17
	VLANTagESVL   uint32 = 1 << 18
	VLANTagEVLS   uint32 = 3 << 21 // strip on receive: 0 never, 3 always
	VLANTagEVLRXS uint32 = 1 << 24 // tag into the descriptor
)

// MAC_Qn_Tx_Flow_Ctrl and MAC_Rx_Flow_Ctrl.
const (
	TxFlowFCB  uint32 = 1 << 0
	TxFlowTFE  uint32 = 1 << 1
	TxFlowDZPQ uint32 = 1 << 7
	TxFlowPT   uint32 = 0xFFFF << 16

	RxFlowRFE  uint32 = 1 << 0
	RxFlowUP   uint32 = 1 << 1
	RxFlowPFCE uint32 = 1 << 8
)

// MAC_RxQ_Ctrl0 has two bits for each queue; MAC_RxQ_Ctrl1 routes by kind. Its
// fields lie elsewhere than those of GMAC4.
const (
	RxQDisabled uint32 = 0
	RxQAV       uint32 = 1
	RxQGeneric  uint32 = 2

	RxQCtrl1UPQ     uint32 = 15 << 0 // queue of untagged frames
	RxQCtrl1MCBCQ   uint32 = 15 << 8 // queue of multicast and broadcast
	RxQCtrl1MCBCQEN uint32 = 1 << 15
)

// RxQEnable is the field of queue q in MAC_RxQ_Ctrl0.
func RxQEnable(q int) uint32 { return 3 << (2 * uint(q)) }

// MAC_Interrupt_Status and MAC_Interrupt_Enable (1 = enabled).
const (
	MACIntLS    uint32 = 1 << 0 // link status
	MACIntSMI   uint32 = 1 << 1 // MDIO transfer done
	MACIntPMT   uint32 = 1 << 4 // cleared by reading MACPMT
	MACIntLPI   uint32 = 1 << 5 // cleared by reading MACLPI
	MACIntMMCRx uint32 = 1 << 9
	MACIntMMCTx uint32 = 1 << 10
	MACIntTS    uint32 = 1 << 12 // cleared by reading MACTSStatus
	MACIntFPE   uint32 = 1 << 15
	MACIntLSS   uint32 = 3 << 24 // state of the link: local and remote fault
)

// MAC_Version.
const (
	VersionSynopsys uint32 = 0xFF
	VersionDevice   uint32 = 0xFF << 8

	DeviceXGMAC  = 0x76
	DeviceXLGMAC = 0x27 // 25 to 100 Gbit/s, another map in parts
)

// MAC_HW_Feature0.
const (
	Feat0GMII  uint32 = 1 << 1 // 1 Gbit/s
	Feat0HD    uint32 = 1 << 3
	Feat0SMA   uint32 = 1 << 5 // MDIO
	Feat0MMC   uint32 = 1 << 8
	Feat0TS    uint32 = 1 << 12
	Feat0EEE   uint32 = 1 << 13
	Feat0TxCOE uint32 = 1 << 14
	Feat0RxCOE uint32 = 1 << 16
	Feat0Addr  uint32 = 31 << 18 // extra perfect addresses
)

// MAC_HW_Feature1.
const (
	Feat1RxFIFO uint32 = 31 << 0 // bytes = 128 << n, all queues together
	Feat1TxFIFO uint32 = 31 << 6 // bytes = 128 << n, all queues together
	Feat1Addr64 uint32 = 3 << 14 // 0 = 32 bits, 1 = 40, 2 = 48
	Feat1DCB    uint32 = 1 << 16
	Feat1SPH    uint32 = 1 << 17
	Feat1TSO    uint32 = 1 << 18
	Feat1RSS    uint32 = 1 << 20
	Feat1NumTC  uint32 = 7 << 21 // traffic classes less one
	Feat1Hash   uint32 = 3 << 24 // 0 none, 1 = 64 bins, 2 = 128, 3 = 256
	Feat1L3L4   uint32 = 15 << 27
)

// MAC_HW_Feature2. The counts of queues and channels are stored less one.
const (
	Feat2RxQ  uint32 = 15 << 0
	Feat2TxQ  uint32 = 15 << 6
	Feat2RxCh uint32 = 15 << 12
	Feat2TxCh uint32 = 15 << 18
)

// MDIO_Single_Command_Address and _Control_Data. A transfer is of clause 22 when
// the PHY's bit in MACMDIOPort is set.
const (
	MDIORA uint32 = 0xFFFF << 0 // register
	MDIOPA uint32 = 31 << 16    // PHY
	MDIODA uint32 = 31 << 21    // clause 45 device

	MDIOData  uint32 = 0xFFFF << 0
	MDIOCMD   uint32 = 3 << 16
	MDIOSADDR uint32 = 1 << 18 // no address frame first (clause 45), clause 22 in stmmac
	MDIOCR    uint32 = 7 << 19 // clock range
	MDIOBusy  uint32 = 1 << 22

	MDIOWrite = 1
	MDIORead  = 3
)

// MAC_RSS_Control, _Address and _Data. Key and table are behind the latter two: Data
// is written first, Address starts the access.
const (
	RSSControlRSSE   uint32 = 1 << 0
	RSSControlIP2TE  uint32 = 1 << 1 // hash of two addresses
	RSSControlTCP4TE uint32 = 1 << 2 // and ports, for TCP
	RSSControlUDP4TE uint32 = 1 << 3 // and ports, for UDP

	RSSAddrOB    uint32 = 1 << 0    // busy
	RSSAddrCT    uint32 = 1 << 1    // 1 = read
	RSSAddrADDRT uint32 = 1 << 2    // 1 = key, 0 = table
	RSSAddrRSSIA uint32 = 0xFF << 8 // index

	// RSSKeyWords and RSSTableSize are the sizes of key and table. An entry is a DMA
	// channel. Word n of the key holds its bytes 4n to 4n+3, the first in its lowest
	// bits, as stmmac has it. amd-xgbe writes the words the other way round, bytes 0 to
	// 3 as word 9: flows are spread either way.
	RSSKeyWords  = 10
	RSSTableSize = 256
	RSSChannel   = 15
)

// MAC_Timestamp_Control.
const (
	TSControlENA    uint32 = 1 << 0
	TSControlENALL  uint32 = 1 << 8 // every received frame
	TSControlCTRLSS uint32 = 1 << 9
)
