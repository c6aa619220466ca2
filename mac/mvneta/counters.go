package mvneta

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/neta"
)

// counters reads the management counters (MIB). Reading clears them; once a second
// keeps those with 32 bits from wrapping, which takes 14 s at 2.5 Gbit/s.
type counters struct {
	running bool // Configure has cleared them

	// saved holds what was counted before a reset and not fetched yet.
	saved mac.Counters
}

// mibCounters says where each counter goes. Octets and frames count good and bad
// ones. wide counters have 64 bits.
var mibCounters = [...]struct {
	off  uint32
	wide bool
	into func(*mac.Counters) *uint64
}{
	{neta.MIBRXOctets, true, func(c *mac.Counters) *uint64 { return &c.RXOctets }},
	{neta.MIBRXBadOctets, false, func(c *mac.Counters) *uint64 { return &c.RXOctets }},
	{neta.MIBRXFrames, false, func(c *mac.Counters) *uint64 { return &c.RXFrames }},
	{neta.MIBRXBadFrames, false, func(c *mac.Counters) *uint64 { return &c.RXFrames }},
	{neta.MIBRXBroadcast, false, func(c *mac.Counters) *uint64 { return &c.RXBroadcast }},
	{neta.MIBRXMulticast, false, func(c *mac.Counters) *uint64 { return &c.RXMulticast }},
	{neta.MIBTXOctets, true, func(c *mac.Counters) *uint64 { return &c.TXOctets }},
	{neta.MIBTXFrames, false, func(c *mac.Counters) *uint64 { return &c.TXFrames }},
	{neta.MIBTXExcessive, false, func(c *mac.Counters) *uint64 { return &c.TXExcessive }},
	{neta.MIBTXMulticast, false, func(c *mac.Counters) *uint64 { return &c.TXMulticast }},
	{neta.MIBTXBroadcast, false, func(c *mac.Counters) *uint64 { return &c.TXBroadcast }},
	{neta.MIBTXErrors, false, func(c *mac.Counters) *uint64 { return &c.TXUnderflow }},
	{neta.MIBTXPause, false, func(c *mac.Counters) *uint64 { return &c.TXPause }},
	{neta.MIBTXCollisions, false, func(c *mac.Counters) *uint64 { return &c.TXCollisions }},
	{neta.MIBTXLate, false, func(c *mac.Counters) *uint64 { return &c.TXLate }},
	{neta.MIBRXPause, false, func(c *mac.Counters) *uint64 { return &c.RXPause }},
	{neta.MIBRXUndersize, false, func(c *mac.Counters) *uint64 { return &c.RXUndersize }},
	{neta.MIBRXFragments, false, func(c *mac.Counters) *uint64 { return &c.RXRunt }},
	{neta.MIBRXOversize, false, func(c *mac.Counters) *uint64 { return &c.RXOversize }},
	{neta.MIBRXJabber, false, func(c *mac.Counters) *uint64 { return &c.RXJabber }},
	{neta.MIBRXCRC, false, func(c *mac.Counters) *uint64 { return &c.RXCRC }},
	{neta.Discarded, false, func(c *mac.Counters) *uint64 { return &c.RXMissed }},
	{neta.Overrun, false, func(c *mac.Counters) *uint64 { return &c.RXOverflow }},
}

// startCounters clears every counter by reading it, those not used too.
func (c *Core) startCounters() {
	for off := neta.MIB; off <= neta.MIBLast; off += 4 {
		c.regs.Read32(off)
	}
	c.regs.Read32(neta.Discarded)
	c.regs.Read32(neta.Overrun)
	c.counters.running = true
}

// saveCounters fetches the counters.
func (c *Core) saveCounters() {
	if !c.counters.running || c.regs.Read32(neta.GMAC0) == 0xFFFFFFFF {
		return // not ours yet, or gone: all ones are no counts
	}
	for i := range mibCounters {
		k := &mibCounters[i]
		v := uint64(c.regs.Read32(k.off))
		if k.wide {
			v |= uint64(c.regs.Read32(k.off+4)) << 32
		}
		*k.into(&c.counters.saved) += v
	}
}

// Counters implements mac.Core.Counters. RXMissed are frames that no queue took,
// RXOverflow those that found the FIFO full.
func (c *Core) Counters(out *mac.Counters) {
	c.saveCounters()
	for i := range mibCounters {
		from := mibCounters[i].into(&c.counters.saved)
		*mibCounters[i].into(out) += *from
		*from = 0 // some counters share one
	}
}
