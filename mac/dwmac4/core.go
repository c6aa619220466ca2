package dwmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// Core drives one GMAC4 or GMAC5. It implements mac.Core, whose comments say
// which goroutine may call what.
type Core struct {
	regs    mac.Registers
	name    string // the bus's name, for errors
	clockHz int    // application clock, 0 when unknown
	facts   gmac4.Facts
	info    mac.Info
	limits  struct {
		channels      int    // DMA channels present
		phy           uint32 // active PHY interface
		mii, gmii, hd bool   // 10/100, 1000, half duplex
	}
	mdio *dwmac.MDIO

	setup   mac.Setup
	config  uint32 // MAC_Configuration without TE and RE
	enabled uint32 // TE and RE as they are now
	started bool
	link    mac.Link
	pbl     uint32 // transmit burst in units of 8 beats
	rx      [gmac4.MaxChannels]*rxRing
	tx      [gmac4.MaxChannels]*dwmac.TXRing

	filter   dwmac.Filter
	counters counters
	maxShift uint // of the watchdog, see probeWatchdog

	irq     [gmac4.MaxChannels]dwmac.Channel
	unknown uint32 // causes already reported; interrupt goroutine only
}

var _ mac.Core = (*Core)(nil)

// New finds a GMAC4 or GMAC5 on bus and reads what it can do. It writes no
// register and takes no memory, so the core may still be running as somebody
// else left it. The error wraps mac.ErrNoDevice when nothing answers and
// mac.ErrUnsupported when something else does.
func New(bus mac.Bus) (*Core, error) {
	regs, err := bus.Registers(0)
	if err != nil {
		return nil, fmt.Errorf("dwmac4: %s: registers: %w", bus.Name(), err)
	}
	version := regs.Read32(gmac4.MACVersion)
	if version == 0 || version == 0xFFFFFFFF {
		return nil, fmt.Errorf("dwmac4: %s: version register reads %#x: no MAC at this address, or its clock is off or its reset held: %w", bus.Name(), version, mac.ErrNoDevice)
	}
	facts, ok := gmac4.FactsFor(version)
	if !ok {
		return nil, fmt.Errorf("dwmac4: %s: version register reads %#x: neither GMAC4 nor GMAC5: %w", bus.Name(), version, mac.ErrUnsupported)
	}
	c := &Core{regs: regs, name: bus.Name(), clockHz: bus.ClockHz(), facts: facts}
	c.info = mac.Info{
		Core:    "dwmac4",
		Version: gmac4.VersionName(version),
	}
	c.readFeatures()
	c.filter = c.newFilter()
	c.info.Address = c.filter.Address()
	c.counters.mmc = dwmac.NewCounters(regs, gmac4.MMC, dwmac.MMC())
	for ch := range c.irq {
		base := gmac4.ChanBase(ch)
		c.irq[ch].Init(regs, ch, base+gmac4.ChanStatus, base+gmac4.ChanIntEnable, causes)
	}
	return c, nil
}

// readFeatures decodes the feature registers (MAC_HW_Feature0 to 2).
func (c *Core) readFeatures() {
	f0 := c.regs.Read32(gmac4.MACFeature0)
	f1 := c.regs.Read32(gmac4.MACFeature1)
	f2 := c.regs.Read32(gmac4.MACFeature2)
	count := func(mask uint32) int { return int(field.Get(mask, f2)) + 1 }
	rxChannels, txChannels := count(gmac4.Feat2RxCh), count(gmac4.Feat2TxCh)

	l := &c.limits
	l.channels = min(max(rxChannels, txChannels), gmac4.MaxChannels)
	l.phy = field.Get(gmac4.Feat0ActPHY, f0)
	l.mii, l.gmii, l.hd = f0&gmac4.Feat0MII != 0, f0&gmac4.Feat0GMII != 0, f0&gmac4.Feat0HD != 0

	i := &c.info
	i.RXFIFO = dwmac.FIFOSize(field.Get(gmac4.Feat1RxFIFO, f1))
	i.TXFIFO = dwmac.FIFOSize(field.Get(gmac4.Feat1TxFIFO, f1))
	i.RXQueues = dwmac.UsableQueues(min(count(gmac4.Feat2RxQ), rxChannels, gmac4.MaxQueues), i.RXFIFO)
	i.TXQueues = dwmac.UsableQueues(min(count(gmac4.Feat2TxQ), txChannels, gmac4.MaxQueues), i.TXFIFO)
	i.RXChecksum = f0&gmac4.Feat0RxCOE != 0
	i.TXChecksum = f0&gmac4.Feat0TxCOE != 0
	i.TSO = f1&gmac4.Feat1TSO != 0
	i.PerfectFilters = perfectFilters(f0)
	if n := field.Get(gmac4.Feat1Hash, f1); n > 0 {
		i.HashBins = 32 << n
	}
	i.AddressBits = 32
	if n := field.Get(gmac4.Feat1Addr64, f1); n == 1 || n == 2 {
		i.AddressBits = 32 + 8*int(n)
	}
	i.MaxMTU = dwmac.MaxMTU(i.TXFIFO, jumboMTU)
	i.Watchdog = true
	i.Ring = mac.RingLimits{
		DescriptorSize: dwregs.DescriptorSize, Align: 16,
		MinSlots: dwmac.MinSlots, MaxSlots: maxSlots, Reserve: dwmac.Reserve,
		BufferAlign: dwmac.BufferAlign, MaxBuffer: maxBuffer, MaxPiece: dwmac.MaxPiece,
		TotalLength: true,
	}
	if i.TSO {
		i.Ring.ContextSlots = 2 // MSS context, and headers apart from the payload
	}
	if f0&gmac4.Feat0SMA != 0 {
		c.mdio = newMDIO(c.regs, c.clockHz)
	}
	c.counters.present = f0&gmac4.Feat0MMC != 0
}

// perfectFilters is the number of exact address slots beside the own one.
func perfectFilters(f0 uint32) int {
	n := int(field.Get(gmac4.Feat0Addr, f0))
	if f0&gmac4.Feat0Addr32 != 0 {
		n += 32
	}
	if f0&gmac4.Feat0Addr64 != 0 {
		n += 64
	}
	return n
}

// Info implements mac.Core.Info.
func (c *Core) Info() mac.Info { return c.info }

// MDIO implements mac.Core.MDIO.
func (c *Core) MDIO() mac.MDIO {
	if c.mdio == nil {
		return nil
	}
	return c.mdio
}
