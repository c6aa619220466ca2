package sun8i

import (
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// Config says which SoC the core is in and how the model runs. The zero value is
// that of an A64 with a gigabit PHY on RGMII, set up by firmware, without the
// windows of the SoC.
type Config struct {
	// SoC is the name of one of emac.SoCs: "A64", "H3". "" means A64.
	SoC string
	// Compatible replaces what the device says it is.
	Compatible []string
	// Windows has the system control and the clock control unit as register windows
	// 1 and 2. Without them the core has its clock, and the PHY on the pins.
	Windows bool
	// Cold starts with the clocks off and the resets held, and with the EMAC clock
	// register at its default, as after power-on. It needs Windows: otherwise
	// firmware has done its work.
	Cold bool
	// StalePHY has the internal PHY give no clock until its reset is pulsed, as some
	// firmware leaves it.
	StalePHY bool
	// MACAddress is what firmware left in address slot 0. It is lost at reset.
	MACAddress mac.HardwareAddr
	// RXFIFO is in bytes. 0 means 16 KiB. The transmit FIFO has 4 KiB.
	RXFIFO int
	// ClockHz is the bus clock. 0 means 200 MHz.
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
	// InBandLink has the link state in RGMII_STA, with an interrupt.
	InBandLink bool
	// LoopbackTrap has the loopback bit set itself whenever the link changes.
	LoopbackTrap bool
	// PHYAddress is the address of the external PHY on the MDIO bus, 1 to 31. 0
	// means 1, less than 0 no PHY.
	PHYAddress int
	// PHY is which PHY that is. It runs on the core's clock when it has none.
	PHY phy.Config
	// JunkLengths has descriptors that are not a frame's last hold junk instead
	// of the bytes so far in their length field.
	JunkLengths bool
	// AnyLinkChange accepts a change of speed or duplex while the MAC runs, which
	// is a violation otherwise. Linux's driver makes it at each link-up.
	AnyLinkChange bool
}

func (c Config) withDefaults() (Config, emac.SoC) {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	soc := emac.SoC{}
	for _, s := range emac.SoCs() {
		if s.Name == c.SoC || c.SoC == "" && s.Name == "A64" {
			soc = s
		}
	}
	if c.Compatible == nil {
		c.Compatible = []string{soc.Compatible}
	}
	c.Cold = c.Cold && c.Windows
	def(&c.RXFIFO, 16<<10)
	def(&c.ClockHz, 200_000_000)
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
	return c, soc
}

// Build makes the model that c and b ask for. Its link is in band, so that a driver
// sees it.
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
	c.Windows, c.InBandLink = true, true
	return New(c)
}
