package ravb

import (
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
)

// irqState is the copy of the interrupt control registers RIC0, RIC2, TIC and EIC.
//
// Three goroutines change them: the interrupt goroutine masks, the poll goroutine
// unmasks receive, a sender unmasks transmit. Queues share them, so the copy and the
// write of it to the device go under one lock: with the copy alone atomic, two writes
// could reach the device in the wrong order and leave a queue masked for ever. It is
// held for a few register accesses and never while waiting.
type irqState struct {
	mu   sync.Mutex
	rx   uint32 // RIC0: bit q
	full uint32 // RIC2
	tx   uint32 // TIC: bit q
	errs uint32 // EIC
	open bool   // between Start and Stop
	// queues are the bits of the receive queues in use. Core.setup has them too, but
	// may change while interrupts come.
	queues uint32
}

// maskRegs are the registers that set and clear bits of a control register, where
// the variant has them.
type maskRegs struct{ control, set, clear uint32 }

var (
	rxMask   = maskRegs{etheravb.RIC0, etheravb.RIE0, etheravb.RID0}
	fullMask = maskRegs{etheravb.RIC2, etheravb.RIE2, etheravb.RID2}
	txMask   = maskRegs{etheravb.TIC, etheravb.TIE, etheravb.TID}
)

// mask clears bits of a control register, unmask sets them. copied is the register's
// copy. irq.mu is held.
func (c *Core) mask(r maskRegs, copied *uint32, bits uint32) {
	*copied &^= bits
	if c.v.enableDisable {
		c.regs.Write32(r.clear, bits)
	} else {
		c.regs.Write32(r.control, *copied)
	}
}

func (c *Core) unmask(r maskRegs, copied *uint32, bits uint32) {
	*copied |= bits
	if c.v.enableDisable {
		c.regs.Write32(r.set, bits)
	} else {
		c.regs.Write32(r.control, *copied)
	}
}

// acknowledge clears status bits: zeros clear, ones leave alone, and reserved bits
// take zeros only.
func (c *Core) acknowledge(off, bits, reserved uint32) {
	c.regs.Write32(off, ^(bits | reserved))
}

// openIRQs clears what is left from before and unmasks everything but transmit. The
// core is in CONFIG.
func (c *Core) openIRQs() {
	q := &c.irq
	q.mu.Lock()
	defer q.mu.Unlock()
	c.clearStatus()
	q.open, q.tx = true, 0
	q.queues = 1<<c.setup.RXQueues - 1
	q.rx = q.queues
	q.full = q.rx | etheravb.RIS2RFFF
	q.errs = etheravb.EISQEF
	w := c.regs.Write32
	w(etheravb.RIC0, q.rx)
	w(etheravb.RIC2, q.full)
	w(etheravb.EIC, q.errs)
	if c.v.emac && !c.v.toe {
		w(etheravb.ECSIPR, etheravb.ECSRLCHNG|etheravb.ECSRICD)
	}
}

// closeIRQs masks everything there is and clears what was pending.
func (c *Core) closeIRQs() {
	q := &c.irq
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open, q.rx, q.full, q.tx, q.errs = false, 0, 0, 0, 0
	for _, off := range []uint32{
		etheravb.DIC, etheravb.EIC, etheravb.RIC0, etheravb.RIC1, etheravb.RIC2, etheravb.TIC, etheravb.ECSIPR,
	} {
		c.regs.Write32(off, 0)
	}
	if !c.v.toe {
		c.regs.Write32(etheravb.GIC, 0)
	}
	c.clearStatus()
}

func (c *Core) clearStatus() {
	for _, off := range []uint32{etheravb.DIS, etheravb.EIS, etheravb.RIS0, etheravb.RIS1, etheravb.RIS2, etheravb.TIS} {
		c.regs.Write32(off, 0)
	}
	c.regs.Write32(etheravb.ECSR, etheravb.ECSRAll)
}

// Interrupt implements mac.Core.Interrupt. Receive and transmit causes stay latched
// until Ack and UnmaskTX clear them: what comes after those is a new cause.
func (c *Core) Interrupt() mac.Events {
	const known = etheravb.ISSFRS | etheravb.ISSFTS | etheravb.ISSES | etheravb.ISSMS
	var ev mac.Events
	summary := c.regs.Read32(etheravb.ISS)
	if summary == 0xFFFFFFFF { // the device is gone: the reset that follows says so
		ev.Fatal = 1<<c.info.RXQueues - 1
		return ev
	}
	q := &c.irq
	q.mu.Lock()
	defer q.mu.Unlock()
	if summary&etheravb.ISSFRS != 0 {
		ev.RX = c.take(etheravb.RIS0, rxMask, &q.rx)
	}
	if summary&etheravb.ISSFTS != 0 {
		ev.TX = c.take(etheravb.TIS, txMask, &q.tx)
	}
	if summary&etheravb.ISSES != 0 {
		c.errorInterrupt(&ev)
	}
	if summary&etheravb.ISSMS != 0 {
		c.emacInterrupt(&ev)
	}
	if other := summary &^ known; other != 0 {
		c.foreignInterrupt()
		ev.Unknown = other &^ c.unknown
		c.unknown |= other
	}
	return ev
}

// take returns the causes of ours in a status register and masks them. When there are
// none, bits that somebody else has set go on for ever: the register gets our own
// back.
func (c *Core) take(status uint32, r maskRegs, copied *uint32) uint32 {
	causes := c.regs.Read32(status) & *copied
	if causes != 0 {
		c.mask(r, copied, causes)
	} else {
		c.regs.Write32(r.control, *copied)
	}
	return causes
}

// errorInterrupt handles EIS, and RIS2 that it sums up. A full queue is masked until
// Unmask: it comes again with every frame that finds no slot. So is the FIFO.
func (c *Core) errorInterrupt(ev *mac.Events) {
	q := &c.irq
	errors := c.regs.Read32(etheravb.EIS)
	// The summary too, and first: what RIS2 gets from here on sets it again.
	c.acknowledge(etheravb.EIS, errors, etheravb.EISReserved)
	if errors&etheravb.EISQFS != 0 {
		full := c.regs.Read32(etheravb.RIS2)
		c.acknowledge(etheravb.RIS2, full, etheravb.RIS2Reserved)
		c.mask(fullMask, &q.full, full)
		ev.Starved = full & q.queues
		if full&etheravb.RIS2RFFF != 0 {
			c.counters.fifoFull.Add(1)
		}
	}
	if errors&^etheravb.EISQFS == 0 {
		return
	}
	// A queue that has met an error stands still until a reset, which unmasks. The
	// other errors are latched although nobody has enabled them; when somebody has,
	// the register gets our own bits back.
	if errors&q.errs != 0 {
		ev.Fatal = q.queues
		q.errs = 0
	}
	c.regs.Write32(etheravb.EIC, q.errs)
}

// emacInterrupt handles ECSR, whose bits are cleared by writing 1.
func (c *Core) emacInterrupt(ev *mac.Events) {
	causes := c.regs.Read32(etheravb.ECSR)
	c.regs.Write32(etheravb.ECSR, causes)
	ev.Link = causes&etheravb.ECSRLCHNG != 0
	if causes&etheravb.ECSRICD != 0 {
		c.counters.carrier.Add(1)
	}
	if causes&^(etheravb.ECSRLCHNG|etheravb.ECSRICD) != 0 { // not ours: masked again
		ours := uint32(0)
		if c.v.emac && !c.v.toe && c.irq.open {
			ours = etheravb.ECSRLCHNG | etheravb.ECSRICD
		}
		c.regs.Write32(etheravb.ECSIPR, ours)
	}
}

// foreignInterrupt masks and clears what nobody here has turned on.
func (c *Core) foreignInterrupt() {
	c.regs.Write32(etheravb.DIC, 0)
	c.regs.Write32(etheravb.DIS, 0)
	c.regs.Write32(etheravb.RIC1, 0)
	c.regs.Write32(etheravb.RIS1, 0)
	c.mask(txMask, &c.irq.tx, etheravb.TISTFUF|etheravb.TISTFWF|etheravb.TISTDPF)
	c.acknowledge(etheravb.TIS, etheravb.TISTFUF|etheravb.TISTFWF|etheravb.TISTDPF, etheravb.TISReserved)
	if !c.v.toe {
		c.regs.Write32(etheravb.GIC, 0)
		c.regs.Write32(etheravb.GIS, 0)
	}
}

// Ack implements mac.Core.Ack. The flag is cleared before the ring is looked at, and
// never looked at to decide whether to.
func (c *Core) Ack(q int) {
	c.acknowledge(etheravb.RIS0, 1<<q, etheravb.RIS0Reserved)
}

// Unmask implements mac.Core.Unmask.
func (c *Core) Unmask(q int) {
	s := &c.irq
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return // masked by Stop; a late caller must not unmask
	}
	bits := uint32(1) << q
	if q == 0 {
		bits |= etheravb.RIS2RFFF
	}
	if bits &^= s.full; bits != 0 { // a full queue or FIFO was reported and masked
		c.acknowledge(etheravb.RIS2, bits, etheravb.RIS2Reserved)
		c.unmask(fullMask, &s.full, bits)
	}
	c.unmask(rxMask, &s.rx, 1<<q)
}

// UnmaskTX implements mac.Core.UnmaskTX. It forgets what was sent before: every
// frame that is sent raises the cause, whether it was marked or not.
func (c *Core) UnmaskTX(q int) {
	s := &c.irq
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return
	}
	c.acknowledge(etheravb.TIS, 1<<q, etheravb.TISReserved)
	c.unmask(txMask, &s.tx, 1<<q)
}
