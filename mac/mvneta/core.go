package mvneta

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/neta"
)

// Core drives one port. It implements mac.Core, whose comments say which
// goroutine may call what.
type Core struct {
	regs    mac.Registers
	bm      *manager // nil: buffers are software's
	name    string   // the bus's name, for errors
	clockHz int      // core clock, 0 when unknown
	opts    Options
	soc     soc
	info    mac.Info
	mdio    *smi

	mode     portMode
	windows  []Window
	bppiAddr uint32

	setup   mac.Setup
	started bool
	link    mac.Link
	rx      [neta.MaxQueues]*rxRing
	tx      [neta.MaxQueues]*txRing

	filter   filterState
	counters counters
	irq      interrupts
}

var (
	_ mac.Core           = (*Core)(nil)
	_ mac.FrameCoalescer = (*Core)(nil)
)

// interrupts is the copy of the mask register. Interrupt, poll and sending
// goroutines change bits of it, so the copy and the write of it go under one lock,
// which is held for one register write.
type interrupts struct {
	mu   sync.Mutex
	mask uint32
	misc uint32
	open bool // between Start and Stop
	// queues are the bits of the receive queues in use. Core.setup has them too, but
	// may change while interrupts come.
	queues uint32
}

// New finds a port on bus and reads what it can do. It writes no register and
// takes no memory, so the port may still be running as somebody else left it. The
// error wraps mac.ErrNoDevice when nothing answers. opts may be nil.
//
// No public source says what the version register may hold: it is told, and
// decides nothing.
func New(bus mac.Bus, opts *Options) (*Core, error) {
	if opts == nil {
		opts = &Options{}
	}
	regs, err := bus.Registers(0)
	if err != nil {
		return nil, fmt.Errorf("mvneta: %s: registers: %w", bus.Name(), err)
	}
	version, control := regs.Read32(neta.Version), regs.Read32(neta.GMAC0)
	if control == 0 && version == 0 || control == 0xFFFFFFFF {
		return nil, fmt.Errorf("mvneta: %s: control register reads %#x: no port at this address, or its clock is off: %w", bus.Name(), control, mac.ErrNoDevice)
	}
	c := &Core{regs: regs, name: bus.Name(), clockHz: bus.ClockHz(), opts: *opts, soc: socOf(bus), mdio: &smi{regs: regs}}
	if c.mode, err = c.findMode(); err != nil {
		return nil, err
	}
	if opts.BufferManager {
		if c.bm, err = newManager(bus, opts.Pool); err != nil {
			return nil, err
		}
		if c.bppiAddr = opts.BPPI; c.bppiAddr == 0 {
			c.bppiAddr = regs.Read32(neta.BMAddress)
		}
		if c.bppiAddr == 0 {
			return nil, fmt.Errorf("mvneta: %s: address of the buffer manager's BPPI unknown: give it as Options.BPPI: %w", c.name, mac.ErrConfig)
		}
	}
	c.findWindows()
	if len(c.windows) == 0 || len(c.windows) > neta.MaxWindows {
		return nil, fmt.Errorf("mvneta: %s: %d address windows: the port has 1 to %d; give them as Options.Windows: %w", c.name, len(c.windows), neta.MaxWindows, mac.ErrConfig)
	}
	c.describe(version)
	return c, nil
}

func (c *Core) describe(version uint32) {
	limit := c.opts.ChecksumLimit
	if limit == 0 {
		limit = c.soc.checksumLimit
	}
	c.info = mac.Info{
		Core: "mvneta", Version: fmt.Sprintf("%#x", version&neta.VersionMask),
		Address:  c.readAddress(),
		RXQueues: neta.MaxQueues, TXQueues: neta.MaxQueues,
		RXChecksum: true, TXChecksum: true,
		AddressBits: 32, MaxMTU: neta.MaxMTU, Watchdog: true,
		HashBins: 256, // of groups; further stations have no table
		Ring: mac.RingLimits{
			DescriptorSize: neta.DescriptorSize, Align: 64, MinSlots: minSlots, MaxSlots: maxSlots,
			BufferAlign: bufferAlign, MaxBuffer: maxBuffer, MaxPiece: neta.MaxPiece, Skip: neta.HeaderSize,
		},
	}
	if m := limit - headerRoom; m < neta.MaxMTU {
		c.info.ChecksumMTU = max(m, 0)
		c.info.TXChecksum = m >= minMTU
	}
	if c.bm != nil {
		c.info.Core = "mvneta-hwbm"
		c.info.RXQueues = c.bm.queues()
		c.info.Ring.Extra = poolSlots(maxSlots) * neta.PoolSlot
		c.info.Ring.Pooled, c.info.Ring.OneBuffer = true, true
	}
}

// Info implements mac.Core.Info.
func (c *Core) Info() mac.Info { return c.info }

// MDIO implements mac.Core.MDIO.
func (c *Core) MDIO() mac.MDIO { return c.mdio }

func (c *Core) readAddress() mac.HardwareAddr {
	hi, lo := c.regs.Read32(neta.MACHigh), c.regs.Read32(neta.MACLow)
	return mac.HardwareAddr{byte(hi >> 24), byte(hi >> 16), byte(hi >> 8), byte(hi), byte(lo >> 8), byte(lo)}
}

// set and clear change bits of a register of which only some are ours.
func (c *Core) set(reg, bits uint32)   { c.change(reg, 0, bits) }
func (c *Core) clear(reg, bits uint32) { c.change(reg, bits, 0) }

func (c *Core) change(reg, clear, set uint32) {
	c.regs.Write32(reg, c.regs.Read32(reg)&^clear|set)
}

// wait reads register off until done likes it, for limit or until ctx ends. It
// always reads once more after the time is up, so that a wait that was not
// scheduled for long does not fail for that.
func wait(ctx context.Context, regs mac.Registers, off uint32, limit time.Duration, done func(uint32) bool) bool {
	deadline := time.Now().Add(limit)
	for tries := 0; ; tries++ {
		late := time.Now().After(deadline) || ctx.Err() != nil
		if done(regs.Read32(off)) {
			return true
		}
		if late {
			return false
		}
		if tries > 50 {
			time.Sleep(50 * time.Microsecond)
		}
	}
}
