package mvneta_test

import (
	"maps"
	"testing"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/mactest"
	"github.com/barewire/barewire/mac/mvneta"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/mvneta"
	"github.com/barewire/barewire/ring"
)

func TestConformance(t *testing.T) {
	write := func(register string) mactest.Step { return mactest.Step{Register: register} }
	bit := func(register string, bit uint32) mactest.Step {
		return mactest.Step{Register: register, Mask: bit, Value: bit}
	}
	var (
		rxOn     = bit("RXQ_Command", 1)
		txOn     = bit("TXQ_Command", 1)
		enable   = bit("GMAC_Control0", neta.GMAC0Enable)
		dmaReset = write("TX_DMAReset")
		unmask   = bit("Cause_Mask", neta.CauseMisc)
	)
	fatal := func(r mac.Recoveries) uint64 { return r.FatalBusError }
	hardware := func(cfg model.Config) func(mactest.Setup) mactest.Model {
		return func(s mactest.Setup) mactest.Model {
			cfg.Inline, cfg.MACAddress, cfg.Seed = true, s.Address, s.Seed
			return model.New(cfg)
		}
	}
	open := func(opts *mvneta.Options) func(mac.Bus) (mac.Core, error) {
		return func(b mac.Bus) (mac.Core, error) { return mvneta.New(b, opts) }
	}
	const (
		noVersion = "no public source says what the version register may hold"
		noSegment = "the hardware has none"
		onePiece  = "the longest frame fits one descriptor"
	)
	swbm := mactest.Core{
		Name:    "mvneta",
		Model:   hardware(model.Config{InBandLink: true}),
		Open:    open(nil),
		Version: "0x10",
		Links: []mac.Link{
			{Up: true, Speed: 1000, FullDuplex: true},
			{Up: true, Speed: 100, FullDuplex: true}, {Up: true, Speed: 100},
			{Up: true, Speed: 10, FullDuplex: true}, {Up: true, Speed: 10},
		},
		BringUp: []mactest.Order{
			{Before: write("Window_Enable"), After: rxOn}, {Before: write("Window_Protect"), After: rxOn},
			{Before: dmaReset, After: write("TXQ0_TokenCount")}, {Before: dmaReset, After: txOn},
			{Before: write("Port_Acceleration"), After: rxOn}, {Before: write("SDMA_Config"), After: rxOn},
			{Before: write("RXQ0_Base"), After: rxOn}, {Before: write("RXQ0_Size"), After: rxOn}, {Before: write("RXQ0_Config"), After: rxOn},
			{Before: write("RXQ0_Size"), After: write("RXQ0_Update")}, {Before: write("RXQ0_Update"), After: rxOn},
			{Before: write("TXQ0_Base"), After: txOn}, {Before: write("TXQ0_Size"), After: txOn}, {Before: write("TXQ0_TokenConfig"), After: txOn},
			{Before: write("TX_MTU"), After: txOn}, {Before: write("TX_TokenSize"), After: write("TX_MTU")},
			{Before: write("CPU0_QueueMap"), After: unmask}, {Before: write("Misc_Mask"), After: unmask},
			{Before: write("Unicast0"), After: enable}, {Before: write("MAC_High"), After: enable},
			{Before: enable, After: rxOn}, {Before: enable, After: txOn},
		},
		// The other half takes a counter down, which a read of it must see.
		Posted: func(off, v uint32) (now, later uint32) {
			if off >= neta.TXUpdate(0) {
				return v &^ neta.TXUpdateAdded, v & neta.TXUpdateAdded
			}
			return v &^ neta.RXUpdateAdded, v & neta.RXUpdateAdded
		},
		Costs: mactest.Costs{
			RXLoads: 2, RXBatchReads: 1, RXStores: 3, RefillWrites: 1, RefillDoorbells: 1,
			TXStores: 3, FlushWrites: 1, FlushDoorbells: 1, ReapReads: 1, PassWrites: 1,
		},
		Filter: mactest.Filter{Groups: 90}, // the 95th shares its bucket with a stranger
		Drops: map[sim.Fault]mactest.Counter{
			sim.BadCRC:       mactest.Ring(func(s ring.RXStats) uint64 { return s.CRC }),
			sim.BadLength:    mactest.Ring(func(s ring.RXStats) uint64 { return s.BadLength + s.TooLong }),
			sim.Overflow:     mactest.Ring(func(s ring.RXStats) uint64 { return s.Overflow }),
			sim.Truncated:    mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingLast }),
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
			const most = 0xFFFFFFFF
			m.(*model.Model).AddCount(neta.MIBRXFrames, most)
			m.(*model.Model).AddCount(neta.MIBTXFrames, most)
			return most
		},
		Missing: map[string]string{
			"open/wrong version": noVersion, "segmentation": noSegment,
			"traffic/frames over several transmit descriptors": onePiece, "order/first descriptor of a frame last": onePiece,
		},
	}
	t.Run("SWBM", func(t *testing.T) { mactest.Run(t, swbm) })

	// A port wired to a switch: no negotiation in band, one window over all.
	fixed := swbm
	fixed.Name, fixed.CoherentOnly = "mvneta with a fixed link on an Armada 3700", true
	fixed.Model = hardware(model.Config{Compatible: "marvell,armada-3700-neta", PassThrough: true, CPUs: 4})
	t.Run("fixed link", func(t *testing.T) { mactest.Run(t, fixed) })

	hwbm := swbm
	hwbm.Name = "mvneta-hwbm"
	hwbm.Open = open(&mvneta.Options{BufferManager: true})
	hwbm.BringUp = append([]mactest.Order{
		{Before: write("BM_Pool0_Size"), After: bit("BM_Pool0_Base", neta.BMPoolEnable)},
		{Before: bit("BM_Command", neta.BMStart), After: write("BPPI_Pool0")},
		{Before: bit("BM_Pool0_Base", neta.BMPoolEnable), After: write("BPPI_Pool0")},
		{Before: write("BPPI_Pool0"), After: write("RXQ0_Update")},
		{Before: write("Port_BMAddress"), After: rxOn}, {Before: write("Pool0_BufferSize"), After: rxOn},
	}, swbm.BringUp...)
	// A buffer goes to the buffer manager with a register write of its own; its
	// address is the third word that is loaded of a frame.
	hwbm.Costs.RXLoads, hwbm.Costs.RXStores, hwbm.Costs.RefillWrites = 3, 2, 32+1
	hwbm.Missing = maps.Clone(swbm.Missing)
	const oneBuffer = "with a buffer manager every frame lies in one buffer"
	hwbm.Missing["traffic/frames over several receive descriptors"] = oneBuffer
	hwbm.Missing["drop/over several descriptors"] = oneBuffer
	t.Run("HWBM", func(t *testing.T) { mactest.Run(t, hwbm) })

	// Tagged frames go to the queue of their priority.
	const count = 4
	queues := mactest.Queues{Count: count, Frame: func(to mac.HardwareAddr, queue, n, number int) []byte {
		f := make([]byte, n)
		copy(f, to[:])
		copy(f[6:], []byte{2, 0, 0, 0, 0, 9, 0x81, 0, byte(queue * 8 / count << 5), 5, 0x88, 0xB5})
		for i := 18; i < n; i++ {
			f[i] = byte(i*7 + number*13)
		}
		return f
	}}
	t.Run("SWBM queues", func(t *testing.T) { mactest.RunQueues(t, swbm, queues) })
	t.Run("HWBM queues", func(t *testing.T) { mactest.RunQueues(t, hwbm, queues) })
}
