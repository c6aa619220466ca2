package gmac3

// MAC registers (manual: "GMAC register map").
const (
	MACConfig      uint32 = 0x00 // MAC_Configuration
	MACFilter      uint32 = 0x04 // MAC_Frame_Filter, see dwregs
	MACHashHigh    uint32 = 0x08 // Hash_Table_High, bins 32 to 63
	MACHashLow     uint32 = 0x0C // Hash_Table_Low, bins 0 to 31
	MACMIIAddr     uint32 = 0x10 // GMII_Address
	MACMIIData     uint32 = 0x14 // GMII_Data
	MACFlow        uint32 = 0x18 // Flow_Control
	MACVLANTag     uint32 = 0x1C // VLAN_Tag
	MACVersion     uint32 = 0x20 // Version
	MACDebug       uint32 = 0x24 // Debug, from 3.50
	MACWakeup      uint32 = 0x28 // Remote_Wakeup_Frame_Filter
	MACPMT         uint32 = 0x2C // PMT_Control_Status
	MACLPI         uint32 = 0x30 // LPI_Control_Status
	MACLPITimers   uint32 = 0x34 // LPI_Timers_Control
	MACIntStatus   uint32 = 0x38 // Interrupt_Status
	MACIntMask     uint32 = 0x3C // Interrupt_Mask, 1 = masked
	MACAddr        uint32 = 0x40 // MAC_Address0_High, see AddrHigh and AddrLow
	MACANControl   uint32 = 0xC0 // AN_Control
	MACANStatus    uint32 = 0xC4 // AN_Status
	MACANAdvertise uint32 = 0xC8 // Auto_Negotiation_Advertisement
	MACANPartner   uint32 = 0xCC // Auto_Negotiation_Link_Partner_Ability
	MACANExpansion uint32 = 0xD0 // Auto_Negotiation_Expansion
	MACTBI         uint32 = 0xD4 // TBI_Extended_Status
	MACRGSMII      uint32 = 0xD8 // SGMII_RGMII_SMII_Control_Status
	MACWatchdog    uint32 = 0xDC // Watchdog_Timeout, from 3.70

	// MMC is where the counters start, see dwregs.
	MMC uint32 = 0x100

	MACExtHash  uint32 = 0x500 // Hash_Table_Register(n), see HashTable
	MACTSStatus uint32 = 0x728 // Timestamp_Status
	MACAddr16   uint32 = 0x800 // MAC_Address16_High
)

// AddrHigh and AddrLow are MAC_Address(n)_High and _Low, n 0 to 31.
func AddrHigh(n int) uint32 {
	if n >= 16 {
		return MACAddr16 + 8*uint32(n-16)
	}
	return MACAddr + 8*uint32(n)
}

func AddrLow(n int) uint32 { return AddrHigh(n) + 4 }

// MaxAddrs is the largest number of address slots, slot 0 included.
const MaxAddrs = 32

// HashTable is the register of bins 32*n to 32*n+31 of a hash table of bins. The
// table of 64 has its own two registers, those of 128 and 256 lie elsewhere.
func HashTable(bins, n int) uint32 {
	if bins <= 64 {
		return MACHashLow - 4*uint32(n)
	}
	return MACExtHash + 4*uint32(n)
}

// MAC_Configuration.
const (
	ConfigRE   uint32 = 1 << 2 // receiver enable
	ConfigTE   uint32 = 1 << 3 // transmitter enable
	ConfigDC   uint32 = 1 << 4 // deferral check (half duplex)
	ConfigBL   uint32 = 3 << 5 // back-off limit (half duplex)
	ConfigACS  uint32 = 1 << 7 // strip pad and FCS of length frames
	ConfigLUD  uint32 = 1 << 8
	ConfigDR   uint32 = 1 << 9  // no retries (half duplex)
	ConfigIPC  uint32 = 1 << 10 // receive checksum engine
	ConfigDM   uint32 = 1 << 11 // full duplex
	ConfigLM   uint32 = 1 << 12 // loopback
	ConfigDO   uint32 = 1 << 13 // disable receive own (half duplex)
	ConfigFES  uint32 = 1 << 14 // 100 Mbit/s
	ConfigPS   uint32 = 1 << 15 // port select: 10/100
	ConfigDCRS uint32 = 1 << 16 // no carrier sense during transmission
	ConfigIFG  uint32 = 7 << 17
	ConfigJE   uint32 = 1 << 20 // jumbo frames
	ConfigBE   uint32 = 1 << 21 // frame bursts (1000 half duplex)
	ConfigJD   uint32 = 1 << 22 // jabber timer off
	ConfigWD   uint32 = 1 << 23 // receive watchdog off
	ConfigTC   uint32 = 1 << 24 // transmit configuration in RGMII, SGMII
	ConfigCST  uint32 = 1 << 25 // strip FCS of type frames
	Config2K   uint32 = 1 << 27 // frames up to 2000 bytes are no giants
)

// Flow_Control and VLAN_Tag.
const (
	FlowFCB  uint32 = 1 << 0 // send a pause frame now
	FlowTFE  uint32 = 1 << 1 // transmit flow control
	FlowRFE  uint32 = 1 << 2 // receive flow control
	FlowUP   uint32 = 1 << 3 // unicast pause frames too
	FlowPLT  uint32 = 3 << 4
	FlowDZPQ uint32 = 1 << 7 // no frame at the end of a pause
	FlowPT   uint32 = 0xFFFF << 16

	VLANTagVL  uint32 = 0xFFFF
	VLANTagETV uint32 = 1 << 16 // compare 12 bits
)

// GMII_Address and GMII_Data.
const (
	MIIGB uint32 = 1 << 0   // busy
	MIIGW uint32 = 1 << 1   // write
	MIICR uint32 = 15 << 2  // clock range
	MIIGR uint32 = 31 << 6  // register
	MIIPA uint32 = 31 << 11 // PHY
)

// Interrupt_Status and Interrupt_Mask.
const (
	MACIntRGSMII uint32 = 1 << 0 // in-band link change; cleared by reading MACRGSMII
	MACIntPCSLK  uint32 = 1 << 1 // PCS link; cleared by reading MACANStatus
	MACIntPCSAN  uint32 = 1 << 2 // PCS negotiation; cleared by reading MACANStatus
	MACIntPMT    uint32 = 1 << 3 // cleared by reading MACPMT
	MACIntMMC    uint32 = 1 << 4 // any of the three below
	MACIntMMCRx  uint32 = 1 << 5
	MACIntMMCTx  uint32 = 1 << 6
	MACIntMMCIPC uint32 = 1 << 7
	MACIntTS     uint32 = 1 << 9  // cleared by reading MACTSStatus
	MACIntLPI    uint32 = 1 << 10 // cleared by reading MACLPI

	// MACIntMaskable are those that Interrupt_Mask has a bit for. The counters
	// have masks of their own.
	MACIntMaskable = MACIntRGSMII | MACIntPCSLK | MACIntPCSAN | MACIntPMT | MACIntTS | MACIntLPI
)

// Debug.
const (
	DebugRPE  uint32 = 1 << 0 // receive engine busy
	DebugRFC  uint32 = 3 << 1 // receive frame controller busy
	DebugRWC  uint32 = 1 << 4 // receive FIFO write controller busy
	DebugRRC  uint32 = 3 << 5 // receive FIFO read controller
	DebugRXF  uint32 = 3 << 8 // receive FIFO fill level, 0 empty
	DebugTPE  uint32 = 1 << 16
	DebugTFC  uint32 = 3 << 17 // transmit frame controller, 0 idle
	DebugTPAU uint32 = 1 << 19 // paused by the partner
	DebugTRC  uint32 = 3 << 20 // transmit FIFO read controller, 0 idle
	DebugTWC  uint32 = 1 << 22
	DebugTXF  uint32 = 1 << 24 // transmit FIFO not empty
	DebugTSF  uint32 = 1 << 25 // transmit status FIFO full
)

// Version.
const (
	VersionSynopsys uint32 = 0xFF // 0x37 is 3.70
	VersionUser     uint32 = 0xFF << 8
)
