package mactest

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

var counterChecks = []check{
	{"counters/exact", countersExact},
	{"counters/64 bits", counters64},
	{"counters/survive a reset", countersSurvive},
}

func countersExact(b *bench) {
	b.start(mac.Config{})
	before := b.snapshot().Hardware
	for i := range 10 {
		b.exchange(ether(station, 100, i), ether(mac.Broadcast, 200, i))
		b.send(ether(partner, 300, i))
	}
	now := b.snapshot().Hardware
	b.equal([]uint64{20, 10}, []uint64{now.RXFrames - before.RXFrames, now.TXFrames - before.TXFrames}, "frames received and sent")
	b.equal(now, b.snapshot().Hardware, "what a second reading finds")
}

// counters64 has the hardware count past 32 bits between readings.
func counters64(b *bench) {
	b.start(mac.Config{})
	total := uint64(0)
	before := b.snapshot().Hardware
	for total < 3<<32 {
		n := b.core.AddCounts(b.model)
		if n == 0 {
			b.Fatal("AddCounts adds nothing")
		}
		total += n
		now := b.snapshot().Hardware
		b.equal([]uint64{total, total}, []uint64{now.RXFrames - before.RXFrames, now.TXFrames - before.TXFrames}, "frames received and sent")
	}
	b.works()
}

// countersSurvive: what was counted before a repair is counted after it, hardware
// and software.
func countersSurvive(b *bench) {
	b.start(mac.Config{})
	for i := range 5 {
		b.works()
		before := b.snapshot()
		b.model.Faults().Once(sim.RXBusError)
		b.deliver(ether(station, 100, i))
		b.receive()
		b.receive()
		now := b.snapshot()
		b.equal(uint64(i+1), now.Recoveries.FatalBusError, "repairs")
		b.equal(before.Stats.RXPackets, now.Stats.RXPackets, "packets received")
		b.equal(before.Stats.TXPackets, now.Stats.TXPackets, "packets sent")
		if now.Hardware.TXFrames != before.Hardware.TXFrames || now.Hardware.RXFrames < before.Hardware.RXFrames {
			b.Fatalf("hardware counters after a repair: %+v, before: %+v", now.Hardware, before.Hardware)
		}
	}
}
