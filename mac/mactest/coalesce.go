package mactest

import (
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

var coalesceChecks = []check{
	{"coalesce/receive frames", rxFrames},
	{"coalesce/receive watchdog", rxWatchdog},
	{"coalesce/neither", noCoalescing},
	{"coalesce/change while running", changeCoalescing},
	{"coalesce/refused", refusedCoalescing},
	{"coalesce/transmit marks", txMarks},
	{"coalesce/wait for space", waitForSpace},
}

func (b *bench) rxInterrupts() uint64 { return b.dev.Snapshot().Queues[0].RXInterrupts }

// interruptsEvery delivers frames one at a time, polls when an interrupt has come,
// and wants one exactly with every n-th.
func (b *bench) interruptsEvery(n, frames int) {
	b.Helper()
	before, waiting := b.rxInterrupts(), 0
	for i := 1; i <= frames; i++ {
		b.deliver(ether(station, 100, i))
		waiting++
		now := b.rxInterrupts()
		if i%n != 0 {
			b.equal(before, now, "interrupts after frame %d, rx-frames %d", i, n)
			continue
		}
		b.equal(before+1, now, "interrupts after frame %d, rx-frames %d", i, n)
		b.equal(waiting, len(b.receive()), "frames found by the poll")
		before, waiting = now, 0
	}
}

func rxFrames(b *bench) {
	for _, n := range []int{1, 2, 5, 8} {
		b.start(mac.Config{RXRing: b.slots(32), Coalesce: &ring.Coalesce{RXFrames: n, TXFrames: 8}})
		b.interruptsEvery(n, 20*n)
		b.close()
	}
}

// rxWatchdog: one interrupt when the watchdog ends, and frames meanwhile do not
// put it off.
func rxWatchdog(b *bench) {
	for _, usecs := range []int{50, 200, 500} {
		b.start(mac.Config{RXRing: b.slots(64), Coalesce: &ring.Coalesce{RXUsecs: usecs}})
		actual := b.dev.Coalesce().RXUsecs
		if actual < usecs*3/4 || actual > usecs*5/4+8 {
			b.Fatalf("rx-usecs %d has become %d", usecs, actual)
		}
		period := time.Duration(actual) * time.Microsecond
		for range 40 {
			before := b.rxInterrupts()
			for i := range 3 {
				b.deliver(ether(station, 100, i))
				b.sleep(period * 3 / 10)
				b.equal(before, b.rxInterrupts(), "interrupts before the watchdog has ended")
			}
			b.sleep(period*2/10 + 2*time.Microsecond)
			b.equal(before+1, b.rxInterrupts(), "interrupts after rx-usecs %d", usecs)
			b.equal(3, len(b.receive()), "frames found by the poll")
			b.sleep(2 * period)
			b.equal(before+1, b.rxInterrupts(), "interrupts with nothing received")
		}
		b.close()
	}
}

// sleep lets time pass for driver and model.
func (b *bench) sleep(d time.Duration) {
	b.Helper()
	time.Sleep(d)
	b.settle()
}

// noCoalescing: with neither of the two every frame interrupts.
func noCoalescing(b *bench) {
	b.start(mac.Config{RXRing: b.slots(16), Coalesce: &ring.Coalesce{}})
	b.interruptsEvery(1, 60)
}

// exchangeBatches delivers batches of n frames and polls after each: a core may
// count frames that wait, or slots as they are filled.
func (b *bench) exchangeBatches(dst mac.HardwareAddr, batches, n int) {
	b.Helper()
	for i := range batches {
		var frames [][]byte
		for k := range n {
			frames = append(frames, ether(dst, 100+k, i*n+k))
		}
		b.exchange(frames...)
	}
}

// changeCoalescing: slots posted before keep their requests; a lap later the new
// period holds exactly.
func changeCoalescing(b *bench) {
	b.start(mac.Config{RXRing: b.slots(32), Coalesce: &ring.Coalesce{RXFrames: 1}})
	for _, n := range []int{4, 1, 7, 2} {
		b.noError(b.dev.SetCoalesce(ring.Coalesce{RXFrames: n}), "rx-frames %d", n)
		b.equal(n, b.dev.Coalesce().RXFrames, "rx-frames in force")
		for i := range 3 * 32 {
			b.exchange(ether(station, 100, i))
		}
		before := b.rxInterrupts()
		b.exchangeBatches(station, 10, n)
		b.equal(before+10, b.rxInterrupts(), "interrupts for 10 batches of %d frames, rx-frames %d", n, n)
	}
}

func refusedCoalescing(b *bench) {
	b.start(mac.Config{})
	before := b.dev.Coalesce()
	bad := []ring.Coalesce{{RXFrames: -1}, {RXFrames: ring.MaxCoalesceFrames + 1}, {TXFrames: -1}, {TXUsecs: -1}, {RXUsecs: ring.MaxCoalesceUsecs + 1}}
	if b.drv.Info().Watchdog {
		if _, err := b.drv.SetWatchdog(0, ring.MaxCoalesceUsecs); err != nil {
			b.wrap(err, ring.ErrCoalesce, "watchdog of %d us", ring.MaxCoalesceUsecs)
			bad = append(bad, ring.Coalesce{RXUsecs: ring.MaxCoalesceUsecs})
		}
	}
	for _, c := range bad {
		b.wrap(b.dev.SetCoalesce(c), ring.ErrCoalesce, "%+v", c)
		b.equal(before, b.dev.Coalesce(), "coalescing after a refusal")
	}
	b.works()
}

// txMarks: every n-th packet is a mark, and in steady state none interrupts.
func txMarks(b *bench) {
	for _, n := range []int{1, 4, 16} {
		b.start(mac.Config{TXRing: b.slots(512), Coalesce: &ring.Coalesce{RXFrames: 1, TXFrames: n}})
		for i := range 40 * n {
			b.send(ether(partner, 60, i))
		}
		s := b.snapshot().Queues[0]
		b.equal([]uint64{40, 0}, []uint64{s.TX.Marks, s.TXInterrupts}, "marks and transmit interrupts for %d packets, tx-frames %d", 40*n, n)
		if s.TX.Reaps > uint64(40*n/4) {
			b.Fatalf("%d looks at the transmit ring for %d packets", s.TX.Reaps, 40*n)
		}
		b.close()
	}
}

// waitForSpace: a sender that found the ring full is woken by a transmit
// interrupt, not by its time limit. A mark sent before may have woken it once
// already.
func waitForSpace(b *bench) {
	b.start(mac.Config{TXRing: b.slots(16), Coalesce: &ring.Coalesce{RXFrames: 1, TXFrames: 2, TXUsecs: 50_000}})
	for lap := range 5 {
		b.forget()
		b.bus.holdDoorbells()
		n := 0
		for b.queueTX(ring.TXFrame{}, ether(partner, 60, n)) == 1 {
			n++
		}
		before, began := b.dev.Snapshot().Queues[0].TXInterrupts, time.Now()
		room := make(chan bool, 1)
		go func() {
			tx := b.queue.LockTX()
			defer b.queue.UnlockTX()
			for tx.Reserve(60) == nil {
				if !b.queue.WaitTX() {
					room <- false
					return
				}
			}
			room <- true
		}()
		b.settle()
		b.equal(0, len(room), "senders woken with nothing sent")
		b.bus.releaseDoorbells()
		if ok, d := <-room, time.Since(began); !ok || d > 0 {
			b.Fatalf("lap %d: room for the sender: %v, after %v", lap, ok, d)
		}
		b.settle()
		if d := b.dev.Snapshot().Queues[0].TXInterrupts - before; d < 1 || d > 2 {
			b.Fatalf("lap %d: %d transmit interrupts for one wait", lap, d)
		}
		b.equal(n, len(b.sent()), "frames sent")
		b.send(ether(partner, 60, lap))
	}
}

var interruptChecks = []check{
	{"interrupt/lost", lostInterrupt},
	{"interrupt/spurious", spuriousInterrupt},
	{"interrupt/no storm while nobody polls", noStorm},
	{"interrupt/none while idle", idleInterrupts},
}

// lostInterrupt costs a period of the monitor, not the queue.
func lostInterrupt(b *bench) {
	b.start(mac.Config{Coalesce: &ring.Coalesce{RXFrames: 1}})
	for i := range 3 {
		b.model.Faults().Once(sim.LostInterrupt)
		for len(b.queue.Wake()) > 0 {
			<-b.queue.Wake()
		}
		before := b.rxInterrupts()
		b.deliver(ether(station, 100, i))
		b.equal(before, b.rxInterrupts(), "interrupts when one was lost")
		b.equal(uint64(i+1), b.model.Faults().Hits(sim.LostInterrupt), "interrupts lost")
		b.sleep(1100 * time.Millisecond)
		if len(b.queue.Wake()) == 0 {
			b.Fatal("nobody wakes the queue")
		}
		b.equal(1, len(b.receive()), "frames that waited")
		b.interruptsEvery(1, 10)
	}
}

func spuriousInterrupt(b *bench) {
	b.start(mac.Config{Coalesce: &ring.Coalesce{RXFrames: 1}})
	b.model.Faults().Always(sim.SpuriousInterrupt)
	b.interruptsEvery(1, 50)
	b.works()
	b.model.Faults().Clear(sim.SpuriousInterrupt)
	if b.model.Faults().Hits(sim.SpuriousInterrupt) == 0 {
		b.Fatal("none was injected")
	}
	b.equal(mac.Recoveries{}, b.snapshot().Recoveries, "repairs")
}

// noStorm: a queue that has interrupted is masked until it is polled, whatever
// arrives, its ring running dry included.
func noStorm(b *bench) {
	b.start(mac.Config{RXRing: b.slots(16), Coalesce: &ring.Coalesce{RXFrames: 1}})
	for range 5 {
		before, edges := b.rxInterrupts(), b.bus.Trace().Counts().Interrupts
		for i := range 200 {
			b.deliver(ether(station, 1514, i))
		}
		b.equal(before+1, b.rxInterrupts(), "interrupts for 200 frames that nobody looks at")
		if n := b.bus.Trace().Counts().Interrupts - edges; n > 2 {
			b.Fatalf("the line went high %d times for 200 frames that nobody looks at", n)
		}
		b.receive()
	}
	b.works()
}

func idleInterrupts(b *bench) {
	b.start(mac.Config{})
	b.works()
	b.sleep(3 * time.Second) // the monitor has reaped what was sent
	before := b.bus.Trace().Counts()
	b.sleep(10 * time.Second)
	d := b.bus.Trace().Counts().Sub(before)
	b.equal(uint64(0), d.Interrupts+d.DescriptorLoads+d.DescriptorStores+d.Doorbells, "interrupts, descriptor accesses and doorbells in ten idle seconds")
	b.works()
}
