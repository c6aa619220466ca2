package mactest

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

var costChecks = []check{
	{"cost/receive", rxCost},
	{"cost/transmit", txCost},
	{"cost/poll pass", passCost},
	{"order/stores and barriers", storeOrder},
	{"order/first descriptor of a frame last", headLast},
}

// count is what happens in f.
func (b *bench) count(f func()) sim.Counts {
	b.settle()
	before := b.bus.Trace().Counts()
	f()
	return b.bus.Trace().Counts().Sub(before)
}

// rxCost: descriptor loads for a batch are exactly what Core.Costs says, with
// verdicts and without, and a refill loads nothing.
func rxCost(b *bench) {
	const batch = 32
	c := b.core.Costs
	for _, checksum := range []bool{false, true} {
		b.start(mac.Config{NoRXChecksum: !checksum})
		loads := batch * c.RXLoads
		if b.dev.RXChecksum() {
			loads += batch * c.RXVerdictLoads
		}
		for range 3 {
			b.receive()
			for b.unposted() > 0 { // until a refill has just filled the ring
				b.exchange(ether(station, 100, 1))
			}
			for i := range batch {
				b.deliver(udp(station, 500+i))
			}
			frames := make([]ring.Frame, batch)
			n := 0
			d := b.count(func() { n = b.queue.RX.Harvest(frames) })
			b.equal(batch, n, "frames harvested")
			b.equal([]uint64{loads, c.RXBatchReads, 0, 0}, []uint64{d.DescriptorLoads, d.RegisterReads, d.DescriptorStores, d.RegisterWrites},
				"descriptor loads, register reads, descriptor stores, register writes to harvest %d frames", batch)
			for _, f := range frames {
				for _, p := range f.Pieces {
					b.queue.Pool.Recycle(p.Page)
				}
			}
			d = b.count(func() { b.queue.Refill() })
			b.equal([]uint64{batch * c.RXStores, 0, c.RefillWrites, c.RefillDoorbells, 0},
				[]uint64{d.DescriptorStores, d.DescriptorLoads, d.RegisterWrites, d.Doorbells, d.RegisterReads},
				"descriptor stores, descriptor loads, register writes, doorbells, register reads to refill %d slots", batch)
			b.receive()
		}
		b.close()
	}
}

// txCost: a batch loads nothing and rings once; a look at the ring's progress has
// its price, and there are few.
func txCost(b *bench) {
	c := b.core.Costs
	b.start(mac.Config{TXRing: b.slots(64)})
	for _, n := range []int{1, 3, 10} {
		var out [][]byte
		for i := range n {
			out = append(out, ether(partner, 60+100*i, i))
		}
		d := b.count(func() { b.send(out...) })
		b.equal([]uint64{uint64(n) * c.TXStores, 0, c.FlushWrites, c.FlushDoorbells, 0},
			[]uint64{d.DescriptorStores, d.DescriptorLoads, d.RegisterWrites, d.Doorbells, d.RegisterReads},
			"descriptor stores, descriptor loads, register writes, doorbells, register reads to send %d frames", n)
	}
	tx := b.queue.LockTX()
	reaps, freed := tx.Stats().Reaps, 0
	d := b.count(func() { freed = tx.Reap() })
	reaps = tx.Stats().Reaps - reaps
	b.queue.UnlockTX()
	if freed == 0 || reaps == 0 {
		b.Fatalf("%d slots freed in %d looks", freed, reaps)
	}
	b.equal([]uint64{reaps * c.ReapLoads, reaps * c.ReapReads}, []uint64{d.DescriptorLoads, d.RegisterReads}, "descriptor loads, register reads of %d looks", reaps)

	const many = 640
	before := b.bus.Trace().Counts()
	for i := range many {
		b.send(ether(partner, 60, i))
	}
	d = b.bus.Trace().Counts().Sub(before)
	if limit := uint64(many/8) * max(c.ReapLoads, c.ReapReads); d.DescriptorLoads+d.RegisterReads > limit {
		b.Fatalf("%d descriptor loads and %d register reads for %d frames, want %d at most", d.DescriptorLoads, d.RegisterReads, many, limit)
	}
}

func passCost(b *bench) {
	c := b.core.Costs
	b.start(mac.Config{})
	for range 10 {
		d := b.count(func() { b.queue.Ack(); b.queue.Unmask() })
		b.equal([]uint64{c.PassWrites, c.PassReads}, []uint64{d.RegisterWrites, d.RegisterReads}, "register writes and reads of Ack and Unmask")
		b.works()
	}
}

// slot finds the ring (0 receive, 1 transmit), slot and word of a descriptor
// access.
func (b *bench) slot(addr uint64) (ring, slot, word int, ok bool) {
	l := b.drv.Info().Ring
	for i, m := range b.bus.descriptors[len(b.bus.descriptors)-2:] {
		size := uint64([2]int{l.DescriptorSize, l.TXSize()}[i])
		if off := addr - m.DeviceAddr(); off < uint64(len(m.Bytes())) {
			return i, int(off / size), int(off % size / 4), true
		}
	}
	return 0, 0, 0, false
}

// storeOrder looks at every descriptor access, barrier and doorbell of a run: OWN
// is the last word stored in a descriptor, a write barrier stands before it, a
// doorbell barrier stands between the last store and the doorbell, and what the
// device wrote besides OWN is loaded behind a read barrier.
func storeOrder(b *bench) {
	b.start(mac.Config{RXRing: b.slots(16), TXRing: b.slots(16)})
	b.bus.Trace().Log(1 << 18)
	for i := range 30 {
		var in, out [][]byte
		for k := range 1 + i%5 {
			in = append(in, udp(station, 100+k))
			out = append(out, ether(partner, 60+k, k))
		}
		b.exchange(in...)
		b.send(out...)
	}
	if b.drv.Info().TSO {
		b.segments(5000, 1000)
	}
	events := b.bus.Trace().Events()
	b.bus.Trace().Log(0)

	type key struct{ ring, slot int }
	d := b.core.Descriptor
	own := [2]func(uint32) bool{d.RXOwn, d.TXOwn}
	open := map[key]bool{} // descriptors with stores and no OWN yet; true: not ordered by a barrier
	ordered := func() {
		for k := range open {
			open[k] = false
		}
	}
	stored, unread := false, false
	given, doorbells := 0, 0
	for i, e := range events {
		r, slot, word, mine := b.slot(e.Addr)
		k := key{r, slot}
		switch e.Kind {
		case sim.DescriptorStore:
			if !mine {
				b.Fatalf("event %d: a store outside of the rings: %v", i, e)
			}
			stored = true
			if own[r] == nil {
				continue
			}
			if word != d.OwnWord {
				open[k] = true
				continue
			}
			if own[r](e.Value) {
				if open[k] {
					b.Fatalf("event %d: slot %d of ring %d is given away with no barrier after its other words", i, slot, r)
				}
				delete(open, k)
				given++
			}
		case sim.WriteBarrier:
			ordered()
		case sim.DoorbellBarrier:
			ordered()
			stored = false
		case sim.Doorbell:
			doorbells++
			if stored {
				b.Fatalf("event %d: %v with no doorbell barrier after the last store", i, e)
			}
			for k := range open {
				b.Fatalf("event %d: %v with words of slot %d of ring %d stored after OWN", i, e, k.slot, k.ring)
			}
		case sim.DescriptorLoad:
			if own[r] == nil || !mine {
				continue
			}
			if word == d.OwnWord {
				unread = true
			} else if unread {
				b.Fatalf("event %d: word %d of slot %d loaded with no read barrier after OWN", i, word, slot)
			}
		case sim.ReadBarrier:
			unread = false
		}
	}
	for k := range open {
		b.Fatalf("words of slot %d of ring %d stored after OWN, or never given away", k.slot, k.ring)
	}
	if d.RXOwn != nil && given < 100 {
		b.Fatalf("%d descriptors given away", given)
	}
	if b.core.Costs.FlushDoorbells > 0 && doorbells < 30 {
		b.Fatalf("%d doorbells", doorbells)
	}
}

// headLast: of a frame over several descriptors the first is given away last, so
// that the device never sees part of a frame.
func headLast(b *bench) {
	i := b.find().Info()
	b.start(mac.Config{MTU: i.MaxMTU, TXRing: b.slots(32)})
	for lap := range 40 {
		before := b.snapshot().Queues[0]
		b.bus.Trace().Log(1 << 12)
		if i.MaxMTU+14 > i.Ring.MaxPiece {
			b.send(ether(partner, i.MaxMTU+14, lap))
		} else {
			b.segments(i.Ring.MaxPiece+lap, 1000+lap)
		}
		events := b.bus.Trace().Events()
		b.bus.Trace().Log(0)
		if b.snapshot().Queues[0].TX.Slots-before.TX.Slots < 2 {
			b.Fatal("no frame takes two descriptors: list the sub-test as missing")
		}
		last := -1
		for _, e := range events {
			if r, slot, word, ok := b.slot(e.Addr); e.Kind == sim.DescriptorStore && ok && r == 1 && word == b.core.Descriptor.OwnWord && b.core.Descriptor.TXOwn(e.Value) {
				last = slot
			}
		}
		b.equal(int(before.TX.Slots%uint64(before.TXRing)), last, "slot given away last")
	}
}
