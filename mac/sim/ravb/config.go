package ravb

import (
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Variant is a kind of core.
type Variant uint8

const (
	// Gen3 is EtherAVB of R-Car Gen3 and Gen4: two queues, registers that set and
	// clear single interrupts, 25 interrupt lines of which six are modelled.
	Gen3 Variant = iota
	// Gen2 is EtherAVB of R-Car Gen2: one interrupt line.
	Gen2
	// GbEth is the Gigabit Ethernet of RZ/G2L: one queue, checksum engine.
	GbEth
)

// Config says which core is modelled and how the model runs. The zero value is an
// R-Car Gen3.
type Config struct {
	Variant Variant
	// MACAddress is what firmware left in MAHR and MALR, with the core in CONFIG. It
	// is lost at reset. Zero leaves the core as it is after power-on, in RESET.
	MACAddress mac.HardwareAddr
	// MII has GbEth wired to its PHY by MII instead of RGMII.
	MII bool
	// ClockHz is the bus clock. 0 means 133 MHz.
	ClockHz int
	// Clock is the time the model runs on. nil means the system's.
	Clock sim.Clock
	// SlowReset is how long a reset takes that sim.SlowReset makes slow. 0 means
	// 90 ms.
	SlowReset time.Duration
	// Seed seeds faults and junk.
	Seed uint64
	// Inline has transmission done inside the register write that allows it, so that
	// a run is the same each time. Otherwise a goroutine of the model does it.
	Inline bool
	// PHYAddress is the address of the PHY on the MDIO bus, 1 to 31. 0 means 1, less
	// than 0 no PHY.
	PHYAddress int
	// PHY is which PHY it is. It runs on the core's clock when it has none.
	PHY phy.Config
	// AnyLinkChange accepts a change of speed or duplex while the E-MAC runs, which is
	// a violation otherwise. Linux's driver makes it at each link-up.
	AnyLinkChange bool
}

func (c Config) withDefaults() Config {
	if c.ClockHz == 0 {
		c.ClockHz = 133_333_333
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

// Build makes a model as package models does. The number of queues and the size of
// the FIFOs are the variant's.
func (c Config) Build(b sim.Build) sim.Model {
	if b.Address != (mac.HardwareAddr{}) {
		c.MACAddress = b.Address
	}
	if b.Clock != nil {
		c.Clock = b.Clock
	}
	if b.Seed != 0 {
		c.Seed = b.Seed
	}
	c.Inline = c.Inline || b.Inline
	return New(c)
}

func (v Variant) queues() int {
	if v == GbEth {
		return 1
	}
	return 2
}

// maxFrame is the longest frame that is sent, in bytes without FCS.
func (v Variant) maxFrame() int {
	if v == GbEth {
		return etheravb.MaxGbEthSend
	}
	return etheravb.MaxRCarFrame
}

// aligned says that transmit buffers begin at multiples of 4.
func (v Variant) aligned() bool { return v != Gen3 }

func (v Variant) compatible() []string {
	switch v {
	case Gen2:
		return []string{"renesas,etheravb-r8a7791", "renesas,etheravb-rcar-gen2"}
	case GbEth:
		return []string{"renesas,r9a07g044-gbeth", "renesas,rzg2l-gbeth"}
	}
	return []string{"renesas,etheravb-r8a7795", "renesas,etheravb-rcar-gen3"}
}
