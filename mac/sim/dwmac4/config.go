package dwmac4

import (
	"math/bits"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Config says how the modelled core was synthesised and how the model runs. The
// zero value is a GMAC 5.10 with one queue and all offloads.
type Config struct {
	// Version is MAC_Version[7:0]: 0x40 to 0x53. 0 means 0x51.
	Version uint8
	// Queues is the number of queues and channels each way, 1 to 8. 0 means 1.
	Queues int
	// MACAddress is what firmware left in address register 0. It is lost at
	// reset.
	MACAddress mac.HardwareAddr
	// RXFIFO and TXFIFO are in bytes, powers of two from 128. 0 means 16 KiB.
	RXFIFO, TXFIFO int
	// NoRXChecksum, NoTXChecksum, NoTSO and NoMMC leave out those engines.
	NoRXChecksum, NoTXChecksum, NoTSO, NoMMC bool
	// HashBins is the size of the hash filter: 64, 128 or 256. 0 means 64, less
	// than 0 no hash filter.
	HashBins int
	// PerfectSlots is the number of perfect filters beside the own address: 0 to
	// 31, 63 or 127. 0 means 3, less than 0 none.
	PerfectSlots int
	// AddressBits is the width of DMA addresses: 32, 40 or 48. 0 means 40.
	AddressBits int
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
	// InBandLink has the link state in MAC_PHYIF_Control_Status, with an
	// interrupt (RGMII in-band status).
	InBandLink bool
	// PHYAddress is the address of the PHY on the MDIO bus, 1 to 31. 0 means 1,
	// less than 0 no PHY.
	PHYAddress int
	// PHY is which PHY it is. It runs on the core's clock when it has none.
	PHY phy.Config
	// JunkLengths has descriptors that are not a frame's last hold junk instead
	// of the bytes so far in their length field.
	JunkLengths bool
	// AnyLinkChange accepts a change of speed or duplex while the MAC runs, which
	// is a violation otherwise. Linux's driver makes it at each link-up.
	AnyLinkChange bool
	// CheckArmed looks, with each tail write, for armed receive buffers that
	// share bytes, and records them as violations.
	CheckArmed bool
}

func (c Config) withDefaults() Config {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if c.Version == 0 {
		c.Version = 0x51
	}
	def(&c.Queues, 1)
	c.Queues = min(max(c.Queues, 1), gmac4.MaxQueues)
	def(&c.RXFIFO, 16<<10)
	def(&c.TXFIFO, 16<<10)
	def(&c.HashBins, 64)
	c.HashBins = max(c.HashBins, 0)
	def(&c.PerfectSlots, 3)
	c.PerfectSlots = min(max(c.PerfectSlots, 0), 127)
	def(&c.AddressBits, 40)
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
	return c
}

// Build makes the model that c and b ask for. Its link is in band, so that a driver
// sees it.
func (c Config) Build(b sim.Build) sim.Model {
	if b.Address != (mac.HardwareAddr{}) {
		c.MACAddress = b.Address
	}
	c.Queues = max(c.Queues, b.Queues)
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

// features are MAC_HW_Feature0 to 3.
func (c Config) features() (f [4]uint32) {
	set := func(on bool, bit uint32) uint32 {
		if on {
			return bit
		}
		return 0
	}
	f[0] = gmac4.Feat0MII | gmac4.Feat0GMII | gmac4.Feat0HD | gmac4.Feat0SMA |
		set(!c.NoMMC, gmac4.Feat0MMC) | set(!c.NoTXChecksum, gmac4.Feat0TxCOE) | set(!c.NoRXChecksum, gmac4.Feat0RxCOE) |
		field.Put(gmac4.Feat0Addr, uint32(min(c.PerfectSlots, 31))) |
		set(c.PerfectSlots == 63 || c.PerfectSlots == 127, gmac4.Feat0Addr32) | set(c.PerfectSlots == 127, gmac4.Feat0Addr64) |
		field.Put(gmac4.Feat0ActPHY, gmac4.ActPHYRGMII)
	f[1] = field.Put(gmac4.Feat1RxFIFO, fifoCode(c.RXFIFO)) | field.Put(gmac4.Feat1TxFIFO, fifoCode(c.TXFIFO)) |
		set(c.AddressBits > 32, 1<<14) | set(!c.NoTSO, gmac4.Feat1TSO) | set(c.Queues > 1, gmac4.Feat1DCB)
	if c.AddressBits > 40 {
		f[1] = f[1]&^gmac4.Feat1Addr64 | 2<<14
	}
	switch {
	case c.HashBins >= 256:
		f[1] |= field.Put(gmac4.Feat1Hash, 3)
	case c.HashBins >= 128:
		f[1] |= field.Put(gmac4.Feat1Hash, 2)
	case c.HashBins >= 64:
		f[1] |= field.Put(gmac4.Feat1Hash, 1)
	}
	q := uint32(c.Queues - 1)
	f[2] = field.Put(gmac4.Feat2RxQ, q) | field.Put(gmac4.Feat2TxQ, q) | field.Put(gmac4.Feat2RxCh, q) | field.Put(gmac4.Feat2TxCh, q)
	return f
}

// fifoCode is n in 128 << n bytes.
func fifoCode(size int) uint32 { return uint32(max(bits.Len(uint(size))-8, 0)) }
