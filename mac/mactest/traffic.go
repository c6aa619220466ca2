package mactest

import (
	"math/rand/v2"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

// headerRoom is what a frame may be longer than the MTU: Ethernet header and two
// VLAN tags.
const headerRoom = 14 + 2*4

var trafficChecks = []check{
	{"traffic/every size", everySize},
	{"traffic/largest MTU", largestMTU},
	{"traffic/short frames are padded", shortFrames},
	{"traffic/frames over several receive descriptors", manyRXPieces},
	{"traffic/frames over several transmit descriptors", manyTXPieces},
	{"traffic/memory that is not coherent", nonCoherent},
	{"traffic/change of MTU", changeMTU},
}

// everySize: each length both ways, and nothing but what was sent.
func everySize(b *bench) {
	b.start(mac.Config{})
	frames, octets := uint64(0), uint64(0)
	for n := 60; n <= b.dev.MTU()+14; n++ {
		b.exchange(ether(station, n, n))
		b.send(ether(partner, n, n))
		frames++
		octets += uint64(n)
	}
	s := b.snapshot()
	b.equal([]uint64{frames, octets, frames, octets}, []uint64{s.Stats.RXPackets, s.Stats.RXBytes, s.Stats.TXPackets, s.Stats.TXBytes},
		"packets and bytes, received and sent")
	b.equal(frames, s.Queues[0].RX.Descriptors, "receive descriptors")
	b.equal(mac.Stats{RXPackets: frames, RXBytes: octets, TXPackets: frames, TXBytes: octets}, s.Stats, "statistics")
}

func largestMTU(b *bench) {
	mtu := b.find().Info().MaxMTU
	b.start(mac.Config{MTU: mtu, RXRing: b.slots(64), TXRing: b.slots(64)})
	for i := range 3 * 64 {
		n := mtu + 14
		b.exchange(ether(station, n, i), ether(station, 60, i+1), ether(station, n-1, i+2))
		b.send(ether(partner, n, i), ether(partner, 60, i+1), ether(partner, n-1, i+2))
	}
	tagged := ether(station, mtu+18, 1)
	copy(tagged[12:], []byte{0x81, 0, 0, 5, 0x88, 0xB5})
	b.exchange(tagged)
	b.send(tagged)
}

// slots is n, or what of it the core can do.
func (b *bench) slots(n int) int {
	l := b.find().Info().Ring
	return min(max(n, l.MinSlots), l.MaxSlots)
}

// shortFrames: frames below the least size of Ethernet are filled up with zeros.
func shortFrames(b *bench) {
	b.start(mac.Config{})
	b.send(ether(partner, 200, 1)) // what may be left in a FIFO or a buffer
	for n := 14; n < 60; n++ {
		f := ether(partner, n, n)
		b.forget()
		b.equal(1, b.queueTX(ring.TXFrame{}, f), "frames that found room")
		b.wantSent([][]byte{append(f, make([]byte, 60-n)...)})
	}
}

// manyRXPieces: buffers of 256 bytes, with every length around their edges, so
// that the FCS ends in this buffer, in the next, and between them.
func manyRXPieces(b *bench) {
	for _, slots := range []int{16, 13} {
		b.start(mac.Config{PageSize: 256, RXRing: b.slots(slots), Pages: 64, Poison: true})
		most := 0
		for n := 60; n <= 1514; n++ {
			if edge := n % 256; edge > 6 && edge < 249 && n%17 != 0 {
				continue
			}
			f := ether(station, n, n)
			b.deliver(f)
			got := b.receive()
			b.want([][]byte{f}, got)
			if least := (n + 255) / 256; got[0].pieces < least || got[0].pieces > least+1 {
				b.Fatalf("%d bytes in %d pieces of 256", n, got[0].pieces)
			}
			most = max(most, got[0].pieces)
		}
		if most < 6 {
			b.Fatalf("no frame took more than %d descriptors", most)
		}
		b.close()
	}
}

// manyTXPieces: frames longer than the largest buffer of a descriptor.
func manyTXPieces(b *bench) {
	i := b.find().Info()
	if i.MaxMTU+14 <= i.Ring.MaxPiece {
		if !i.TSO {
			b.Fatalf("no frame takes two descriptors: the largest has %d bytes, a descriptor %d: list the sub-test as missing", i.MaxMTU+14, i.Ring.MaxPiece)
		}
		b.start(mac.Config{})
		b.segments(3*1000*(i.Ring.MaxPiece/1000)+333, 1000)
		return
	}
	b.start(mac.Config{MTU: i.MaxMTU, TXRing: b.slots(32)})
	most := 0
	for n := i.Ring.MaxPiece - 2; n <= i.MaxMTU+14; n += max(1, (i.MaxMTU+14-i.Ring.MaxPiece)/50) {
		before := b.snapshot().Queues[0].TX.Slots
		b.send(ether(partner, n, n))
		most = max(most, int(b.snapshot().Queues[0].TX.Slots-before))
	}
	if most < 2 {
		b.Fatal("no frame took two descriptors")
	}
}

// nonCoherent: a cache between the CPU and the buffers shows each sync that is
// missing.
func nonCoherent(b *bench) {
	n := b.with(Setup{Seed: 1}, &sim.SpaceOptions{NonCoherent: true})
	n.start(mac.Config{RXRing: n.slots(16), TXRing: n.slots(16), Pages: 20, Poison: true})
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 200 {
		size := 60 + random.IntN(1455)
		n.exchange(ether(station, size, i))
		n.send(ether(partner, size, i))
	}
}

func changeMTU(b *bench) {
	b.start(mac.Config{})
	for _, mtu := range []int{576, 1500, 1000} {
		b.noError(b.dev.SetMTU(mtu), "MTU %d", mtu)
		b.exchange(ether(station, mtu+14, mtu))
		b.send(ether(partner, mtu+14, mtu))
		b.dropped(ether(station, mtu+headerRoom+300, 2), nil, "frame of %d bytes with an MTU of %d", mtu+headerRoom+300, mtu)
	}
	b.wrap(b.dev.SetMTU(b.drv.Info().MaxMTU+1), mac.ErrConfig, "MTU beyond the largest")
	b.exchange(ether(station, 1014, 1))
}

var ringChecks = []check{
	{"ring/laps", laps},
	{"ring/full receive ring", fullRX},
	{"ring/full transmit ring", fullTX},
	{"ring/full arena", fullArena},
	{"ring/one doorbell per batch", oneDoorbell},
	{"ring/refused lengths", refusedLengths},
}

// laps goes round rings of many lengths, powers of two or not, in bursts of any
// size.
func laps(b *bench) {
	l := b.find().Info().Ring
	for _, slots := range []int{l.MinSlots, l.MinSlots + 1, 7, 16, 33, 64} {
		slots = b.slots(slots)
		b.start(mac.Config{RXRing: slots, TXRing: slots, Pages: slots + 3, Poison: true})
		random := rand.New(rand.NewPCG(uint64(slots), 2))
		for done := 0; done < 5*slots; {
			burst := 1 + random.IntN(b.queue.RX.Posted())
			var in, out [][]byte
			for i := range burst {
				in = append(in, ether(station, 60+random.IntN(1455), done+i))
				out = append(out, ether(partner, 60+random.IntN(1455), done+i))
			}
			b.exchange(in...)
			b.send(out...)
			done += burst
		}
		b.close()
	}
}

// fullRX: a ring that nobody polls loses what its FIFO cannot hold, and goes on
// with the rest when somebody does.
func fullRX(b *bench) {
	for _, slots := range []int{b.slots(0), b.slots(16)} {
		b.start(mac.Config{RXRing: slots, Pages: 2 * slots})
		for lap := range 4 {
			b.receive() // the ring is as full as it gets
			posted, before := b.queue.RX.Posted(), b.snapshot()
			var in [][]byte
			for i := range posted + 40 {
				in = append(in, ether(station, 1514, lap*100+i))
			}
			b.deliver(in...)
			got := b.receive()
			if len(got) < posted {
				b.Fatalf("%d frames received, %d slots were posted", len(got), posted)
			}
			b.want(in[:len(got)], got) // the oldest ones, in order
			if b.core.Missed != nil {
				b.equal(uint64(len(in)-len(got)), b.core.Missed(b.snapshot())-b.core.Missed(before), "frames counted as missed")
			}
			if s := b.snapshot(); s.Queues[0].RX.Dropped() != before.Queues[0].RX.Dropped() {
				b.Fatalf("the ring counts dropped frames: %+v", s.Queues[0].RX)
			}
			b.works()
		}
		b.close()
	}
}

// fullTX fills the ring behind a doorbell that has not arrived yet.
func fullTX(b *bench) {
	for _, slots := range []int{b.slots(0), b.slots(16)} {
		b.start(mac.Config{TXRing: slots})
		for lap := range 5 {
			b.fillTX(lap, 60)
		}
		b.close()
	}
}

// fillTX sends frames until there is no room, then lets the device go on, and
// wants each of them once and in order.
func (b *bench) fillTX(lap, size int) {
	b.Helper()
	b.forget()
	full := b.snapshot().Queues[0].TX.Full
	b.bus.holdDoorbells()
	var out [][]byte
	for {
		f := ether(partner, size, lap*1000+len(out))
		if b.queueTX(ring.TXFrame{}, f) == 0 {
			break
		}
		out = append(out, f)
		if len(out) > b.dev.Config().TXRing {
			b.Fatalf("%d frames in a ring of %d slots", len(out), b.dev.Config().TXRing)
		}
	}
	s := b.snapshot().Queues[0]
	b.equal(full+1, s.TX.Full, "frames that found no room")
	if len(out) == 0 {
		b.Fatal("an empty ring has no room")
	}
	b.bus.releaseDoorbells()
	b.settle()
	b.wantSent(out)
	b.send(ether(partner, size, lap))
}

func fullArena(b *bench) {
	b.start(mac.Config{TXRing: b.slots(256), Arena: 8192})
	for lap := range 20 {
		b.fillTX(lap, 1400+lap)
	}
}

func oneDoorbell(b *bench) {
	b.start(mac.Config{TXRing: b.slots(512)})
	for _, n := range []int{1, 2, 17, 64} {
		var out [][]byte
		for i := range n {
			out = append(out, ether(partner, 60+i, i))
		}
		before := b.bus.Trace().Counts()
		b.send(out...)
		d := b.bus.Trace().Counts().Sub(before)
		b.equal(b.core.Costs.FlushDoorbells, d.Doorbells, "doorbells for %d frames", n)
	}
}

// refusedLengths: what the core cannot do is refused at open, nothing leaks, and
// the next open works.
func refusedLengths(b *bench) {
	i := b.find().Info()
	for _, cfg := range []mac.Config{
		{RXRing: i.Ring.MinSlots - 1}, {TXRing: i.Ring.MinSlots - 1},
		{RXRing: i.Ring.MaxSlots + 1}, {TXRing: i.Ring.MaxSlots + 1},
		{MTU: i.MaxMTU + 1}, {Queues: min(i.RXQueues, i.TXQueues) + 1},
	} {
		b.drv = b.find()
		_, err := mac.NewDevice(b.Context(), b.bus, b.drv, b.config(cfg))
		b.wrap(err, mac.ErrConfig, "%+v", cfg)
		b.equal(0, b.bus.Space().Live(), "allocations after a refused configuration")
	}
	b.start(mac.Config{})
	b.works()
}
