package ravb_test

import (
	"maps"
	"testing"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/mactest"
	"github.com/barewire/barewire/mac/ravb"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/ravb"
	"github.com/barewire/barewire/ring"
)

func hardware(v model.Variant) func(mactest.Setup) mactest.Model {
	return func(s mactest.Setup) mactest.Model {
		return model.New(model.Config{Variant: v, Inline: true, MACAddress: s.Address, Seed: s.Seed})
	}
}

// bringUp is the order that both families share.
func bringUp() []mactest.Order {
	write := func(register string) mactest.Step { return mactest.Step{Register: register} }
	mode := func(opc uint32) mactest.Step {
		return mactest.Step{Register: "CCC", Mask: etheravb.CCCOPC, Value: opc}
	}
	var (
		reset, config, operation = mode(etheravb.OPCReset), mode(etheravb.OPCConfig), mode(etheravb.OPCOperation)
		re                       = mactest.Step{Register: "ECMR", Mask: etheravb.ECMRRE, Value: etheravb.ECMRRE}
	)
	orders := []mactest.Order{{Before: reset, After: config}, {Before: operation, After: re}, {Before: write("GECMR"), After: re}}
	for _, r := range []string{"DBAT", "RCR", "TGC", "RIC0", "RIC2", "TIC"} {
		orders = append(orders, mactest.Order{Before: reset, After: write(r)}, mactest.Order{Before: write(r), After: operation})
	}
	for _, r := range []string{"RFLR", "MAHR", "MALR"} {
		orders = append(orders, mactest.Order{Before: write(r), After: re})
	}
	return orders
}

// rcar is what all R-Cars have in common.
func rcar() mactest.Core {
	fatal := func(r mac.Recoveries) uint64 { return r.FatalBusError }
	const (
		oneSlot   = "a frame never takes two: the longest has 2047 bytes, a descriptor 4032"
		noCounter = "no counters of frames or octets"
		everyOne  = "every received frame interrupts: no watchdog, and no request per descriptor in use"
		noPause   = "R-Car has no flow control"
	)
	typeIn := func(types ...uint32) func(uint32) bool {
		return func(w uint32) bool {
			for _, t := range types {
				if field.Get(etheravb.DescDT, w) == t {
					return true
				}
			}
			return false
		}
	}
	return mactest.Core{
		Open: func(b mac.Bus) (mac.Core, error) { return ravb.NewRCar(b) },
		// Two modes at once.
		WrongVersion: struct{ Offset, Value uint32 }{etheravb.CSR, 0x3},
		Links:        []mac.Link{{Up: true, Speed: 1000, FullDuplex: true}, {Up: true, Speed: 100, FullDuplex: true}},
		Descriptor: mactest.Descriptor{
			RXOwn: typeIn(etheravb.DTFEmpty),
			TXOwn: typeIn(etheravb.DTFSingle, etheravb.DTFStart, etheravb.DTFMid, etheravb.DTFEnd),
		},
		BringUp: bringUp(),
		Costs: mactest.Costs{
			RXLoads: 1, RXStores: 2, TXStores: 2, FlushWrites: 1, FlushDoorbells: 1, ReapLoads: 1, PassWrites: 2,
		},
		Drops: map[sim.Fault]mactest.Counter{
			sim.BadCRC:       mactest.Hardware(func(c mac.Counters) uint64 { return c.RXCRC }), // dropped before the ring
			sim.BadLength:    mactest.Ring(func(s ring.RXStats) uint64 { return s.BadLength + s.TooLong }),
			sim.Overflow:     mactest.Ring(func(s ring.RXStats) uint64 { return s.Overflow }),
			sim.Truncated:    mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingLast + s.TooLong }),
			sim.MissingFirst: mactest.Ring(func(s ring.RXStats) uint64 { return s.MissingFirst }),
		},
		TooLong: mactest.Hardware(func(c mac.Counters) uint64 { return c.RXOversize }),
		Repairs: map[sim.Fault]func(mac.Recoveries) uint64{
			sim.RXBusError: fatal, sim.TXBusError: fatal, sim.DescriptorBusError: fatal,
			sim.StuckOwn: func(r mac.Recoveries) uint64 { return r.TXTimeout },
		},
		Missing: map[string]string{
			"traffic/frames over several transmit descriptors": oneSlot, "order/first descriptor of a frame last": oneSlot,
			"coalesce/receive frames": everyOne, "coalesce/receive watchdog": everyOne, "coalesce/change while running": everyOne,
			"counters/exact": noCounter, "counters/64 bits": noCounter,
			"checksum/sent": "R-Car inserts no checksums", "segmentation": "no such engine",
			"pause/received": noPause, "pause/sent": noPause,
		},
	}
}

func TestConformanceRCar(t *testing.T) {
	c := rcar()
	c.Name, c.Version, c.Model = "ravb R-Car Gen3", "R-Car Gen3", hardware(model.Gen3)
	t.Run("Gen3", func(t *testing.T) { mactest.Run(t, c) })

	// Gen2 in addition cuts frames into several transmit descriptors, which every
	// variant can do and none needs.
	c = rcar()
	c.Name, c.Version, c.Model = "ravb R-Car Gen2 with split frames", "R-Car Gen2", hardware(model.Gen2)
	c.Open = func(b mac.Bus) (mac.Core, error) {
		core, err := ravb.NewRCar(b)
		if err == nil {
			ravb.SplitFrames(core, 512)
		}
		return core, err
	}
	delete(c.Missing, "traffic/frames over several transmit descriptors")
	delete(c.Missing, "order/first descriptor of a frame last")
	c.Missing["cost/transmit"] = "frames take more descriptors than the figures are for"
	t.Run("Gen2", func(t *testing.T) { mactest.Run(t, c) })
}

func gbeth() mactest.Core {
	c := rcar()
	c.Name, c.Version, c.Model = "ravb GbEth", "RZ/G2L", hardware(model.GbEth)
	c.Open = func(b mac.Bus) (mac.Core, error) { return ravb.NewGbEth(b) }
	c.Links = append(c.Links, mac.Link{Up: true, Speed: 100}, mac.Link{Up: true, Speed: 10, FullDuplex: true}, mac.Link{Up: true, Speed: 10})
	c.Drops = maps.Clone(c.Drops)
	c.Drops[sim.BadCRC] = mactest.Ring(func(s ring.RXStats) uint64 { return s.CRC })
	c.TooLong = mactest.Ring(func(s ring.RXStats) uint64 { return s.Length })
	c.InsertsAlways = true
	delete(c.Missing, "checksum/sent")
	delete(c.Missing, "pause/received")
	c.Missing["pause/sent"] = "the core is told to send none: when it would is not documented"
	return c
}

func TestConformanceGbEth(t *testing.T) {
	mactest.Run(t, gbeth())
}
