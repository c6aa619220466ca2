package mvneta

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/mvneta"
	"github.com/barewire/barewire/ring"
)

func TestDrivers(t *testing.T) {
	require.Equal(t, "mvneta", Driver().Name)
	require.Equal(t, "mvneta-hwbm", HWBMDriver().Name)
	for _, name := range Driver().Compatible {
		bus := newBus(t, model.New(model.Config{Compatible: name, PassThrough: true}))
		d, err := mac.Match(bus, HWBMDriver(), Driver())
		require.NoError(t, err)
		require.Equal(t, "mvneta", d.Name, name)
		require.Equal(t, name, socOf(bus).compatible)
	}
	for _, d := range []mac.Driver{Driver(), HWBMDriver()} {
		core, err := d.New(newBus(t, model.New(model.Config{})))
		require.NoError(t, err)
		require.Equal(t, d.Name, core.Info().Core)
	}
	bus := newBus(t, model.New(model.Config{Compatible: "somebody,else", Inline: true, InBandLink: true}))
	dev, err := Open(t.Context(), bus, nil, &mac.Config{RXRing: 16, TXRing: 16})
	require.NoError(t, err)
	require.Equal(t, 1578, dev.Info().ChecksumMTU, "the least able one's")
	require.NoError(t, dev.Close())
}

// A port that cannot reach memory says so before it is given any.
func TestNoWindows(t *testing.T) {
	bus := newBus(t, model.New(model.Config{PassThrough: true}))
	_, err := New(bus, nil)
	require.ErrorIs(t, err, mac.ErrConfig)
	require.ErrorContains(t, err, "Options.Windows")
	_, err = New(bus, &Options{Windows: make([]Window, 7)})
	require.ErrorIs(t, err, mac.ErrConfig)
	c, err := New(bus, &Options{Windows: []Window{{Base: 0, Size: 1 << 20}}})
	require.NoError(t, err)
	mem, err := bus.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 4096, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	_, err = c.NewRX(0, mem, 16, 2048)
	require.ErrorContains(t, err, "no address window of the port leads there")
	_, err = c.NewTX(0, mem, 16)
	require.ErrorIs(t, err, mac.ErrConfig)
	require.NoError(t, mem.Release())
}

func TestRefusedRings(t *testing.T) {
	r := newRig(t, rigOptions{})
	mem, err := r.bus.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 1024, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	for _, v := range []struct{ q, slots, buffer int }{
		{-1, 16, 2048}, {8, 16, 2048}, {0, 3, 2048}, {0, 4097, 2048}, {0, 33, 2048}, {0, 16, 32}, {0, 16, 100}, {0, 16, 16384},
	} {
		_, err := r.c.NewRX(v.q, mem, v.slots, v.buffer)
		require.ErrorIs(t, err, mac.ErrConfig, "%+v", v)
	}
	for _, v := range [][2]int{{-1, 16}, {8, 16}, {0, 3}, {0, 4097}, {0, 33}} {
		_, err := r.c.NewTX(v[0], mem, v[1])
		require.ErrorIs(t, err, mac.ErrConfig, "%v", v)
	}
	require.NoError(t, mem.Release())
	good := mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, Address: station, BufferSize: 2048}
	for _, change := range []func(*mac.Setup){
		func(s *mac.Setup) { s.RXQueues = 9 }, func(s *mac.Setup) { s.TXQueues = 0 }, func(s *mac.Setup) { s.BufferSize = 100 },
		func(s *mac.Setup) { s.MTU = 67 }, func(s *mac.Setup) { s.MTU = neta.MaxMTU + 1 },
	} {
		s := good
		change(&s)
		require.ErrorIs(t, r.c.Configure(s), mac.ErrConfig, "%+v", s)
	}
	require.ErrorIs(t, r.c.Start(), mac.ErrConfig, "running already")
	require.ErrorIs(t, r.c.SetAddress(mac.Broadcast), mac.ErrConfig)
	_, err = r.c.SetWatchdog(8, 100)
	require.ErrorIs(t, err, mac.ErrConfig)
	require.ErrorIs(t, r.c.SetRXFrames(8, 1), ring.ErrCoalesce)
	require.ErrorIs(t, r.c.SetRXFrames(0, -1), ring.ErrCoalesce)

	fresh, err := New(r.bus, nil)
	require.NoError(t, err)
	fresh.setup = good
	require.ErrorContains(t, fresh.Start(), "receive queue 0 has no ring")
}

// What is latched in Misc_Cause: the link, and errors that end in a repair and are
// masked from then on.
func TestMiscCauses(t *testing.T) {
	r := newRig(t, rigOptions{model: model.Config{InBandLink: true}})
	for _, v := range []struct {
		misc uint32
		want mac.Events
		mask uint32 // of miscErrors
	}{
		{neta.MiscLink, mac.Events{Link: true}, miscErrors},
		{neta.MiscPHY, mac.Events{Link: true}, miscErrors},
		{neta.MiscRXCRC | neta.MiscRXOverrun | neta.MiscPool, mac.Events{}, miscErrors}, // masked: counters tell
		{field.Put(neta.MiscTXError, 1) | neta.MiscRXLarge, mac.Events{TXStopped: 1}, miscErrors &^ field.Put(neta.MiscTXError, 1)},
		{neta.MiscInternalAddr | neta.MiscLink, mac.Events{Fatal: 1, Link: true}, miscErrors &^ (field.Put(neta.MiscTXError, 1) | neta.MiscInternalAddr)},
	} {
		r.m.Raise(v.misc)
		require.Equal(t, v.want, r.c.Interrupt(), "%#x", v.misc)
		require.Equal(t, v.mask|miscLink, r.m.Read32(neta.MiscMask), "%#x", v.misc)
		require.Equal(t, mac.Events{}, r.c.Interrupt(), "%#x: again", v.misc)
	}
}

// A cause that somebody else has unmasked is masked again.
func TestStrangeMask(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.send(ring.TXFrame{}, frame(partner, 60, 1))
	r.m.Write32(neta.CauseMask, 0xFFFFFFFF)
	require.Equal(t, mac.Events{}, r.c.Interrupt())
	require.Equal(t, neta.CauseMisc|rxCause(0), r.m.Read32(neta.CauseMask))
}

// Interrupts come while the MTU changes: for the race detector.
func TestInterruptsWhileTheMTUChanges(t *testing.T) {
	r := newRig(t, rigOptions{})
	var done sync.WaitGroup
	done.Go(func() {
		for i := range 1000 {
			require.NoError(t, r.c.SetMTU(1000+i%500))
		}
	})
	for range 1000 {
		r.m.Write32(neta.MiscMask, neta.MiscInternalAddr)
		r.m.Raise(neta.MiscInternalAddr)
		require.Equal(t, uint32(1), r.c.Interrupt().Fatal)
	}
	done.Wait()
}

// A sender that waits is woken when a marked frame has been sent: not before, and
// not the later for what was found done meanwhile.
func TestTransmitThreshold(t *testing.T) {
	r := newRig(t, rigOptions{slots: 64})
	threshold := func() uint32 { return field.Get(neta.TXThresh, r.m.Read32(neta.TXRingSize(0))) }
	fill := func(n int) {
		for i := range n {
			r.send(ring.TXFrame{}, frame(partner, 60, i))
		}
	}
	fill(40) // marks end at 15 and 31; 40 are sent
	r.c.UnmaskTX(0)
	require.Equal(t, uint32(15), threshold(), "more than 15 sent: the first mark")
	require.Equal(t, uint32(1), r.c.Interrupt().TX, "at once, since it has been")
	require.Zero(t, r.c.Interrupt().TX, "and masked")
	require.Equal(t, 32, r.tx.Reap(), "both marks")
	require.NoError(t, r.c.SetLink(mac.Link{}))
	fill(10) // slots 40 to 49; the mark is at 47
	r.c.UnmaskTX(0)
	require.Equal(t, uint32(7), threshold())
	require.Zero(t, r.c.Interrupt().TX, "nothing has been sent")
	require.NoError(t, r.c.SetLink(gigabit))
	require.Equal(t, uint32(1), r.c.Interrupt().TX)
}

// One read of the counter tells enough for several looks.
func TestTransmitCounterIsReadOnce(t *testing.T) {
	r := newRig(t, rigOptions{slots: 64})
	for i := range 40 {
		r.send(ring.TXFrame{}, frame(partner, 60, i))
	}
	tx := r.c.tx[0]
	d := r.counts(func() { require.Equal(t, 40, tx.Done(0, 15, 40)) })
	require.Equal(t, uint64(1), d.RegisterReads)
	d = r.counts(func() { require.Equal(t, 24, tx.Done(16, 31, 24), "once the first sixteen are released") })
	require.Zero(t, d.RegisterReads)
	d = r.counts(func() { require.Equal(t, 24, tx.Done(16, 60, 24), "more than is known") })
	require.Equal(t, uint64(1), d.RegisterReads)
	for r.tx.Reap() > 0 {
	}
	require.Zero(t, r.tx.InUse())
}

// The threshold follows when a look finds some of the frames before the mark done.
func TestTransmitThresholdFollows(t *testing.T) {
	r := newRig(t, rigOptions{slots: 64})
	tx := r.c.tx[0]
	require.NoError(t, r.c.SetLink(mac.Link{}))
	for i := range 16 {
		r.send(ring.TXFrame{}, frame(partner, 60, i))
	}
	r.c.UnmaskTX(0)
	r.m.OnTransmit(func([]byte) {
		if r.sent = append(r.sent, nil); len(r.sent) == 5 {
			r.m.Write32(neta.TXCommandReg, 1<<8) // stop behind this one
		}
	})
	require.NoError(t, r.c.SetLink(gigabit))
	require.Len(t, r.sent, 5)
	require.Zero(t, r.tx.Reap(), "the mark is the sixteenth")
	require.Equal(t, 11, tx.given)
	require.Equal(t, uint32(10), field.Get(neta.TXThresh, r.m.Read32(neta.TXRingSize(0))), "five less")
	require.Zero(t, r.c.Interrupt().TX)
	r.m.Write32(neta.TXCommandReg, 1)
	require.Equal(t, uint32(1), r.c.Interrupt().TX)
	require.Equal(t, 16, r.tx.Reap())
}

// Once a waiting sender has been woken, looks cost one register each way again.
func TestTransmitThresholdRests(t *testing.T) {
	r := newRig(t, rigOptions{slots: 64})
	look := func() sim.Counts {
		for i := range 16 {
			r.send(ring.TXFrame{}, frame(partner, 60, i))
		}
		return r.counts(func() { require.Positive(t, r.tx.Reap()) })
	}
	before := look()
	r.c.UnmaskTX(0)
	require.Equal(t, before.RegisterWrites+1, look().RegisterWrites, "the threshold follows")
	for i := range 16 {
		r.send(ring.TXFrame{}, frame(partner, 60, i))
	}
	require.Equal(t, uint32(1), r.c.Interrupt().TX)
	r.tx.Reap()
	require.Equal(t, before, look())
}

// Tagged frames go to the queue of their priority.
func TestQueuesByPriority(t *testing.T) {
	variants(t, func(t *testing.T, o rigOptions) {
		o.queues = 4
		r := newRig(t, o)
		for p := range 8 {
			f := frame(station, 100, p)
			copy(f[12:], []byte{0x81, 0, byte(p << 5), 5})
			r.m.Deliver(f)
		}
		require.Len(t, r.harvest(8), 2, "priorities 0 and 1; the other queues have no buffers")
		require.Equal(t, uint64(2), r.m.Stats().RX[0])
	})
}

// Reset waits for the MAC, and no longer than it may.
func TestResetWaits(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.m.Faults().Always(sim.DeadReset)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	err := r.c.Reset(ctx)
	require.ErrorIs(t, err, mac.ErrReset)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	r.m.Faults().Clear(sim.DeadReset)
	require.NoError(t, r.c.Reset(context.Background()))
}

// frozen is a register file whose queues never stop.
type frozen struct{ mac.Registers }

func (f frozen) Read32(off uint32) uint32 {
	if off == neta.RXCommand {
		return 1
	}
	return f.Registers.Read32(off)
}

func TestQueueThatDoesNotStop(t *testing.T) {
	r := newRig(t, rigOptions{})
	regs := r.c.regs
	r.c.regs = frozen{regs}
	err := r.c.Stop()
	require.ErrorIs(t, err, mac.ErrNotIdle)
	require.ErrorContains(t, err, "receive queues 0x1 still on after 50ms")
	r.c.regs = regs
}

// Registers are the same after each reset and configuration, whatever was done in
// between.
func TestConfigureIsTheSameEachTime(t *testing.T) {
	variants(t, func(t *testing.T, o rigOptions) {
		r := newRig(t, o)
		setup := r.c.setup
		dump := func() map[string]uint32 {
			regs := map[string]uint32{}
			for off := uint32(0); off < neta.WindowSize; off += 4 {
				switch off {
				case neta.SMI, neta.MiscCause, neta.UnitCause, neta.ErrorAddr: // what happened, not what is set
				default:
					regs[neta.RegName(off)] = r.m.Read32(off)
				}
			}
			return regs
		}
		configure := func() {
			require.NoError(t, r.c.Reset(context.Background()))
			require.NoError(t, r.c.Configure(setup))
		}
		configure()
		first := dump()
		for range 3 {
			require.NoError(t, r.c.SetFilter(mac.Filter{Promiscuous: true}))
			require.NoError(t, r.c.SetMTU(576))
			require.NoError(t, r.c.SetAddress(partner))
			_, err := r.c.SetWatchdog(0, 77)
			require.NoError(t, err)
			require.NoError(t, r.c.SetRXFrames(0, 9))
			configure()
			require.Equal(t, first, dump())
		}
	})
}

// Octet counters have 64 bits, low word first.
func TestWideCounters(t *testing.T) {
	r := newRig(t, rigOptions{})
	for i, v := range []struct {
		off   uint32
		count func(c mac.Counters) uint64
	}{
		{neta.MIBRXOctets, func(c mac.Counters) uint64 { return c.RXOctets }}, {neta.MIBTXOctets, func(c mac.Counters) uint64 { return c.TXOctets }},
	} {
		r.m.AddCount(v.off, 0xFFFFFFF0)
		r.m.AddCount(v.off+4, uint32(5+i))
		var c mac.Counters
		r.c.Counters(&c)
		require.Equal(t, uint64(5+i)<<32|0xFFFFFFF0, v.count(c))
		r.c.Counters(&c)
		require.Equal(t, uint64(5+i)<<32|0xFFFFFFF0, v.count(c), "reading has cleared it")
	}
}

func TestNothingThere(t *testing.T) {
	bus := newBus(t, model.New(model.Config{}))
	for _, v := range []uint32{0, 0xFFFFFFFF} {
		_, err := New(constant{bus, v}, nil)
		require.ErrorIs(t, err, mac.ErrNoDevice)
	}
	_, err := New(windowed{bus, 0}, nil)
	require.True(t, errors.Is(err, mac.ErrNoDevice))
}

// constant is a bus whose registers read the same everywhere.
type constant struct {
	mac.Bus
	v uint32
}

func (b constant) Registers(int) (mac.Registers, error) { return b, nil }
func (b constant) Read32(uint32) uint32                 { return b.v }
func (b constant) Write32(uint32, uint32)               {}
