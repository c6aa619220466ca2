// Package ravb drives Renesas' Ethernet AVB (R-Car Gen2 to Gen4, RZ/G1 and RZ/G2)
// and the Gigabit Ethernet of RZ/G2L and kin, which Linux calls ravb. Both are an
// AVB-DMAC in front of an E-MAC; package etheravb has their registers.
//
// R-Car: two queues, best effort and network control (Config.Queues 2 turns the
// second one on; it then gets what the core takes for network control). 100 Mbit/s
// and 1 Gbit/s, full duplex, no flow control. The core appends the sum of a
// received frame, from which this driver makes the checksum verdict; it inserts
// none.
//
// GbEth: one queue, 10 Mbit/s to 1 Gbit/s, half duplex below 1 Gbit/s. It receives
// frames of up to 8 KiB over several descriptors and sends 1522 bytes at most, which
// bounds the MTU. The checksum engine (TOE) writes its verdict behind each received
// frame; for sending it is on for all frames or for none, so that it also mends
// wrong checksums that nobody asked it about.
//
// What a SoC adds around the core (clocks, resets, pins) has been set up before
// New. Clock delays (APSR) and the kind of PHY interface (CXR31, CXR35) are kept as
// New finds them; where nobody has chosen an interface, it is what the bus knows from
// the device tree, or RGMII.
//
// # Interrupts
//
// A received frame always interrupts: there is neither a watchdog nor a request per
// descriptor that a public driver would vouch for, so rx-frames is 1, and
// rx-usecs and PollUsecs do the coalescing. One interrupt line is used. On Gen3 and
// later, which have 25, it is ch22: with CIE 0 the AVB-DMAC reports everything
// there.
//
// Not used, and left off explicitly: gPTP and timestamps, stream queues, filters and
// shaping, wake-on-LAN, descriptor interrupts.
//
// # Registers and goroutines
//
// mac.Device serialises most calls. The interrupt path runs beside them and touches
// the interrupt registers only: a status bit is cleared by writing 0, which leaves
// others alone, and the control registers have a copy behind a lock (see irqState).
// The doorbell (TCCR.TSRQ) ignores zeros, so queues do not disturb each other.
// MDIO has a lock of its own.
package ravb
