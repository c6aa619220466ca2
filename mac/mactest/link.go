package mactest

import (
	"encoding/binary"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

var linkChecks = []check{
	{"link/every speed", everySpeed},
	{"link/change without a break", changeSpeed},
	{"link/lost with frames in the ring", linkLost},
	{"link/flap", linkFlap},
	{"pause/received", pauseReceived},
	{"pause/sent", pauseSent},
}

// setLink changes the link of the wire and, where the core has to be told, of the
// core.
func (b *bench) setLink(l mac.Link) {
	b.Helper()
	b.model.SetLink(l)
	if !b.inBand {
		b.noError(b.drv.SetLink(l), "link %v", l)
	}
	b.settle()
	if b.inBand {
		b.equal(l, b.dev.Link(), "link as the device sees it")
	}
}

func everySpeed(b *bench) {
	b.start(mac.Config{})
	for range 2 {
		for _, l := range b.core.Links {
			b.setLink(mac.Link{})
			if b.inBand && b.queue.LockTX() != nil {
				b.Fatal("frames are taken while the link is down")
			}
			b.deliver(ether(station, 100, 1))
			b.equal(0, len(b.receive()), "frames received while the link is down")
			b.setLink(l)
			b.works()
		}
	}
}

// changeSpeed: the model records a change of speed while the MAC runs.
func changeSpeed(b *bench) {
	b.start(mac.Config{})
	for range 2 {
		for _, l := range b.core.Links {
			b.setLink(l)
			b.works()
		}
	}
	b.wrap(b.drv.SetLink(mac.Link{Up: true, Speed: 17, FullDuplex: true}), mac.ErrConfig, "a link of 17 Mbit/s")
	b.works()
}

// linkLost: frames that were on their way when the link went keep nobody from
// going on when it comes back.
func linkLost(b *bench) {
	b.start(mac.Config{TXRing: b.slots(32)})
	for lap := range 5 {
		b.bus.holdDoorbells()
		for i := range 8 {
			b.equal(1, b.queueTX(ring.TXFrame{}, ether(partner, 1514, i)), "frames that found room")
		}
		b.setLink(mac.Link{})
		b.bus.releaseDoorbells()
		b.settle()
		b.setLink(b.core.Links[0])
		for i := range 70 { // round the ring, over whatever was left
			b.forget()
			b.equal(1, b.queueTX(ring.TXFrame{}, ether(partner, 60, lap+i)), "frames that found room")
			b.equal(1, len(b.sent()), "frames on the wire")
		}
		b.works()
	}
	b.equal(mac.Recoveries{}, b.snapshot().Recoveries, "repairs")
}

func linkFlap(b *bench) {
	b.start(mac.Config{})
	for i := range 5 {
		b.model.Faults().Once(sim.LinkFlap)
		b.deliver(ether(station, 100, i))
		b.sleep(5 * time.Millisecond)
		if b.inBand {
			b.equal(b.core.Links[0], b.dev.Link(), "link after a flap")
		}
		b.receive()
		b.works()
	}
}

// pauseFrame is the partner's (IEEE 802.3 Annex 31B).
func pauseFrame(quanta uint16) []byte {
	f := make([]byte, 60)
	copy(f, []byte{0x01, 0x80, 0xc2, 0, 0, 1})
	copy(f[6:], partner[:])
	binary.BigEndian.PutUint16(f[12:], 0x8808)
	binary.BigEndian.PutUint16(f[14:], 1)
	binary.BigEndian.PutUint16(f[16:], quanta)
	return f
}

// withPause tells the core what was agreed on flow control.
func (b *bench) withPause(rx, tx bool) {
	b.Helper()
	l := b.core.Links[0]
	l.RXPause, l.TXPause = rx, tx
	b.noError(b.drv.SetLink(l), "link %v", l)
	b.settle()
}

// pauseReceived: the partner's pause holds frames back until it is over, when it
// was agreed on; it never reaches the host.
func pauseReceived(b *bench) {
	b.start(mac.Config{})
	held := ether(partner, 100, 1)
	for _, end := range []string{"time", "frame"} {
		b.withPause(true, false)
		b.deliver(pauseFrame(0xFFFF))
		b.equal(0, len(b.receive()), "pause frames received")
		b.forget()
		b.queueTX(ring.TXFrame{}, held)
		b.equal(0, len(b.sent()), "frames sent in a pause")
		if end == "time" {
			b.sleep(40 * time.Millisecond) // 0xFFFF quanta of 512 bits are 33.6 ms at 1 Gbit/s
			b.sleep(time.Duration(1000/b.core.Links[0].Speed) * 40 * time.Millisecond)
		} else {
			b.deliver(pauseFrame(0))
		}
		b.wantSent([][]byte{held})
		b.withPause(false, false)
		b.deliver(pauseFrame(0xFFFF))
		b.send(held)
	}
}

// pauseSent: when ring and FIFO fill, the partner is asked to stop, if that was
// agreed on.
func pauseSent(b *bench) {
	for _, agreed := range []bool{false, true} {
		b.start(mac.Config{RXRing: b.slots(8)})
		b.withPause(false, agreed)
		b.forget()
		for i := range 60 {
			b.deliver(ether(station, 1514, i))
		}
		pauses := 0
		for _, f := range b.sent() {
			if binary.BigEndian.Uint16(f[12:]) == 0x8808 {
				pauses++
			}
		}
		if (pauses > 0) != agreed {
			b.Fatalf("%d pause frames sent, agreed on: %v", pauses, agreed)
		}
		b.receive()
		b.works()
		b.close()
	}
}
