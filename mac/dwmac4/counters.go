package dwmac4

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// counters reads the management counters (MMC). They are set to clear when read:
// a counter that the core was built with 16 bits wide then needs no special case.
// Reading them once a second keeps the 32-bit octet counters from wrapping up to
// 10 Gbit/s.
type counters struct {
	present bool // the core has MMC counters
	running bool // Configure has set them up

	// saved holds what was counted before a reset and not fetched yet.
	saved [len(mmcCounters)]uint64
	// savedMissed and savedOverflow are the same for the receive queues.
	savedMissed, savedOverflow uint64
}

// mmcCounters says where each hardware counter goes. Octets and frames count
// good and bad ones. A core built without one of them reads 0.
var mmcCounters = [...]struct {
	off  uint32
	into func(*mac.Counters) *uint64
}{
	{gmac4.MMCTxOctets, func(c *mac.Counters) *uint64 { return &c.TXOctets }},
	{gmac4.MMCTxPackets, func(c *mac.Counters) *uint64 { return &c.TXFrames }},
	{gmac4.MMCTxBcastG, func(c *mac.Counters) *uint64 { return &c.TXBroadcast }},
	{gmac4.MMCTxMcastG, func(c *mac.Counters) *uint64 { return &c.TXMulticast }},
	{gmac4.MMCTxUnderflow, func(c *mac.Counters) *uint64 { return &c.TXUnderflow }},
	{gmac4.MMCTxSingle, func(c *mac.Counters) *uint64 { return &c.TXCollisions }},
	{gmac4.MMCTxMulti, func(c *mac.Counters) *uint64 { return &c.TXCollisions }},
	{gmac4.MMCTxDeferred, func(c *mac.Counters) *uint64 { return &c.TXDeferred }},
	{gmac4.MMCTxLate, func(c *mac.Counters) *uint64 { return &c.TXLate }},
	{gmac4.MMCTxExcessive, func(c *mac.Counters) *uint64 { return &c.TXExcessive }},
	{gmac4.MMCTxCarrier, func(c *mac.Counters) *uint64 { return &c.TXCarrier }},
	{gmac4.MMCTxPause, func(c *mac.Counters) *uint64 { return &c.TXPause }},
	{gmac4.MMCRxPackets, func(c *mac.Counters) *uint64 { return &c.RXFrames }},
	{gmac4.MMCRxOctets, func(c *mac.Counters) *uint64 { return &c.RXOctets }},
	{gmac4.MMCRxBcastG, func(c *mac.Counters) *uint64 { return &c.RXBroadcast }},
	{gmac4.MMCRxMcastG, func(c *mac.Counters) *uint64 { return &c.RXMulticast }},
	{gmac4.MMCRxUcastG, func(c *mac.Counters) *uint64 { return &c.RXUnicast }},
	{gmac4.MMCRxCRC, func(c *mac.Counters) *uint64 { return &c.RXCRC }},
	{gmac4.MMCRxAlign, func(c *mac.Counters) *uint64 { return &c.RXAlignment }},
	{gmac4.MMCRxRunt, func(c *mac.Counters) *uint64 { return &c.RXRunt }},
	{gmac4.MMCRxJabber, func(c *mac.Counters) *uint64 { return &c.RXJabber }},
	{gmac4.MMCRxUndersize, func(c *mac.Counters) *uint64 { return &c.RXUndersize }},
	{gmac4.MMCRxOversize, func(c *mac.Counters) *uint64 { return &c.RXOversize }},
	{gmac4.MMCRxLength, func(c *mac.Counters) *uint64 { return &c.RXLength }},
	{gmac4.MMCRxPause, func(c *mac.Counters) *uint64 { return &c.RXPause }},
	{gmac4.MMCRxOverflow, func(c *mac.Counters) *uint64 { return &c.RXOverflow }},
	{gmac4.MMCRxWatchdog, func(c *mac.Counters) *uint64 { return &c.RXWatchdog }},
	{gmac4.MMCRxIPv4HdrErr, func(c *mac.Counters) *uint64 { return &c.RXIPErrors }},
	{gmac4.MMCRxIPv6HdrErr, func(c *mac.Counters) *uint64 { return &c.RXIPErrors }},
	{gmac4.MMCRxUDPErr, func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
	{gmac4.MMCRxTCPErr, func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
	{gmac4.MMCRxICMPErr, func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
}

// startCounters clears the counters and masks all their interrupts, which would
// otherwise come with every counter that is half full.
func (c *Core) startCounters() {
	if c.counters.present {
		c.maskMMC()
		c.regs.Write32(gmac4.MMCControl, gmac4.MMCResetOnRead|gmac4.MMCReset)
	}
	for q := range c.info.RXQueues {
		c.regs.Read32(gmac4.QueueBase(q) + gmac4.RxQMissed)
	}
	c.counters.running = true
}

func (c *Core) maskMMC() {
	for _, mask := range []uint32{gmac4.MMCRxIntMask, gmac4.MMCTxIntMask, gmac4.MMCIPCIntMask} {
		c.regs.Write32(mask, 0xFFFFFFFF)
	}
}

// saveCounters fetches the counters before a reset clears them.
func (c *Core) saveCounters() {
	k := &c.counters
	if !k.running || c.regs.Read32(gmac4.MACVersion) == 0xFFFFFFFF {
		return // not ours yet, or gone: all ones are no counts
	}
	if k.present {
		for i := range mmcCounters {
			k.saved[i] += uint64(c.regs.Read32(mmcCounters[i].off))
		}
	}
	for q := range c.setup.RXQueues {
		v := c.regs.Read32(gmac4.QueueBase(q) + gmac4.RxQMissed)
		k.savedMissed += uint64(gmac4.Get(gmac4.RxQMissedMissed, v))
		k.savedOverflow += uint64(gmac4.Get(gmac4.RxQMissedOverflow, v))
	}
}

// Counters implements mac.Core.Counters. RXMissed are frames flushed from a
// queue's FIFO, RXOverflow frames that found it full: from MMC, or, without that,
// from the queues.
func (c *Core) Counters(out *mac.Counters) {
	c.saveCounters()
	k := &c.counters
	for i := range mmcCounters {
		*mmcCounters[i].into(out) += k.saved[i]
	}
	out.RXMissed += k.savedMissed
	if !k.present {
		out.RXOverflow += k.savedOverflow
	}
	k.saved, k.savedMissed, k.savedOverflow = [len(mmcCounters)]uint64{}, 0, 0
}
