package dwmac4

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/internal/queues"
)

// resetLimit bounds the wait for a software reset.
const resetLimit = time.Second

// Reset implements mac.Core.Reset: it stops DMA, wherever a crash left it, and
// does a software reset (DMA_Mode.SWR), which needs the receive clock.
func (c *Core) Reset(ctx context.Context) error {
	c.saveCounters()
	// Failing to stop is no reason to stop here: the reset is the remedy.
	_ = c.quiesce()
	c.regs.Write32(gmac4.DMAMode, gmac4.DMAModeSWR)
	if !dwmac.Wait(ctx, c.regs, gmac4.DMAMode, resetLimit, func(v uint32) bool { return v&gmac4.DMAModeSWR == 0 }) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("dwmac4: %s: %w: %w", c.name, mac.ErrReset, err)
		}
		return fmt.Errorf("dwmac4: %s: after %v: no receive clock from the PHY? %w", c.name, resetLimit, mac.ErrReset)
	}
	c.config, c.enabled, c.started = 0, 0, false
	c.link = mac.Link{}
	c.filter.Reset()
	c.counters.running = false
	c.maxShift = 0
	return nil
}

// Configure implements mac.Core.Configure.
func (c *Core) Configure(s mac.Setup) error {
	if err := dwmac.CheckSetup(&c.info, &s, jumboMTU); err != nil {
		return err
	}
	c.setup = s
	c.pbl, _ = dwmac.Burst(dwmac.Share(c.info.TXFIFO, s.TXQueues), s.MTU)
	c.configureDMA()
	c.configureMTL()
	if err := c.configureMAC(); err != nil {
		return err
	}
	c.startCounters()
	c.probeWatchdog()
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
	c.regs.Write32(gmac4.DMAMode, 0)
	bus := gmac4.SysBusBLEN4 | gmac4.SysBusBLEN8 | gmac4.SysBusBLEN16 | gmac4.SysBusAAL |
		field.Put(gmac4.SysBusRDOSR, 2) | field.Put(gmac4.SysBusWROSR, 2)
	if c.info.AddressBits > 32 {
		bus |= gmac4.SysBusEAME
	}
	c.regs.Write32(gmac4.DMASysBus, bus)
	for ch := range max(c.setup.RXQueues, c.setup.TXQueues) {
		base := gmac4.ChanBase(ch)
		// Burst lengths count by eight; descriptors lie side by side (DSL 0); no
		// split header, whatever the feature register says.
		c.regs.Write32(base+gmac4.ChanControl, gmac4.ControlPBLx8)
		c.regs.Write32(base+gmac4.ChanTxControl, c.txControl())
		c.regs.Write32(base+gmac4.ChanRxControl, c.rxControl(c.setup.BufferSize))
	}
}

func (c *Core) txControl() uint32 {
	v := gmac4.TxControlOSP | field.Put(gmac4.TxControlPBL, c.pbl)
	if c.info.TSO {
		v |= gmac4.TxControlTSE
	}
	return v
}

// rxBurst is the receive burst in units of 8 beats: half of the smallest FIFO on
// the widest bus.
const rxBurst = 8

func (c *Core) rxControl(bufferSize int) uint32 {
	return field.Put(gmac4.RxControlPBL, rxBurst) | field.Put(gmac4.RxControlRBSZ, uint32(bufferSize))
}

// configureMTL programs the queues between MAC and DMA.
func (c *Core) configureMTL() {
	s := &c.setup
	c.regs.Write32(gmac4.MTLOpMode, field.Put(gmac4.OpModeSCHALG, gmac4.SchedWRR))
	for q := range s.TXQueues {
		base := gmac4.QueueBase(q)
		mode := txQueueMode
		if fifo := dwmac.Share(c.info.TXFIFO, s.TXQueues); fifo > 0 {
			mode |= field.Put(gmac4.TxQOpTQS, uint32(fifo/dwmac.FIFOBlock-1))
		} else {
			mode |= c.regs.Read32(base+gmac4.TxQOpMode) & gmac4.TxQOpTQS
		}
		c.regs.Write32(base+gmac4.TxQOpMode, mode)
		c.regs.Write32(base+gmac4.TxQQuantum, field.Put(gmac4.TxQQuantumISCQW, uint32(0x10+q)))
	}
	// Queue q goes to channel q. A queue that is not enabled drops what it gets.
	var enable uint32
	var dmaMap [2]uint32
	for q := range s.RXQueues {
		enable |= gmac4.RxQGeneric << (2 * q)
		dmaMap[q/4] |= uint32(q) << (8 * (q % 4))
	}
	c.writeRxQueueModes()
	c.regs.Write32(gmac4.RxQDMAMap(0), dmaMap[0])
	if s.RXQueues > 4 {
		c.regs.Write32(gmac4.RxQDMAMap(4), dmaMap[1])
	}
	c.regs.Write32(gmac4.MACRxQCtrl0, enable)
	if s.RXQueues > 1 {
		c.routeQueues()
	}
}

// routeQueues spreads VLAN priorities over the receive queues; everything
// untagged, broadcast and multicast goes to queue 0. There is no hash over flows.
func (c *Core) routeQueues() {
	var prio [2]uint32
	for p := range 8 {
		q := p * c.setup.RXQueues / 8
		prio[q/4] |= 1 << (8*(q%4) + p)
	}
	c.regs.Write32(gmac4.MACRxQCtrl1, gmac4.RxQCtrl1MCBCQEN)
	c.regs.Write32(gmac4.MACRxQCtrl2, prio[0])
	c.regs.Write32(gmac4.MACRxQCtrl3, prio[1])
}

func (c *Core) writeRxQueueModes() {
	for q := range c.setup.RXQueues {
		reg := gmac4.QueueBase(q) + gmac4.RxQOpMode
		fifo := dwmac.Share(c.info.RXFIFO, c.setup.RXQueues)
		mode := rxQueueMode(fifo, c.setup.MTU)
		if fifo == 0 {
			mode |= c.regs.Read32(reg) & gmac4.RxQOpRQS
		}
		c.regs.Write32(reg, mode)
	}
}

// configureMAC programs the MAC, transmitter and receiver off.
func (c *Core) configureMAC() error {
	c.filter.SetAddress(c.setup.Address)
	c.config = gmac4.ConfigDCRS | gmac4.ConfigBE | gmac4.ConfigPS | gmac4.ConfigFES | gmac4.ConfigDM
	if c.setup.RXChecksum {
		c.config |= gmac4.ConfigIPC
	}
	c.writeFrameSize()
	if c.setup.RXChecksum && c.regs.Read32(gmac4.MACConfig)&gmac4.ConfigIPC == 0 {
		return fmt.Errorf("dwmac4: %s: receive checksum engine does not switch on: open the device without it: %w", c.name, mac.ErrUnsupported)
	}
	if mhz := c.clockHz / 1e6; mhz > 0 {
		c.regs.Write32(gmac4.MAC1usTic, uint32(mhz-1))
	}
	// Tags stay in the frames, and none are added; no LPI.
	c.regs.Write32(gmac4.MACVLANTag, 0)
	c.regs.Write32(gmac4.MACVLANIncl, 0)
	c.regs.Write32(gmac4.MACLPI, 0)
	c.regs.Write32(gmac4.MACPacketFilter, 0)
	c.writePause(mac.Link{})
	c.regs.Write32(gmac4.MACIntEnable, 0)
	return nil
}

// writeFrameSize programs what a giant is for the MTU, and MAC_Configuration.
func (c *Core) writeFrameSize() {
	limit := uint32(c.setup.MTU + dwmac.HeaderRoom + fcsLen)
	c.regs.Write32(gmac4.MACExtConfig, field.Put(gmac4.ExtConfigGPSL, limit))
	c.config |= gmac4.ConfigGPSLCE
	c.config &^= gmac4.ConfigJE
	if c.setup.MTU > dwmac.DefaultMTU {
		c.config |= gmac4.ConfigJE
	}
	c.regs.Write32(gmac4.MACConfig, c.config|c.enabled)
}

// SetMTU implements mac.Core.SetMTU. A larger MTU can need a shorter transmit
// burst than Configure chose, which cannot be changed while DMA runs: then it
// fails, and the device has to be opened with that MTU.
func (c *Core) SetMTU(mtu int) error {
	s := c.setup
	s.MTU = mtu
	if err := dwmac.CheckMTU(&c.info, &s, jumboMTU, c.pbl); err != nil {
		return err
	}
	c.setup = s
	c.writeFrameSize()
	c.writeRxQueueModes()
	return nil
}

// SetAddress implements mac.Core.SetAddress.
func (c *Core) SetAddress(a mac.HardwareAddr) error {
	if !a.Usable() {
		return fmt.Errorf("dwmac4: address %s: neither zero nor a group can be a station: %w", a, mac.ErrConfig)
	}
	c.filter.SetAddress(a)
	return nil
}

// Start implements mac.Core.Start.
func (c *Core) Start() error {
	if err := queues.CheckStart("dwmac4", &c.setup, c.started, c.rx[:], c.tx[:]); err != nil {
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
	if c.inBand() {
		c.regs.Write32(gmac4.MACIntEnable, linkCauses)
	}
	c.started = true
	c.applyLink()
	return nil
}

// startTX points the channel at its ring, empty, and starts transmit DMA. Writing
// the list address also takes the device back to slot 0.
func (c *Core) startTX(q int) {
	t, base := c.tx[q], gmac4.ChanBase(q)
	t.ForgetMSS()
	c.regs.Write32(base+gmac4.ChanTxRingLen, uint32(t.Slots-1))
	c.regs.Write32(base+gmac4.ChanTxListHigh, uint32(t.Base>>32))
	c.regs.Write32(base+gmac4.ChanTxList, uint32(t.Base))
	t.Kick(0)
	c.regs.Write32(base+gmac4.ChanTxControl, c.txControl()|gmac4.TxControlST)
}

// startRX does the same for receive, with the slots posted so far.
func (c *Core) startRX(q int) {
	r, base := c.rx[q], gmac4.ChanBase(q)
	c.regs.Write32(base+gmac4.ChanRxRingLen, uint32(r.Slots-1))
	c.regs.Write32(base+gmac4.ChanRxListHigh, uint32(r.Base>>32))
	c.regs.Write32(base+gmac4.ChanRxList, uint32(r.Base))
	r.Kick(r.Next)
	c.regs.Write32(base+gmac4.ChanRxControl, c.rxControl(r.BufferSize)|gmac4.RxControlSR)
}
