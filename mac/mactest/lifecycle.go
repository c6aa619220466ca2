package mactest

import (
	"errors"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

var lifecycleChecks = []check{
	{"restart", restart},
	{"close/not started", func(b *bench) { closes(b, nil) }},
	{"close/idle", func(b *bench) { closes(b, func(b *bench) { b.run() }) }},
	{"close/twice", closeTwice},
	{"close/receive ring dry and FIFO full", func(b *bench) {
		closes(b, func(b *bench) {
			b.run()
			for i := range 100 {
				b.deliver(ether(station, 1514, i))
			}
		})
	}},
	{"close/frames not harvested", func(b *bench) {
		closes(b, func(b *bench) { b.run(); b.deliver(ether(station, 100, 1), ether(station, 200, 2)) })
	}},
	{"close/frames not sent", func(b *bench) {
		closes(b, func(b *bench) {
			b.run()
			b.bus.holdDoorbells()
			for i := range 3 {
				b.queueTX(ring.TXFrame{}, ether(partner, 1514, i))
			}
			b.bus.held = nil
			b.bus.hold.Store(false)
		})
	}},
	{"close/link down", func(b *bench) { closes(b, func(b *bench) { b.run(); b.setLink(mac.Link{}) }) }},
	{"close/after a bus error", func(b *bench) {
		closes(b, func(b *bench) {
			b.run()
			b.model.Faults().Once(sim.RXBusError)
			b.deliver(ether(station, 100, 1)) // the repair waits for the next Checkpoint
		})
	}},
	{"close/pages lent", closeLent},
}

// restart: each device on the same hardware works like the first one.
func restart(b *bench) {
	for round := range 8 {
		cfg := mac.Config{RXRing: b.slots(8 + 5*round), TXRing: b.slots(9 + 3*round)}
		if !b.find().Info().Ring.OneBuffer {
			cfg.PageSize = 512 << (round % 3)
		}
		b.start(cfg)
		b.noError(b.dev.JoinGroup(group(round)), "join")
		b.filters(true, "joined", group(round))
		if b.core.Filter.Groups > 0 {
			b.filters(false, "joined by the last one", group(round+100))
		}
		for range round % 3 {
			b.works()
		}
		b.works()
		b.close()
		b.equal(0, b.bus.Space().Live(), "allocations after Close")
	}
}

// closes: from any state Close ends all DMA and gives everything back; the memory
// is gone then, so that any access to it is a violation. The next device works.
func closes(b *bench, prepare func(*bench)) {
	for range 3 {
		b.open(mac.Config{RXRing: b.slots(16), TXRing: b.slots(16)})
		if prepare != nil {
			prepare(b)
		}
		dev, queue := b.dev, b.queue
		b.close()
		b.equal(0, b.bus.Space().Live(), "allocations after Close")
		b.model.SetLink(b.core.Links[0])
		b.deliver(ether(station, 100, 1), ether(mac.Broadcast, 100, 2))
		b.wrap(queue.Own(), mac.ErrClosed, "own a queue of a closed device")
		b.wrap(dev.Start(), mac.ErrClosed, "start a closed device")
		b.wrap(dev.JoinGroup(group(1)), mac.ErrClosed, "join on a closed device")
		if queue.LockTX() != nil {
			b.Fatal("a closed device takes frames")
		}
		b.equal(mac.Link{}, dev.Link(), "link of a closed device")

		b.start(mac.Config{})
		b.works()
		b.close()
	}
}

func closeTwice(b *bench) {
	b.start(mac.Config{})
	dev := b.dev
	b.close()
	b.noError(dev.Close(), "close again")
}

// closeLent: Close waits for pages that the stack holds, then says how many there
// are and leaves them mapped.
func closeLent(b *bench) {
	b.start(mac.Config{CopyBreak: pagepool.LendAlways})
	b.deliver(ether(station, 100, 7))
	frames := make([]ring.Frame, 1)
	b.queue.Ack()
	b.equal(1, b.queue.RX.Harvest(frames), "frames received")
	p := frames[0].Pieces[0]
	view, ok := b.queue.Pool.Lend(p.Page, int(p.Off), int(p.Len))
	if !ok {
		b.Fatalf("page not lent: %v", b.queue.Pool.CanLend())
	}
	b.bus.keeps = true
	err := b.shut()
	var lent *pagepool.LentError
	if !errors.As(err, &lent) {
		b.Fatalf("close with a page lent: error is %v", err)
	}
	b.deliver(ether(station, 100, 8))
	b.equal(string(ether(station, 100, 7)), string(view.AsSlice()), "bytes of a page lent beyond Close")
	view.Release()
	b.start(mac.Config{})
	b.works()
}

// repairChecks are a sub-test for each fault that needs a repair.
func repairChecks() (all []check) {
	for _, f := range fatalFaults {
		all = append(all, check{"repair/" + f.String(), func(b *bench) { repair(b, f) }})
	}
	return append(all, check{"repair/reset never ends at first", repairLate})
}

// provoke makes fault f happen and gives the device time to find it.
func (b *bench) provoke(f sim.Fault) {
	b.Helper()
	hits := b.model.Faults().Hits(f)
	b.model.Faults().Once(f)
	switch f {
	case sim.TXBusError, sim.StuckOwn:
		b.queueTX(ring.TXFrame{}, ether(partner, 500, 1))
	default:
		b.deliver(ether(b.dev.Address(), 500, 1))
	}
	b.equal(hits+1, b.model.Faults().Hits(f), "faults injected")
	if f == sim.StuckOwn {
		b.sleep(8 * time.Second) // Config.TXTimeout, and the monitor's period
	}
	b.receive() // hands the receive side over
	b.settle()
}

// repair: after each one the device works as before: address, filter, MTU,
// coalescing.
func repair(b *bench, f sim.Fault) {
	counted := b.core.Repairs[f]
	if counted == nil {
		b.Fatalf("Core.Repairs says nothing about %v: list the sub-test as missing", f)
	}
	b.start(mac.Config{RXRing: b.slots(16), TXRing: b.slots(16), Coalesce: &ring.Coalesce{RXFrames: 4}})
	b.noError(b.dev.SetAddress(stationN(9)), "set address")
	b.noError(b.dev.JoinGroup(group(1)), "join")
	b.noError(b.dev.AddUnicast(stationN(1)), "add")
	b.noError(b.dev.SetMTU(1000), "set MTU")
	for round := range 4 {
		coalesce := b.dev.Coalesce()
		b.provoke(f)
		s := b.snapshot()
		b.equal(uint64(round+1), counted(s.Recoveries), "repairs of %v", f)
		b.equal(uint64(round+1), s.Recoveries.FatalBusError+s.Recoveries.TXStopped+s.Recoveries.TXTimeout, "repairs")
		b.equal(uint64(0), s.Recoveries.Failed, "failed repairs")
		b.equal(coalesce, b.dev.Coalesce(), "coalescing")
		b.filters(true, "after the repair", group(1), stationN(1), stationN(9), mac.Broadcast)
		if b.core.Filter.Stations > 0 {
			b.filters(false, "after the repair", station, stranger)
			if b.core.Filter.Groups > 0 {
				b.filters(false, "after the repair", strangeGroup)
			}
		}
		b.dropped(ether(stationN(9), 1000+headerRoom+50, 1), nil, "frame longer than the MTU")
		b.send(ether(partner, 1014, 1))
		before := b.rxInterrupts()
		every := b.dev.Coalesce().RXFrames
		b.exchangeBatches(stationN(9), 10, every)
		b.equal(before+10, b.rxInterrupts(), "interrupts for 10 batches of rx-frames %d", every)
	}
}

// repairLate: a repair that fails is tried again until it does not.
func repairLate(b *bench) {
	b.start(mac.Config{})
	b.model.Faults().Always(sim.DeadReset)
	b.provoke(sim.RXBusError)
	for n := range uint64(3) {
		b.equal(n+1, b.snapshot().Recoveries.Failed, "failed repairs")
		if b.queue.LockTX() != nil {
			b.Fatal("frames are taken while the device is broken")
		}
		b.sleep(1100 * time.Millisecond)
		b.receive()
		b.settle()
	}
	b.model.Faults().Clear(sim.DeadReset)
	b.sleep(2100 * time.Millisecond)
	b.receive()
	b.settle()
	b.works()
	b.equal(uint64(1), b.snapshot().Recoveries.FatalBusError, "repairs")
}
