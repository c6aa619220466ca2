package dwmac1000

import (
	"context"
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

// Core drives one GMAC 3.x. It implements mac.Core, whose comments say which
// goroutine may call what.
type Core struct {
	regs     mac.Registers
	name     string // the bus's name, for errors
	clockHz  int    // application clock, 0 when unknown
	facts    gmac3.Facts
	platform Platform
	info     mac.Info
	format   format
	limits   struct {
		phy           uint32 // active PHY interface
		mii, gmii, hd bool   // 10/100, 1000, half duplex
	}
	mdio *dwmac.MDIO

	setup   mac.Setup
	config  uint32 // MAC_Configuration without TE and RE
	enabled uint32 // TE and RE as they are now
	opMode  uint32 // Operation_Mode without ST and SR
	started bool
	link    mac.Link
	rx      *rxRing
	tx      *txRing

	filter   dwmac.Filter
	counters counters
	irq      dwmac.Channel
	unknown  uint32 // causes already reported; interrupt goroutine only
}

var _ mac.Core = (*Core)(nil)

// Open finds a GMAC 3.x on bus and makes a device of it, reset and programmed,
// which an endpoint then starts. cfg may be nil. The device owns the bus; on
// failure it is closed.
func Open(ctx context.Context, bus mac.Bus, cfg *mac.Config) (*mac.Device, error) {
	return mac.Open(ctx, bus, cfg, Driver())
}

// New finds a GMAC 3.x on bus, on the platform that the bus's compatible names say,
// and reads what it can do. It writes no register and takes no memory, so the core
// may still be running as somebody else left it. The error wraps mac.ErrNoDevice
// when nothing answers and mac.ErrUnsupported when something else does.
func New(bus mac.Bus) (*Core, error) {
	return NewCore(bus, PlatformFor(bus.Compatible()...))
}

// NewCore is New for a platform that the driver does not know by name.
func NewCore(bus mac.Bus, p Platform) (*Core, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	regs, err := bus.Registers(0)
	if err != nil {
		return nil, fmt.Errorf("dwmac1000: %s: registers: %w", bus.Name(), err)
	}
	version := regs.Read32(gmac3.MACVersion)
	if version == 0 || version == 0xFFFFFFFF {
		return nil, fmt.Errorf("dwmac1000: %s: version register reads %#x: no MAC at this address, or its clock is off or its reset held: %w", bus.Name(), version, mac.ErrNoDevice)
	}
	facts, ok := gmac3.FactsFor(version)
	if !ok {
		return nil, fmt.Errorf("dwmac1000: %s: version register reads %#x: no GMAC 3.x: %w", bus.Name(), version, mac.ErrUnsupported)
	}
	c := &Core{regs: regs, name: bus.Name(), clockHz: bus.ClockHz(), facts: facts, platform: p}
	c.info = mac.Info{
		Core: "dwmac1000", Version: gmac3.VersionName(version),
		RXQueues: 1, TXQueues: 1, AddressBits: 32,
		RXFIFO: p.RXFIFO, TXFIFO: p.TXFIFO,
		Watchdog: facts.Watchdog && !p.NoWatchdog,
	}
	// Without a watchdog nothing would tell of a frame that does not interrupt.
	c.info.EveryFrame = !c.info.Watchdog
	c.readFeatures()
	c.setLimits()
	c.filter = dwmac.NewFilter(regs, dwmac.FilterRegisters{
		Mode:     gmac3.MACFilter,
		AddrHigh: gmac3.AddrHigh, AddrLow: gmac3.AddrLow,
		Hash:    func(n int) uint32 { return gmac3.HashTable(c.info.HashBins, n) },
		Perfect: c.info.PerfectFilters, Bins: c.info.HashBins,
	})
	c.info.Address = c.filter.Address()
	c.counters.mmc = dwmac.NewCounters(regs, gmac3.MMC, dwmac.MMC())
	c.irq.Init(regs, 0, gmac3.DMAStatus, gmac3.DMAIntEnable, causes)
	return c, nil
}

func (p *Platform) check() error {
	refuse := func(what string, got int, want string) error {
		return fmt.Errorf("dwmac1000: platform: %s %d: takes %s: %w", what, got, want, mac.ErrConfig)
	}
	switch bins := p.HashBins; {
	case p.RXFIFO < 0 || p.TXFIFO < 0:
		return refuse("FIFO size", min(p.RXFIFO, p.TXFIFO), "0 and more")
	case bins > 0 && bins != 64 && bins != 128 && bins != 256:
		return refuse("hash bins", bins, "64, 128 and 256")
	case p.Addresses < 0 || p.Addresses > gmac3.MaxAddrs:
		return refuse("address slots", p.Addresses, "0 to 32")
	case p.Burst < 0 || p.Burst > 32 || p.Burst&(p.Burst-1) != 0:
		return refuse("burst", p.Burst, "powers of two up to 32")
	}
	return nil
}

// readFeatures decodes HW_Feature, or what stands in for it.
func (c *Core) readFeatures() {
	f := c.regs.Read32(gmac3.DMAFeature)
	if f == 0 {
		f = c.platform.Features.register()
	}
	c.limits.phy = field.Get(gmac3.FeatActPHY, f)
	c.limits.mii, c.limits.gmii, c.limits.hd = f&gmac3.FeatMII != 0, f&gmac3.FeatGMII != 0, f&gmac3.FeatHD != 0
	c.format = formatFor(f&gmac3.FeatEnhDesc != 0, c.facts.Extended, c.platform.Chained)

	i := &c.info
	i.RXChecksum = f&gmac3.FeatRxCOE2 != 0
	i.TXChecksum = f&gmac3.FeatTxCOE != 0
	i.HashBins = c.platform.HashBins
	if i.HashBins == 0 && f&gmac3.FeatHash != 0 && f&gmac3.FeatExtHash == 0 {
		i.HashBins = 64
	}
	i.HashBins = max(i.HashBins, 0)
	i.PerfectFilters = c.platform.Addresses - 1
	if c.platform.Addresses == 0 {
		i.PerfectFilters = int(field.Get(gmac3.FeatAddr, f))
	}
	if f&gmac3.FeatSMA != 0 {
		c.mdio = newMDIO(c.regs, c.clockHz)
	}
	c.counters.present = f&gmac3.FeatMMC != 0
}

// register is the features as HW_Feature would have them.
func (f Features) register() uint32 {
	v := gmac3.FeatMII | gmac3.FeatGMII | gmac3.FeatHD | gmac3.FeatHash | gmac3.FeatSMA
	for _, x := range [...]struct {
		on  bool
		bit uint32
	}{
		{f.Enhanced, gmac3.FeatEnhDesc}, {f.RXChecksum, gmac3.FeatRxCOE2},
		{f.TXChecksum, gmac3.FeatTxCOE}, {f.Counters, gmac3.FeatMMC},
	} {
		if x.on {
			v |= x.bit
		}
	}
	return v
}

func (c *Core) setLimits() {
	i := &c.info
	i.MaxMTU = jumboMTU
	if !c.format.enhanced {
		i.MaxMTU = normalMTU
	}
	if i.TXChecksum {
		if i.ChecksumMTU = c.platform.ChecksumMTU; i.ChecksumMTU == 0 {
			i.ChecksumMTU = checksumMTU(i.TXFIFO, c.burst())
		}
	}
	i.Ring = mac.RingLimits{
		DescriptorSize: c.format.size(), Align: 16,
		MinSlots: minSlots, MaxSlots: maxSlots,
		BufferAlign: busWidth, MaxBuffer: c.format.maxBuffer, MaxPiece: c.format.maxPiece,
		TotalLength: true,
	}
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

// newMDIO is the PHY management interface (GMII_Address, GMII_Data) at an
// application clock of hz. It has clause 22 only.
func newMDIO(regs mac.Registers, hz int) *dwmac.MDIO {
	if hz <= 0 {
		hz = unknownHz
	}
	var err error
	cr, ok := dwmac.ClockRange(hz)
	if !ok {
		err = fmt.Errorf("dwmac1000: MDIO: application clock of %d Hz: no divider keeps MDC at 2.5 MHz or below: %w", hz, mac.ErrUnsupported)
	}
	return dwmac.NewMDIO("dwmac1000", regs, dwmac.MDIORegisters{
		First: gmac3.MACMIIData, Start: gmac3.MACMIIAddr, Data: gmac3.MACMIIData, Busy: gmac3.MIIGB,
		NoClause45: true,
		Encode: func(op dwmac.MDIOOp) (data, addr uint32) {
			addr = field.Put(gmac3.MIICR, cr) | field.Put(gmac3.MIIPA, op.PHY) | field.Put(gmac3.MIIGR, op.Register)
			if op.Write {
				addr |= gmac3.MIIGW
			}
			return uint32(op.Value), addr
		},
	}, err)
}

// unknownHz stands in for an application clock that nobody knows: the largest
// divider that every version has is right up to 300 MHz.
const unknownHz = 300e6 - 1

// SetFilter implements mac.Core.SetFilter.
func (c *Core) SetFilter(f mac.Filter) error {
	c.filter.Set(f)
	return nil
}
