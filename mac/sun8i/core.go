package sun8i

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/emac"
)

// Core drives one EMAC. It implements mac.Core, whose comments say which goroutine
// may call what.
type Core struct {
	regs mac.Registers
	name string // the bus's name, for errors
	info mac.Info
	glue glue
	mdio *dwmac.MDIO

	setup   mac.Setup
	started bool
	link    mac.Link
	rx      *rxRing
	tx      *txRing

	filter    dwmac.Filter
	irq       dwmac.Channel
	overflows overflows
}

var _ mac.Core = (*Core)(nil)

// Sizes that Linux states; nothing tells them.
const (
	rxFIFO = 16 << 10
	txFIFO = 4 << 10
)

// New is NewBoard for a board that firmware or kernel has set up.
func New(bus mac.Bus) (*Core, error) { return NewBoard(bus, Board{}) }

// NewBoard finds an EMAC on bus, wired up as board says. It writes no register and
// takes no memory, so the core may still be running as somebody else left it.
//
// The error wraps mac.ErrNoDevice when registers read all zeros or all ones, which
// is all that can be found out: whether what answers is this core, its driver
// cannot know. It wraps mac.ErrConfig when the SoC cannot be wired up like that.
func NewBoard(bus mac.Bus, board Board) (*Core, error) {
	regs, err := bus.Registers(0)
	if err != nil {
		return nil, fmt.Errorf("sun8i: %s: registers: %w", bus.Name(), err)
	}
	c := &Core{regs: regs, name: bus.Name(), mdio: newMDIO(regs, bus.ClockHz())}
	if err := c.glue.find(bus, board); err != nil {
		return nil, fmt.Errorf("sun8i: %s: %w", c.name, err)
	}
	c.info = mac.Info{
		Core:     "sun8i",
		Version:  c.glue.soc.Name,
		RXQueues: 1, TXQueues: 1,
		RXChecksum: true, TXChecksum: true,
		PerfectFilters: emac.AddrSlots - 1,
		AddressBits:    32,
		MaxMTU:         maxMTU,
		RXFIFO:         rxFIFO, TXFIFO: txFIFO,
		EveryFrame: true,
		Ring: mac.RingLimits{
			DescriptorSize: emac.DescriptorSize, Align: emac.DescriptorSize,
			MinSlots: minSlots, MaxSlots: maxSlots,
			BufferAlign: bufferAlign, MaxBuffer: maxBuffer, MaxPiece: emac.MaxBuffer,
			TotalLength: true,
		},
	}
	c.filter = c.newFilter()
	c.irq.Init(regs, 0, emac.IntSta, emac.IntEn, causes)
	if c.glue.gated() {
		return c, nil // registers read nothing until Reset opens the gate
	}
	// The burst length is never 0, neither after a reset nor as any driver sets it.
	if v := regs.Read32(emac.BasicCtl1); v == 0 || v == 0xFFFFFFFF {
		return nil, fmt.Errorf("sun8i: %s: BASIC_CTL1 reads %#x: no MAC at this address, or its clock is off or its reset held: %w", c.name, v, mac.ErrNoDevice)
	}
	c.info.Address = c.filter.Address()
	return c, nil
}

// Info implements mac.Core.Info. Version is the SoC.
func (c *Core) Info() mac.Info { return c.info }

// MDIO implements mac.Core.MDIO.
func (c *Core) MDIO() mac.MDIO { return c.mdio }

// Counters implements mac.Core.Counters. The core counts nothing. That its receive
// FIFO has overflowed is latched in INT_STA: RXOverflow is how often it was found
// there, each time for one frame or many.
func (c *Core) Counters(out *mac.Counters) {
	if c.started {
		c.overflows.look(c.regs)
	}
	out.RXOverflow += c.overflows.take()
}
