package neta

// Receive queues.
const (
	RXDMAReset uint32 = 0x1CC0 // bit 0: queues cleared while it is set

	RXConfigHWBuf  uint32 = 1 << 0  // buffers from the BM
	RXConfigShort  uint32 = 3 << 4  // BM pools
	RXConfigLong   uint32 = 3 << 6  //
	RXConfigOffset uint32 = 15 << 8 // bytes before the Marvell header, in units of 8

	RXSizeSlots uint32 = 0x3FFF << 0
	RXSizeBuf   uint32 = 0x1FFF << 19 // in units of 8 bytes

	RXThreshOccupied uint32 = 0x3FFF << 0
	RXThreshFree     uint32 = 0x3FFF << 16

	RXStatusOccupied uint32 = 0x3FFF << 0
	RXStatusFree     uint32 = 0x3FFF << 16

	RXUpdateTaken uint32 = 0xFF << 0  // taken off the occupied ones
	RXUpdateAdded uint32 = 0xFF << 16 // added to the free ones

	RXTimeMask uint32 = 0xFFFFFF // cycles of the core clock (FreeBSD)

	PoolBufSize uint32 = 0x1FFF << 3 // in bytes, a multiple of 8

	DMAReset uint32 = 1 << 0
)

// Registers of receive queue q, and the buffer size of BM pool p.
func RXConfig(q int) uint32    { return 0x1400 + 4*uint32(q) }
func RXSnoop(q int) uint32     { return 0x1420 + 4*uint32(q) }
func RXBase(q int) uint32      { return 0x1480 + 4*uint32(q) }
func RXRingSize(q int) uint32  { return 0x14A0 + 4*uint32(q) }
func RXThreshold(q int) uint32 { return 0x14C0 + 4*uint32(q) }
func RXQStatus(q int) uint32   { return 0x14E0 + 4*uint32(q) }
func RXUpdate(q int) uint32    { return 0x1500 + 4*uint32(q) }
func RXIndex(q int) uint32     { return 0x1520 + 4*uint32(q) }
func RXTime(q int) uint32      { return 0x2580 + 4*uint32(q) }
func PoolSize(p int) uint32    { return 0x1700 + 4*uint32(p) }

// Unit and address windows.
const (
	PHYAddr       uint32 = 0x2000
	SMI           uint32 = 0x2004
	MBUSRetry     uint32 = 0x2010
	UnitCause     uint32 = 0x2080
	UnitMask      uint32 = 0x2084
	ErrorAddr     uint32 = 0x2094
	UnitControl   uint32 = 0x20B0
	WindowEnable  uint32 = 0x2290 // bit w: window w is off
	WindowProtect uint32 = 0x2294 // two bits a window

	SMIData  uint32 = 0xFFFF << 0
	SMIPHY   uint32 = 0x1F << 16
	SMIReg   uint32 = 0x1F << 21
	SMIRead  uint32 = 1 << 26
	SMIValid uint32 = 1 << 27
	SMIBusy  uint32 = 1 << 28

	MBUSRetries uint32 = 0x20 // 32 cycles, not switched off

	UnitAddrViolation uint32 = 1 << 2
	UnitNoWindow      uint32 = 1 << 3
	UnitInternalAddr  uint32 = 1 << 7

	UnitPolling uint32 = 1 << 1 // the port polls its PHY by itself

	WindowBaseAddr uint32 = 0xFFFF << 16
	WindowAttr     uint32 = 0xFF << 8
	WindowTarget   uint32 = 15 << 0
	WindowSizeMask uint32 = 0xFFFF << 16 // size less one
	WindowsOff     uint32 = 0x3F
	WindowRW              = 3 // of WindowProtect
)

// Registers of address window w.
func WindowBase(w int) uint32  { return 0x2200 + 8*uint32(w) }
func WindowSpan(w int) uint32  { return 0x2204 + 8*uint32(w) }
func WindowRemap(w int) uint32 { return 0x2280 + 4*uint32(w) }

// Port.
const (
	PortConfig    uint32 = 0x2400
	PortConfigExt uint32 = 0x2404
	VLANType      uint32 = 0x2410
	MACLow        uint32 = 0x2414
	MACHigh       uint32 = 0x2418
	SDMAConfig    uint32 = 0x241C
	VLANPriority  uint32 = 0x2440 // receive queue of each priority, three bits each
	PortStatus    uint32 = 0x2444
	TXCommandReg  uint32 = 0x2448 // 7:0 enable, 15:8 disable
	MinFrame      uint32 = 0x247C
	Discarded     uint32 = 0x2484 // cleared by reading
	Overrun       uint32 = 0x2488 // cleared by reading
	TypePriority  uint32 = 0x24BC
	TXCommand1    uint32 = 0x24E4
	ClockDivider  uint32 = 0x24F4
	Acceleration  uint32 = 0x2500
	BMAddress     uint32 = 0x2504
	Version       uint32 = 0x25BC
	RXCommand     uint32 = 0x2680 // 7:0 enable, 15:8 disable

	ConfigPromiscuous uint32 = 1 << 0
	ConfigDefault     uint32 = 7 << 1
	ConfigARP         uint32 = 7 << 4
	ConfigRejectBcast uint32 = 1 << 7 // neither IP nor ARP
	ConfigRejectIP    uint32 = 1 << 8
	ConfigRejectARP   uint32 = 1 << 9
	ConfigNoTXStatus  uint32 = 1 << 12
	ConfigTCP         uint32 = 7 << 16
	ConfigUDP         uint32 = 7 << 19
	ConfigBPDU        uint32 = 7 << 22
	ConfigPseudo      uint32 = 1 << 25 // receive checksums cover the pseudo header

	ExtNoCRC uint32 = 1 << 3 // frames bring their own FCS

	SDMABurstRX  uint32 = 7 << 1
	SDMANoSwapRX uint32 = 1 << 4
	SDMANoSwapTX uint32 = 1 << 5
	SDMASwapDesc uint32 = 1 << 6
	SDMABurstTX  uint32 = 7 << 22
	SDMABurst16         = 4

	StatusTXBusy  uint32 = 1 << 0
	StatusTXEmpty uint32 = 1 << 8
	StatusRXEmpty uint32 = 1 << 16

	CommandEnable  uint32 = 0xFF << 0
	CommandDisable uint32 = 0xFF << 8

	PriorityForceUnicast uint32 = 1 << 21

	ClockDivider1ms uint32 = 1 << 31

	AccelSW uint32 = 1 // extended mode, buffers of software
	AccelBM uint32 = 2 // extended mode, buffers of the BM

	VersionMask uint32 = 0xFF
)

// CPUMap is which queues CPU c sees: 7:0 receive, 15:8 transmit.
func CPUMap(c int) uint32 { return 0x2540 + 4*uint32(c) }

// AllQueues is every queue in CPUMap and InterruptEnable.
const AllQueues uint32 = 0xFFFF

// Filter tables: a byte for each entry, four in a register.
const (
	SpecialTable   uint32 = 0x3400 // 01:00:5e:00:00:xx, by the last byte
	MulticastTable uint32 = 0x3500 // other groups, by CRC-8
	UnicastTable   uint32 = 0x3600 // by the last four bits

	EntryAccept uint32 = 1 << 0
	EntryQueue  uint32 = 7 << 1
)

// Interrupts.
const (
	Cause           uint32 = 0x25A0 // queue thresholds; follows the counters
	CauseMask       uint32 = 0x25A4
	OldCause        uint32 = 0x25A8
	OldMask         uint32 = 0x25AC
	MiscCause       uint32 = 0x25B0 // write 0 to clear
	MiscMask        uint32 = 0x25B4
	InterruptEnable uint32 = 0x25B8 // 7:0 receive, 15:8 transmit

	CauseTX   uint32 = 0xFF << 0
	CauseRX   uint32 = 0xFF << 8
	CauseFree uint32 = 0xFF << 16
	CauseOld  uint32 = 1 << 29
	CauseMisc uint32 = 1 << 31

	MiscPHY          uint32 = 1 << 0
	MiscLink         uint32 = 1 << 1
	MiscInternalAddr uint32 = 1 << 7 // DMA to an address that is not there
	MiscRXOverrun    uint32 = 1 << 8
	MiscRXCRC        uint32 = 1 << 9
	MiscRXLarge      uint32 = 1 << 10
	MiscTXUnderrun   uint32 = 1 << 11
	MiscPool         uint32 = 15 << 16   // a BM pool had no buffer
	MiscTXError      uint32 = 0xFF << 24 // transmit queue
)

// GMAC.
const (
	GMAC0    uint32 = 0x2C00
	GMAC1    uint32 = 0x2C04
	GMAC2    uint32 = 0x2C08
	AN       uint32 = 0x2C0C
	GMACStat uint32 = 0x2C10
	GMAC4    uint32 = 0x2C90
	LPI1     uint32 = 0x2CC4

	GMAC0Enable  uint32 = 1 << 0
	GMAC0BaseX   uint32 = 1 << 1
	GMAC0MaxRX   uint32 = 0x1FFF << 2 // in units of 2 bytes
	GMAC0MIB     uint32 = 1 << 15     // must stay 1
	GMAC1Loop    uint32 = 1 << 6
	GMAC2InBand  uint32 = 1 << 0
	GMAC2PCS     uint32 = 1 << 3
	GMAC2RGMII   uint32 = 1 << 4 // 1 in every mode
	GMAC2Reset   uint32 = 1 << 6
	GMAC4Short   uint32 = 1 << 1 // short preamble: 2500BASE-X
	LPI1Request  uint32 = 1 << 0
	ANForceDown  uint32 = 1 << 0
	ANForceUp    uint32 = 1 << 1
	ANInBand     uint32 = 1 << 2
	ANBypass     uint32 = 1 << 3
	ANRestart    uint32 = 1 << 4
	ANMII        uint32 = 1 << 5 // 100 Mbit/s
	ANGMII       uint32 = 1 << 6 // 1000 and 2500
	ANSpeed      uint32 = 1 << 7 // speed by negotiation
	ANFlow       uint32 = 1 << 8 // pause frames, both directions
	ANSymPause   uint32 = 1 << 9 // advertised
	ANAsymPause  uint32 = 1 << 10
	ANFlowAuto   uint32 = 1 << 11
	ANFull       uint32 = 1 << 12
	ANDuplexAuto uint32 = 1 << 13
	ANMustSet    uint32 = 1 << 15

	StatLink   uint32 = 1 << 0
	Stat1000   uint32 = 1 << 1
	Stat100    uint32 = 1 << 2
	StatFull   uint32 = 1 << 3
	StatRXFlow uint32 = 1 << 4
	StatTXFlow uint32 = 1 << 5
	StatANDone uint32 = 1 << 11
	StatSync   uint32 = 1 << 14
)

// Transmit queues.
const (
	TXDMAReset uint32 = 0x3CF0 // bit 0

	TXSizeSlots uint32 = 0x3FFF << 0
	TXThresh    uint32 = 0x3FFF << 16 // cause when more have been sent

	TXStatusPending uint32 = 0x3FFF << 0
	TXStatusSent    uint32 = 0x3FFF << 16

	TXUpdateAdded uint32 = 0xFF << 0  // added to the pending ones
	TXUpdateTaken uint32 = 0xFF << 16 // taken off the sent ones

	TokenFull       uint32 = 0x3FFFFFFF // TokenCount without a limit
	TokenConfigFull uint32 = 0x03FFFFFF // TokenConfig without a limit

	PortMTU       uint32 = 0x3E0C // in bits
	PortTokenSize uint32 = 0x3E14
	PortMTUMask   uint32 = 0x3FFFF
	TokenSizeMask uint32 = 0x7FFFFFFF
)

// Registers of transmit queue q.
func TXBase(q int) uint32      { return 0x3C00 + 4*uint32(q) }
func TXRingSize(q int) uint32  { return 0x3C20 + 4*uint32(q) }
func TXQStatus(q int) uint32   { return 0x3C40 + 4*uint32(q) }
func TXUpdate(q int) uint32    { return 0x3C60 + 4*uint32(q) }
func TXIndex(q int) uint32     { return 0x3C80 + 4*uint32(q) }
func TokenCount(q int) uint32  { return 0x2700 + 0x10*uint32(q) }
func TokenConfig(q int) uint32 { return 0x2704 + 0x10*uint32(q) }
func TokenSize(q int) uint32   { return 0x3E40 + 4*uint32(q) }
