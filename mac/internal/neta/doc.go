// Package neta is the register map and the descriptor layout of Marvell's NETA
// Ethernet controller (Armada 370, XP, 38x, 39x, 3700 and AC5) and of the buffer
// manager (BM) beside it. The driver (mac/mvneta) and the model (mac/sim/mvneta)
// share it, so that a number stands in one place; that the numbers are right is
// shown by drivers that are not ours.
//
// No manual of NETA is public. Names follow the functional specifications of the
// Armada family where those name a register, and describe it otherwise. Facts are
// those on which Linux's mvneta, FreeBSD's if_mvneta and Marvell's MUSDK agree;
// what only one of them says is marked so.
//
// A field of several bits is a mask (package field shifts by it). Registers of a
// queue are functions of its number. Offsets of the BM's registers are from the
// start of its own window.
package neta

const (
	// MaxQueues is the number of queues each way, MaxCPUs that of the queue maps.
	MaxQueues = 8
	MaxCPUs   = 4
	// MaxWindows is the number of address windows, the first RemapWindows of
	// which have a high address.
	MaxWindows   = 6
	RemapWindows = 4
	// WindowSize is the size of a port's registers in bytes.
	WindowSize = 0x4000
	// MaxUpdate is the most descriptors that one write to an update register can
	// add or take off: its fields have eight bits.
	MaxUpdate = 255
)
