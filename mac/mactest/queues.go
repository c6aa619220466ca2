package mactest

import (
	"testing"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

// Queues says how a core with several queues spreads what it receives.
type Queues struct {
	// Count is the number of queues each way that the suite uses, 2 or more.
	Count int
	// Frame is a frame of n bytes for station to that the hardware puts into a queue;
	// number makes it another one of the same flow. n is 100 at least.
	Frame func(to mac.HardwareAddr, queue, n, number int) []byte
}

// RunQueues runs what the suite has for several queues on c, whose model has q.Count
// of them, on both kinds of memory as Run does. Core.Missing and the figures of one
// queue do not count here.
func RunQueues(t *testing.T, c Core, q Queues) {
	c.Missing = nil
	var all []check
	for _, k := range queueChecks {
		all = append(all, check{k.name, func(b *bench) {
			b.all = true
			k.run(&queuesBench{bench: b, Queues: q})
		}})
	}
	both(t, c, all)
}

var queueChecks = []struct {
	name string
	run  func(*queuesBench)
}{
	{"queues/every number", everyNumber},
	{"queues/a flow stays in its queue", flowStays},
	{"queues/laps", queueLaps},
	{"queues/sent", queuesSent},
	{"queues/interrupts", queueInterrupts},
	{"queues/receive watchdog", queueWatchdogs},
	{"queues/one is not polled", oneNotPolled},
	{"queues/counters", queueCounters},
	{"queues/repair", queuesRepair},
	{"queues/close and open", queuesReopen},
}

// queuesBench is a bench whose test owns all queues.
type queuesBench struct {
	*bench
	Queues
}

// begin starts a device with all queues.
func (b *queuesBench) begin(cfg mac.Config) {
	b.Helper()
	if cfg.Queues == 0 {
		cfg.Queues = b.Count
	}
	b.start(cfg)
	b.equal(cfg.Queues, len(b.dev.Queues()), "queues")
}

// use makes a queue the one that is polled and sent on.
func (b *queuesBench) use(q int) { b.queue = b.dev.Queues()[q] }

// frame is a frame for a queue, which names it.
func (b *queuesBench) frame(q, n, number int) []byte { return b.Frame(station, q, n, number) }

// everyWorks proves traffic both ways on each queue.
func (b *queuesBench) everyWorks(number int) {
	b.Helper()
	for q := range b.dev.Queues() {
		b.use(q)
		b.exchange(b.frame(q, 100, number), b.frame(q, 1514, number+1))
		b.send(ether(partner, 60+q, number), ether(partner, 1514, number))
	}
}

// everyNumber: a device opened with fewer queues uses those alone.
func everyNumber(b *queuesBench) {
	for n := 1; n <= b.Count; n++ {
		b.begin(mac.Config{Queues: n, RXRing: b.slots(16), TXRing: b.slots(16)})
		seen := 0
		for q := range b.Count { // every flow lands somewhere
			in := b.frame(q, 200, q)
			b.deliver(in)
			for i := range n {
				b.use(i)
				for _, f := range b.receive() {
					b.want([][]byte{in}, []frame{f})
					seen++
				}
			}
		}
		b.equal(b.Count, seen, "frames received with %d queues", n)
		for q := range n {
			b.use(q)
			b.send(ether(partner, 100, q))
		}
		b.close()
	}
}

// flowStays: what is for a queue is found there, in order, and nowhere else.
func flowStays(b *queuesBench) {
	b.begin(mac.Config{})
	for lap := range 20 {
		want := make([][][]byte, b.Count)
		for i := range 5 * b.Count {
			q := (i*7 + lap) % b.Count
			f := b.frame(q, 100+37*i%1300, i)
			want[q] = append(want[q], f)
			b.deliver(f)
		}
		for q := range b.Count {
			b.use((q + lap) % b.Count)
			b.want(want[(q+lap)%b.Count], b.receive())
		}
	}
}

// queueLaps goes round rings of different speed, with the polls out of step.
func queueLaps(b *queuesBench) {
	b.begin(mac.Config{RXRing: b.slots(8), TXRing: b.slots(8)})
	waiting := make([][][]byte, b.Count)
	rounds := 40 * b.Count
	for i := range rounds {
		q := i * i % b.Count
		f := b.frame(q, 100+i%1400, i)
		waiting[q] = append(waiting[q], f)
		b.deliver(f)
		b.use(q)
		b.send(ether(partner, 60+i%1400, i))
		if poll := i % (b.Count + 1); poll < b.Count && len(waiting[poll]) > 2 || len(waiting[q]) > 4 {
			if len(waiting[q]) > 4 {
				poll = q
			}
			b.use(poll)
			b.want(waiting[poll], b.receive())
			waiting[poll] = nil
		}
	}
	for q := range b.Count {
		b.use(q)
		b.want(waiting[q], b.receive())
	}
}

// queuesSent: frames of each queue leave in order, whatever the others do.
func queuesSent(b *queuesBench) {
	b.begin(mac.Config{})
	for lap := range 5 {
		b.forget()
		b.bus.holdDoorbells()
		for i := range 6 {
			for q := range b.Count {
				b.use(q)
				b.equal(1, b.queueTX(ring.TXFrame{}, ether(partner, 100+10*q, 10*lap+i)), "frames that found room")
			}
		}
		b.bus.releaseDoorbells()
		b.settle()
		sent := b.sent()
		b.equal(6*b.Count, len(sent), "frames on the wire")
		next := make([]int, b.Count)
		for _, f := range sent {
			q := (len(f) - 100) / 10
			b.wantBytes(ether(partner, len(f), 10*lap+next[q]), f)
			next[q]++
		}
	}
}

func (b *queuesBench) wantBytes(want, got []byte) {
	b.Helper()
	if d := diff(want, got); d != "equal" {
		b.Fatal(d)
	}
}

// interrupts are the receive interrupts of each queue.
func (b *queuesBench) interrupts() (n []uint64) {
	for _, q := range b.dev.Snapshot().Queues {
		n = append(n, q.RXInterrupts)
	}
	return n
}

// queueInterrupts: a frame wakes its queue alone, which masks no other.
func queueInterrupts(b *queuesBench) {
	b.begin(mac.Config{Coalesce: &ring.Coalesce{RXFrames: 1}})
	for range 3 {
		want := b.interrupts()
		for q := range b.Count { // none is polled meanwhile
			b.deliver(b.frame(q, 100, q))
			want[q]++
			b.equal(want, b.interrupts(), "interrupts after a frame for queue %d", q)
			b.deliver(b.frame(q, 100, q+1))
			b.equal(want, b.interrupts(), "interrupts of queue %d while masked", q)
		}
		for q := range b.Count {
			b.use(q)
			b.equal(2, len(b.receive()), "frames in queue %d", q)
		}
	}
}

// queueWatchdogs: each queue has a watchdog of its own.
func queueWatchdogs(b *queuesBench) {
	if !b.find().Info().Watchdog {
		return
	}
	b.begin(mac.Config{Coalesce: &ring.Coalesce{RXUsecs: 100}})
	period := time.Duration(b.dev.Coalesce().RXUsecs) * time.Microsecond
	for range 3 {
		want := b.interrupts()
		b.deliver(b.frame(0, 100, 1))
		b.sleep(period / 2)
		b.deliver(b.frame(1, 100, 1), b.frame(0, 100, 2))
		b.equal(want, b.interrupts(), "interrupts before either has ended")
		b.sleep(period*6/10 + 2*time.Microsecond)
		want[0]++
		b.equal(want, b.interrupts(), "interrupts when that of queue 0 has ended")
		b.sleep(period / 2)
		want[1]++
		b.equal(want, b.interrupts(), "interrupts when both have ended")
		for q := range b.Count {
			b.use(q)
			b.receive()
		}
	}
}

// oneNotPolled: a queue whose ring is full loses nothing that the FIFO holds, and
// when it is polled again all of them go on.
func oneNotPolled(b *queuesBench) {
	b.begin(mac.Config{RXRing: b.slots(8)})
	for lap := range 5 {
		want := make([][][]byte, b.Count)
		for i := range b.slots(8) + 3 {
			f := b.frame(0, 100, i)
			want[0] = append(want[0], f)
			b.deliver(f)
		}
		for q := 1; q < b.Count; q++ {
			f := b.frame(q, 200, lap)
			want[q] = append(want[q], f)
			b.deliver(f)
		}
		for q := range b.Count {
			b.use(q)
			b.want(want[q], b.receive())
		}
		b.everyWorks(lap)
	}
}

// queueCounters: each queue counts its own, and the sum is the interface's.
func queueCounters(b *queuesBench) {
	b.begin(mac.Config{})
	for q := range b.Count {
		b.use(q)
		for i := range q + 1 {
			b.exchange(b.frame(q, 100+q, i))
			b.send(ether(partner, 200+q, i))
		}
		b.queue.Publish()
	}
	s := b.dev.Snapshot()
	frames, bytes := uint64(0), uint64(0)
	for q := range b.Count {
		n := uint64(q + 1)
		b.equal([]uint64{n, n * uint64(100+q), n, n * uint64(200+q)},
			[]uint64{s.Queues[q].RX.Frames, s.Queues[q].RX.Bytes, s.Queues[q].TX.Frames, s.Queues[q].TX.Bytes},
			"frames and bytes received and sent of queue %d", q)
		frames += n
		bytes += n * uint64(100+q)
	}
	b.equal([]uint64{frames, bytes, frames}, []uint64{s.Stats.RXPackets, s.Stats.RXBytes, s.Stats.TXPackets}, "frames and bytes of the interface")
}

// queuesRepair: a fatal error of one queue resets the device, and all queues work
// again.
func queuesRepair(b *queuesBench) {
	b.begin(mac.Config{RXRing: b.slots(16)})
	for i, q := range []int{b.Count - 1, 0} {
		for k := range b.Count { // something of every queue is lost with the reset
			b.deliver(b.frame(k, 100, k))
		}
		b.model.Faults().Once(sim.RXBusError)
		b.deliver(b.frame(q, 300, i))
		b.sleep(10 * time.Millisecond)
		b.use(0)
		b.receive()
		b.sleep(2 * time.Second) // the link is brought up again
		for k := range b.Count {
			b.use(k)
			b.receive()
		}
		b.equal(uint64(i+1), b.dev.Snapshot().Recoveries.FatalBusError, "repairs")
		b.everyWorks(i)
	}
}

// queuesReopen: a device closed with frames in all its queues leaves nothing behind.
func queuesReopen(b *queuesBench) {
	for lap := range 4 {
		b.begin(mac.Config{RXRing: b.slots(8), Queues: 1 + (lap+b.Count-1)%b.Count})
		for i := range 2 * b.slots(8) {
			b.deliver(b.frame(i%b.Count, 100, i))
		}
		b.close()
		b.begin(mac.Config{})
		for q := range b.Count {
			b.use(q)
			b.equal(0, len(b.receive()), "frames in queue %d from before", q)
		}
		b.everyWorks(lap)
		b.close()
	}
}
