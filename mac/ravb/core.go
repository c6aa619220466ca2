package ravb

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
)

// Core drives one EtherAVB or GbEth. It implements mac.Core, whose comments say
// which goroutine may call what.
type Core struct {
	regs mac.Registers
	name string // the bus's name, for errors
	v    *variant
	info mac.Info
	// board is what firmware has set up for the board: clock delays and the kind of
	// PHY interface. A reset may lose it.
	board struct{ apsr, cxr31, cxr35 uint32 }
	mdio  mdioBus

	setup   mac.Setup
	mode    uint32 // CCC without OPC
	ecmr    uint32 // ECMR without TE and RE
	enabled uint32 // TE and RE as they are now
	started bool
	link    mac.Link
	rx      [etheravb.MaxQueues]*rxRing
	tx      [etheravb.MaxQueues]*txRing

	counters counters
	irq      irqState
	unknown  uint32 // causes already reported; interrupt goroutine only
}

var _ mac.Core = (*Core)(nil)

// find makes a core of what is on bus, which is to be a v. There is no version
// register: the operating mode, of which exactly one bit is set at any time, tells
// an AVB-DMAC from something else.
func find(bus mac.Bus, v *variant) (*Core, error) {
	regs, err := bus.Registers(0)
	if err != nil {
		return nil, fmt.Errorf("ravb: %s: registers: %w", bus.Name(), err)
	}
	status := regs.Read32(etheravb.CSR)
	switch {
	case status == 0 || status == 0xFFFFFFFF:
		return nil, fmt.Errorf("ravb: %s: CSR reads %#x: no MAC at this address, or its clock is off or its reset held: %w", bus.Name(), status, mac.ErrNoDevice)
	case bits.OnesCount32(status&etheravb.CSROPS) != 1:
		return nil, fmt.Errorf("ravb: %s: CSR reads %#x: no operating mode of an AVB-DMAC: %w", bus.Name(), status, mac.ErrUnsupported)
	}
	c := &Core{regs: regs, name: bus.Name(), v: v, mdio: mdioBus{regs: regs}}
	c.info = mac.Info{
		Core:       v.driver,
		Version:    v.name,
		Address:    c.readAddress(),
		RXQueues:   v.queues,
		TXQueues:   v.queues,
		RXChecksum: true,
		TXChecksum: v.toe,
		EveryFrame: true,

		AddressBits: 32,
		MaxMTU:      v.maxMTU(),
		MaxFrame:    v.maxRX,
		Ring: mac.RingLimits{
			DescriptorSize: v.rxDesc, TXDescriptorSize: etheravb.DescriptorSize,
			Align: 64, Extra: extraBytes,
			MinSlots: minSlots, MaxSlots: maxSlots,
			BufferAlign: bufferAlign, MaxBuffer: maxBuffer, MaxPiece: maxPiece, MinFrame: minFrame,
		},
	}
	if v.delays {
		c.board.apsr = regs.Read32(etheravb.APSR)
	}
	if v.toe {
		c.board.cxr31, c.board.cxr35 = regs.Read32(etheravb.CXR31), regs.Read32(etheravb.CXR35)
	}
	if c.board.cxr35&etheravb.CXR35HalfCycle == 0 { // nobody has set it up
		c.board.cxr31, c.board.cxr35 = phyInterface(bus)
	}
	return c, nil
}

// phyInterface is CXR31 and CXR35 for the kind of PHY interface that the bus knows of:
// RGMII unless it is MII.
func phyInterface(bus mac.Bus) (cxr31, cxr35 uint32) {
	cxr35 = field.Put(etheravb.CXR35HalfCycle, etheravb.HalfCycleDefault)
	if w, ok := bus.(mac.Wired); ok && w.Wiring().PHYMode == "mii" {
		return 0, cxr35 | field.Put(etheravb.CXR35SelXMII, etheravb.XMIIMII)
	}
	return etheravb.CXR31SelLink0, cxr35 | field.Put(etheravb.CXR35SelXMII, etheravb.XMIIRGMII)
}

// Info implements mac.Core.Info.
func (c *Core) Info() mac.Info { return c.info }

// MDIO implements mac.Core.MDIO.
func (c *Core) MDIO() mac.MDIO { return &c.mdio }

// SetWatchdog implements mac.Core.SetWatchdog: there is none.
func (c *Core) SetWatchdog(int, int) (int, error) {
	return 0, fmt.Errorf("ravb: receive watchdog: the core has none: %w", mac.ErrUnsupported)
}

func (c *Core) readAddress() mac.HardwareAddr {
	hi, lo := c.regs.Read32(etheravb.MAHR), c.regs.Read32(etheravb.MALR)
	return mac.HardwareAddr{byte(hi >> 24), byte(hi >> 16), byte(hi >> 8), byte(hi), byte(lo >> 8), byte(lo)}
}

func (c *Core) writeAddress(a mac.HardwareAddr) {
	c.regs.Write32(etheravb.MAHR, uint32(a[0])<<24|uint32(a[1])<<16|uint32(a[2])<<8|uint32(a[3]))
	c.regs.Write32(etheravb.MALR, uint32(a[4])<<8|uint32(a[5]))
}

// setMode asks for an operating mode and waits until the core has it.
func (c *Core) setMode(ctx context.Context, opc, bits uint32, limit time.Duration) bool {
	c.regs.Write32(etheravb.CCC, field.Put(etheravb.CCCOPC, opc)|bits)
	return c.wait(ctx, etheravb.CSR, limit, func(v uint32) bool { return v&etheravb.CSROPS == 1<<opc })
}

// wait reads register off until done likes it, for limit or until ctx ends. It
// always reads once more after the time is up, so that a wait that was not
// scheduled for long does not fail for that.
func (c *Core) wait(ctx context.Context, off uint32, limit time.Duration, done func(uint32) bool) bool {
	deadline := time.Now().Add(limit)
	for tries := 0; ; tries++ {
		late := time.Now().After(deadline) || ctx.Err() != nil
		if done(c.regs.Read32(off)) {
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
