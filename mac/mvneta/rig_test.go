package mvneta

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/mvneta"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

var (
	station = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	partner = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
	gigabit = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
)

// rig is the driver on the model with the rings of queue 0, and nobody between
// them: the test is the owner of both.
type rig struct {
	t     testing.TB
	m     *model.Model
	bus   *bussim.Bus
	c     *Core
	rx    *ring.RX
	tx    *ring.TX
	pool  *pagepool.Pool
	sent  [][]byte
	clock *sim.ManualClock
	// lied says that the device has lied to the driver, which then does what it
	// should not, such as to give a buffer twice.
	lied bool
}

type rigOptions struct {
	model              model.Config
	opts               Options
	slots, pages, page int
	mtu, queues        int
	down               bool
	liar               bool // the device will name buffers that it has not filled
}

func newRig(t testing.TB, o rigOptions) *rig {
	t.Helper()
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.slots, 64)
	def(&o.pages, 2*o.slots)
	def(&o.page, 2048)
	def(&o.mtu, 1500)
	def(&o.queues, 1)
	r := &rig{t: t, clock: sim.NewManualClock(time0)}
	o.model.Inline, o.model.Clock, o.model.CheckArmed, o.model.EmptyReads = true, r.clock, true, true
	r.m = model.New(o.model)
	r.m.OnTransmit(func(f []byte) { r.sent = append(r.sent, append([]byte(nil), f...)) })
	r.bus = bussim.New(r.m, nil)
	var err error
	r.c, err = New(r.bus, &o.opts)
	require.NoError(t, err)
	require.NoError(t, r.c.Reset(context.Background()))
	for q := range o.queues {
		r.queue(q, o)
	}
	require.NoError(t, r.c.Configure(mac.Setup{
		RXQueues: o.queues, TXQueues: o.queues, MTU: o.mtu, Address: station, BufferSize: o.page, RXChecksum: true,
		TXChecksum: r.c.info.ChecksumMTU == 0 || o.mtu <= r.c.info.ChecksumMTU,
	}))
	require.NoError(t, r.c.SetFilter(mac.Filter{AllMulticast: true}))
	require.NoError(t, r.c.SetRXFrames(0, 1))
	require.True(t, r.rx.Refill())
	require.NoError(t, r.c.Start())
	if !o.down {
		require.NoError(t, r.c.SetLink(linkOf(o.model)))
	}
	t.Cleanup(r.end)
	return r
}

func linkOf(cfg model.Config) mac.Link {
	l := gigabit
	if cfg.Fast {
		l.Speed = 2500
	}
	return l
}

func (r *rig) queue(q int, o rigOptions) {
	alloc := func(use mac.Use, size int) pagepool.Memory {
		m, err := r.bus.Alloc(mac.Alloc{Use: use, Size: size, Align: 4096, AddressBits: 32})
		require.NoError(r.t, err)
		return m
	}
	l := r.c.Info().Ring
	rx, err := r.c.NewRX(q, alloc(mac.Descriptors, l.RXBytes(o.slots)), o.slots, o.page)
	require.NoError(r.t, err)
	tx, err := r.c.NewTX(q, alloc(mac.Descriptors, l.TXBytes(o.slots)), o.slots)
	require.NoError(r.t, err)
	if q > 0 {
		return
	}
	r.pool, err = pagepool.New(alloc(mac.Buffers, o.pages*o.page), pagepool.Config{PageSize: o.page, CopyBreak: pagepool.LendAlways, Poison: !o.liar})
	require.NoError(r.t, err)
	r.rx, err = ring.NewRX(ring.RXConfig{
		Codec: rx, Pool: r.pool, Slots: o.slots, BufferSize: o.page, MaxFrame: o.mtu + headerRoom, Skip: l.Skip, Pooled: l.Pooled,
	})
	require.NoError(r.t, err)
	r.tx, err = ring.NewTX(ring.TXConfig{Codec: tx, Arena: alloc(mac.Buffers, o.slots*2048), Slots: o.slots, MaxPiece: l.MaxPiece, MarkFrames: 16})
	require.NoError(r.t, err)
}

func (r *rig) end() {
	require.NoError(r.t, r.c.Stop())
	r.rx.Reset()
	r.tx.Reset()
	require.NoError(r.t, r.pool.Check())
	require.Empty(r.t, r.bus.Space().Violations().List())
	if !r.lied {
		require.Empty(r.t, r.m.Violations().List())
	}
	require.NoError(r.t, r.bus.Close())
}

// frame is n bytes to dst that number names.
func frame(dst mac.HardwareAddr, n, number int) []byte {
	f := make([]byte, n)
	copy(f, dst[:])
	copy(f[6:], partner[:])
	binary.BigEndian.PutUint16(f[12:], 0x88B5)
	for i := 14; i < n; i++ {
		f[i] = byte(i*7 + number*13)
	}
	return f
}

// deliver puts n frames on the wire.
func (r *rig) deliver(n, size int) (frames [][]byte) {
	for i := range n {
		frames = append(frames, frame(station, size, i))
		r.m.Deliver(frames[i])
	}
	return frames
}

// harvest takes at most budget frames and recycles their pages.
func (r *rig) harvest(budget int) (got [][]byte) {
	frames := make([]ring.Frame, budget)
	for _, f := range frames[:r.rx.Harvest(frames)] {
		var b []byte
		for _, p := range f.Pieces {
			b = append(b, r.pool.Bytes(p.Page)[p.Off:p.Off+p.Len]...)
			r.pool.Recycle(p.Page)
		}
		got = append(got, b)
	}
	require.NoError(r.t, r.pool.Check())
	return got
}

// want compares frames.
func (r *rig) want(want, got [][]byte) {
	r.t.Helper()
	if len(want) != len(got) {
		r.t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(want[i], got[i]) {
			r.t.Fatalf("frame %d of %d: %d bytes, want %d, or others", i, len(want), len(got[i]), len(want[i]))
		}
	}
}

// exchange delivers n frames and takes exactly them.
func (r *rig) exchange(n, size int) {
	r.t.Helper()
	r.want(r.deliver(n, size), r.harvest(n+1))
}

// send queues frames and rings once.
func (r *rig) send(req ring.TXFrame, frames ...[]byte) {
	for _, f := range frames {
		b := r.tx.Reserve(len(f))
		require.NotNil(r.t, b)
		copy(b, f)
		r.tx.Commit(req)
	}
	r.tx.Flush()
}

// counts is what f costs.
func (r *rig) counts(f func()) sim.Counts {
	before := r.bus.Trace().Counts()
	f()
	return r.bus.Trace().Counts().Sub(before)
}
