package dwxgmac2

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// scaled reports whether RSS spreads the frames of one FIFO queue over the channels.
// Without it each channel has a queue of its own.
func (c *Core) scaled() bool { return c.limits.rss && c.setup.RXQueues > 1 }

// fifoQueues is how many receive queues of the MTL are in use.
func (c *Core) fifoQueues() int {
	if c.scaled() {
		return 1
	}
	return c.setup.RXQueues
}

// configureMTL programs the queues between MAC and DMA.
func (c *Core) configureMTL() error {
	c.regs.Write32(xgmac2.MTLOpMode, field.Put(xgmac2.OpModeETSALG, xgmac2.SchedWRR))
	c.writeTxQueues()
	c.writeRxQueues()
	// A queue that is not enabled drops what it gets.
	var enable uint32
	for q := range c.fifoQueues() {
		enable |= xgmac2.RxQGeneric << (2 * q)
	}
	c.regs.Write32(xgmac2.MACRSSControl, 0)
	c.writeMap(c.scaled())
	c.regs.Write32(xgmac2.MACRxQCtrl1, 0)
	if c.scaled() {
		if err := c.configureRSS(); err != nil {
			return err
		}
	} else if c.setup.RXQueues > 1 {
		c.routeQueues()
	}
	c.regs.Write32(xgmac2.MACRxQCtrl0, enable)
	return nil
}

// writeTxQueues gives each transmit queue its part of the FIFO, and a traffic class as
// far as there are any.
func (c *Core) writeTxQueues() {
	fifo := dwmac.Share(c.info.TXFIFO, c.setup.TXQueues)
	for q := range c.setup.TXQueues {
		base := xgmac2.QueueBase(q)
		// Checksum insertion and segmentation need store and forward.
		mode := xgmac2.TxQOpTSF | field.Put(xgmac2.TxQOpTXQEN, xgmac2.TxQEnabled) |
			field.Put(xgmac2.TxQOpTC, uint32(min(q, c.limits.classes-1)))
		if fifo > 0 {
			mode |= field.Put(xgmac2.TxQOpTQS, uint32(fifo/dwmac.FIFOBlock-1))
		} else {
			mode |= c.regs.Read32(base+xgmac2.TxQOpMode) & xgmac2.TxQOpTQS
		}
		c.regs.Write32(base+xgmac2.TxQOpMode, mode)
	}
	for class := range min(c.setup.TXQueues, c.limits.classes) {
		base := xgmac2.QueueBase(class)
		c.regs.Write32(base+xgmac2.TCETS, field.Put(xgmac2.TCETSTSA, xgmac2.TSAETS))
		c.regs.Write32(base+xgmac2.TCQuantum, field.Put(xgmac2.TCQuantumQW, 0x10))
	}
}

// writeMap has every receive queue's channel chosen dynamically, or be the one of the
// same number.
func (c *Core) writeMap(dynamic bool) {
	var regs [xgmac2.MaxQueues / 4]uint32
	for q := range c.limits.fifos {
		v := uint32(min(q, c.setup.RXQueues-1))
		if dynamic {
			v = xgmac2.RxQDMADynamic
		}
		regs[q/4] |= field.Put(xgmac2.RxQDMAField(q), v)
	}
	for i := range (c.limits.fifos + 3) / 4 {
		c.regs.Write32(xgmac2.RxQDMAMap(4*i), regs[i])
	}
}

// maxPriorities is how many receive queues MAC_RxQ_Ctrl2 and 3 have.
const maxPriorities = 8

// routeQueues spreads VLAN priorities over the receive queues; everything untagged,
// broadcast and multicast goes to queue 0.
func (c *Core) routeQueues() {
	var prio [2]uint32
	for p := range 8 {
		q := p * min(c.setup.RXQueues, maxPriorities) / 8
		prio[q/4] |= 1 << (8*(q%4) + p)
	}
	c.regs.Write32(xgmac2.MACRxQCtrl1, xgmac2.RxQCtrl1MCBCQEN)
	c.regs.Write32(xgmac2.MACRxQCtrl2, prio[0])
	c.regs.Write32(xgmac2.MACRxQCtrl3, prio[1])
}

// writeRxQueues gives each receive queue its part of the FIFO, and its thresholds for
// frames of the MTU.
func (c *Core) writeRxQueues() {
	fifo := dwmac.Share(c.info.RXFIFO, c.fifoQueues())
	frame := c.setup.MTU + dwmac.HeaderRoom + fcsLen
	for q := range c.fifoQueues() {
		base := xgmac2.QueueBase(q)
		// Frames with a bad checksum are kept for software to judge, all other bad ones
		// are dropped in the FIFO.
		mode := xgmac2.RxQOpDISTCPEF
		if fifo == 0 || frame+dwmac.BusWidth <= fifo {
			mode |= xgmac2.RxQOpRSF
		}
		if fifo == 0 {
			mode |= c.regs.Read32(base+xgmac2.RxQOpMode) & xgmac2.RxQOpRQS
		} else {
			mode |= field.Put(xgmac2.RxQOpRQS, uint32(fifo/dwmac.FIFOBlock-1))
		}
		if rfa, rfd, ok := flowThresholds(fifo, frame); ok {
			mode |= xgmac2.RxQOpEHFC
			c.regs.Write32(base+xgmac2.RxQFlow, field.Put(xgmac2.RxQFlowRFA, rfa)|field.Put(xgmac2.RxQFlowRFD, rfd))
		}
		c.regs.Write32(base+xgmac2.RxQOpMode, mode)
	}
}

// flowThresholds says when hardware flow control of a queue of fifo bytes sends pause
// frames (RFA) and when it ends the pause (RFD), both as free space: n is 1 KiB +
// n*512 bytes. With room for more than three of the longest frames a pause starts when
// there is room for two more, which the partner may have sent before it hears of it,
// and ends with room for three (amd-xgbe's rule). ok is false for a queue that is too
// small for it.
func flowThresholds(fifo, frame int) (rfa, rfd uint32, ok bool) {
	frame = (frame + 511) / 512 * 512
	var pause, resume int
	switch {
	case fifo <= 2048:
		return 0, 0, false
	case fifo <= 4096:
		pause, resume = 1024, 1536
	case fifo <= frame:
		pause, resume = 2048, 3584
	case fifo <= 3*frame:
		pause = fifo - frame
		resume = pause + frame/2
	default:
		pause = 2*frame + 512
		resume = pause + frame
	}
	level := func(free int) uint32 { return uint32(min(max(free-1024, 0)/512, 63)) }
	return level(pause), level(resume), true
}

// rssError says which part of RSS did not take what it was given.
func (c *Core) rssError(what string, index int) error {
	return fmt.Errorf("dwxgmac2: %s: RSS %s %d: still busy after %v: is the receive clock on?", c.name, what, index, rssLimit)
}
