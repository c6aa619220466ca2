package dwxgmac2

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// Core drives one XGMAC. It implements mac.Core, whose comments say which goroutine
// may call what.
type Core struct {
	regs    mac.Registers
	name    string // the bus's name, for errors
	clockHz int    // application clock, 0 when unknown
	phyMode string // interface to the PHY in device-tree words, "" when unknown
	facts   xgmac2.Facts
	info    mac.Info
	limits  struct {
		channels  int // DMA channels present
		fifos     int // receive queues of the MTL
		classes   int // traffic classes
		rss, gmii bool
	}
	mdio *dwmac.MDIO

	setup    mac.Setup
	txConfig uint32 // MAC_Tx_Configuration without TE
	rxConfig uint32 // MAC_Rx_Configuration without RE
	enabled  bool   // TE and RE as they are now
	started  bool
	link     mac.Link
	pbl      uint32 // transmit burst in units of 8 beats
	rx       [xgmac2.MaxChannels]*rxRing
	tx       [xgmac2.MaxChannels]*dwmac.TXRing

	filter   dwmac.Filter
	counters counters

	irq     [xgmac2.MaxChannels]dwmac.Channel
	unknown uint32 // causes already reported; interrupt goroutine only
}

var _ mac.Core = (*Core)(nil)

// New finds an XGMAC on bus and reads what it can do. It writes no register and takes
// no memory, so the core may still be running as somebody else left it. The error
// wraps mac.ErrNoDevice when nothing answers and mac.ErrUnsupported when something
// else does.
func New(bus mac.Bus) (*Core, error) {
	regs, err := bus.Registers(0)
	if err != nil {
		return nil, fmt.Errorf("dwxgmac2: %s: registers: %w", bus.Name(), err)
	}
	version := regs.Read32(xgmac2.MACVersion)
	if version == 0 || version == 0xFFFFFFFF {
		return nil, fmt.Errorf("dwxgmac2: %s: version register reads %#x: no MAC at this address, or its clock is off or its reset held: %w", bus.Name(), version, mac.ErrNoDevice)
	}
	facts, ok := xgmac2.FactsFor(version)
	if !ok {
		return nil, fmt.Errorf("dwxgmac2: %s: version register reads %#x: no XGMAC: %w", bus.Name(), version, mac.ErrUnsupported)
	}
	c := &Core{regs: regs, name: bus.Name(), clockHz: bus.ClockHz(), facts: facts}
	if w, ok := bus.(mac.Wired); ok {
		c.phyMode = w.Wiring().PHYMode
	}
	c.info = mac.Info{Core: "dwxgmac2", Version: xgmac2.VersionName(version)}
	c.readFeatures()
	c.filter = dwmac.NewFilter(regs, dwmac.FilterRegisters{
		Mode:     xgmac2.MACPacketFilter,
		AddrHigh: xgmac2.AddrHigh, AddrLow: xgmac2.AddrLow, Hash: xgmac2.HashTable,
		Perfect: c.info.PerfectFilters, Bins: c.info.HashBins,
	})
	c.info.Address = c.filter.Address()
	c.counters.mmc = dwmac.NewCounters(regs, xgmac2.MMC, counterTable())
	for ch := range c.irq {
		base := xgmac2.ChanBase(ch)
		c.irq[ch].Init(regs, ch, base+xgmac2.ChanStatus, base+xgmac2.ChanIntEnable, causes())
	}
	return c, nil
}

// readFeatures decodes the feature registers (MAC_HW_Feature0 to 2).
func (c *Core) readFeatures() {
	f0 := c.regs.Read32(xgmac2.MACFeature0)
	f1 := c.regs.Read32(xgmac2.MACFeature1)
	f2 := c.regs.Read32(xgmac2.MACFeature2)
	count := func(mask uint32) int { return int(field.Get(mask, f2)) + 1 }
	rxChannels, txChannels := count(xgmac2.Feat2RxCh), count(xgmac2.Feat2TxCh)

	l := &c.limits
	l.channels = max(rxChannels, txChannels)
	l.fifos = count(xgmac2.Feat2RxQ)
	l.classes = int(field.Get(xgmac2.Feat1NumTC, f1)) + 1
	l.rss, l.gmii = f1&xgmac2.Feat1RSS != 0, f0&xgmac2.Feat0GMII != 0

	i := &c.info
	i.RXFIFO = dwmac.FIFOSize(field.Get(xgmac2.Feat1RxFIFO, f1))
	i.TXFIFO = dwmac.FIFOSize(field.Get(xgmac2.Feat1TxFIFO, f1))
	i.RXQueues = rxChannels
	if !l.rss {
		i.RXQueues = dwmac.UsableQueues(min(l.fifos, rxChannels), i.RXFIFO)
	}
	i.TXQueues = dwmac.UsableQueues(min(count(xgmac2.Feat2TxQ), txChannels), i.TXFIFO)
	i.RXChecksum = f0&xgmac2.Feat0RxCOE != 0
	i.TXChecksum = f0&xgmac2.Feat0TxCOE != 0
	i.TSO = f1&xgmac2.Feat1TSO != 0
	i.PerfectFilters = min(int(field.Get(xgmac2.Feat0Addr, f0)), xgmac2.MaxAddr-1)
	if n := field.Get(xgmac2.Feat1Hash, f1); n > 0 {
		i.HashBins = 32 << n
	}
	i.AddressBits = 32
	if n := field.Get(xgmac2.Feat1Addr64, f1); n == 1 || n == 2 {
		i.AddressBits = 32 + 8*int(n)
	}
	i.MaxMTU = dwmac.MaxMTU(i.TXFIFO, largestMTU)
	i.Watchdog, i.RXUsecs = true, rxUsecs
	i.Ring = mac.RingLimits{
		DescriptorSize: dwregs.DescriptorSize, Align: 16,
		MinSlots: dwmac.MinSlots, MaxSlots: maxSlots, Reserve: dwmac.Reserve,
		BufferAlign: bufferAlign, MaxBuffer: maxBuffer, MaxPiece: dwmac.MaxPiece,
		TotalLength: true,
	}
	if i.TSO {
		i.Ring.ContextSlots = 2 // MSS context, and headers apart from the payload
	}
	if f0&xgmac2.Feat0SMA != 0 {
		c.mdio = newMDIO(c.regs, c.clockHz, c.facts.Clause22PHYs)
	}
	c.counters.present = f0&xgmac2.Feat0MMC != 0
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

// SetFilter implements mac.Core.SetFilter.
func (c *Core) SetFilter(f mac.Filter) error {
	c.filter.Set(f)
	return nil
}
