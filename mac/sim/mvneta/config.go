package mvneta

import (
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Config says what port is modelled and how the model runs. The zero value is a
// port of an Armada XP with RGMII.
type Config struct {
	// Compatible is the device-tree name. "" means "marvell,armada-xp-neta".
	Compatible string
	// Version is what the version register reads. 0 means 0x10.
	Version uint8
	// MACAddress is what firmware left in the address registers.
	MACAddress mac.HardwareAddr
	// PassThrough has no address windows set up, as on an Armada 3700, where
	// software opens one over everything. Otherwise firmware has set up two for
	// the whole of memory.
	PassThrough bool
	// InBandLink has SGMII with negotiation in band set up, BaseX 1000BASE-X, and
	// Fast 2500BASE-X.
	InBandLink, BaseX, Fast bool
	// ChecksumLimit is the longest frame, in bytes without FCS, whose checksums the
	// transmit engine gets right. 0 means 9800.
	ChecksumLimit int
	// BPPI is the physical address of the buffer manager's BPPI aperture. 0 means
	// 0xF1200000. The port has been told it, unless NoBPPI is set.
	BPPI   uint32
	NoBPPI bool
	// EmptyReads has a read of the BPPI find nothing now and then although there is a
	// buffer. Linux's driver has met that, goes on, and leaves buffers behind.
	EmptyReads bool
	// CPUs is how many CPUs the driver runs on, 1 to 4: each access to a cause or
	// mask register comes from the next one. 0 means 2.
	CPUs int
	// RXFIFO is the size of the receive FIFO in bytes. 0 means 16 KiB.
	RXFIFO int
	// ClockHz is the core clock. 0 means 200 MHz.
	ClockHz int
	// Clock is the time the model runs on. nil means the system's.
	Clock sim.Clock
	// SlowReset is how long a reset takes that sim.SlowReset makes slow. 0 means
	// 90 ms.
	SlowReset time.Duration
	// Seed seeds faults and junk.
	Seed uint64
	// Inline has all DMA done inside the register write or the delivery that
	// allows it, so that a run is the same each time. Otherwise a goroutine of the
	// model transmits.
	Inline bool
	// CheckArmed looks, with each update, for posted receive buffers that share
	// bytes, and records them as violations.
	CheckArmed bool
	// PHYAddress is the address of the PHY on the SMI bus, 1 to 31. 0 means 1, less
	// than 0 none. PHY says which one it is; its Clock is the model's.
	PHYAddress int
	PHY        phy.Config
}

// Build makes a model for the table of package models, with negotiation in band.
// A port has eight queues each way.
func (c Config) Build(b sim.Build) sim.Model {
	if b.Address != (mac.HardwareAddr{}) {
		c.MACAddress = b.Address
	}
	if b.FIFO > 0 {
		c.RXFIFO = b.FIFO
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

func (c Config) withDefaults() Config {
	if c.Compatible == "" {
		c.Compatible = "marvell,armada-xp-neta"
	}
	if c.Version == 0 {
		c.Version = 0x10
	}
	if c.ChecksumLimit == 0 {
		c.ChecksumLimit = 9800
	}
	if c.BPPI == 0 {
		c.BPPI = 0xF120_0000
	}
	if c.CPUs == 0 {
		c.CPUs = 2
	}
	c.CPUs = min(max(c.CPUs, 1), 4)
	if c.RXFIFO == 0 {
		c.RXFIFO = 16 << 10
	}
	if c.ClockHz == 0 {
		c.ClockHz = 200_000_000
	}
	if c.Clock == nil {
		c.Clock = sim.RealClock{}
	}
	if c.SlowReset == 0 {
		c.SlowReset = 90 * time.Millisecond
	}
	if c.PHYAddress == 0 {
		c.PHYAddress = 1
	}
	if c.PHY.Clock == nil {
		c.PHY.Clock = c.Clock
	}
	return c
}
