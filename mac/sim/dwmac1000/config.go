package dwmac1000

import (
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Config says how the modelled core was synthesised and how the model runs. The
// zero value is a GMAC 3.70 with enhanced descriptors and both checksum engines.
type Config struct {
	// Version is the low byte of the version register: 0x30 to 0x37. 0 means 0x37.
	Version uint8
	// NormalDescriptors leaves out enhanced ones.
	NormalDescriptors bool
	// NoFeatures has the feature register read 0, as on cores that have none.
	NoFeatures bool
	// Names are the compatible names. nil means those of the version.
	Names []string
	// MACAddress is what firmware left in address register 0. It is lost at
	// reset.
	MACAddress mac.HardwareAddr
	// RXFIFO and TXFIFO are in bytes. 0 means 16 KiB. No register shows them.
	RXFIFO, TXFIFO int
	// RXChecksum is the type of the receive checksum engine, 1 or 2. 0 means 2,
	// less than 0 none.
	RXChecksum int
	// NoTXChecksum and NoMMC leave out those engines.
	NoTXChecksum, NoMMC bool
	// HashBins is the size of the hash filter: 64, 128 or 256. 0 means 64, less
	// than 0 no hash filter.
	HashBins int
	// PerfectSlots is the number of perfect filters beside the own address, 1 to
	// 31. 0 means 7, less than 0 none.
	PerfectSlots int
	// ClockHz is the application clock. 0 means 125 MHz.
	ClockHz int
	// Clock is the time the model runs on. nil means the system's.
	Clock sim.Clock
	// SlowReset is how long a reset takes that sim.SlowReset makes slow. 0 means
	// 90 ms.
	SlowReset time.Duration
	// Seed seeds faults and junk.
	Seed uint64
	// Inline has all DMA done inside the register write or the delivery that
	// allows it, so that a run is the same each time. Otherwise goroutines of
	// the model do it.
	Inline bool
	// InBandLink has the link state in the RGMII status register, with an
	// interrupt.
	InBandLink bool
	// PHYAddress is the address of the PHY on the MDIO bus, 1 to 31. 0 means 1,
	// less than 0 no PHY.
	PHYAddress int
	// PHY is which PHY it is. It runs on the core's clock when it has none.
	PHY phy.Config

	// What follows are liberties that some cores take and drivers must bear.

	// StaysSuspended has receive DMA that ran out of descriptors go on after a
	// poll demand only, and not with the next frame.
	StaysSuspended bool
	// Overwrites has write-backs spoil every word that a time stamp may take, and
	// control bits beside status.
	Overwrites bool
	// SummarySums has the error summary of received frames cover checksums.
	SummarySums bool
	// VouchesForAll has descriptors of four words say of packets that the checksum
	// engine does not know, and of what is no IP, what they say of good ones. The
	// manual has marks for those, but frames with them are dropped by Linux's driver.
	VouchesForAll bool
	// JunkLengths has descriptors that are not a frame's last hold junk instead
	// of the bytes so far in their length field.
	JunkLengths bool

	// AnyLinkChange accepts a change of speed or duplex while the MAC runs, which
	// is a violation otherwise. Linux's driver makes it at each link-up.
	AnyLinkChange bool
	// CheckArmed looks, with each receive poll demand, for armed receive buffers
	// that share bytes, and records them as violations.
	CheckArmed bool
}

func (c Config) withDefaults() Config {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if c.Version == 0 {
		c.Version = 0x37
	}
	def(&c.RXFIFO, 16<<10)
	def(&c.TXFIFO, 16<<10)
	def(&c.RXChecksum, 2)
	def(&c.HashBins, 64)
	c.HashBins = max(c.HashBins, 0)
	def(&c.PerfectSlots, 7)
	c.PerfectSlots = min(max(c.PerfectSlots, 0), gmac3.MaxAddrs-1)
	def(&c.ClockHz, 125_000_000)
	def(&c.PHYAddress, 1)
	if c.Clock == nil {
		c.Clock = sim.RealClock{}
	}
	if c.SlowReset == 0 {
		c.SlowReset = 90 * time.Millisecond
	}
	if c.PHY.Clock == nil {
		c.PHY.Clock = c.Clock
	}
	if c.Names == nil {
		c.Names = []string{"snps,dwmac-" + gmac3.VersionName(uint32(c.Version)) + "a", "snps,dwmac"}
	}
	return c
}

// Build makes the model that c and b ask for. Its link is in band, so that a driver
// sees it. There is one queue, whatever b says.
func (c Config) Build(b sim.Build) sim.Model {
	if b.Address != (mac.HardwareAddr{}) {
		c.MACAddress = b.Address
	}
	if b.FIFO > 0 {
		c.RXFIFO, c.TXFIFO = b.FIFO, b.FIFO
	}
	if b.Clock != nil {
		c.Clock = b.Clock
	}
	if b.Seed != 0 {
		c.Seed = b.Seed
	}
	c.Inline = c.Inline || b.Inline
	c.CheckArmed = c.CheckArmed || b.CheckArmed
	c.InBandLink = true
	return New(c)
}

// features is HW_Feature.
func (c Config) features() uint32 {
	if c.NoFeatures {
		return 0
	}
	v := gmac3.FeatMII | gmac3.FeatGMII | gmac3.FeatHD | gmac3.FeatSMA | field.Put(gmac3.FeatActPHY, gmac3.ActPHYRGMII)
	for _, x := range [...]struct {
		on  bool
		bit uint32
	}{
		{c.HashBins >= 64, gmac3.FeatHash}, {c.HashBins > 64, gmac3.FeatExtHash}, {c.PerfectSlots > 0, gmac3.FeatAddr},
		{!c.NoMMC, gmac3.FeatMMC}, {!c.NoTXChecksum, gmac3.FeatTxCOE}, {c.RXChecksum == 1, gmac3.FeatRxCOE1},
		{c.RXChecksum == 2, gmac3.FeatRxCOE2}, {c.RXFIFO > 2048, gmac3.FeatRxFIFO}, {!c.NormalDescriptors, gmac3.FeatEnhDesc},
	} {
		if x.on {
			v |= x.bit
		}
	}
	return v
}
