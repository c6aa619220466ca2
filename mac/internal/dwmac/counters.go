package dwmac

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
)

// Counter is one hardware counter that clears when it is read.
type Counter struct {
	// Off is its register, from the start of the block. A Wide counter has the
	// upper half of its value in the register behind, which is read second.
	Off  uint32
	Wide bool
	// Into is where it is counted. Several counters may have the same place.
	Into func(*mac.Counters) *uint64
}

// Counters accumulates hardware counters, over resets of the core too. Its
// methods are serialised by the caller.
//
// With counters that clear when read, one that a core was built with 16 bits wide
// needs no special case. Read once a second, a 32-bit counter of octets does not
// wrap up to 10 Gbit/s.
type Counters struct {
	regs  mac.Registers
	base  uint32
	table []Counter
	saved []uint64
}

// NewCounters returns the counters of table, in the block at base.
func NewCounters(regs mac.Registers, base uint32, table []Counter) Counters {
	return Counters{regs: regs, base: base, table: table, saved: make([]uint64, len(table))}
}

// Save fetches the counters: what a reset would clear is not lost.
func (k *Counters) Save() {
	for i := range k.table {
		c := &k.table[i]
		v := uint64(k.regs.Read32(k.base + c.Off))
		if c.Wide {
			v |= uint64(k.regs.Read32(k.base+c.Off+4)) << 32
		}
		k.saved[i] += v
	}
}

// Take adds what has been saved to out and forgets it.
func (k *Counters) Take(out *mac.Counters) {
	for i := range k.table {
		*k.table[i].Into(out) += k.saved[i]
	}
	clear(k.saved)
}

// StartMMC clears the management counters of a GMAC3 or GMAC4 at base, has them
// clear when read, and masks all their interrupts, which would otherwise come with
// every counter that is half full.
func StartMMC(regs mac.Registers, base uint32) {
	MaskMMC(regs, base)
	regs.Write32(base+dwregs.MMCControl, dwregs.MMCResetOnRead|dwregs.MMCReset)
}

// MaskMMC masks the interrupts of the management counters at base.
func MaskMMC(regs mac.Registers, base uint32) {
	for _, mask := range []uint32{dwregs.MMCRxIntMask, dwregs.MMCTxIntMask, dwregs.MMCIPCIntMask} {
		regs.Write32(base+mask, 0xFFFFFFFF)
	}
}

// MMC says where each management counter of GMAC3 and GMAC4 goes. Octets and
// frames count good and bad ones. A core built without one of them reads 0.
func MMC() []Counter {
	return []Counter{
		{Off: dwregs.MMCTxOctets, Into: func(c *mac.Counters) *uint64 { return &c.TXOctets }},
		{Off: dwregs.MMCTxPackets, Into: func(c *mac.Counters) *uint64 { return &c.TXFrames }},
		{Off: dwregs.MMCTxBcastG, Into: func(c *mac.Counters) *uint64 { return &c.TXBroadcast }},
		{Off: dwregs.MMCTxMcastG, Into: func(c *mac.Counters) *uint64 { return &c.TXMulticast }},
		{Off: dwregs.MMCTxUnderflow, Into: func(c *mac.Counters) *uint64 { return &c.TXUnderflow }},
		{Off: dwregs.MMCTxSingle, Into: func(c *mac.Counters) *uint64 { return &c.TXCollisions }},
		{Off: dwregs.MMCTxMulti, Into: func(c *mac.Counters) *uint64 { return &c.TXCollisions }},
		{Off: dwregs.MMCTxDeferred, Into: func(c *mac.Counters) *uint64 { return &c.TXDeferred }},
		{Off: dwregs.MMCTxLate, Into: func(c *mac.Counters) *uint64 { return &c.TXLate }},
		{Off: dwregs.MMCTxExcessive, Into: func(c *mac.Counters) *uint64 { return &c.TXExcessive }},
		{Off: dwregs.MMCTxCarrier, Into: func(c *mac.Counters) *uint64 { return &c.TXCarrier }},
		{Off: dwregs.MMCTxPause, Into: func(c *mac.Counters) *uint64 { return &c.TXPause }},
		{Off: dwregs.MMCRxPackets, Into: func(c *mac.Counters) *uint64 { return &c.RXFrames }},
		{Off: dwregs.MMCRxOctets, Into: func(c *mac.Counters) *uint64 { return &c.RXOctets }},
		{Off: dwregs.MMCRxBcastG, Into: func(c *mac.Counters) *uint64 { return &c.RXBroadcast }},
		{Off: dwregs.MMCRxMcastG, Into: func(c *mac.Counters) *uint64 { return &c.RXMulticast }},
		{Off: dwregs.MMCRxUcastG, Into: func(c *mac.Counters) *uint64 { return &c.RXUnicast }},
		{Off: dwregs.MMCRxCRC, Into: func(c *mac.Counters) *uint64 { return &c.RXCRC }},
		{Off: dwregs.MMCRxAlign, Into: func(c *mac.Counters) *uint64 { return &c.RXAlignment }},
		{Off: dwregs.MMCRxRunt, Into: func(c *mac.Counters) *uint64 { return &c.RXRunt }},
		{Off: dwregs.MMCRxJabber, Into: func(c *mac.Counters) *uint64 { return &c.RXJabber }},
		{Off: dwregs.MMCRxUndersize, Into: func(c *mac.Counters) *uint64 { return &c.RXUndersize }},
		{Off: dwregs.MMCRxOversize, Into: func(c *mac.Counters) *uint64 { return &c.RXOversize }},
		{Off: dwregs.MMCRxLength, Into: func(c *mac.Counters) *uint64 { return &c.RXLength }},
		{Off: dwregs.MMCRxPause, Into: func(c *mac.Counters) *uint64 { return &c.RXPause }},
		{Off: dwregs.MMCRxOverflow, Into: func(c *mac.Counters) *uint64 { return &c.RXOverflow }},
		{Off: dwregs.MMCRxWatchdog, Into: func(c *mac.Counters) *uint64 { return &c.RXWatchdog }},
		{Off: dwregs.MMCRxIPv4HdrErr, Into: func(c *mac.Counters) *uint64 { return &c.RXIPErrors }},
		{Off: dwregs.MMCRxIPv6HdrErr, Into: func(c *mac.Counters) *uint64 { return &c.RXIPErrors }},
		{Off: dwregs.MMCRxUDPErr, Into: func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
		{Off: dwregs.MMCRxTCPErr, Into: func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
		{Off: dwregs.MMCRxICMPErr, Into: func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
	}
}
