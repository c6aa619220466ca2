package ravb

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/queues"
)

// Bounds of the waits. Linux gives a change of mode 100 ms. A full transmit FIFO
// of full-size frames takes a few milliseconds at 100 Mbit/s.
const (
	resetLimit = time.Second
	modeLimit  = 100 * time.Millisecond
	drainLimit = 20 * time.Millisecond
)

// Reset implements mac.Core.Reset: it stops DMA, wherever a crash left it, goes
// through RESET mode and ends in CONFIG, since nothing but CCC answers in RESET.
func (c *Core) Reset(ctx context.Context) error {
	c.saveCounters()
	// Failing to stop is no reason to stop here: the reset is the remedy.
	_ = c.quiesce()
	c.started, c.enabled, c.ecmr, c.mode = false, 0, 0, 0
	c.link = mac.Link{}
	c.counters.running = false
	if !c.setMode(ctx, etheravb.OPCReset, 0, resetLimit) || !c.configMode(ctx) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("ravb: %s: %w: %w", c.name, mac.ErrReset, err)
		}
		return fmt.Errorf("ravb: %s: CSR reads %#x after %v: are its clocks on? %w", c.name, c.regs.Read32(etheravb.CSR), resetLimit, mac.ErrReset)
	}
	return nil
}

// configMode enters CONFIG. Where gPTP runs there already, its clock is chosen in
// the same write, which the manual demands.
func (c *Core) configMode(ctx context.Context) bool {
	clock := uint32(0)
	if c.v.gptpClock {
		clock = field.Put(etheravb.CCCCSEL, etheravb.CSELHPB)
	}
	if c.v.gptpInConfig {
		c.mode = clock | etheravb.CCCGAC
		return c.setMode(ctx, etheravb.OPCConfig, c.mode, resetLimit)
	}
	if !c.setMode(ctx, etheravb.OPCConfig, 0, resetLimit) {
		return false
	}
	c.mode = clock
	return c.setMode(ctx, etheravb.OPCConfig, c.mode, resetLimit)
}

// Configure implements mac.Core.Configure. The core is in CONFIG, where alone the
// AVB-DMAC takes its configuration.
func (c *Core) Configure(s mac.Setup) error {
	if err := c.check(s); err != nil {
		return err
	}
	c.setup = s
	c.closeIRQs()
	c.configureDMAC()
	c.configureEMAC()
	c.startCounters()
	for _, r := range c.rx {
		if r != nil {
			r.trailer = c.trailer()
		}
	}
	return nil
}

func (c *Core) check(s mac.Setup) error {
	switch {
	case s.RXQueues < 1 || s.RXQueues > c.info.RXQueues || s.TXQueues < 1 || s.TXQueues > c.info.TXQueues:
		return fmt.Errorf("ravb: %d receive and %d transmit queues: the core has %d and %d: %w",
			s.RXQueues, s.TXQueues, c.info.RXQueues, c.info.TXQueues, mac.ErrConfig)
	case !validBuffer(s.BufferSize):
		return fmt.Errorf("ravb: receive buffers of %d bytes: take %d to %d in steps of %d: %w",
			s.BufferSize, bufferAlign, maxBuffer, bufferAlign, mac.ErrConfig)
	case s.TXChecksum && !c.info.TXChecksum:
		return fmt.Errorf("ravb: transmit checksum engine: the core has none: %w", mac.ErrUnsupported)
	case s.MaxFrame > max(c.info.MaxFrame, c.info.MaxMTU+headerRoom):
		return fmt.Errorf("ravb: frames of %d bytes: the core receives %d at most: %w", s.MaxFrame, max(c.info.MaxFrame, c.info.MaxMTU+headerRoom), mac.ErrConfig)
	case s.MTU < minMTU || s.MTU > c.info.MaxMTU:
		return fmt.Errorf("ravb: MTU %d: the core takes %d to %d: %w", s.MTU, minMTU, c.info.MaxMTU, mac.ErrConfig)
	}
	return nil
}

// configureDMAC programs the queues. Frames with errors are dropped by R-Car and
// marked by GbEth; streams are not told apart from other frames.
func (c *Core) configureDMAC() {
	w := c.regs.Write32
	if c.v.delays {
		w(etheravb.APSR, c.board.apsr)
	}
	if c.v.lines {
		w(etheravb.DIL, 0)
		w(etheravb.CIE, 0) // all on one line
	}
	if c.v.toe {
		w(etheravb.RCR, etheravb.RCRGbEth)
		w(etheravb.RTC, etheravb.RTCGbEth)
		w(etheravb.TGC, fifoDepthsGbEth)
	} else {
		rcr := field.Put(etheravb.RCRRFCL, etheravb.RFCLDefault) | etheravb.RCREFFS | etheravb.RCRETS0
		if c.setup.RXQueues > 1 {
			rcr |= etheravb.RCRENCF
		}
		w(etheravb.RCR, rcr)
		w(etheravb.TGC, fifoDepthsRCar|field.Put(etheravb.TGCTQP, etheravb.TQPAVBMode1))
	}
	w(etheravb.TCCR, 0) // no timestamps
}

// Depths of the four transmit FIFOs, in a unit that is not public, as Linux has them.
const (
	fifoDepthsGbEth = 2<<8 | 2<<12 | 2<<16 | 2<<20
	fifoDepthsRCar  = 2<<8 | 2<<12 | 1<<16 | 1<<20 // less for streams
)

// configureEMAC programs the E-MAC, transmitter and receiver off.
func (c *Core) configureEMAC() {
	w := c.regs.Write32
	c.ecmr = etheravb.ECMRZPF | etheravb.ECMRDM
	c.enable(0)
	w(etheravb.ECSIPR, 0)
	w(etheravb.ECSR, etheravb.ECSRAll)
	c.writeFrameSize()
	c.writeAddress(c.setup.Address)
	if c.v.toe {
		c.ecmr |= etheravb.ECMRRCPT
		w(etheravb.CXR35, c.board.cxr35)
		w(etheravb.CXR31, c.board.cxr31)
		c.configureTOE()
	} else if c.setup.RXChecksum {
		c.ecmr |= etheravb.ECMRRCSC
	}
	c.enable(0)
}

// Kinds of frame for the checksum engine.
const (
	toeTX = etheravb.TOEIPv4 | etheravb.TOETCP4 | etheravb.TOEUDP4 | etheravb.TOETCP6 | etheravb.TOEUDP6
	toeRX = toeTX | etheravb.TOEICMP4 | etheravb.TOEICMP6
)

// configureTOE programs the checksum engine, off while its kinds change.
func (c *Core) configureTOE() {
	var on uint32
	c.regs.Write32(etheravb.TOE0, 0)
	if c.setup.TXChecksum {
		on |= etheravb.TOE0TPE
		c.regs.Write32(etheravb.TOE1, toeTX)
	}
	if c.setup.RXChecksum {
		on |= etheravb.TOE0RPE
		c.regs.Write32(etheravb.TOE2, toeRX)
	}
	c.regs.Write32(etheravb.TOE0, on)
}

// trailer is how many bytes the core appends to a received frame.
func (c *Core) trailer() uint8 {
	switch {
	case !c.setup.RXChecksum:
		return 0
	case c.v.toe:
		return etheravb.TOETrailer
	}
	return etheravb.SumTrailer
}

// writeFrameSize programs what a frame is that is too long.
func (c *Core) writeFrameSize() {
	c.regs.Write32(etheravb.RFLR, uint32(max(c.setup.MaxFrame, c.setup.MTU+headerRoom)+fcsLen))
}

// SetMTU implements mac.Core.SetMTU.
func (c *Core) SetMTU(mtu int) error {
	s := c.setup
	s.MTU = mtu
	if err := c.check(s); err != nil {
		return err
	}
	c.setup = s
	c.writeFrameSize()
	return nil
}

// SetAddress implements mac.Core.SetAddress.
func (c *Core) SetAddress(a mac.HardwareAddr) error {
	if !a.Usable() {
		return fmt.Errorf("ravb: address %s: neither zero nor a group can be a station: %w", a, mac.ErrConfig)
	}
	c.writeAddress(a)
	return nil
}

// SetFilter implements mac.Core.SetFilter. The core knows one station address and
// no groups: every group passes, and further stations need everything to.
func (c *Core) SetFilter(f mac.Filter) error {
	c.ecmr &^= etheravb.ECMRPRM
	if f.Promiscuous || len(f.Unicast) > 0 {
		c.ecmr |= etheravb.ECMRPRM
	}
	c.enable(c.enabled)
	return nil
}

// Start implements mac.Core.Start. Entering OPERATION takes the device to the first
// slot of every ring in the table.
func (c *Core) Start() error {
	if err := queues.CheckStart("ravb", &c.setup, c.started, c.rx[:], c.tx[:]); err != nil {
		return err
	}
	if c.setup.RXQueues == 0 {
		return fmt.Errorf("ravb: start: configure it first: %w", mac.ErrConfig)
	}
	c.writeTable()
	c.openIRQs()
	if !c.setMode(context.Background(), etheravb.OPCOperation, c.mode, modeLimit) {
		c.closeIRQs()
		return fmt.Errorf("ravb: %s: CSR reads %#x: not in OPERATION after %v: reset the core: %w",
			c.name, c.regs.Read32(etheravb.CSR), modeLimit, mac.ErrReset)
	}
	c.started = true
	c.applyLink()
	return nil
}
