package neta

// The buffer manager: four pools of buffer addresses, each a ring in memory
// (BPPE) with a part of it cached inside (BPPI). Its registers are a window of
// their own, the BPPI another.
const (
	BMConfig  uint32 = 0x00
	BMCommand uint32 = 0x04
	BMCause   uint32 = 0x50 // write 0 to clear
	BMMask    uint32 = 0x54

	BMConfigActive uint32 = 1 << 4
	BMConfigPaused uint32 = 1 << 5
	BMConfigStatus uint32 = 3 << 4
	BMConfigBurst  uint32 = 3 << 17
	BMConfigEmpty  uint32 = 1 << 19 // hand out the last buffers too
	BMBurst16             = 2

	BMStart uint32 = 1 << 0
	BMStop  uint32 = 1 << 1
	BMPause uint32 = 1 << 2

	BMPoolEnable uint32 = 1 << 0      // of BMPoolBase
	BMPointer    uint32 = 0x3FFF << 2 // as it is written to read and write pointers
	BMPointerNow uint32 = 0x3FFF << 18
	BMPoolSlots  uint32 = 0x3FFF

	// MaxPools is the number of pools. A pool has MinPool to MaxPool slots, in
	// steps of PoolStep, of PoolSlot bytes.
	MaxPools = 4
	MinPool  = 128
	MaxPool  = 16352
	PoolStep = 32
	PoolSlot = 4

	// BMWindowSize is the size of the registers, BPPISize that of the BPPI's
	// aperture, in bytes, of which a pool takes PoolStride.
	BMWindowSize uint32 = 0xAC
	BPPISize     uint32 = 1 << 20
	PoolStride   uint32 = 1 << 8

	// BPPITarget and BPPIAttr are the MBUS window of the BPPI.
	BPPITarget = 0x0C
	BPPIAttr   = 0x04
)

// Registers of pool p.
func BMPoolBase(p int) uint32  { return 0x10 + 0x10*uint32(p) }
func BMPoolRead(p int) uint32  { return 0x14 + 0x10*uint32(p) }
func BMPoolWrite(p int) uint32 { return 0x18 + 0x10*uint32(p) }
func BMPoolSize(p int) uint32  { return 0x1C + 0x10*uint32(p) }

// BMXBar is the register with the MBUS target and attribute of pool p's ring, and
// the fields in it.
func BMXBar(p int) (reg, target, attr uint32) {
	shift := 16 * (uint32(p) % 2)
	return 0x08 + 4*(uint32(p)/2), 15 << shift, 0xFF << (shift + 4)
}

// BPPI is where in the aperture pool p is: a write gives a buffer to it, a read
// takes one, 0 when there is none.
func BPPI(p int) uint32 { return PoolStride * uint32(p) }
