package dwmac1000_test

import (
	"maps"
	"testing"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/dwmac1000"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/mactest"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwmac1000"
	"github.com/barewire/barewire/ring"
)

func TestConformance(t *testing.T) {
	write := func(register string) mactest.Step { return mactest.Step{Register: register} }
	bit := func(register string, bit uint32) mactest.Step {
		return mactest.Step{Register: register, Mask: bit, Value: bit}
	}
	var (
		reset = bit("DMA_BusMode", gmac3.BusSWR)
		bus   = mactest.Step{Register: "DMA_BusMode", Mask: gmac3.BusSWR}
		sr    = bit("DMA_OpMode", gmac3.OpSR)
		st    = bit("DMA_OpMode", gmac3.OpST)
		te    = bit("MAC_Config", gmac3.ConfigTE)
		re    = bit("MAC_Config", gmac3.ConfigRE)
	)
	own := func(w uint32) bool { return w&gmac3.RDES0OWN != 0 }
	fatal := func(r mac.Recoveries) uint64 { return r.FatalBusError }

	hardware := func(cfg model.Config) func(mactest.Setup) mactest.Model {
		return func(s mactest.Setup) mactest.Model {
			cfg.Inline, cfg.InBandLink = true, true
			cfg.StaysSuspended, cfg.Overwrites, cfg.JunkLengths = true, true, true
			cfg.MACAddress, cfg.Seed = s.Address, s.Seed
			return model.New(cfg)
		}
	}
	on := func(p dwmac1000.Platform) func(mac.Bus) (mac.Core, error) {
		return func(b mac.Bus) (mac.Core, error) { return dwmac1000.NewCore(b, p) }
	}
	const (
		noSegments = "the core has none in any version"
		noWatchdog = "before version 3.50 there is none: the endpoint's poll loop stands in for it"
		noSlots    = "every frame interrupts: without a watchdog nothing would tell of one that does not"
	)
	extended := mactest.Core{
		Name:         "dwmac1000 3.70, extended descriptors",
		Model:        hardware(model.Config{}),
		Open:         on(dwmac1000.Platform{RXFIFO: 16384, TXFIFO: 16384, Addresses: 8}),
		Version:      "3.70",
		WrongVersion: struct{ Offset, Value uint32 }{gmac3.MACVersion, 0x1042},
		Links: []mac.Link{
			{Up: true, Speed: 1000, FullDuplex: true}, {Up: true, Speed: 1000},
			{Up: true, Speed: 100, FullDuplex: true}, {Up: true, Speed: 100},
			{Up: true, Speed: 10, FullDuplex: true}, {Up: true, Speed: 10},
		},
		Descriptor: mactest.Descriptor{OwnWord: 0, RXOwn: own, TXOwn: own},
		BringUp: []mactest.Order{
			{Before: reset, After: write("MAC_Addr0_High")}, {Before: bus, After: sr}, {Before: bus, After: st},
			{Before: write("DMA_RxList"), After: sr}, {Before: write("DMA_TxList"), After: st},
			{Before: write("MAC_Addr0_High"), After: write("MAC_Addr0_Low")}, {Before: write("MAC_FrameFilter"), After: re},
			{Before: sr, After: re}, {Before: st, After: te}, {Before: write("MMC_RxIntMask"), After: write("MMC_Control")},
		},
		Costs: mactest.Costs{
			RXLoads: 1, RXVerdictLoads: 1, RXStores: 4, RefillWrites: 1, RefillDoorbells: 1,
			TXStores: 4, FlushWrites: 1, FlushDoorbells: 1, ReapLoads: 1, PassWrites: 2,
		},
		Filter: mactest.Filter{Groups: 7, Stations: 7},
		Drops: map[sim.Fault]mactest.Counter{
			sim.BadCRC:       mactest.Hardware(func(c mac.Counters) uint64 { return c.RXCRC }), // never leaves the FIFO
			sim.BadLength:    mactest.Ring(func(s ring.RXStats) uint64 { return s.BadLength + s.TooLong }),
			sim.Overflow:     mactest.Ring(func(s ring.RXStats) uint64 { return s.Overflow }),
			sim.Truncated:    mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingLast + s.TooLong }), // a whole page is longer than a frame can be
			sim.MissingFirst: mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingFirst }),
		},
		TooLong: mactest.Ring(func(s ring.RXStats) uint64 { return s.TooLong }),
		Missed:  mactest.Hardware(func(c mac.Counters) uint64 { return c.RXOverflow + c.RXMissed }),
		Repairs: map[sim.Fault]func(mac.Recoveries) uint64{
			sim.RXBusError: fatal, sim.TXBusError: fatal, sim.DescriptorBusError: fatal,
			sim.StuckOwn: func(r mac.Recoveries) uint64 { return r.TXTimeout },
		},
		AddCounts: func(m mactest.Model) uint64 {
			// The counters have just been read, which clears them.
			m.Write32(gmac3.MMC+dwregs.MMCControl, dwregs.MMCResetOnRead|dwregs.MMCPreset|dwregs.MMCPresetFull)
			return 0xFFFFFFF0
		},
		Missing: map[string]string{"segmentation": noSegments},
	}
	t.Run("extended", func(t *testing.T) { mactest.Run(t, extended) })

	chained := extended
	chained.Name, chained.Version = "dwmac1000 3.40, enhanced descriptors in chains", "3.40"
	chained.Model = hardware(model.Config{Version: 0x34, HashBins: 256, SummarySums: true, VouchesForAll: true, RXFIFO: 8192, TXFIFO: 4096})
	chained.Open = on(dwmac1000.Platform{RXFIFO: 8192, TXFIFO: 4096, HashBins: 256, Addresses: 8, Chained: true})
	chained.Costs.RXVerdictLoads = 0 // it is in word 0
	chained.Missing = map[string]string{
		"segmentation": noSegments, "coalesce/receive watchdog": noWatchdog,
		"coalesce/receive frames": noSlots, "coalesce/change while running": noSlots,
	}
	t.Run("chained", func(t *testing.T) { mactest.Run(t, chained) })

	bare := extended
	bare.Name, bare.Version = "dwmac1000 3.00, normal descriptors without engines", "3.00"
	bare.Model = hardware(model.Config{
		Version: 0x30, NormalDescriptors: true, NoMMC: true, RXChecksum: -1, NoTXChecksum: true,
		HashBins: -1, PerfectSlots: -1, PHYAddress: -1, RXFIFO: 2048, TXFIFO: 2048,
	})
	bare.Open = on(dwmac1000.Platform{RXFIFO: 2048, TXFIFO: 2048})
	bare.BringUp = extended.BringUp[:len(extended.BringUp)-1] // no MMC
	bare.Filter, bare.CoherentOnly = mactest.Filter{}, true
	bare.Drops = maps.Clone(extended.Drops)
	delete(bare.Drops, sim.BadCRC) // dropped in the FIFO, and no counter
	const noEngine, noCounter = "built without the checksum engine", "built without counters of frames"
	bare.Missing = map[string]string{
		"segmentation": noSegments, "coalesce/receive watchdog": noWatchdog,
		"coalesce/receive frames": noSlots, "coalesce/change while running": noSlots,
		"pause/sent":        "a FIFO of 2 KiB holds nothing of what comes before the partner hears of it",
		"checksum/received": noEngine, "checksum/sent": noEngine,
		"counters/exact": noCounter, "counters/64 bits": noCounter,
	}
	t.Run("normal", func(t *testing.T) { mactest.Run(t, bare) })
}
