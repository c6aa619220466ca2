package mactest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

var (
	station  = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	partner  = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
	stranger = mac.HardwareAddr{2, 0, 0, 0, 0, 3}
)

// bench is a driver on a model, driven by hand: the test is the poll goroutine.
type bench struct {
	*testing.T
	core  Core
	model Model
	bus   *bus

	drv   mac.Core
	dev   *mac.Device
	queue *mac.Queue
	owned []*mac.Queue // the test owns their receive sides
	all   bool         // own all queues, not the first alone
	// inBand: the core knows the link by itself.
	inBand bool
	wire   wire
}

// wire keeps what the model sends. A timer of the model may do it.
type wire struct {
	mu   sync.Mutex
	sent [][]byte
}

func (w *wire) transmit(f []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, bytes.Clone(f))
}

// sent is what has been sent since forget.
func (b *bench) sent() [][]byte {
	b.wire.mu.Lock()
	defer b.wire.mu.Unlock()
	return b.wire.sent
}

func (b *bench) forget() {
	b.wire.mu.Lock()
	defer b.wire.mu.Unlock()
	b.wire.sent = nil
}

// frame is a received frame, copied.
type frame struct {
	data   []byte
	pieces int
	flags  ring.Flags
}

func newBench(t *testing.T, c Core) *bench { return newBenchWith(t, c, Setup{Seed: 1}, nil) }

// newBenchWith is newBench with another setup, and memory as opts says.
func newBenchWith(t *testing.T, c Core, s Setup, opts *sim.SpaceOptions) *bench {
	if opts == nil {
		opts = &c.memory
	}
	b := &bench{T: t, core: c, model: c.Model(s)}
	b.model.OnTransmit(b.wire.transmit)
	b.bus = newBus(c, b.model, opts)
	t.Cleanup(b.end)
	return b
}

// end closes what the test has left open and takes stock.
func (b *bench) end() {
	b.Helper()
	if b.dev != nil {
		b.close()
	}
	b.noViolations()
	if n := b.bus.Space().Live(); n != 0 && !b.bus.keeps {
		b.Errorf("%d allocations left after the end", n)
	}
	b.noError(b.bus.Bus.Close(), "close model")
}

// with is a further bench of the same test, on hardware of its own.
func (b *bench) with(s Setup, opts *sim.SpaceOptions) *bench {
	return newBenchWith(b.T, b.core, s, opts)
}

// find makes the driver.
func (b *bench) find() mac.Core {
	b.Helper()
	drv, err := b.core.Open(b.bus)
	b.noError(err, "find the core")
	return drv
}

// config fills in what the suite needs: short rings, so that every test goes round
// them. A fixed link stands in where the core
// knows none by itself.
func (b *bench) config(cfg mac.Config) *mac.Config {
	if cfg.Address == (mac.HardwareAddr{}) {
		cfg.Address = station
	}
	if cfg.RXRing == 0 {
		cfg.RXRing = b.slots(64)
	}
	if cfg.TXRing == 0 {
		cfg.TXRing = b.slots(64)
	}
	if _, b.inBand = b.drv.Link(); !b.inBand {
		cfg.Link = b.core.Links[0]
	}
	return &cfg
}

// open finds the core and makes a device of it, not started.
func (b *bench) open(cfg mac.Config) {
	b.Helper()
	b.drv = b.find()
	dev, err := mac.NewDevice(context.Background(), b.bus, b.drv, b.config(cfg))
	b.noError(err, "open")
	b.dev, b.queue = dev, dev.Queues()[0]
}

// start opens and starts a device; the test owns its queue.
func (b *bench) start(cfg mac.Config) {
	b.Helper()
	b.open(cfg)
	b.run()
}

func (b *bench) run() {
	b.Helper()
	b.noError(b.dev.Start(), "start")
	owned := b.dev.Queues()[:1]
	if b.all {
		owned = b.dev.Queues()
	}
	for _, q := range owned {
		b.noError(q.Own(), "own queue %d", q.Index())
		b.owned = append(b.owned, q)
	}
	b.settle()
	if l := b.dev.Link(); !l.Up {
		b.Fatalf("the link is %v after the start", l)
	}
}

// close ends the device; the next open begins again on the same hardware.
func (b *bench) close() {
	b.Helper()
	b.noError(b.shut(), "close")
}

func (b *bench) shut() error {
	for _, q := range b.owned {
		q.Disown()
	}
	b.owned = nil
	dev := b.dev
	b.dev = nil
	return dev.Close()
}

// settle lets the goroutines of the device do what there is to do, and looks at
// what must hold in every step.
func (b *bench) settle() {
	b.Helper()
	synctest.Wait()
	b.noViolations()
	for _, q := range b.owned {
		b.noError(q.Pool.Check(), "page sum of queue %d", q.Index())
	}
}

func (b *bench) noViolations() {
	b.Helper()
	if v := append(b.model.Violations().List(), b.bus.Space().Violations().List()...); len(v) > 0 {
		b.Fatalf("the driver did what it must never do: %q", v)
	}
}

// deliver puts frames on the wire, one after the other.
func (b *bench) deliver(frames ...[]byte) {
	b.Helper()
	for _, f := range frames {
		b.model.Deliver(f)
		b.settle()
	}
}

// receive polls the queue as an endpoint does, until there is nothing left and
// interrupts are unmasked.
func (b *bench) receive() (got []frame) {
	b.Helper()
	for {
		b.checkpoint()
		b.settle()
		b.queue.Ack()
		batch := b.harvest(16)
		got = append(got, batch...)
		b.queue.Refill()
		b.settle()
		if len(batch) > 0 {
			continue
		}
		b.queue.Unmask()
		b.settle()
		if batch = b.harvest(16); len(batch) == 0 {
			b.queue.Publish()
			return got
		}
		got = append(got, batch...)
	}
}

// checkpoint is what each owner does between two passes. A repair takes the queues one
// after the other, and has all of them in the end: while one owner waits for it the
// others come by again.
func (b *bench) checkpoint() {
	b.Helper()
	if len(b.owned) == 1 {
		b.stillOpen(b.owned[0].Checkpoint())
		return
	}
	waiting := make([]chan bool, len(b.owned))
	for again, nap := true, time.Microsecond; again; nap *= 2 {
		for i, q := range b.owned {
			if waiting[i] == nil {
				c := make(chan bool, 1)
				waiting[i] = c
				go func() { c <- q.Checkpoint() }()
			}
		}
		synctest.Wait()
		again = false
		for i, c := range waiting {
			select {
			case open := <-c:
				b.stillOpen(open)
				waiting[i] = nil
			default:
				again = true
			}
		}
		if again {
			time.Sleep(nap)
		}
		if nap > time.Minute {
			b.Fatal("the device does not give its queues back")
		}
	}
}

func (b *bench) stillOpen(open bool) {
	b.Helper()
	if !open {
		b.Fatal("the device has closed itself")
	}
}

// harvest takes up to n frames and recycles their pages.
func (b *bench) harvest(n int) (got []frame) {
	b.Helper()
	frames := make([]ring.Frame, n)
	frames = frames[:b.queue.RX.Harvest(frames)]
	for _, f := range frames {
		g := frame{pieces: len(f.Pieces), flags: f.Flags}
		for _, p := range f.Pieces {
			g.data = append(g.data, b.queue.Pool.Bytes(p.Page)[p.Off:p.Off+p.Len]...)
			b.queue.Pool.Recycle(p.Page)
		}
		if uint32(len(g.data)) != f.Len {
			b.Fatalf("frame of %d bytes has pieces of %d together", f.Len, len(g.data))
		}
		got = append(got, g)
	}
	b.settle()
	return got
}

// exchange delivers frames, polls, and wants exactly them.
func (b *bench) exchange(frames ...[]byte) {
	b.Helper()
	b.deliver(frames...)
	b.want(frames, b.receive())
}

// want compares received frames with those delivered.
func (b *bench) want(want [][]byte, got []frame) {
	b.Helper()
	if len(got) != len(want) {
		b.Fatalf("%d frames received, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(want[i], got[i].data) {
			b.Fatalf("frame %d of %d: %s", i, len(want), diff(want[i], got[i].data))
		}
	}
}

// queueTX commits frames and rings once; it returns how many found room.
func (b *bench) queueTX(req ring.TXFrame, frames ...[]byte) (n int) {
	b.Helper()
	tx := b.queue.LockTX()
	if tx == nil {
		b.Fatal("frames are refused")
	}
	for _, f := range frames {
		room := tx.Reserve(len(f))
		if room == nil {
			break
		}
		copy(room, f)
		tx.Commit(req)
		n++
	}
	b.queue.FlushTX()
	b.queue.UnlockTX()
	b.settle()
	return n
}

// send sends frames, in more than one batch when the ring is small, and wants
// exactly them on the wire.
func (b *bench) send(frames ...[]byte) {
	b.Helper()
	b.forget()
	for done := 0; done < len(frames); {
		n := b.queueTX(ring.TXFrame{}, frames[done:]...)
		if n == 0 {
			b.Fatalf("no room for frame %d of %d", done, len(frames))
		}
		done += n
	}
	b.wantSent(frames)
}

// wantSent wants exactly these frames on the wire.
func (b *bench) wantSent(frames [][]byte) {
	b.Helper()
	sent := b.sent()
	if len(sent) != len(frames) {
		b.Fatalf("%d frames on the wire, want %d", len(sent), len(frames))
	}
	for i := range frames {
		if !bytes.Equal(frames[i], sent[i]) {
			b.Fatalf("sent frame %d of %d: %s", i, len(frames), diff(frames[i], sent[i]))
		}
	}
}

// works proves traffic both ways.
func (b *bench) works() {
	b.Helper()
	b.exchange(ether(station, 60, 1), ether(mac.Broadcast, 600, 2), ether(station, 1514, 3))
	b.send(ether(partner, 60, 4), ether(partner, 1514, 5))
}

// snapshot publishes and collects all counters.
func (b *bench) snapshot() mac.Snapshot {
	b.queue.Publish()
	return b.dev.Snapshot()
}

func (b *bench) noError(err error, format string, args ...any) {
	b.Helper()
	if err != nil {
		b.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// equal compares exactly.
func (b *bench) equal(want, got any, format string, args ...any) {
	b.Helper()
	if !reflect.DeepEqual(want, got) {
		b.Fatalf("%s: is %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

func diff(want, got []byte) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
	}
	for i := range want {
		if want[i] != got[i] {
			return fmt.Sprintf("byte %d of %d is %#02x, want %#02x", i, len(want), got[i], want[i])
		}
	}
	return "equal"
}

// ether is a frame of n bytes whose contents number names.
func ether(dst mac.HardwareAddr, n, number int) []byte {
	f := make([]byte, n)
	copy(f, dst[:])
	copy(f[6:], partner[:])
	binary.BigEndian.PutUint16(f[12:], 0x88B5) // local experimental
	for i := 14; i < n; i++ {
		f[i] = byte(i*7 + number*13)
	}
	return f
}
