package dwxgmac2

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// counters reads the management counters (MMC) and those of the receive queues,
// all of which clear when read.
type counters struct {
	present bool // the core has MMC counters
	running bool // Configure has set them up

	mmc dwmac.Counters
	// missed and overflow are of the receive queues, saved as those of mmc are.
	missed, overflow uint64
}

// startCounters clears the counters.
func (c *Core) startCounters() {
	if c.counters.present {
		c.maskMMC()
		c.regs.Write32(xgmac2.MMC+xgmac2.MMCControl, dwregs.MMCResetOnRead|dwregs.MMCReset)
	}
	for q := range c.limits.fifos {
		c.regs.Read32(xgmac2.QueueBase(q) + xgmac2.RxQMissed)
	}
	c.counters.running = true
}

// maskMMC masks the interrupts of the management counters, which would otherwise come
// with every counter that is half full. Some have enables, others masks.
func (c *Core) maskMMC() {
	for _, r := range [...]struct{ off, v uint32 }{
		{xgmac2.MMCRxIntEnable, 0}, {xgmac2.MMCTxIntEnable, 0},
		{xgmac2.MMCIPCIntMask, 0xFFFFFFFF}, {xgmac2.MMCFPETxMask, 0xFFFFFFFF}, {xgmac2.MMCFPERxMask, 0xFFFFFFFF},
	} {
		c.regs.Write32(xgmac2.MMC+r.off, r.v)
	}
}

// saveCounters fetches the counters before a reset clears them.
func (c *Core) saveCounters() {
	k := &c.counters
	if !k.running || c.regs.Read32(xgmac2.MACVersion) == 0xFFFFFFFF {
		return // not ours yet, or gone: all ones are no counts
	}
	if k.present {
		k.mmc.Save()
	}
	for q := range c.fifoQueues() {
		v := c.regs.Read32(xgmac2.QueueBase(q) + xgmac2.RxQMissed)
		k.missed += uint64(field.Get(xgmac2.RxQMissedMissed, v))
		k.overflow += uint64(field.Get(xgmac2.RxQMissedOverflow, v))
	}
}

// Counters implements mac.Core.Counters. RXMissed are frames flushed from a
// queue's FIFO, RXOverflow frames that found it full: from MMC, or, without that,
// from the queues.
func (c *Core) Counters(out *mac.Counters) {
	c.saveCounters()
	k := &c.counters
	k.mmc.Take(out)
	out.RXMissed += k.missed
	if !k.present {
		out.RXOverflow += k.overflow
	}
	k.missed, k.overflow = 0, 0
}

// counterTable says where each management counter goes. Octets and frames count good
// and bad ones. There is none of transmit errors but underflow, and none for cores
// with half duplex.
func counterTable() []dwmac.Counter {
	return []dwmac.Counter{
		{Off: xgmac2.MMCTxOctets, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.TXOctets }},
		{Off: xgmac2.MMCTxPackets, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.TXFrames }},
		{Off: xgmac2.MMCTxBcast, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.TXBroadcast }},
		{Off: xgmac2.MMCTxMcast, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.TXMulticast }},
		{Off: xgmac2.MMCTxUnderflow, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.TXUnderflow }},
		{Off: xgmac2.MMCTxPause, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.TXPause }},
		{Off: xgmac2.MMCRxPackets, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXFrames }},
		{Off: xgmac2.MMCRxOctets, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXOctets }},
		{Off: xgmac2.MMCRxBcastG, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXBroadcast }},
		{Off: xgmac2.MMCRxMcastG, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXMulticast }},
		{Off: xgmac2.MMCRxUcastG, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXUnicast }},
		{Off: xgmac2.MMCRxCRC, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXCRC }},
		{Off: xgmac2.MMCRxAlign, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXAlignment }},
		{Off: xgmac2.MMCRxRunt, Into: func(c *mac.Counters) *uint64 { return &c.RXRunt }},
		{Off: xgmac2.MMCRxJabber, Into: func(c *mac.Counters) *uint64 { return &c.RXJabber }},
		{Off: xgmac2.MMCRxUndersize, Into: func(c *mac.Counters) *uint64 { return &c.RXUndersize }},
		{Off: xgmac2.MMCRxOversize, Into: func(c *mac.Counters) *uint64 { return &c.RXOversize }},
		{Off: xgmac2.MMCRxLength, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXLength }},
		{Off: xgmac2.MMCRxPause, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXPause }},
		{Off: xgmac2.MMCRxOverflow, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXOverflow }},
		{Off: xgmac2.MMCRxWatchdog, Into: func(c *mac.Counters) *uint64 { return &c.RXWatchdog }},
		{Off: xgmac2.MMCRxIPv4HdrErr, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXIPErrors }},
		{Off: xgmac2.MMCRxIPv6HdrErr, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXIPErrors }},
		{Off: xgmac2.MMCRxUDPErr, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
		{Off: xgmac2.MMCRxTCPErr, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
		{Off: xgmac2.MMCRxICMPErr, Wide: true, Into: func(c *mac.Counters) *uint64 { return &c.RXCheckErrors }},
	}
}
