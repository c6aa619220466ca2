package dwxgmac2

import (
	"math/bits"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Config says how the modelled core was synthesised and how the model runs. The
// zero value is an XGMAC 2.20 with one queue and all offloads, on a link of 10
// Gbit/s.
type Config struct {
	// Version is MAC_Version[7:0]: 0x20 to 0x3f. 0 means 0x22.
	Version uint8
	// Queues is the number of DMA channels and of transmit queues, 1 to 16. 0 means 1.
	Queues int
	// RXQueues is the number of receive queues of the MTL. 0 means Queues.
	RXQueues int
	// MACAddress is what firmware left in address register 0. It is lost at
	// reset.
	MACAddress mac.HardwareAddr
	// RXFIFO and TXFIFO are in bytes, powers of two from 128. 0 means 64 KiB.
	RXFIFO, TXFIFO int
	// NoRXChecksum, NoTXChecksum, NoTSO, NoMMC and NoRSS leave out those engines.
	NoRXChecksum, NoTXChecksum, NoTSO, NoMMC, NoRSS bool
	// NoGMII leaves out 1 Gbit/s and what is slower.
	NoGMII bool
	// HashBins is the size of the hash filter: 64, 128 or 256. 0 means 64, less
	// than 0 no hash filter.
	HashBins int
	// PerfectSlots is the number of perfect filters beside the own address, up to
	// 31. 0 means 3, less than 0 none.
	PerfectSlots int
	// AddressBits is the width of DMA addresses: 32, 40 or 48. 0 means 40.
	AddressBits int
	// ClockHz is the application clock. 0 means 250 MHz.
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
	// PHYAddress is the address of the PHY on the MDIO bus, 0 to 31. 0 means 1, less
	// than 0 no PHY.
	PHYAddress int
	// PHY is which PHY it is. It runs on the core's clock when it has none, and can do
	// up to 10 Gbit/s when it says nothing.
	PHY phy.Config
	// Link is the link at first. Zero means 10 Gbit/s.
	Link mac.Link
	// JunkLengths has descriptors that are not a frame's last hold junk instead
	// of the bytes so far in their length field.
	JunkLengths bool
	// Contexts has a context follow every frame, as with time stamps on.
	// LateContexts has it written when the next thing happens.
	Contexts, LateContexts bool
	// AnyLinkChange accepts a change of speed while the MAC runs, which is a
	// violation otherwise. Linux's driver makes it at each link-up.
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
		c.Version = 0x22
	}
	def(&c.Queues, 1)
	c.Queues = min(max(c.Queues, 1), xgmac2.MaxChannels)
	def(&c.RXQueues, c.Queues)
	c.RXQueues = min(max(c.RXQueues, 1), xgmac2.MaxQueues)
	def(&c.RXFIFO, 64<<10)
	def(&c.TXFIFO, 64<<10)
	def(&c.HashBins, 64)
	c.HashBins = max(c.HashBins, 0)
	def(&c.PerfectSlots, 3)
	c.PerfectSlots = min(max(c.PerfectSlots, 0), xgmac2.MaxAddr-1)
	def(&c.AddressBits, 40)
	def(&c.ClockHz, 250_000_000)
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
	if c.PHY.Modes == 0 {
		c.PHY.Modes = phy.UpTo1000 | phy.Mode2500 | phy.Mode5000 | phy.Mode10000
	}
	if c.Link == (mac.Link{}) {
		c.Link = mac.Link{Up: true, Speed: 10_000, FullDuplex: true}
	}
	return c
}

// Build makes the model that c and b ask for, on a link of 1 Gbit/s, which a program
// gives to a core that does not see its own.
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
	if c.Link == (mac.Link{}) {
		c.Link = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
	}
	return New(c)
}

// features are MAC_HW_Feature0 to 2.
func (c Config) features() (f [3]uint32) {
	set := func(on bool, bit uint32) uint32 {
		if on {
			return bit
		}
		return 0
	}
	f[0] = xgmac2.Feat0SMA | set(!c.NoGMII, xgmac2.Feat0GMII) |
		set(!c.NoMMC, xgmac2.Feat0MMC) | set(!c.NoTXChecksum, xgmac2.Feat0TxCOE) | set(!c.NoRXChecksum, xgmac2.Feat0RxCOE) |
		field.Put(xgmac2.Feat0Addr, uint32(c.PerfectSlots))
	f[1] = field.Put(xgmac2.Feat1RxFIFO, fifoCode(c.RXFIFO)) | field.Put(xgmac2.Feat1TxFIFO, fifoCode(c.TXFIFO)) |
		set(!c.NoTSO, xgmac2.Feat1TSO) | set(c.Queues > 1, xgmac2.Feat1DCB) | set(!c.NoRSS, xgmac2.Feat1RSS) |
		field.Put(xgmac2.Feat1NumTC, uint32(min(c.Queues, 8)-1))
	switch {
	case c.AddressBits > 40:
		f[1] |= field.Put(xgmac2.Feat1Addr64, 2)
	case c.AddressBits > 32:
		f[1] |= field.Put(xgmac2.Feat1Addr64, 1)
	}
	switch {
	case c.HashBins >= 256:
		f[1] |= field.Put(xgmac2.Feat1Hash, 3)
	case c.HashBins >= 128:
		f[1] |= field.Put(xgmac2.Feat1Hash, 2)
	case c.HashBins >= 64:
		f[1] |= field.Put(xgmac2.Feat1Hash, 1)
	}
	q := uint32(c.Queues - 1)
	f[2] = field.Put(xgmac2.Feat2RxQ, uint32(c.RXQueues-1)) | field.Put(xgmac2.Feat2TxQ, q) |
		field.Put(xgmac2.Feat2RxCh, q) | field.Put(xgmac2.Feat2TxCh, q)
	return f
}

// fifoCode is n in 128 << n bytes.
func fifoCode(size int) uint32 { return uint32(max(bits.Len(uint(size))-8, 0)) }
