package dwmac1000

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

// causes are those of the DMA in use. A transmitter that has run dry inside a
// frame, or sent for too long, does not go on by itself.
var causes = dwmac.Causes{
	RX: gmac3.IntRI | gmac3.IntRU, Starved: gmac3.IntRU,
	TX:    gmac3.IntTI,
	Fatal: gmac3.IntFBI | gmac3.IntRPS, TXStopped: gmac3.IntTPS | gmac3.IntTJT | gmac3.IntUNF,
	Summary: gmac3.IntNIS | gmac3.IntAIS,
}

// linkCauses are the MAC interrupts in use.
const linkCauses = gmac3.MACIntRGSMII | gmac3.MACIntPCSLK | gmac3.MACIntPCSAN

// macMask is Interrupt_Mask, which after a reset masks nothing.
func (c *Core) macMask(open bool) uint32 {
	if open && c.inBand() {
		return gmac3.MACIntMaskable &^ linkCauses
	}
	return gmac3.MACIntMaskable
}

// closeIRQ masks everything and clears what was pending.
func (c *Core) closeIRQ() {
	c.irq.Close()
	c.regs.Write32(gmac3.MACIntMask, c.macMask(false))
}

// Interrupt implements mac.Core.Interrupt.
func (c *Core) Interrupt() mac.Events {
	var ev mac.Events
	status := c.irq.Interrupt(&ev)
	if status == 0xFFFFFFFF { // the device is gone: the reset that follows says so
		ev.Fatal = 1
		return ev
	}
	if status&gmac3.StatusMAC != 0 {
		c.macInterrupt(&ev)
	}
	return ev
}

// macClears says what to read to clear each cause of Interrupt_Status.
var macClears = [...]struct{ causes, reg uint32 }{
	{gmac3.MACIntRGSMII, gmac3.MACRGSMII},
	{gmac3.MACIntPCSLK | gmac3.MACIntPCSAN, gmac3.MACANStatus},
	{gmac3.MACIntPMT, gmac3.MACPMT},
	{gmac3.MACIntLPI, gmac3.MACLPI},
	{gmac3.MACIntTS, gmac3.MACTSStatus},
}

// macInterrupt clears each cause that is pending and masks again what is not
// ours. The status register of the DMA shows these causes and cannot clear them. A
// cause that nobody knows how to clear is reported, once.
func (c *Core) macInterrupt(ev *mac.Events) {
	const mmc = gmac3.MACIntMMC | gmac3.MACIntMMCRx | gmac3.MACIntMMCTx | gmac3.MACIntMMCIPC
	status := c.regs.Read32(gmac3.MACIntStatus)
	ev.Link = status&linkCauses != 0 && c.inBand()
	unknown := status &^ mmc
	for _, clear := range macClears {
		unknown &^= clear.causes
		if status&clear.causes != 0 {
			c.regs.Read32(clear.reg)
		}
	}
	if status&mmc != 0 {
		dwmac.MaskMMC(c.regs, gmac3.MMC)
	}
	if status&^linkCauses != 0 || !c.inBand() {
		c.regs.Write32(gmac3.MACIntMask, c.macMask(true))
	}
	ev.Unknown = unknown &^ c.unknown
	c.unknown |= unknown
}

// Ack implements mac.Core.Ack.
func (c *Core) Ack(int) { c.irq.Ack() }

// Unmask implements mac.Core.Unmask.
func (c *Core) Unmask(int) { c.irq.UnmaskRX() }

// UnmaskTX implements mac.Core.UnmaskTX. A mark sent before may interrupt at
// once.
func (c *Core) UnmaskTX(int) { c.irq.UnmaskTX() }
