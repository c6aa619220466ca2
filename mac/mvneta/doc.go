// Package mvneta drives Marvell's NETA Ethernet controller, found on Armada 370,
// XP, 38x, 39x, 3700 and AC5: 10 Mbit/s to 2.5 Gbit/s, eight queues each way. It
// does so in two ways, like Linux: with buffers that software puts into each
// descriptor (SWBM, Driver), and with the SoC's buffer manager, which hands them
// out by itself (HWBM, HWBMDriver).
//
// # Counters
//
// There is no OWN bit. Two counters per receive queue say how many descriptors
// are filled and how many free, two per transmit queue how many are to be sent
// and how many have been. Their causes follow them: they fall when software takes
// the counters down, and are never acknowledged. Descriptors are write-only for
// software, but for two words of each received frame (three with the buffer
// manager, which says in the third which buffer it took), and what is to be known
// besides is kept in ordinary memory. A counter can be ahead of the descriptor
// that it counts: a value that no device writes stands in each free descriptor's
// size and status until they are overwritten.
//
// # What has to be set up before
//
// Clocks, the SerDes or RGMII pins and the external PHY are the bootloader's or
// the board's business, and so are address windows (see Options), without which
// the port reaches no memory, where the SoC has no window over everything.
//
// Not used: the parser (PnC), several CPUs with queues of their own (every CPU is
// shown every queue, so that a thread may move), segmentation (NETA has none),
// VLAN insertion and stripping, energy efficient Ethernet, rate limits.
//
// # Registers and goroutines
//
// mac.Device serialises most calls. The interrupt path runs beside them and
// touches the cause registers, and the mask, which has a copy behind a lock.
// The update and status registers of a queue belong to the owner of its ring. SMI
// has a lock of its own; it is one for all ports of a SoC, behind the registers of
// the first.
package mvneta
