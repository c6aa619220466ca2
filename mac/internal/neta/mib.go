package neta

// MIB is where the management counters start. Each is cleared by reading it; of
// those with 64 bits the low word is read first.
const (
	MIB     uint32 = 0x3000
	MIBLast uint32 = 0x307C

	MIBRXOctets      uint32 = 0x3000 // 64 bits
	MIBRXBadOctets   uint32 = 0x3008
	MIBTXErrors      uint32 = 0x300C // internal
	MIBRXFrames      uint32 = 0x3010 // good
	MIBRXBadFrames   uint32 = 0x3014
	MIBRXBroadcast   uint32 = 0x3018
	MIBRXMulticast   uint32 = 0x301C
	MIB64            uint32 = 0x3020 // first of six size bins, both directions
	MIBTXOctets      uint32 = 0x3038 // 64 bits
	MIBTXFrames      uint32 = 0x3040
	MIBTXExcessive   uint32 = 0x3044 // collisions
	MIBTXMulticast   uint32 = 0x3048
	MIBTXBroadcast   uint32 = 0x304C
	MIBRXUnknownCtrl uint32 = 0x3050
	MIBTXPause       uint32 = 0x3054
	MIBRXPause       uint32 = 0x3058
	MIBRXBadPause    uint32 = 0x305C
	MIBRXUndersize   uint32 = 0x3060
	MIBRXFragments   uint32 = 0x3064
	MIBRXOversize    uint32 = 0x3068
	MIBRXJabber      uint32 = 0x306C
	MIBRXErrors      uint32 = 0x3070
	MIBRXCRC         uint32 = 0x3074
	MIBTXCollisions  uint32 = 0x3078
	MIBTXLate        uint32 = 0x307C
)
