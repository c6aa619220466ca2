package sun8i

import (
	"sync"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/emac"
)

// causes are the bits of INT_STA and INT_EN in use. A change of RGMII's in-band
// status is acknowledged whenever it is seen, and enabled with that interface.
var causes = dwmac.Causes{
	RX: emac.IntRx | emac.IntRxBufUA, Starved: emac.IntRxBufUA,
	TX:        emac.IntTx,
	Fatal:     emac.IntRxDMAStop,
	TXStopped: emac.IntTxDMAStop | emac.IntTxTimeout | emac.IntTxUnderflow,
	Summary:   emac.IntRGMII,
}

// overflows counts the times that INT_STA showed an overflow of the receive FIFO,
// which latches whether enabled or not.
type overflows struct {
	mu sync.Mutex
	n  uint64
}

// look counts and clears a latched overflow.
func (o *overflows) look(regs mac.Registers) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := regs.Read32(emac.IntSta); v&emac.IntRxOverflow != 0 && v != 0xFFFFFFFF {
		regs.Write32(emac.IntSta, emac.IntRxOverflow)
		o.n++
	}
}

func (o *overflows) take() (n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, o.n = o.n, 0
	return n
}

func (c *Core) openIRQ() {
	enable := uint32(0)
	if c.glue.iface == RGMII {
		enable = emac.IntRGMII
	}
	c.irq.Open(enable)
}

// Interrupt implements mac.Core.Interrupt.
func (c *Core) Interrupt() mac.Events {
	var ev mac.Events
	status := c.irq.Interrupt(&ev)
	if status == 0xFFFFFFFF { // the device is gone: the reset that follows says so
		ev.Fatal = 1
		return ev
	}
	if status&emac.IntRxOverflow != 0 {
		c.overflows.look(c.regs)
	}
	// FreeBSD takes the bit of a stopped DMA for that of missing buffers. The state
	// of the DMA tells.
	if ev.Fatal != 0 && c.regs.Read32(emac.RxDMASta)&emac.DMAState == emac.RxSuspended {
		ev.Fatal, ev.RX, ev.Starved = 0, 1, 1
	}
	ev.Link = status&emac.IntRGMII != 0 && c.glue.iface == RGMII
	return ev
}

// Ack implements mac.Core.Ack.
func (c *Core) Ack(int) { c.irq.Ack() }

// Unmask implements mac.Core.Unmask.
func (c *Core) Unmask(int) { c.irq.UnmaskRX() }

// UnmaskTX implements mac.Core.UnmaskTX. A mark sent before may interrupt at once.
func (c *Core) UnmaskTX(int) { c.irq.UnmaskTX() }
