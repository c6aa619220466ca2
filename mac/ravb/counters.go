package ravb

import (
	"sync/atomic"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
)

// counters reads the E-MAC's error counters. Each is cleared once it has been read,
// before it stops at its largest value. There are none of frames or octets.
type counters struct {
	running bool // Configure has set them up

	// saved holds what was counted before a reset and not fetched yet.
	saved [len(emacCounters)]uint64
	// fifoFull and carrier count events that the interrupt path has seen.
	fifoFull, carrier atomic.Uint64
}

// emacCounters says where each counter goes, and which variants have it. Alignment
// errors are those that the PHY has signalled and residual bits.
var emacCounters = [...]struct {
	off  uint32
	into func(*mac.Counters) *uint64
	has  func(*variant) bool
}{
	{etheravb.TROCR, func(c *mac.Counters) *uint64 { return &c.TXExcessive }, func(v *variant) bool { return v.lost }},
	{etheravb.CXR41, func(c *mac.Counters) *uint64 { return &c.TXLate }, func(v *variant) bool { return v.carrier }},
	{etheravb.CXR42, func(c *mac.Counters) *uint64 { return &c.TXCarrier }, func(v *variant) bool { return v.carrier }},
	{etheravb.CEFCR, func(c *mac.Counters) *uint64 { return &c.RXCRC }, every},
	{etheravb.FRECR, func(c *mac.Counters) *uint64 { return &c.RXAlignment }, every},
	{etheravb.TSFRCR, func(c *mac.Counters) *uint64 { return &c.RXRunt }, every},
	{etheravb.TLFRCR, func(c *mac.Counters) *uint64 { return &c.RXOversize }, every},
	{etheravb.RFCR, func(c *mac.Counters) *uint64 { return &c.RXAlignment }, every},
	{etheravb.MAFCR, func(c *mac.Counters) *uint64 { return &c.RXMulticast }, every},
}

func every(*variant) bool { return true }

// startCounters clears what others have counted.
func (c *Core) startCounters() {
	for i := range emacCounters {
		if k := &emacCounters[i]; k.has(c.v) {
			c.regs.Write32(k.off, 0)
		}
	}
	c.counters.running = true
}

// saveCounters fetches the counters before a reset clears them.
func (c *Core) saveCounters() {
	k := &c.counters
	if status := c.regs.Read32(etheravb.CSR); !k.running || status == 0xFFFFFFFF || status&etheravb.CSROPS == 1<<etheravb.OPCReset {
		return // not ours yet, or gone: all ones are no counts
	}
	for i := range emacCounters {
		if e := &emacCounters[i]; e.has(c.v) {
			if n := c.regs.Read32(e.off); n != 0 {
				c.regs.Write32(e.off, 0)
				k.saved[i] += uint64(n)
			}
		}
	}
}

// Counters implements mac.Core.Counters. RXOverflow counts the times that the
// receive FIFO was found full, each of them a frame or more.
func (c *Core) Counters(out *mac.Counters) {
	c.saveCounters()
	for i := range emacCounters {
		*emacCounters[i].into(out) += c.counters.saved[i]
		c.counters.saved[i] = 0
	}
	out.RXOverflow += c.counters.fifoFull.Swap(0)
	out.TXCarrier += c.counters.carrier.Swap(0)
}
