package mactest

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

// dropChecks are a sub-test for each way in which a frame can be spoilt.
func dropChecks() (all []check) {
	for _, f := range wireFaults {
		all = append(all, check{"drop/" + f.String(), func(b *bench) { drop(b, f) }})
	}
	return append(all,
		check{"drop/too long", tooLong},
		check{"drop/in a burst", dropInBurst},
		check{"drop/over several descriptors", dropPieces},
	)
}

// drop: the frame is not delivered, is counted where Core.Drops says and nowhere
// else, and its page comes home.
func drop(b *bench, f sim.Fault) {
	b.start(mac.Config{RXRing: b.slots(16), Poison: true})
	for i := range 50 { // round the ring
		before := b.model.Faults().Hits(f)
		b.model.Faults().Once(f)
		if f == sim.BadLength {
			b.badLength(ether(station, 100+i, i), b.core.Drops[f])
		} else {
			b.dropped(ether(station, 100+i, i), b.core.Drops[f], "frame with %v", f)
		}
		b.equal(before+1, b.model.Faults().Hits(f), "faults injected")
	}
}

// dropped delivers a frame that is to be dropped, and a good one behind it.
func (b *bench) dropped(f []byte, count Counter, format string, args ...any) {
	b.Helper()
	before := b.snapshot()
	good := ether(b.dev.Address(), 300, 9)
	b.deliver(f, good)
	got := b.receive()
	if len(got) == 0 {
		b.Fatalf(format+": the good one after it is lost", args...)
	}
	if len(got) > 1 {
		b.Fatalf(format+": delivered", args...)
	}
	b.want([][]byte{good}, got)
	now := b.snapshot()
	b.equal(before.Queues[0].RX.Frames+1, now.Queues[0].RX.Frames, "frames received")
	if count == nil {
		return
	}
	if d := count(now) - count(before); d != 1 {
		b.Fatalf(format+": counted %d times", append(args, d)...)
	}
	inRing := now.Queues[0].RX.Dropped() - before.Queues[0].RX.Dropped()
	if inRing > 1 {
		b.Fatalf(format+": the ring counts it %d times: %+v", append(args, inRing, now.Queues[0].RX)...)
	}
	b.equal(now.Queues[0].RXRing-b.drv.Info().Ring.Reserve, now.Queues[0].RXPosted+b.unposted(), "slots posted or waiting for a batch")
}

// badLength is dropped for a frame whose length is junk, which nobody can tell from
// a right one when it is possible.
func (b *bench) badLength(f []byte, count Counter) {
	b.Helper()
	before, good := b.snapshot(), ether(station, 300, 9)
	b.deliver(f, good)
	got := b.receive()
	if len(got) == 0 {
		b.Fatal("the good frame after one with a bad length is lost")
	}
	b.want([][]byte{good}, got[len(got)-1:])
	if d := count(b.snapshot()) - count(before); len(got)-1+int(d) != 1 {
		b.Fatalf("frame with a bad length: delivered %d times, counted %d times", len(got)-1, d)
	}
}

// unposted is the number of slots that Refill has left empty for now.
func (b *bench) unposted() int { return b.queue.RX.Capacity() - b.queue.RX.Posted() }

func tooLong(b *bench) {
	b.start(mac.Config{})
	for i := range 30 {
		b.dropped(ether(station, b.dev.MTU()+headerRoom+1+i, i), b.core.TooLong, "frame of %d bytes", b.dev.MTU()+headerRoom+1+i)
	}
}

// dropInBurst: bad frames among good ones cost nothing but themselves.
func dropInBurst(b *bench) {
	b.start(mac.Config{RXRing: b.slots(32), Poison: true})
	for _, f := range wireFaults {
		if _, missing := b.core.Missing["drop/"+f.String()]; missing || f == sim.BadLength {
			continue
		}
		var want [][]byte
		for i := range 12 {
			if i%5 == 2 {
				b.model.Faults().Once(f)
				b.deliver(ether(station, 500+i, i))
				continue
			}
			want = append(want, ether(station, 500+i, i))
			b.deliver(want[len(want)-1])
		}
		b.want(want, b.receive())
	}
}

// dropPieces is drop with frames that take several descriptors: all of their pages
// come home.
func dropPieces(b *bench) {
	b.start(mac.Config{PageSize: 256, RXRing: b.slots(32), Pages: 40, Poison: true})
	for _, f := range wireFaults {
		if _, missing := b.core.Missing["drop/"+f.String()]; missing || f == sim.BadLength {
			continue
		}
		for i := range 20 {
			b.model.Faults().Once(f)
			b.dropped(ether(station, 700+i, i), nil, "frame of %d bytes with %v", 700+i, f)
		}
	}
}
