// Package gmac4 is the register map and the descriptor layout of the Synopsys
// DesignWare Ethernet QoS cores, GMAC4 and GMAC5 (versions 4.00 to 5.30). The
// driver (mac/dwmac4) and the model (mac/sim/dwmac4) share it, so that a number
// stands in one place; that the numbers are right is shown by drivers that are
// not ours.
//
// Names follow the manual: offsets are named after the block and the register
// (MACConfig, ChanTxTail), fields after the register and the field (ConfigTE).
// A field of several bits is a mask, for package field. Registers of a
// queue or channel are offsets from QueueBase or ChanBase.
package gmac4

// MaxQueues and MaxChannels bound the queues and DMA channels of any version.
// Only eight fit the interrupt status registers.
const (
	MaxQueues   = 8
	MaxChannels = 8
)

// WindowSize covers every register of this map.
const WindowSize = 0x2000
