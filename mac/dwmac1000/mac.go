package dwmac1000

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

// Bounds of the waits. A frame of 9 KiB takes 7 ms at 10 Mbit/s.
const (
	resetLimit = time.Second
	drainLimit = 20 * time.Millisecond
	idleLimit  = 50 * time.Millisecond
)

// Reset implements mac.Core.Reset: it stops DMA, wherever a crash left it, and
// does a software reset (Bus_Mode.SWR), which needs the clocks of the PHY.
func (c *Core) Reset(ctx context.Context) error {
	c.saveCounters()
	// Failing to stop is no reason to stop here: the reset is the remedy.
	_ = c.quiesce()
	c.regs.Write32(gmac3.DMABusMode, gmac3.BusSWR)
	if !dwmac.Wait(ctx, c.regs, gmac3.DMABusMode, resetLimit, func(v uint32) bool { return v&gmac3.BusSWR == 0 }) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("dwmac1000: %s: %w: %w", c.name, mac.ErrReset, err)
		}
		return fmt.Errorf("dwmac1000: %s: after %v: no receive or reference clock from the PHY? %w", c.name, resetLimit, mac.ErrReset)
	}
	c.config, c.enabled, c.started = 0, 0, false
	c.link = mac.Link{}
	c.filter.Reset()
	c.counters.running = false
	return nil
}

// Configure implements mac.Core.Configure.
func (c *Core) Configure(s mac.Setup) error {
	if err := c.check(s); err != nil {
		return err
	}
	c.setup = s
	c.configureDMA()
	if err := c.configureMAC(); err != nil {
		return err
	}
	c.startCounters()
	if c.rx != nil {
		c.rx.checksum = s.RXChecksum
	}
	return nil
}

func (c *Core) check(s mac.Setup) error {
	switch {
	case s.RXQueues != 1 || s.TXQueues != 1:
		return fmt.Errorf("dwmac1000: %d receive and %d transmit queues: the core has one: %w", s.RXQueues, s.TXQueues, mac.ErrConfig)
	case s.RXChecksum && !c.info.RXChecksum || s.TXChecksum && !c.info.TXChecksum:
		return fmt.Errorf("dwmac1000: checksum engine: the core has none for that direction: %w", mac.ErrUnsupported)
	case s.MTU < minMTU || s.MTU > c.info.MaxMTU:
		return fmt.Errorf("dwmac1000: MTU %d: the core takes %d to %d: %w", s.MTU, minMTU, c.info.MaxMTU, mac.ErrConfig)
	case s.TXChecksum && s.MTU > c.info.ChecksumMTU:
		return fmt.Errorf("dwmac1000: MTU %d with inserted checksums: takes %d at most: leave the engine off: %w", s.MTU, c.info.ChecksumMTU, mac.ErrConfig)
	}
	return c.checkBuffer(s.BufferSize)
}

// configureDMA programs bus and FIFOs.
func (c *Core) configureDMA() {
	// Bursts count single beats (PBL8 off), which means the same in all versions;
	// descriptors lie side by side (DSL 0).
	bus := field.Put(gmac3.BusPBL, uint32(c.burst())) | gmac3.BusAAL
	if c.platform.FixedBursts {
		bus |= gmac3.BusFB
	}
	if c.format.extended {
		bus |= gmac3.BusATDS
	}
	c.regs.Write32(gmac3.DMABusMode, bus)
	c.opMode = operationMode(c.info.RXFIFO, c.setup.MTU)
	c.regs.Write32(gmac3.DMAOpMode, c.opMode)
	if c.info.Watchdog {
		c.regs.Write32(gmac3.DMAWatchdog, 0)
	}
}

// configureMAC programs the MAC, transmitter and receiver off.
func (c *Core) configureMAC() error {
	c.regs.Write32(gmac3.MACIntMask, c.macMask(false))
	c.filter.SetAddress(c.setup.Address)
	c.config = gmac3.ConfigDCRS | gmac3.ConfigBE | gmac3.ConfigPS | gmac3.ConfigFES | gmac3.ConfigDM
	if c.setup.RXChecksum {
		c.config |= gmac3.ConfigIPC
	}
	c.writeFrameSize()
	if c.setup.RXChecksum && c.regs.Read32(gmac3.MACConfig)&gmac3.ConfigIPC == 0 {
		return fmt.Errorf("dwmac1000: %s: receive checksum engine does not switch on: open the device without it: %w", c.name, mac.ErrUnsupported)
	}
	c.regs.Write32(gmac3.MACVLANTag, 0)
	c.regs.Write32(gmac3.MACLPI, 0)
	c.regs.Write32(gmac3.MACFilter, 0)
	c.writePause(mac.Link{})
	return nil
}

// writeFrameSize programs what a giant is for the MTU, and MAC_Configuration. Two
// VLAN tags make a frame of the default MTU longer than the smallest limit.
func (c *Core) writeFrameSize() {
	c.config &^= gmac3.ConfigJE | gmac3.Config2K
	if c.setup.MTU+headerRoom+fcsLen <= limit2K {
		c.config |= gmac3.Config2K
	} else {
		c.config |= gmac3.ConfigJE
	}
	c.regs.Write32(gmac3.MACConfig, c.config|c.enabled)
}

// SetMTU implements mac.Core.SetMTU. A larger MTU can need a receive FIFO that
// passes frames on before their end, which cannot be changed while DMA runs: then
// it fails, and the device has to be opened with that MTU.
func (c *Core) SetMTU(mtu int) error {
	s := c.setup
	s.MTU = mtu
	if err := c.check(s); err != nil {
		return err
	}
	if c.opMode&gmac3.OpRSF != 0 && !storeAndForward(c.info.RXFIFO, mtu) {
		return fmt.Errorf("dwmac1000: MTU %d: a frame does not fit the receive FIFO: open the device with it: %w", mtu, mac.ErrConfig)
	}
	c.setup = s
	c.writeFrameSize()
	return nil
}

// SetAddress implements mac.Core.SetAddress.
func (c *Core) SetAddress(a mac.HardwareAddr) error {
	if !a.Usable() {
		return fmt.Errorf("dwmac1000: address %s: neither zero nor a group can be a station: %w", a, mac.ErrConfig)
	}
	c.filter.SetAddress(a)
	return nil
}

// Start implements mac.Core.Start. Writing the list addresses takes the device back
// to slot 0.
func (c *Core) Start() error {
	switch {
	case c.started:
		return fmt.Errorf("dwmac1000: start: running already: stop it first: %w", mac.ErrConfig)
	case c.rx == nil || c.tx == nil:
		return fmt.Errorf("dwmac1000: start: a ring is missing: make both first: %w", mac.ErrConfig)
	}
	c.regs.Write32(gmac3.DMARxList, c.rx.base)
	c.regs.Write32(gmac3.DMATxList, c.tx.base)
	c.irq.Open(gmac3.IntNIS | gmac3.IntAIS)
	c.rx.list.DoorbellBarrier()
	c.regs.Write32(gmac3.DMAOpMode, c.opMode|gmac3.OpSR)
	c.regs.Write32(gmac3.DMAOpMode, c.opMode|gmac3.OpSR|gmac3.OpST)
	c.regs.Write32(gmac3.MACIntMask, c.macMask(true))
	c.started = true
	return c.applyLink()
}
