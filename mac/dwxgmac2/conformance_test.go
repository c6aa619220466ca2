package dwxgmac2_test

import (
	"maps"
	"testing"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/dwxgmac2"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/mactest"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwxgmac2"
	"github.com/barewire/barewire/ring"
)

// hardware makes the model that cfg says, as the suite wants it.
func hardware(cfg model.Config) func(mactest.Setup) mactest.Model {
	return func(s mactest.Setup) mactest.Model {
		cfg.Inline, cfg.JunkLengths, cfg.CheckArmed = true, true, true
		cfg.MACAddress, cfg.Seed, cfg.ClockHz = s.Address, s.Seed, 125e6 // up to 522 us of watchdog
		return model.New(cfg)
	}
}

// full is a core with all that the model has.
func full() mactest.Core {
	write := func(register string) mactest.Step { return mactest.Step{Register: register} }
	bit := func(register string, bit uint32) mactest.Step {
		return mactest.Step{Register: register, Mask: bit, Value: bit}
	}
	var (
		reset = bit("DMA_Mode", xgmac2.DMAModeSWR)
		sr    = bit("DMA_CH0_RxControl", xgmac2.RxControlSR)
		st    = bit("DMA_CH0_TxControl", xgmac2.TxControlST)
		te    = bit("MAC_TxConfig", xgmac2.TxConfigTE)
		re    = bit("MAC_RxConfig", xgmac2.RxConfigRE)
	)
	own := func(w uint32) bool { return w&xgmac2.RDES3OWN != 0 }
	fatal := func(r mac.Recoveries) uint64 { return r.FatalBusError }
	return mactest.Core{
		Name:         "dwxgmac2 3.20",
		Model:        hardware(model.Config{Version: 0x32}),
		Open:         func(b mac.Bus) (mac.Core, error) { return dwxgmac2.New(b) },
		Version:      "3.20",
		WrongVersion: struct{ Offset, Value uint32 }{xgmac2.MACVersion, 0x2732},
		Links: []mac.Link{
			{Up: true, Speed: 10_000, FullDuplex: true}, {Up: true, Speed: 5000, FullDuplex: true},
			{Up: true, Speed: 2500, FullDuplex: true}, {Up: true, Speed: 1000, FullDuplex: true},
			{Up: true, Speed: 100, FullDuplex: true}, {Up: true, Speed: 10, FullDuplex: true},
		},
		Pause:      struct{ RX, TX bool }{true, true},
		Descriptor: mactest.Descriptor{OwnWord: 3, RXOwn: own, TXOwn: own},
		BringUp: []mactest.Order{
			{Before: reset, After: write("DMA_SysBus")}, {Before: write("DMA_SysBus"), After: st}, {Before: write("DMA_SysBus"), After: sr},
			{Before: write("DMA_CH0_RxRingLen"), After: sr}, {Before: write("DMA_CH0_RxListHigh"), After: write("DMA_CH0_RxList")},
			{Before: write("DMA_CH0_RxList"), After: sr}, {Before: write("DMA_CH0_TxRingLen"), After: st},
			{Before: write("DMA_CH0_TxListHigh"), After: write("DMA_CH0_TxList")}, {Before: write("DMA_CH0_TxList"), After: st},
			{Before: write("MTL_Q0_RxQOpMode"), After: sr}, {Before: write("MTL_RxQDMAMap0"), After: bit("MAC_RxQCtrl0", xgmac2.RxQGeneric)},
			{Before: bit("MAC_RxQCtrl0", xgmac2.RxQGeneric), After: sr}, {Before: write("MTL_Q0_TxQOpMode"), After: st},
			{Before: write("MAC_PacketFilter"), After: re}, {Before: sr, After: re}, {Before: st, After: te}, {Before: te, After: re},
			{Before: write("MMC_RxIntEnable"), After: write("MMC_Control")},
		},
		Costs: mactest.Costs{
			RXLoads: 1, RXStores: 4, RefillWrites: 1, RefillDoorbells: 1,
			TXStores: 4, FlushWrites: 1, FlushDoorbells: 1, ReapLoads: 1, PassWrites: 2,
		},
		Filter: mactest.Filter{Groups: 3, Stations: 3},
		Drops: map[sim.Fault]mactest.Counter{
			sim.BadCRC:       mactest.Hardware(func(c mac.Counters) uint64 { return c.RXCRC }), // never leaves the FIFO
			sim.BadLength:    mactest.Ring(func(s ring.RXStats) uint64 { return s.BadLength + s.TooLong }),
			sim.Overflow:     mactest.Ring(func(s ring.RXStats) uint64 { return s.Overflow }),
			sim.Truncated:    mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingLast + s.TooLong }), // a whole page is longer than a frame can be
			sim.MissingFirst: mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingFirst }),
		},
		TooLong: mactest.Ring(func(s ring.RXStats) uint64 { return s.Length }),
		Missed:  mactest.Hardware(func(c mac.Counters) uint64 { return c.RXOverflow + c.RXMissed }),
		Repairs: map[sim.Fault]func(mac.Recoveries) uint64{
			sim.RXBusError: fatal, sim.TXBusError: fatal, sim.DescriptorBusError: fatal,
			sim.StuckOwn: func(r mac.Recoveries) uint64 { return r.TXTimeout },
		},
		AddCounts: func(m mactest.Model) uint64 {
			// The counters have just been read, which clears them.
			m.Write32(xgmac2.MMC+xgmac2.MMCControl, dwregs.MMCResetOnRead|dwregs.MMCPreset|dwregs.MMCPresetFull)
			return 0xFFFFFFF0
		},
	}
}

func TestConformance(t *testing.T) {
	all := full()
	t.Run("3.20", func(t *testing.T) { mactest.Run(t, all) })

	bare := all
	bare.Name, bare.Version = "dwxgmac2 2.00 without engines", "2.00"
	bare.Model = hardware(model.Config{
		Version: 0x20, AddressBits: 32, HashBins: -1, PerfectSlots: -1, PHYAddress: -1, RXFIFO: 16 << 10, TXFIFO: 16 << 10,
		NoRXChecksum: true, NoTXChecksum: true, NoTSO: true, NoMMC: true, NoRSS: true, NoGMII: true,
	})
	bare.Links = all.Links[:3]                      // no GMII
	bare.BringUp = all.BringUp[:len(all.BringUp)-1] // no MMC
	bare.Filter = mactest.Filter{}
	bare.Drops = maps.Clone(all.Drops)
	delete(bare.Drops, sim.BadCRC) // dropped in the FIFO, and no counter
	const (
		noEngine  = "built without the checksum engine"
		oneSlot   = "built without segmentation: the longest frame fits one descriptor"
		noCounter = "built without counters of frames"
	)
	bare.Missing = map[string]string{
		"checksum/received": noEngine, "checksum/sent": noEngine,
		"segmentation": "built without it",
		"traffic/frames over several transmit descriptors": oneSlot, "order/first descriptor of a frame last": oneSlot,
		"counters/exact": noCounter, "counters/64 bits": noCounter,
	}
	t.Run("2.00", func(t *testing.T) { mactest.Run(t, bare) })
}
