package dwmac4

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// causes are those of a channel in use.
var causes = dwmac.Causes{
	RX: gmac4.IntRI | gmac4.IntRBU, Starved: gmac4.IntRBU,
	TX:    gmac4.IntTI,
	Fatal: gmac4.IntFBE | gmac4.IntRPS, TXStopped: gmac4.IntTPS,
	Summary: gmac4.StatusNIS | gmac4.StatusAIS,
}

// linkCauses are the MAC interrupts in use.
const linkCauses = gmac4.MACIntRGSMII | gmac4.MACIntPCSLK | gmac4.MACIntPCSAN

// closeIRQs masks everything on every channel there is, then in MTL and MAC, and
// clears what was pending.
func (c *Core) closeIRQs() {
	for ch := range c.limits.channels {
		c.irq[ch].Close()
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
			c.irq[ch].Interrupt(&ev)
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
		dwmac.MaskMMC(c.regs, gmac4.MMC)
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

// Ack implements mac.Core.Ack.
func (c *Core) Ack(q int) { c.irq[q].Ack() }

// Unmask implements mac.Core.Unmask.
func (c *Core) Unmask(q int) { c.irq[q].UnmaskRX() }

// UnmaskTX implements mac.Core.UnmaskTX. A mark sent before may interrupt at
// once.
func (c *Core) UnmaskTX(q int) { c.irq[q].UnmaskTX() }
