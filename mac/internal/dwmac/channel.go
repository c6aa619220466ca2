package dwmac

import (
	"sync"

	"github.com/barewire/barewire/mac"
)

// Causes are the bits of a DMA channel's status register, and of its interrupt
// enable register, that a driver acts on.
type Causes struct {
	// RX: frames received or no buffers for them; Starved the latter alone.
	RX, Starved uint32
	// TX: a marked frame has been sent.
	TX uint32
	// Fatal and TXStopped end in a reset. They stay masked once reported.
	Fatal, TXStopped uint32
	// Summary are the latched sums of the enabled causes in the status register.
	Summary uint32
}

func (c *Causes) errors() uint32 { return c.Fatal | c.TXStopped }

// Channel handles the interrupts of one DMA channel, and keeps a copy of its
// interrupt enable register.
//
// Three goroutines change that register: the interrupt goroutine masks, the poll
// goroutine unmasks receive, a sender unmasks transmit. Each changes its own bits
// of one register, so the copy and the write of it to the device go under one
// lock: with the copy alone atomic, two writes could reach the device in the wrong
// order and leave a queue masked for ever. It is held for one register write and
// never while waiting.
type Channel struct {
	regs           mac.Registers
	status, enable uint32
	bit            uint32 // in mac.Events
	causes         Causes

	mu   sync.Mutex
	on   uint32
	open bool // between Start and Stop
}

// Init sets the channel of queue q up, with its write-1-to-clear status register
// and its interrupt enable register. It is masked.
func (c *Channel) Init(regs mac.Registers, q int, status, enable uint32, causes Causes) {
	c.regs, c.bit, c.status, c.enable, c.causes = regs, 1<<q, status, enable, causes
}

// Open clears what is left from before, the stops of the last Close above all, and
// unmasks everything but transmit. summaries are the summary bits of the enable
// register. DMA has not been started.
func (c *Channel) Open(summaries uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regs.Write32(c.status, c.regs.Read32(c.status))
	c.open = true
	c.on = c.causes.RX | c.causes.errors() | summaries
	c.regs.Write32(c.enable, c.on)
}

// Close masks everything and clears what was pending.
func (c *Channel) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.on = false, 0
	c.regs.Write32(c.enable, 0)
	c.regs.Write32(c.status, c.regs.Read32(c.status))
}

// Ack acknowledges the receive causes. The summaries are left alone: they may
// stand for something else, and receive is masked while its ring is polled.
func (c *Channel) Ack() { c.regs.Write32(c.status, c.causes.RX) }

// UnmaskRX and UnmaskTX let the channel interrupt again. A frame marked before may
// interrupt at once.
func (c *Channel) UnmaskRX() { c.unmask(c.causes.RX) }
func (c *Channel) UnmaskTX() { c.unmask(c.causes.TX) }

func (c *Channel) unmask(bits uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open {
		return // masked by Close; a late caller must not unmask
	}
	c.on |= bits
	c.regs.Write32(c.enable, c.on)
}

// Interrupt handles the channel's status and returns it. Only causes that are
// enabled are acknowledged: those of a masked queue stay latched, so that
// unmasking finds them. All ones are a device that has gone, and change nothing.
func (c *Channel) Interrupt(ev *mac.Events) (status uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status = c.regs.Read32(c.status)
	if status == 0xFFFFFFFF {
		return status
	}
	k := &c.causes
	seen := status & c.on & (k.RX | k.TX | k.errors())
	if ack := seen | status&k.Summary; ack != 0 {
		c.regs.Write32(c.status, ack)
	}
	mask := seen & (k.TX | k.errors())
	if seen&k.RX != 0 {
		mask |= k.RX // starvation too: it comes again and again until buffers are posted
		ev.RX |= c.bit
	}
	if seen&k.Starved != 0 {
		ev.Starved |= c.bit
	}
	if seen&k.TX != 0 {
		ev.TX |= c.bit
	}
	if seen&k.Fatal != 0 {
		ev.Fatal |= c.bit
	}
	if seen&k.TXStopped != 0 {
		ev.TXStopped |= c.bit
	}
	// With nothing seen this puts our own enable bits back: a summary without a
	// cause, or bits that somebody else has set, cannot go on.
	c.on &^= mask
	c.regs.Write32(c.enable, c.on)
	return status
}
