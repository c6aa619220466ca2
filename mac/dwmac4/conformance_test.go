package dwmac4_test

import (
	"maps"
	"testing"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/dwmac4"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/mactest"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/ring"
)

func TestConformance(t *testing.T) {
	write := func(register string) mactest.Step { return mactest.Step{Register: register} }
	bit := func(register string, bit uint32) mactest.Step {
		return mactest.Step{Register: register, Mask: bit, Value: bit}
	}
	var (
		reset = bit("DMA_Mode", gmac4.DMAModeSWR)
		sr    = bit("DMA_CH0_RxControl", gmac4.RxControlSR)
		st    = bit("DMA_CH0_TxControl", gmac4.TxControlST)
		te    = bit("MAC_Config", gmac4.ConfigTE)
		re    = bit("MAC_Config", gmac4.ConfigRE)
	)
	own := func(w uint32) bool { return w&gmac4.RDES3OWN != 0 }
	fatal := func(r mac.Recoveries) uint64 { return r.FatalBusError }

	hardware := func(cfg model.Config) func(mactest.Setup) mactest.Model {
		return func(s mactest.Setup) mactest.Model {
			cfg.Inline, cfg.InBandLink, cfg.JunkLengths = true, true, true
			cfg.MACAddress, cfg.Seed = s.Address, s.Seed
			return model.New(cfg)
		}
	}
	full := mactest.Core{
		Name:         "dwmac4 5.10",
		Model:        hardware(model.Config{}),
		Open:         func(b mac.Bus) (mac.Core, error) { return dwmac4.New(b) },
		Version:      "5.10",
		WrongVersion: struct{ Offset, Value uint32 }{gmac4.MACVersion, 0x1037},
		Links: []mac.Link{
			{Up: true, Speed: 1000, FullDuplex: true}, {Up: true, Speed: 1000},
			{Up: true, Speed: 100, FullDuplex: true}, {Up: true, Speed: 100},
			{Up: true, Speed: 10, FullDuplex: true}, {Up: true, Speed: 10},
		},
		Descriptor: mactest.Descriptor{OwnWord: 3, RXOwn: own, TXOwn: own},
		BringUp: []mactest.Order{
			{Before: reset, After: write("DMA_SysBus")}, {Before: write("DMA_SysBus"), After: st}, {Before: write("DMA_SysBus"), After: sr},
			{Before: write("DMA_CH0_RxRingLen"), After: sr}, {Before: write("DMA_CH0_RxListHigh"), After: write("DMA_CH0_RxList")},
			{Before: write("DMA_CH0_RxList"), After: sr}, {Before: write("DMA_CH0_TxRingLen"), After: st},
			{Before: write("DMA_CH0_TxListHigh"), After: write("DMA_CH0_TxList")}, {Before: write("DMA_CH0_TxList"), After: st},
			{Before: write("MTL_Q0_RxQOpMode"), After: sr}, {Before: write("MAC_RxQCtrl0"), After: sr}, {Before: write("MTL_Q0_TxQOpMode"), After: st},
			{Before: write("MAC_PacketFilter"), After: re},
			{Before: sr, After: re}, {Before: st, After: te}, {Before: write("MMC_RxIntMask"), After: write("MMC_Control")},
		},
		Costs: mactest.Costs{
			RXLoads: 1, RXVerdictLoads: 1, RXStores: 4, RefillWrites: 1, RefillDoorbells: 1,
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
			m.Write32(gmac4.MMC+dwregs.MMCControl, dwregs.MMCResetOnRead|dwregs.MMCPreset|dwregs.MMCPresetFull)
			return 0xFFFFFFF0
		},
	}
	t.Run("5.10", func(t *testing.T) { mactest.Run(t, full) })

	bare := full
	bare.CoherentOnly = true
	bare.Name, bare.Version = "dwmac4 4.00 without engines", "4.00"
	bare.Model = hardware(model.Config{
		Version: 0x40, AddressBits: 32, HashBins: -1, PerfectSlots: -1, PHYAddress: -1,
		NoRXChecksum: true, NoTXChecksum: true, NoTSO: true, NoMMC: true,
	})
	bare.BringUp = full.BringUp[:len(full.BringUp)-1] // no MMC
	bare.Filter = mactest.Filter{}
	bare.Drops = maps.Clone(full.Drops)
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
	t.Run("4.00", func(t *testing.T) { mactest.Run(t, bare) })

	several := full
	several.Name, several.Model = "dwmac4 5.10 with four queues", hardware(model.Config{Queues: 4, RXFIFO: 64 << 10, TXFIFO: 64 << 10})
	t.Run("queues", func(t *testing.T) {
		mactest.RunQueues(t, several, mactest.Queues{Count: 4, Frame: func(to mac.HardwareAddr, queue, n, number int) []byte {
			f := make([]byte, n)
			copy(f, to[:])
			copy(f[6:], []byte{2, 0, 0, 0, 0, 2, 0x81, 0, byte(2*queue) << 5, 1, 0x88, 0xb5}) // priorities 0 and 1 are of queue 0, and so on
			for i := 18; i < n; i++ {
				f[i] = byte(i*3 + number)
			}
			return f
		}})
	})
}
