package dwmac4

import (
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// channelIRQ is the copy of one channel's DMA_CHi_Interrupt_Enable.
//
// Three goroutines change that register: the interrupt goroutine masks, the poll
// goroutine unmasks receive, a sender unmasks transmit. Each changes its own
// bits of one register, so the copy and the write of it to the device go under
// one lock: with the copy alone atomic, two writes could reach the device in the
// wrong order and leave a queue masked for ever. It is held for one register
// write and never while waiting.
type channelIRQ struct {
	mu     sync.Mutex
	enable uint32
	open   bool // between Start and Stop
}

const (
	rxCauses = gmac4.IntRI | gmac4.IntRBU
	txCauses = gmac4.IntTI
	// errorCauses end in a reset. They stay masked once reported.
	errorCauses = gmac4.IntFBE | gmac4.IntTPS | gmac4.IntRPS

	// linkCauses are the MAC interrupts in use.
	linkCauses = gmac4.MACIntRGSMII | gmac4.MACIntPCSLK | gmac4.MACIntPCSAN
)

// change clears and sets bits of the enable register of channel ch.
func (c *Core) change(ch int, clear, set uint32) {
	q := &c.irq[ch]
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open {
		return // masked by Stop; a late caller must not unmask
	}
	q.enable = q.enable&^clear | set
	c.regs.Write32(gmac4.ChanBase(ch)+gmac4.ChanIntEnable, q.enable)
}

// openIRQ clears what is left from before, TPS and RPS of the last stop above
// all, and unmasks everything but transmit. DMA has not been started.
func (c *Core) openIRQ(ch int) {
	q, base := &c.irq[ch], gmac4.ChanBase(ch)
	q.mu.Lock()
	defer q.mu.Unlock()
	c.regs.Write32(base+gmac4.ChanStatus, c.regs.Read32(base+gmac4.ChanStatus))
	q.open = true
	q.enable = rxCauses | errorCauses | c.facts.IntNIE | c.facts.IntAIE
	c.regs.Write32(base+gmac4.ChanIntEnable, q.enable)
}

// closeIRQs masks everything on every channel there is, then in MTL and MAC, and
// clears what was pending.
func (c *Core) closeIRQs() {
	for ch := range c.limits.channels {
		q, base := &c.irq[ch], gmac4.ChanBase(ch)
		q.mu.Lock()
		q.open, q.enable = false, 0
		c.regs.Write32(base+gmac4.ChanIntEnable, 0)
		c.regs.Write32(base+gmac4.ChanStatus, c.regs.Read32(base+gmac4.ChanStatus))
		q.mu.Unlock()
		c.regs.Write32(gmac4.QueueBase(ch)+gmac4.QInt, gmac4.QIntStatus)
	}
	c.regs.Write32(gmac4.MACIntEnable, 0)
}

// Interrupt implements mac.Core.Interrupt.
func (c *Core) Interrupt() mac.Events {
	var ev mac.Events
	top := c.regs.Read32(gmac4.DMAIntStatus)
	if top == 0xFFFFFFFF { // the device is gone: the reset that follows says so
		ev.Fatal = 1<<c.info.RXQueues - 1
		return ev
	}
	for ch := range c.limits.channels {
		if top&(1<<ch) != 0 {
			c.channelInterrupt(ch, &ev)
		}
	}
	if top&gmac4.DMAIntMTL != 0 {
		c.mtlInterrupt()
	}
	if top&gmac4.DMAIntMAC != 0 {
		c.macInterrupt(&ev)
	}
	return ev
}

// channelInterrupt handles DMA_CHi_Status. Only causes that are enabled are
// acknowledged: those of a masked queue stay latched, so that unmasking finds
// them. NIS and AIS sum the enabled causes up and are latched too.
func (c *Core) channelInterrupt(ch int, ev *mac.Events) {
	q, base := &c.irq[ch], gmac4.ChanBase(ch)
	q.mu.Lock()
	defer q.mu.Unlock()
	status := c.regs.Read32(base + gmac4.ChanStatus)
	seen := status & q.enable & (rxCauses | txCauses | errorCauses)
	c.regs.Write32(base+gmac4.ChanStatus, seen|status&(gmac4.StatusNIS|gmac4.StatusAIS))

	bit := uint32(1) << ch
	mask := seen & (txCauses | errorCauses)
	if seen&rxCauses != 0 {
		mask |= rxCauses // RBU too: it comes again and again until buffers are posted
		ev.RX |= bit
	}
	if seen&gmac4.IntRBU != 0 {
		ev.Starved |= bit
	}
	if seen&txCauses != 0 {
		ev.TX |= bit
	}
	if seen&(gmac4.IntFBE|gmac4.IntRPS) != 0 {
		ev.Fatal |= bit
	}
	if seen&gmac4.IntTPS != 0 {
		ev.TXStopped |= bit
	}
	// With nothing seen this puts our own enable bits back: a summary without a
	// cause, or bits that somebody else has set, cannot go on.
	q.enable &^= mask
	c.regs.Write32(base+gmac4.ChanIntEnable, q.enable)
}

// mtlInterrupt clears and masks what the queues report. Nothing of it is enabled;
// overflows and underflows are counted by the hardware.
func (c *Core) mtlInterrupt() {
	status := c.regs.Read32(gmac4.MTLIntStatus)
	for q := range gmac4.MaxQueues {
		if status&(1<<q) != 0 {
			reg := gmac4.QueueBase(q) + gmac4.QInt
			c.regs.Write32(reg, c.regs.Read32(reg)&gmac4.QIntStatus)
		}
	}
}

// macClears says what to read to clear each cause of MAC_Interrupt_Status.
var macClears = [...]struct{ causes, reg uint32 }{
	{gmac4.MACIntRGSMII, gmac4.MACPHYIF},
	{gmac4.MACIntPCSLK | gmac4.MACIntPCSAN, gmac4.MACANStatus},
	{gmac4.MACIntPHY, gmac4.MACIntStatus},
	{gmac4.MACIntPMT, gmac4.MACPMT},
	{gmac4.MACIntLPI, gmac4.MACLPI},
	{gmac4.MACIntTS, gmac4.MACTSStatus},
	{gmac4.MACIntTxSts | gmac4.MACIntRxSts, gmac4.MACRxTxStatus},
}

// macInterrupt clears each cause that is pending and masks again what is not
// ours. A cause that nobody knows how to clear is reported, once.
func (c *Core) macInterrupt(ev *mac.Events) {
	const mmc = gmac4.MACIntMMC | gmac4.MACIntMMCRx | gmac4.MACIntMMCTx | gmac4.MACIntMMCIPC
	status := c.regs.Read32(gmac4.MACIntStatus)
	ev.Link = status&linkCauses != 0
	unknown := status &^ mmc
	for _, clear := range macClears {
		unknown &^= clear.causes
		if status&clear.causes != 0 {
			c.regs.Read32(clear.reg)
		}
	}
	if status&mmc != 0 {
		c.maskMMC()
	}
	if status&^linkCauses != 0 {
		ours := uint32(0)
		if c.inBand() {
			ours = linkCauses
		}
		c.regs.Write32(gmac4.MACIntEnable, ours)
	}
	ev.Unknown = unknown &^ c.unknown
	c.unknown |= unknown
}

// Ack implements mac.Core.Ack. The summaries are left alone: they may stand for
// something else, and receive is masked while its ring is polled.
func (c *Core) Ack(q int) {
	c.regs.Write32(gmac4.ChanBase(q)+gmac4.ChanStatus, rxCauses)
}

// Unmask implements mac.Core.Unmask.
func (c *Core) Unmask(q int) { c.change(q, 0, rxCauses) }

// UnmaskTX implements mac.Core.UnmaskTX. A mark sent before may interrupt at
// once.
func (c *Core) UnmaskTX(q int) { c.change(q, 0, txCauses) }
