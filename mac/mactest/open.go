package mactest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

var openChecks = []check{
	{"open/identity", identity},
	{"open/no device", noDevice},
	{"open/wrong version", wrongVersion},
	{"open/address of firmware", firmwareAddress},
	{"open/no address", noAddress},
	{"open/bring-up order", bringUpOrder},
	{"reset/slow", slowReset},
	{"reset/never ends", deadReset},
	{"reset/cancelled", cancelledReset},
	{"crash", crash},
}

// identity: finding the core tells what it is, and touches nothing.
func identity(b *bench) {
	drv := b.find()
	counts := b.bus.Trace().Counts()
	b.equal(uint64(0), counts.RegisterWrites, "register writes while finding the core")
	b.equal(0, b.bus.Space().Live(), "allocations while finding the core")
	i := drv.Info()
	b.equal(b.core.Version, i.Version, "version")
	l := i.Ring
	for _, v := range []struct {
		what string
		ok   bool
	}{
		{"name", i.Core != ""},
		{"queues", i.RXQueues > 0 && i.TXQueues > 0},
		{"address width of 32 to 64 bits", i.AddressBits >= 32 && i.AddressBits <= 64},
		{"MTU of 1500", i.MaxMTU >= 1500},
		{"descriptor size", l.DescriptorSize > 0 && l.DescriptorSize%4 == 0},
		{"ring lengths", l.MinSlots >= 2 && l.MaxSlots >= l.MinSlots && l.Reserve >= 0 && l.Reserve < l.MinSlots},
		{"receive buffer for a page of 2048", l.MaxBuffer >= 2032 && l.BufferAlign > 0},
		{"transmit buffer", l.MaxPiece > 0 && l.ContextSlots >= 0 && l.MinSlots-l.Reserve > l.ContextSlots},
	} {
		if !v.ok {
			b.Errorf("no usable %s in %+v", v.what, i)
		}
	}
	b.equal(i, b.find().Info(), "what a second look finds")
}

// absent is a bus on which nothing answers: every register reads the same.
type absent struct {
	*bus
	value uint32
}

func (a absent) Registers(int) (mac.Registers, error) { return a, nil }
func (a absent) Read32(uint32) uint32                 { return a.value }
func (a absent) Write32(uint32, uint32)               {}

func noDevice(b *bench) {
	for _, v := range []uint32{0, 0xFFFFFFFF} {
		_, err := b.core.Open(absent{b.bus, v})
		b.wrap(err, mac.ErrNoDevice, "registers that read %#x", v)
	}
}

func wrongVersion(b *bench) {
	b.bus.force.on, b.bus.force.off, b.bus.force.value = true, b.core.WrongVersion.Offset, b.core.WrongVersion.Value
	_, err := b.core.Open(b.bus)
	b.wrap(err, mac.ErrUnsupported, "register %#x that reads %#x", b.core.WrongVersion.Offset, b.core.WrongVersion.Value)
	b.equal(uint64(0), b.bus.Trace().Counts().RegisterWrites, "writes to a device of another kind")
}

// firmwareAddress: the address is read before the reset that loses it, and used.
func firmwareAddress(b *bench) {
	left := mac.HardwareAddr{0, 0x11, 0x22, 0x33, 0x44, 0x55}
	n := b.with(Setup{Address: left, Seed: 1}, nil)
	n.drv = n.find()
	n.equal(left, n.drv.Info().Address, "address that firmware left")
	cfg := n.config(mac.Config{})
	cfg.Address = mac.HardwareAddr{}
	var err error
	n.dev, err = mac.NewDevice(context.Background(), n.bus, n.drv, cfg)
	n.noError(err, "open")
	n.queue = n.dev.Queues()[0]
	n.equal(left, n.dev.Address(), "address in use")
	n.run()
	n.exchange(ether(left, 100, 1))
	n.close()
	n.equal(left, n.find().Info().Address, "address left for the next one")
}

func noAddress(b *bench) {
	b.drv = b.find()
	cfg := b.config(mac.Config{})
	cfg.Address = mac.HardwareAddr{}
	var err error
	b.dev, err = mac.NewDevice(context.Background(), b.bus, b.drv, cfg)
	b.noError(err, "open")
	b.queue = b.dev.Queues()[0]
	a := b.dev.Address()
	if !a.Usable() || a[0]&2 == 0 {
		b.Fatalf("address %s made up: neither usable nor locally administered", a)
	}
	b.run()
	b.exchange(ether(a, 100, 1))
}

// bringUpOrder checks the orders that Core states, on the writes of a whole
// start, and that no frame can move before the link is known.
func bringUpOrder(b *bench) {
	b.bus.Trace().Log(1 << 16)
	b.start(mac.Config{})
	events := b.bus.Trace().Events()
	b.bus.Trace().Log(0)
	if len(b.core.BringUp) == 0 {
		b.Fatal("Core.BringUp is empty: state what matters, or list the sub-test as missing")
	}
	for _, o := range b.core.BringUp {
		before, after := -1, -1
		for i, e := range events {
			if e.Kind != sim.RegisterWrite {
				continue
			}
			if o.Before.match(e) {
				before = i
			}
			if after < 0 && o.After.match(e) {
				after = i
			}
		}
		if before < 0 || after < 0 || before > after {
			b.Errorf("%v must be written before %v: last of the first is event %d, first of the second %d (-1: never)", o.Before, o.After, before, after)
		}
	}
}

func (s Step) match(e sim.Event) bool { return e.Name == s.Register && e.Value&s.Mask == s.Value }

func slowReset(b *bench) {
	b.model.Faults().Once(sim.SlowReset)
	b.start(mac.Config{})
	b.equal(uint64(1), b.model.Faults().Hits(sim.SlowReset), "slow resets")
	b.works()
}

// resetBound is the longest that anybody may wait for a reset.
const resetBound = 3 * time.Second

func deadReset(b *bench) {
	b.model.Faults().Always(sim.DeadReset)
	b.drv = b.find()
	began := time.Now()
	_, err := mac.NewDevice(context.Background(), b.bus, b.drv, b.config(mac.Config{}))
	b.wrap(err, mac.ErrReset, "open on a core that never leaves reset")
	if d := time.Since(began); d > resetBound {
		b.Errorf("waited %v for the reset: more than %v", d, resetBound)
	}
	b.equal(0, b.bus.Space().Live(), "allocations after a failed open")
	b.model.Faults().Clear(sim.DeadReset)
	b.start(mac.Config{})
	b.works()
}

func cancelledReset(b *bench) {
	b.model.Faults().Once(sim.DeadReset)
	b.drv = b.find()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := mac.NewDevice(ctx, b.bus, b.drv, b.config(mac.Config{}))
	b.wrap(err, mac.ErrReset, "open with a context that ends")
	b.wrap(err, context.DeadlineExceeded, "open with a context that ends")
	if d := time.Since(began); d > 500*time.Millisecond {
		b.Errorf("waited %v after the context had ended", d)
	}
	b.start(mac.Config{})
	b.works()
}

// crash: a process died with DMA running. When the next driver takes memory, the
// device has let go of that of the dead one: here it is gone, so that any access
// is a violation.
func crash(b *bench) {
	dead := b.find()
	b.drv = dead
	var memory []pagepool.Memory
	alloc := func(use mac.Use, size int) pagepool.Memory {
		m, err := b.bus.Alloc(mac.Alloc{Use: use, Size: size, Align: 4096, AddressBits: dead.Info().AddressBits})
		b.noError(err, "allocate")
		memory = append(memory, m)
		return m
	}
	l := dead.Info().Ring
	slots := max(16, l.MinSlots)
	b.noError(dead.Reset(context.Background()), "reset")
	rx, err := dead.NewRX(0, alloc(mac.Descriptors, l.RXBytes(slots)), slots, 1024)
	b.noError(err, "receive ring")
	tx, err := dead.NewTX(0, alloc(mac.Descriptors, l.TXBytes(slots)), slots)
	b.noError(err, "transmit ring")
	b.noError(dead.Configure(mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, Address: station, BufferSize: 1024}), "configure")
	b.noError(dead.SetFilter(mac.Filter{AllMulticast: true}), "filter")
	pages := alloc(mac.Buffers, slots*1024)
	bufs := make([]ring.Buffer, slots-max(1, l.Reserve))
	for i := range bufs {
		bufs[i] = ring.Buffer{Addr: pages.DeviceAddr() + uint64(i)*1024, Interrupt: true}
	}
	rx.Post(0, bufs)
	b.noError(dead.Start(), "start")
	b.noError(dead.SetLink(b.core.Links[0]), "link")
	b.deliver(ether(mac.Broadcast, 200, 1), ether(station, 200, 2))
	out := make([]ring.Completion, 2)
	b.equal(2, rx.Harvest(0, out), "frames received before the crash")
	b.bus.holdDoorbells()
	frames := []ring.TXFrame{{Addr: pages.DeviceAddr(), Len: 100, Interrupt: true}}
	tx.Fill(0, frames)
	tx.Kick(frames[0].Slots)
	b.bus.hold.Store(false) // and the doorbell dies with the process
	b.bus.held = nil

	b.bus.onAlloc = func() {
		b.bus.onAlloc = nil
		for _, m := range memory {
			b.noError(m.Release(), "release")
		}
		b.deliver(ether(mac.Broadcast, 200, 3), ether(station, 200, 4))
	}
	b.start(mac.Config{})
	b.forget()
	b.equal(0, len(b.receive()), "frames received from before the start")
	b.works()
}

// wrap wants an error that wraps target and says more than that.
func (b *bench) wrap(err, target error, format string, args ...any) {
	b.Helper()
	if !errors.Is(err, target) {
		b.Fatalf(format+": error is %v, want one that wraps %q", append(args, err, target.Error())...)
	}
	if strings.TrimSpace(err.Error()) == target.Error() {
		b.Fatalf(format+": error %q does not say where or what to do", append(args, err.Error())...)
	}
}
