// Package etheravb is the register map and the descriptor layout of Renesas'
// Ethernet AVB (EtherAVB of R-Car and RZ/G2) and of the Gigabit Ethernet of
// RZ/G2L and kin, which is the same AVB-DMAC and E-MAC with a checksum engine
// (TOE) in the place of queues and gPTP. The driver (mac/ravb) and the model
// (mac/sim/ravb) share it, so that a number stands in one place; that the numbers
// are right is shown by drivers that are not ours.
//
// Names are the manual's (R-Car and RZ/G user's manuals, "Ethernet AVB-IF"): the
// register, then the field (CCCOPC). A field of several bits is a mask; Put and
// Get shift by it. CSR0 to CSR2 of the TOE are called TOE0 to TOE2 here, since CSR
// is another register.
package etheravb

// WindowSize covers every register of this map.
const WindowSize = 0x1000

// Queues. Queue 0 takes best effort frames, queue 1 network control.
const (
	BestEffort     = 0
	NetworkControl = 1
	MaxQueues      = 2 // of each kind that are used here
)

// The descriptor base address table (DBAT): entries of one descriptor each, four
// for transmit queues and eighteen for receive queues behind them.
const (
	TableEntries = 22
	TableSize    = TableEntries * DescriptorSize
	TableRX      = 4 // entry of receive queue 0
)
