// Package xgmac2 is the register map and the descriptor layout of the Synopsys
// DesignWare XGMAC cores, versions 2.00 to 3.20. The driver (mac/dwxgmac2) and the
// model (mac/sim/dwxgmac2) share it, so that a number stands in one place; that the
// numbers are right is shown by drivers that are not ours.
//
// The map looks like that of GMAC4 and is another one: MTL and DMA lie elsewhere,
// MAC_Configuration is two registers, and tail pointers, ring lengths and interrupt
// enables are one word further on.
//
// Names follow the manual: offsets are named after the block and the register
// (MACTxConfig, ChanTxTail), fields after the register and the field (RxConfigRE).
// A field of several bits is a mask, for package field. Registers of a queue or
// channel are offsets from QueueBase or ChanBase.
package xgmac2

// MaxQueues and MaxChannels bound the queues and DMA channels of any version.
const (
	MaxQueues   = 16
	MaxChannels = 16
)

// WindowSize covers every register of this map.
const WindowSize = 0x4000
