package dwxgmac2

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/queues"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// resetLimit bounds the wait for a software reset.
const resetLimit = time.Second

// largestMTU is what the giant limit in use carries.
const largestMTU = xgmac2.MaxGiant - dwmac.HeaderRoom - fcsLen

// Reset implements mac.Core.Reset: it stops DMA, wherever a crash left it, and
// does a software reset (DMA_Mode.SWR), which needs the receive clock.
func (c *Core) Reset(ctx context.Context) error {
	c.saveCounters()
	// Failing to stop is no reason to stop here: the reset is the remedy.
	_ = c.quiesce()
	c.regs.Write32(xgmac2.DMAMode, xgmac2.DMAModeSWR)
	if !dwmac.Wait(ctx, c.regs, xgmac2.DMAMode, resetLimit, func(v uint32) bool { return v&xgmac2.DMAModeSWR == 0 }) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("dwxgmac2: %s: %w: %w", c.name, mac.ErrReset, err)
		}
		return fmt.Errorf("dwxgmac2: %s: after %v: no receive clock from PHY or PCS? %w", c.name, resetLimit, mac.ErrReset)
	}
	c.enabled, c.started = false, false
	c.link = mac.Link{}
	c.filter.Reset()
	c.counters.running = false
	return nil
}

// Configure implements mac.Core.Configure.
func (c *Core) Configure(s mac.Setup) error {
	if err := dwmac.CheckSetup(&c.info, &s, largestMTU); err != nil {
		return err
	}
	c.setup = s
	c.pbl, _ = dwmac.Burst(dwmac.Share(c.info.TXFIFO, s.TXQueues), s.MTU)
	c.configureDMA()
	if err := c.configureMTL(); err != nil {
		return err
	}
	if err := c.configureMAC(); err != nil {
		return err
	}
	c.startCounters()
	for _, r := range c.rx {
		if r != nil {
			r.checksum = s.RXChecksum
		}
	}
	return nil
}

// configureDMA programs bus and channels: DMA_Mode, DMA_SysBus_Mode,
// DMA_CHi_Control, _Tx_Control and _Rx_Control.
func (c *Core) configureDMA() {
	// INTM 0: every cause on the one interrupt line.
	c.regs.Write32(xgmac2.DMAMode, 0)
	bus := xgmac2.SysBusUNDEF | xgmac2.SysBusBLEN4 | xgmac2.SysBusBLEN8 | xgmac2.SysBusBLEN16 | xgmac2.SysBusBLEN32 | xgmac2.SysBusAAL |
		field.Put(xgmac2.SysBusRDOSR, 15) | field.Put(xgmac2.SysBusWROSR, 15)
	if c.info.AddressBits > 32 {
		bus |= xgmac2.SysBusEAME
	}
	c.regs.Write32(xgmac2.DMASysBus, bus)
	c.regs.Write32(xgmac2.DMATxEDMA, xgmac2.EDMADescriptors)
	c.regs.Write32(xgmac2.DMARxEDMA, xgmac2.EDMADescriptors)
	for ch := range max(c.setup.RXQueues, c.setup.TXQueues) {
		base := xgmac2.ChanBase(ch)
		// Burst lengths count by eight; descriptors lie side by side (DSL 0); no
		// split header, whatever the feature register says.
		c.regs.Write32(base+xgmac2.ChanControl, xgmac2.ControlPBLx8)
		c.regs.Write32(base+xgmac2.ChanTxControl, c.txControl())
		c.regs.Write32(base+xgmac2.ChanRxControl, rxControl(c.setup.BufferSize))
	}
}

func (c *Core) txControl() uint32 {
	v := xgmac2.TxControlOSP | field.Put(xgmac2.TxControlPBL, c.pbl)
	if c.info.TSO {
		v |= xgmac2.TxControlTSE
	}
	return v
}

// rxBurst is the receive burst in units of 8 beats: half of the smallest FIFO on
// the widest bus.
const rxBurst = 8

// rxControl is DMA_CHi_Rx_Control for buffers of bufferSize bytes, posted as halves.
func rxControl(bufferSize int) uint32 {
	return field.Put(xgmac2.RxControlPBL, rxBurst) | field.Put(xgmac2.RxControlRBSZ, uint32(bufferSize/2))
}

// configureMAC programs the MAC, transmitter and receiver off.
func (c *Core) configureMAC() error {
	c.filter.SetAddress(c.setup.Address)
	c.txConfig = xgmac2.TxConfigJD
	c.rxConfig = 0
	if c.setup.RXChecksum {
		c.rxConfig |= xgmac2.RxConfigIPC
	}
	c.enable(false)
	c.writeFrameSize()
	if c.setup.RXChecksum && c.regs.Read32(xgmac2.MACRxConfig)&xgmac2.RxConfigIPC == 0 {
		return fmt.Errorf("dwxgmac2: %s: receive checksum engine does not switch on: open the device without it: %w", c.name, mac.ErrUnsupported)
	}
	// Tags stay in the frames, and none are added; no LPI.
	c.regs.Write32(xgmac2.MACVLANTag, 0)
	c.regs.Write32(xgmac2.MACVLANIncl, 0)
	c.regs.Write32(xgmac2.MACLPI, 0)
	c.regs.Write32(xgmac2.MACPacketFilter, 0)
	c.writePause(mac.Link{})
	c.regs.Write32(xgmac2.MACIntEnable, 0)
	return nil
}

// writeFrameSize programs what a giant is for the MTU. The receive watchdog, which
// cuts frames at sizes of its own, is off.
func (c *Core) writeFrameSize() {
	limit := uint32(c.setup.MTU + dwmac.HeaderRoom + fcsLen)
	c.rxConfig = c.rxConfig&^xgmac2.RxConfigGPSL | xgmac2.RxConfigGPSLCE | xgmac2.RxConfigWD | field.Put(xgmac2.RxConfigGPSL, limit)
	c.writeRxConfig()
}

// SetMTU implements mac.Core.SetMTU. A larger MTU can need a shorter transmit
// burst than Configure chose, which cannot be changed while DMA runs: then it
// fails, and the device has to be opened with that MTU.
func (c *Core) SetMTU(mtu int) error {
	s := c.setup
	s.MTU = mtu
	if err := dwmac.CheckMTU(&c.info, &s, largestMTU, c.pbl); err != nil {
		return err
	}
	c.setup = s
	c.writeFrameSize()
	c.writeRxQueues()
	return nil
}

// SetAddress implements mac.Core.SetAddress.
func (c *Core) SetAddress(a mac.HardwareAddr) error {
	if !a.Usable() {
		return fmt.Errorf("dwxgmac2: address %s: neither zero nor a group can be a station: %w", a, mac.ErrConfig)
	}
	c.filter.SetAddress(a)
	return nil
}

// rxUsecs is rx-usecs by default (amd-xgbe's): at 10 Gbit/s the shortest frames fill a
// ring of 512 in 34 us, and the watchdog's longest time is 653 us at 100 MHz and less
// the faster the clock is.
const rxUsecs = 30

// SetWatchdog implements mac.Core.SetWatchdog (DMA_CHi_Rx_Interrupt_Watchdog_Timer).
func (c *Core) SetWatchdog(q int, usecs int) (actual int, err error) {
	if q < 0 || q >= c.info.RXQueues {
		return 0, fmt.Errorf("dwxgmac2: watchdog of receive queue %d: the core has %d: %w", q, c.info.RXQueues, mac.ErrConfig)
	}
	count, _, actual, err := dwmac.Watchdog(usecs, c.clockHz, 0)
	if err != nil {
		return 0, fmt.Errorf("dwxgmac2: %w", err)
	}
	c.regs.Write32(xgmac2.ChanBase(q)+xgmac2.ChanRxWatchdog, field.Put(xgmac2.WatchdogRWT, count))
	return actual, nil
}

// Start implements mac.Core.Start.
func (c *Core) Start() error {
	if err := queues.CheckStart("dwxgmac2", &c.setup, c.started, c.rx[:], c.tx[:]); err != nil {
		return err
	}
	for q := range max(c.setup.RXQueues, c.setup.TXQueues) {
		c.irq[q].Open(c.facts.IntNIE | c.facts.IntAIE)
	}
	for q := range c.setup.TXQueues {
		c.startTX(q)
	}
	for q := range c.setup.RXQueues {
		c.startRX(q)
	}
	c.started = true
	c.applyLink()
	return nil
}
