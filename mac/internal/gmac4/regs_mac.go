package gmac4

// MAC registers (manual: "EQOS_MAC registers").
const (
	MACConfig       uint32 = 0x000 // MAC_Configuration
	MACExtConfig    uint32 = 0x004 // MAC_Ext_Configuration
	MACPacketFilter uint32 = 0x008 // MAC_Packet_Filter
	MACWatchdog     uint32 = 0x00C // MAC_Watchdog_Timeout
	MACHashTable    uint32 = 0x010 // MAC_Hash_Table_Reg(n), see HashTable
	MACVLANTag      uint32 = 0x050 // MAC_VLAN_Tag(_Ctrl)
	MACVLANTagData  uint32 = 0x054 // MAC_VLAN_Tag_Data
	MACVLANHash     uint32 = 0x058 // MAC_VLAN_Hash_Table
	MACVLANIncl     uint32 = 0x060 // MAC_VLAN_Incl
	MACInnerVLAN    uint32 = 0x064 // MAC_Inner_VLAN_Incl
	MACTxFlow       uint32 = 0x070 // MAC_Qn_Tx_Flow_Ctrl, see TxFlow
	MACRxFlow       uint32 = 0x090 // MAC_Rx_Flow_Ctrl
	MACRxQCtrl4     uint32 = 0x094 // MAC_RxQ_Ctrl4
	MACTxQPrty0     uint32 = 0x098 // MAC_TxQ_Prty_Map0
	MACTxQPrty1     uint32 = 0x09C // MAC_TxQ_Prty_Map1
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
	MACLPIEntry     uint32 = 0x0D8 // MAC_LPI_Entry_Timer
	MAC1usTic       uint32 = 0x0DC // MAC_1US_Tic_Counter
	MACANControl    uint32 = 0x0E0 // MAC_AN_Control
	MACANStatus     uint32 = 0x0E4 // MAC_AN_Status
	MACPHYIF        uint32 = 0x0F8 // MAC_PHYIF_Control_Status
	MACVersion      uint32 = 0x110 // MAC_Version
	MACDebug        uint32 = 0x114 // MAC_Debug
	MACFeature0     uint32 = 0x11C // MAC_HW_Feature0
	MACFeature1     uint32 = 0x120 // MAC_HW_Feature1
	MACFeature2     uint32 = 0x124 // MAC_HW_Feature2
	MACFeature3     uint32 = 0x128 // MAC_HW_Feature3, from 5.10
	MACMDIOAddr     uint32 = 0x200 // MAC_MDIO_Address
	MACMDIOData     uint32 = 0x204 // MAC_MDIO_Data
	MACARPAddr      uint32 = 0x210 // MAC_ARP_Address
	MACExtConfig1   uint32 = 0x238 // MAC_Ext_Cfg1
	MACAddr         uint32 = 0x300 // MAC_Address0_High, see AddrHigh and AddrLow
	MACTSStatus     uint32 = 0xB20 // MAC_Timestamp_Status
)

// HashTable is MAC_Hash_Table_Reg(n), n 0 to 7. Bin b is bit b%32 of register b/32.
func HashTable(n int) uint32 { return MACHashTable + 4*uint32(n) }

// TxFlow is MAC_Q(q)_Tx_Flow_Ctrl.
func TxFlow(q int) uint32 { return MACTxFlow + 4*uint32(q) }

// AddrHigh and AddrLow are MAC_Address(n)_High and _Low. High is written first:
// the core takes both over when Low is written.
func AddrHigh(n int) uint32 { return MACAddr + 8*uint32(n) }
func AddrLow(n int) uint32  { return MACAddr + 8*uint32(n) + 4 }

// MAC_Configuration.
const (
	ConfigRE     uint32 = 1 << 0  // receiver enable
	ConfigTE     uint32 = 1 << 1  // transmitter enable
	ConfigDCRS   uint32 = 1 << 9  // no carrier sense during transmission
	ConfigDO     uint32 = 1 << 10 // disable receive own (half duplex)
	ConfigLM     uint32 = 1 << 12 // loopback
	ConfigDM     uint32 = 1 << 13 // full duplex
	ConfigFES    uint32 = 1 << 14 // 100 (or 2500) Mbit/s
	ConfigPS     uint32 = 1 << 15 // port select: 10/100
	ConfigJE     uint32 = 1 << 16 // jumbo frames
	ConfigJD     uint32 = 1 << 17 // jabber timer off
	ConfigBE     uint32 = 1 << 18 // frame bursts (1000 half duplex)
	ConfigWD     uint32 = 1 << 19 // receive watchdog off
	ConfigACS    uint32 = 1 << 20 // strip pad and FCS of length frames
	ConfigCST    uint32 = 1 << 21 // strip FCS of type frames
	ConfigS2KP   uint32 = 1 << 22 // frames up to 2000 bytes are no giants
	ConfigGPSLCE uint32 = 1 << 23 // giant limit from MAC_Ext_Configuration
	ConfigIPG    uint32 = 7 << 24
	ConfigIPC    uint32 = 1 << 27 // receive checksum engine
	ConfigSARC   uint32 = 7 << 28
	ConfigARPEN  uint32 = 1 << 31
)

// MAC_Ext_Configuration and MAC_Ext_Cfg1.
const (
	ExtConfigGPSL  uint32 = 0x3FFF
	ExtConfigDCRCC uint32 = 1 << 16 // receive CRC check off
	ExtConfigSPEN  uint32 = 1 << 17
	ExtConfigHDSMS uint32 = 7 << 20 // largest split header

	ExtConfig1SPLM uint32 = 3 << 8
	ExtConfig1SAVE uint32 = 1 << 24
)

// MAC_Packet_Filter, beside what dwregs has.
const (
	FilterIPFE uint32 = 1 << 20
	FilterDNTU uint32 = 1 << 21
)

// MAC_VLAN_Tag and MAC_VLAN_Incl.
const (
	VLANTagVL     uint32 = 0xFFFF
	VLANTagETV    uint32 = 1 << 16
	VLANTagVTIM   uint32 = 1 << 17
	VLANTagESVL   uint32 = 1 << 18
	VLANTagEVLS   uint32 = 3 << 21 // strip on receive: 0 never, 3 always
	VLANTagEVLRXS uint32 = 1 << 24 // tag into the descriptor
	VLANTagVTHM   uint32 = 1 << 25
	VLANTagEDVLP  uint32 = 1 << 26

	VLANInclVLT  uint32 = 0xFFFF
	VLANInclVLC  uint32 = 3 << 16
	VLANInclVLP  uint32 = 1 << 18
	VLANInclCSVL uint32 = 1 << 19
	VLANInclVLTI uint32 = 1 << 20
)

// MAC_Qn_Tx_Flow_Ctrl and MAC_Rx_Flow_Ctrl.
const (
	TxFlowFCB  uint32 = 1 << 0
	TxFlowTFE  uint32 = 1 << 1
	TxFlowPLT  uint32 = 7 << 4
	TxFlowDZPQ uint32 = 1 << 7
	TxFlowPT   uint32 = 0xFFFF << 16

	RxFlowRFE uint32 = 1 << 0
	RxFlowUP  uint32 = 1 << 1
)

// MAC_RxQ_Ctrl0 has two bits for each queue; MAC_RxQ_Ctrl1 routes by kind.
const (
	RxQDisabled uint32 = 0
	RxQAV       uint32 = 1
	RxQGeneric  uint32 = 2 // "DCB"

	RxQCtrl1UPQ     uint32 = 7 << 12 // queue of untagged frames
	RxQCtrl1MCBCQ   uint32 = 7 << 16 // queue of multicast and broadcast
	RxQCtrl1MCBCQEN uint32 = 1 << 20
)

// RxQEnable is the field of queue q in MAC_RxQ_Ctrl0.
func RxQEnable(q int) uint32 { return 3 << (2 * uint(q)) }

// MAC_Interrupt_Status and MAC_Interrupt_Enable (1 = enabled).
const (
	MACIntRGSMII uint32 = 1 << 0 // in-band link change; cleared by reading MACPHYIF
	MACIntPCSLK  uint32 = 1 << 1 // PCS link; cleared by reading MACANStatus
	MACIntPCSAN  uint32 = 1 << 2 // PCS negotiation; cleared by reading MACANStatus
	MACIntPHY    uint32 = 1 << 3 // PHY interrupt pin; cleared by reading the status
	MACIntPMT    uint32 = 1 << 4 // cleared by reading MACPMT
	MACIntLPI    uint32 = 1 << 5 // cleared by reading MACLPI
	MACIntMMC    uint32 = 1 << 8 // any of the three below
	MACIntMMCRx  uint32 = 1 << 9
	MACIntMMCTx  uint32 = 1 << 10
	MACIntMMCIPC uint32 = 1 << 11
	MACIntTS     uint32 = 1 << 12 // cleared by reading MACTSStatus
	MACIntTxSts  uint32 = 1 << 13 // cleared by reading MACRxTxStatus
	MACIntRxSts  uint32 = 1 << 14 // cleared by reading MACRxTxStatus
	MACIntFPE    uint32 = 1 << 17
	MACIntMDIO   uint32 = 1 << 18
)

// MAC_PHYIF_Control_Status.
const (
	PHYIFTC     uint32 = 1 << 0
	PHYIFLUD    uint32 = 1 << 1
	PHYIFDuplex uint32 = 1 << 16 // 1 = full
	PHYIFSpeed  uint32 = 3 << 17
	PHYIFLink   uint32 = 1 << 19

	PHYIFSpeed10   = 0
	PHYIFSpeed100  = 1
	PHYIFSpeed1000 = 2
)

// MAC_Version and MAC_Debug.
const (
	VersionSynopsys uint32 = 0xFF
	VersionUser     uint32 = 0xFF << 8

	DebugRPESTS   uint32 = 1 << 0  // receive engine busy
	DebugRFCFCSTS uint32 = 3 << 1  // receive FIFO controller busy
	DebugTPESTS   uint32 = 1 << 16 // transmit engine busy
	DebugTFCSTS   uint32 = 3 << 17 // transmit frame controller, 0 idle
)

// MAC_HW_Feature0.
const (
	Feat0MII     uint32 = 1 << 0
	Feat0GMII    uint32 = 1 << 1
	Feat0HD      uint32 = 1 << 2
	Feat0PCS     uint32 = 1 << 3
	Feat0VLHash  uint32 = 1 << 4
	Feat0SMA     uint32 = 1 << 5 // MDIO
	Feat0RWK     uint32 = 1 << 6
	Feat0MGK     uint32 = 1 << 7
	Feat0MMC     uint32 = 1 << 8
	Feat0ARP     uint32 = 1 << 9
	Feat0TS      uint32 = 1 << 12
	Feat0EEE     uint32 = 1 << 13
	Feat0TxCOE   uint32 = 1 << 14
	Feat0RxCOE   uint32 = 1 << 16
	Feat0Addr    uint32 = 31 << 18 // extra perfect addresses
	Feat0Addr32  uint32 = 1 << 23  // 32 more
	Feat0Addr64  uint32 = 1 << 24  // 64 more
	Feat0SAVLAN  uint32 = 1 << 27
	Feat0ActPHY  uint32 = 7 << 28
	ActPHYGMII          = 0
	ActPHYRGMII         = 1
	ActPHYSGMII         = 2
	ActPHYRMII          = 4
	ActPHYSMII          = 6
	ActPHYRevMII        = 7
)

// MAC_HW_Feature1.
const (
	Feat1RxFIFO uint32 = 31 << 0 // bytes = 128 << n, all queues together
	Feat1TxFIFO uint32 = 31 << 6 // bytes = 128 << n, all queues together
	Feat1OST    uint32 = 1 << 11
	Feat1PTO    uint32 = 1 << 12
	Feat1Addr64 uint32 = 3 << 14 // 0 = 32 bits, 1 = 40, 2 = 48
	Feat1DCB    uint32 = 1 << 16
	Feat1SPH    uint32 = 1 << 17
	Feat1TSO    uint32 = 1 << 18
	Feat1AV     uint32 = 1 << 20
	Feat1Hash   uint32 = 3 << 24 // 0 none, 1 = 64 bins, 2 = 128, 3 = 256
	Feat1L3L4   uint32 = 15 << 27
)

// MAC_HW_Feature2. The counts of queues and channels are stored less one.
const (
	Feat2RxQ   uint32 = 15 << 0
	Feat2TxQ   uint32 = 15 << 6
	Feat2RxCh  uint32 = 15 << 12
	Feat2TxCh  uint32 = 15 << 18
	Feat2PPS   uint32 = 7 << 24
	Feat2AuxTS uint32 = 7 << 28
)

// MAC_HW_Feature3.
const (
	Feat3NRVF uint32 = 7 << 0
	Feat3FRP  uint32 = 1 << 10
	Feat3EST  uint32 = 1 << 16
	Feat3FPE  uint32 = 1 << 26
	Feat3TBS  uint32 = 1 << 27
	Feat3ASP  uint32 = 3 << 28
)

// MAC_MDIO_Address and MAC_MDIO_Data.
const (
	MDIOGB   uint32 = 1 << 0 // busy
	MDIOC45E uint32 = 1 << 1
	MDIOGOC  uint32 = 3 << 2
	MDIOSKAP uint32 = 1 << 4
	MDIOCR   uint32 = 15 << 8  // clock range
	MDIONTC  uint32 = 7 << 12  // trailing clocks
	MDIORDA  uint32 = 31 << 16 // register, or clause 45 device
	MDIOPA   uint32 = 31 << 21 // PHY
	MDIOBTB  uint32 = 1 << 26
	MDIOPSE  uint32 = 1 << 27

	MDIOWrite = 1
	MDIORead  = 3

	MDIODataGD uint32 = 0xFFFF
	MDIODataRA uint32 = 0xFFFF << 16 // clause 45 register
)

// MMC is where the counters start, see dwregs.
const MMC uint32 = 0x700
