package mvneta

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/mvneta"
	"github.com/barewire/barewire/ring"
)

func newBus(t *testing.T, m *model.Model) *bussim.Bus {
	b := bussim.New(m, nil)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// Buffers come out of the pools in any order, over many laps.
func TestBufferManager(t *testing.T) {
	r := newRig(t, rigOptions{opts: Options{BufferManager: true}, slots: 200, pages: 300})
	for lap := range 100 {
		want := r.deliver(1+lap*7%190, 60+lap*13%1400)
		r.want(want, r.harvest(256))
		r.rx.Refill()
	}
	require.Zero(t, r.rx.Stats().Dropped())
	require.NoError(t, r.c.Stop())
	s := r.m.Stats()
	require.Equal(t, s.Puts[0], s.Gets[0], "everything given was taken back")
}

// A buffer that the device was not given is a counted drop, whatever the device
// says, and the ring goes on.
func TestForgedBuffers(t *testing.T) {
	r := newRig(t, rigOptions{opts: Options{BufferManager: true}, slots: 128, pages: 160})
	base := uint32(r.pool.Addr(0))
	bad := []uint32{0, 1, base + 1, base + 64, base - 2048, base + 160*2048, 0xFFFFFFFF, r.c.rx[0].base}
	for i, addr := range bad {
		r.m.ForgeBuffers(addr)
		r.deliver(1, 100)
		r.want(r.deliver(1, 200), r.harvest(8)) // the good one behind it
		require.Equal(t, uint64(i+1), r.rx.Stats().UnknownBuffer)
		r.rx.Refill()
	}
	require.NoError(t, r.pool.Check())

	// A frame in a buffer that another frame has, too.
	frames := make([]ring.Frame, 4)
	r.deliver(1, 100)
	require.Equal(t, 1, r.rx.Harvest(frames))
	page := frames[0].Pieces[0].Page
	r.m.ForgeBuffers(uint32(r.pool.Addr(page)))
	r.deliver(1, 100)
	require.Zero(t, r.rx.Harvest(frames))
	require.Equal(t, uint64(len(bad)+1), r.rx.Stats().UnknownBuffer)
	r.pool.Recycle(page)
	require.Equal(t, len(bad)+1, r.pool.Stats().Posted-r.rx.Posted(), "lost until the next reset")
}

// Every receive queue has a pool of its own, and the other ports' are left alone.
func TestPoolsOfOtherPorts(t *testing.T) {
	r := newRig(t, rigOptions{opts: Options{BufferManager: true, Pool: 2}, queues: 2})
	require.Equal(t, 2, r.c.Info().RXQueues)
	r.exchange(5, 100)
	s := r.m.Stats()
	require.Equal(t, []uint64{0, 0, 64, 0}, s.Puts[:])
	require.Equal(t, []uint64{0, 0, 5, 0}, s.Gets[:])
	require.Equal(t, uint32(2<<4|2<<6|1), r.m.Read32(neta.RXConfig(0)), "short and long pool of queue 0")
	require.Equal(t, uint32(3<<4|3<<6|1), r.m.Read32(neta.RXConfig(1)))
	require.Zero(t, r.m.Read32(neta.BMOffset+neta.BMPoolBase(0)))
}

// What a crashed driver left in a pool is gone before the next one fills it.
func TestPoolsAreDrained(t *testing.T) {
	r := newRig(t, rigOptions{opts: Options{BufferManager: true}})
	next, err := New(r.bus, &Options{BufferManager: true})
	require.NoError(t, err)
	require.NoError(t, next.Reset(context.Background()))
	s := r.m.Stats()
	require.Equal(t, []uint64{64, 64}, []uint64{s.Puts[0], s.Gets[0]})
	require.Zero(t, r.m.Read32(neta.BMOffset+neta.BMPoolBase(0))&neta.BMPoolEnable)
	require.Zero(t, r.m.Read32(neta.BMOffset+neta.BMConfig)&neta.BMConfigEmpty)
}

// windowed has so many register windows.
type windowed struct {
	mac.Bus
	n int
}

func (b windowed) Registers(i int) (mac.Registers, error) {
	if i >= b.n {
		return nil, mac.ErrNoDevice
	}
	return b.Bus.Registers(i)
}

func TestBufferManagerRefused(t *testing.T) {
	bus := newBus(t, model.New(model.Config{}))
	for _, opts := range []Options{{Pool: -1}, {Pool: 4}} {
		opts.BufferManager = true
		_, err := New(bus, &opts)
		require.ErrorIs(t, err, mac.ErrConfig)
	}
	for n := 1; n < 3; n++ {
		_, err := New(windowed{bus, n}, &Options{BufferManager: true})
		require.ErrorIs(t, err, mac.ErrNoDevice, "%d windows", n)
	}
	bus = newBus(t, model.New(model.Config{NoBPPI: true}))
	_, err := New(bus, &Options{BufferManager: true})
	require.ErrorContains(t, err, "give it as Options.BPPI")
	c, err := New(bus, &Options{BufferManager: true, BPPI: 0xF120_0000})
	require.NoError(t, err)
	require.Equal(t, uint32(0xF120_0000), c.bppiAddr)
	require.Equal(t, "mvneta-hwbm", c.Info().Core)
}

// The port reaches the BPPI through a window, where it has windows.
func TestWindowToTheBPPI(t *testing.T) {
	bus := newBus(t, model.New(model.Config{}))
	opts := &Options{BufferManager: true, Windows: []Window{{Size: 1 << 31, Attr: 0x0E}}}
	c, err := New(bus, opts)
	require.NoError(t, err)
	require.Equal(t, []Window{opts.Windows[0], {Base: 0xF120_0000, Size: 1 << 20, Target: 0x0C, Attr: 0x04}}, c.windows)
	bus = newBus(t, model.New(model.Config{Compatible: "marvell,armada-3700-neta", PassThrough: true}))
	c, err = New(bus, &Options{BufferManager: true})
	require.NoError(t, err)
	require.Equal(t, []Window{{Size: 1 << 32}}, c.windows)
}

// A buffer is the device's with the write of its address: what was done to it and to
// its descriptor comes before.
func TestBuffersAreGivenBehindABarrier(t *testing.T) {
	m := model.New(model.Config{Inline: true})
	trace := sim.NewTrace()
	trace.Log(1 << 16)
	bus := bussim.New(m, &bussim.Options{Space: sim.SpaceOptions{Trace: trace}})
	dev, err := Open(t.Context(), bus, &Options{BufferManager: true}, &mac.Config{RXRing: 64, TXRing: 64, Link: gigabit})
	require.NoError(t, err)
	require.NoError(t, dev.Start())
	require.NoError(t, dev.Queues()[0].Own())
	for i := range 3 {
		for range 20 {
			m.Deliver(frame(mac.Broadcast, 100, i))
		}
		frames := make([]ring.Frame, 32)
		require.Equal(t, 20, dev.Queues()[0].RX.Harvest(frames))
		for _, f := range frames[:20] {
			dev.Queues()[0].Pool.Recycle(f.Pieces[0].Page)
		}
		dev.Queues()[0].Refill()
	}
	events := trace.Events()
	dev.Queues()[0].Disown()
	require.NoError(t, dev.Close())
	stored, given := false, 0
	for i, e := range events {
		switch {
		case e.Kind == sim.DescriptorStore || e.Kind == sim.SyncForDevice:
			stored = true
		case e.Kind == sim.DoorbellBarrier:
			stored = false
		case e.Kind == sim.RegisterWrite && e.Name == "BPPI_Pool0":
			given++
			require.False(t, stored, "event %d: a buffer is given with no barrier after the last store", i)
		}
	}
	require.Equal(t, 64+3*20, given)
}
