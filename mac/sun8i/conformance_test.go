package sun8i_test

import (
	"maps"
	"testing"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/mactest"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/sun8i"
	"github.com/barewire/barewire/mac/sun8i"
	"github.com/barewire/barewire/ring"
)

func TestConformance(t *testing.T) {
	write := func(register string) mactest.Step { return mactest.Step{Register: register} }
	bit := func(register string, bit uint32) mactest.Step {
		return mactest.Step{Register: register, Mask: bit, Value: bit}
	}
	var (
		reset = bit("BASIC_CTL1", emac.Ctl1SoftRst)
		rx    = bit("RX_CTL1", emac.RxCtl1DMAEn)
		tx    = bit("TX_CTL1", emac.TxCtl1DMAEn)
		te    = bit("TX_CTL0", emac.TxCtl0En)
		re    = bit("RX_CTL0", emac.RxCtl0En)
	)
	own := func(w uint32) bool { return w&emac.DescOwn != 0 }
	fatal := func(r mac.Recoveries) uint64 { return r.FatalBusError }
	stopped := func(r mac.Recoveries) uint64 { return r.TXStopped }

	hardware := func(cfg model.Config) func(mactest.Setup) mactest.Model {
		return func(s mactest.Setup) mactest.Model {
			cfg.Inline, cfg.JunkLengths = true, true
			cfg.MACAddress, cfg.Seed = s.Address, s.Seed
			return model.New(cfg)
		}
	}
	driver := func(b sun8i.Board) func(mac.Bus) (mac.Core, error) {
		return func(bus mac.Bus) (mac.Core, error) { return sun8i.NewBoard(bus, b) }
	}
	const (
		noVersion  = "the core has no version register, nor any other that tells it from another core"
		noCounters = "the core has no counters"
		noWatchdog = "the core has no receive watchdog: the endpoint's poll loop stands in for it"
		noSlots    = "every frame interrupts: without a watchdog nothing would tell of one that does not"
		oneSlot    = "a frame of the largest MTU fits one descriptor"
	)
	a64 := mactest.Core{
		Name:    "sun8i, A64 with RGMII",
		Model:   hardware(model.Config{Windows: true, InBandLink: true, LoopbackTrap: true}),
		Open:    driver(sun8i.Board{}),
		Version: "A64",
		Links: []mac.Link{
			{Up: true, Speed: 1000, FullDuplex: true}, {Up: true, Speed: 1000},
			{Up: true, Speed: 100, FullDuplex: true}, {Up: true, Speed: 100},
			{Up: true, Speed: 10, FullDuplex: true}, {Up: true, Speed: 10},
		},
		Descriptor: mactest.Descriptor{OwnWord: emac.DescStatus, RXOwn: own, TXOwn: own},
		BringUp: []mactest.Order{
			{Before: reset, After: write("ADDR_LOW0")}, {Before: reset, After: write("RX_DMA_DESC_LIST")},
			{Before: write("RX_DMA_DESC_LIST"), After: rx}, {Before: write("TX_DMA_DESC_LIST"), After: tx},
			{Before: bit("RX_CTL1", emac.RxCtl1MD), After: rx}, {Before: bit("TX_CTL1", emac.TxCtl1MD), After: tx},
			{Before: write("INT_STA"), After: rx}, {Before: write("RX_FRM_FLT"), After: re},
			{Before: rx, After: re}, {Before: tx, After: te}, {Before: write("BASIC_CTL0"), After: te},
		},
		Costs: mactest.Costs{
			RXLoads: 1, RXStores: 3, RefillWrites: 1, RefillDoorbells: 1,
			TXStores: 3, FlushWrites: 1, FlushDoorbells: 1, ReapLoads: 1, PassWrites: 2,
		},
		Filter: mactest.Filter{Groups: 7, Stations: 7},
		Drops: map[sim.Fault]mactest.Counter{
			sim.BadCRC:       mactest.Ring(func(s ring.RXStats) uint64 { return s.CRC }),
			sim.BadLength:    mactest.Ring(func(s ring.RXStats) uint64 { return s.BadLength + s.TooLong }),
			sim.Overflow:     mactest.Ring(func(s ring.RXStats) uint64 { return s.Overflow }),
			sim.Truncated:    mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingLast + s.TooLong }), // a whole page is longer than a frame can be
			sim.MissingFirst: mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingFirst }),
		},
		TooLong: mactest.Ring(func(s ring.RXStats) uint64 { return s.TooLong }),
		Repairs: map[sim.Fault]func(mac.Recoveries) uint64{
			sim.RXBusError: fatal, sim.DescriptorBusError: fatal, sim.TXBusError: stopped,
			sim.StuckOwn: func(r mac.Recoveries) uint64 { return r.TXTimeout },
		},
		Missing: map[string]string{
			"open/wrong version":      noVersion,
			"coalesce/receive frames": noSlots, "coalesce/change while running": noSlots,
			"coalesce/receive watchdog": noWatchdog,
			"counters/exact":            noCounters, "counters/64 bits": noCounters,
			"segmentation": "the core has none",
			"traffic/frames over several transmit descriptors": oneSlot, "order/first descriptor of a frame last": oneSlot,
		},
	}
	t.Run("A64", func(t *testing.T) { mactest.Run(t, a64) })

	// Everything off but the power: the driver opens gates, lets go of resets, selects
	// the PHY in the SoC and wakes it. The link, which only a PHY's driver could know,
	// is fixed.
	h3 := a64
	h3.Name, h3.Version = "sun8i, H3 with the internal PHY, cold", "H3"
	cold := model.Config{SoC: "H3", Windows: true, Cold: true, StalePHY: true}
	cold.PHY.PoweredDown = true
	h3.Model = hardware(cold)
	h3.Links = a64.Links[2:]
	ccu := func(reg string, b uint32) mactest.Step { return bit("CCU_"+reg, b) }
	h3.BringUp = append([]mactest.Order{
		{Before: ccu("0x60", 1<<17), After: reset}, {Before: ccu("0x2c0", 1<<17), After: reset},
		{Before: write("EMAC_CLK"), After: reset}, {Before: ccu("0x2c8", 1<<2), After: reset}, {Before: write("MII_CMD"), After: reset},
	}, a64.BringUp...)
	h3.Missing = maps.Clone(a64.Missing)
	h3.Missing["open/address of firmware"] = "with the clock off the register that firmware may have filled cannot be read"
	t.Run("H3", func(t *testing.T) { mactest.Run(t, h3) })
}
