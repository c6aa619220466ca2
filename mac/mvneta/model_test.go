package mvneta

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/mvneta"
	"github.com/barewire/barewire/ring"
)

var time0 = time.Unix(1000, 0)

// variants runs a test with both kinds of buffers.
func variants(t *testing.T, f func(t *testing.T, o rigOptions)) {
	t.Run("SWBM", func(t *testing.T) { f(t, rigOptions{}) })
	t.Run("HWBM", func(t *testing.T) { f(t, rigOptions{opts: Options{BufferManager: true}}) })
}

// The lesson of the 2017 series, exactly: two words of a received frame are loaded
// (three when the third names the buffer), none of a sent one, and the counter is
// read once per poll, whatever the budget leaves.
func TestDescriptorReads(t *testing.T) {
	variants(t, func(t *testing.T, o rigOptions) {
		o.slots = 256
		r := newRig(t, o)
		words := uint64(2)
		if o.opts.BufferManager {
			words = 3
		}
		for _, v := range []struct{ waiting, budget int }{{1, 64}, {64, 64}, {100, 64}, {100, 7}, {200, 64}, {200, 100}, {0, 64}} {
			r.deliver(v.waiting, 100)
			for left := v.waiting; ; left -= v.budget {
				want := min(max(left, 0), v.budget)
				got := 0
				d := r.counts(func() { got = len(r.harvest(v.budget)) })
				require.Equal(t, want, got)
				require.LessOrEqual(t, d.RegisterReads, uint64(1), "counter reads of a poll")
				require.Equal(t, []uint64{uint64(want) * words, 0, 0}, []uint64{d.DescriptorLoads, d.DescriptorStores, d.RegisterWrites},
					"descriptor loads, stores, register writes for %d frames", want)
				d = r.counts(func() { r.rx.Refill() })
				require.Zero(t, d.DescriptorLoads+d.RegisterReads, "a refill reads nothing")
				if want == 0 {
					break
				}
			}
		}
		d := r.counts(func() {
			for i := range 1000 {
				r.send(ring.TXFrame{}, frame(partner, 60, i))
			}
		})
		require.Len(t, r.sent, 1000)
		require.Zero(t, d.DescriptorLoads, "of sent frames")
		require.Less(t, d.RegisterReads, uint64(1000/64), "reads of the transmit counter")
	})
}

// A verdict costs nothing more: it stands in the status.
func TestVerdictOfTheEngine(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.m.Deliver(udp(500))
	frames := make([]ring.Frame, 4)
	d := r.counts(func() { require.Equal(t, 1, r.rx.Harvest(frames)) })
	require.Equal(t, uint64(2), d.DescriptorLoads)
	require.Equal(t, ring.ChecksumGood, frames[0].Flags)
	r.pool.Recycle(frames[0].Pieces[0].Page)
}

// A write to an update register moves 255 descriptors at most: more take several.
func TestUpdatesOfMoreThan255(t *testing.T) {
	variants(t, func(t *testing.T, o rigOptions) {
		o.slots = 1024
		r := newRig(t, o)
		require.Equal(t, 1024, r.rx.Posted(), "the model counts what it was given, and would complain")
		for range 3 {
			want := r.deliver(700, 60)
			r.want(want, r.harvest(1000))
			d := r.counts(func() { r.rx.Refill() })
			require.Equal(t, uint64(3), d.Doorbells, "255, 255 and 190")
			require.Equal(t, uint32(0x400)<<16, r.m.Read32(neta.RXQStatus(0)), "free and filled")
		}
		for _, n := range []int{255, 256, 600} {
			r.sent = nil
			require.NoError(t, r.c.SetLink(mac.Link{}))
			var frames [][]byte
			for i := range n {
				frames = append(frames, frame(partner, 60, i))
			}
			d := r.counts(func() { r.send(ring.TXFrame{}, frames...) })
			require.Equal(t, uint64((n+254)/255), d.Doorbells)
			require.Equal(t, uint32(n), r.m.Read32(neta.TXQStatus(0)), "pending")
			require.NoError(t, r.c.SetLink(gigabit))
			r.want(frames, r.sent)
			require.Equal(t, uint32(n)<<16, r.m.Read32(neta.TXQStatus(0)), "sent")
			for r.tx.Reap() > 0 {
			}
			require.Zero(t, r.m.Read32(neta.TXQStatus(0)))
			require.Zero(t, r.tx.InUse())
		}
	})
}

// The counter may be ahead of the descriptor that it counts.
func TestCounterAheadOfTheDescriptor(t *testing.T) {
	variants(t, func(t *testing.T, o rigOptions) {
		r := newRig(t, o)
		want := r.deliver(5, 100)
		desc := r.c.rx[0].words
		w := 2*neta.DescriptorWords + neta.RXSize
		late := desc.Load(w)
		desc.Store(w, unwritten)
		r.want(want[:2], r.harvest(64)) // up to the one that is not there yet
		require.Empty(t, r.harvest(64))
		desc.Store(w, late)
		r.want(want[2:], r.harvest(64))
		r.rx.Refill()
		r.exchange(40, 100)
	})
}

// What was harvested and not refilled is taken off the counter before the cause is
// unmasked: it would still be up.
func TestUnmaskTakesOffFirst(t *testing.T) {
	r := newRig(t, rigOptions{})
	for n := range 20 {
		r.deliver(3, 100)
		require.Equal(t, uint32(1), r.c.Interrupt().RX)
		r.c.Ack(0)
		require.Len(t, r.harvest(64), 3)
		r.c.Unmask(0)
		require.Zero(t, r.m.Read32(neta.Cause)&neta.CauseRX, "round %d", n)
		require.Equal(t, mac.Events{}, r.c.Interrupt())
		r.rx.Refill()
	}
}

// A receive buffer that was not refilled is never counted as free: slots go out in
// order, as far as there are pages (B023).
func TestRefillWithoutPages(t *testing.T) {
	variants(t, func(t *testing.T, o rigOptions) {
		o.slots, o.pages = 128, 130
		r := newRig(t, o)
		var held []ring.Frame
		for round := range 50 {
			free := int(r.m.Read32(neta.RXQStatus(0)) >> 16)
			require.Equal(t, r.rx.Posted(), free, "round %d", round)
			n := min(free, 40)
			want := r.deliver(n, 200)
			frames := make([]ring.Frame, n)
			require.Equal(t, n, r.rx.Harvest(frames))
			for i, f := range frames {
				p := f.Pieces[0]
				require.Equal(t, want[i], r.pool.Bytes(p.Page)[p.Off:p.Off+p.Len])
				held = append(held, ring.Frame{Pieces: []ring.Piece{p}})
			}
			r.rx.Refill()
			if round%3 == 2 { // the reader lets go
				for _, f := range held {
					r.pool.Recycle(f.Pieces[0].Page)
				}
				held = nil
				r.rx.Refill()
			}
		}
		for _, f := range held {
			r.pool.Recycle(f.Pieces[0].Page)
		}
	})
}

// Descriptors out of order cost their own frame and no page (B036).
func TestDescriptorsOutOfOrder(t *testing.T) {
	r := newRig(t, rigOptions{page: 256, slots: 32})
	for i := range 100 {
		r.m.Faults().Once([]sim.Fault{sim.MissingFirst, sim.Truncated}[i%2])
		r.deliver(1, 700)
		want := r.deliver(2, 300)
		r.want(want, r.harvest(64)) // the good ones behind it
		r.rx.Refill()
	}
	s := r.rx.Stats()
	require.Equal(t, []uint64{50, 50, 100}, []uint64{s.MissingFirst, s.MissingLast, s.Dropped()})
}

func TestJumboFrames(t *testing.T) {
	r := newRig(t, rigOptions{mtu: neta.MaxMTU, slots: 64})
	for _, n := range []int{2041, 2042, 2043, 2046, 2047, 9000, neta.MaxMTU + 14, neta.MaxMTU + headerRoom} {
		want := r.deliver(1, n)
		r.want(want, r.harvest(4))
		r.rx.Refill()
		r.sent = nil
		r.send(ring.TXFrame{}, frame(partner, n, n))
		r.want([][]byte{frame(partner, n, n)}, r.sent)
	}
	r.deliver(1, neta.MaxMTU+headerRoom+2)
	require.Empty(t, r.harvest(4))
	require.Equal(t, uint64(1), r.rx.Stats().Length)
}

// udp is a datagram with right checksums.
func udp(n int) []byte {
	f := frame(station, n, n)
	copy(f[12:], []byte{8, 0, 0x45, 0, byte((n - 14) >> 8), byte(n - 14), 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1})
	copy(f[38:], []byte{byte((n - 34) >> 8), byte(n - 34), 0, 0})
	put := func(at int, s uint32, b []byte) {
		for i := range b {
			s += uint32(b[i]) << (8 * (1 - i%2))
		}
		for s>>16 != 0 {
			s = s>>16 + s&0xFFFF
		}
		f[at], f[at+1] = byte(^s>>8), byte(^s)
	}
	put(24, 0, f[14:34])
	put(40, uint32(17+n-34)+uint32(0x0a00+2+0x0a00+1), f[34:])
	return f
}

// The engine is asked up to its limit, and a device with a larger MTU is opened
// without it.
func TestChecksumLimit(t *testing.T) {
	cfg := model.Config{Compatible: "marvell,armada-370-neta", ChecksumLimit: 1600}
	r := newRig(t, rigOptions{model: cfg, mtu: 1578})
	require.Equal(t, 1578, r.c.Info().ChecksumMTU)
	for _, n := range []int{60, 1514, 1600} {
		want := udp(n)
		bad := bytes.Clone(want)
		copy(bad[24:], []byte{1, 2})
		copy(bad[40:], []byte{3, 4})
		r.sent = nil
		r.send(ring.TXFrame{Checksum: ring.ChecksumFull}, bad)
		r.want([][]byte{want}, r.sent)
	}
	require.ErrorIs(t, r.c.SetMTU(1579), mac.ErrConfig)
	require.NoError(t, r.c.SetMTU(1500))

	own, err := New(r.bus, &Options{ChecksumLimit: 9800})
	require.NoError(t, err)
	require.Zero(t, own.Info().ChecksumMTU, "the first port of a 38x")
	none, err := New(r.bus, &Options{ChecksumLimit: 50})
	require.NoError(t, err)
	require.False(t, none.Info().TXChecksum)
}

func TestFastAndBaseX(t *testing.T) {
	for _, cfg := range []model.Config{
		{Fast: true}, {Fast: true, InBandLink: true}, {BaseX: true}, {BaseX: true, InBandLink: true}, {InBandLink: true}, {},
	} {
		t.Run(fmt.Sprintf("2500 %v, X %v, in band %v", cfg.Fast, cfg.BaseX, cfg.InBandLink), func(t *testing.T) {
			r := newRig(t, rigOptions{model: cfg})
			link, ok := r.c.Link()
			require.Equal(t, cfg.InBandLink, ok)
			if ok {
				require.Equal(t, linkOf(cfg), link)
			}
			r.exchange(3, 100)
			r.send(ring.TXFrame{}, frame(partner, 100, 1))
			require.Len(t, r.sent, 1)
		})
	}
}

// The mode that the options give is programmed with the link forced down, or the
// model complains.
func TestModeOfTheOptions(t *testing.T) {
	for _, opts := range []Options{
		{Mode: ModeRGMII}, {Mode: ModeSGMII}, {Mode: ModeSGMII, InBand: true}, {Mode: Mode1000BaseX, InBand: true}, {Mode: Mode2500BaseX, InBand: true},
	} {
		cfg := model.Config{InBandLink: true, Fast: opts.Mode == Mode2500BaseX}
		r := newRig(t, rigOptions{model: cfg, opts: opts})
		r.exchange(3, 100)
		again, err := New(r.bus, nil)
		require.NoError(t, err)
		if opts.Mode != Mode1000BaseX || opts.InBand {
			require.Equal(t, r.c.mode, again.mode, "what the next driver finds")
		}
	}
	m := model.New(model.Config{})
	_, err := New(newBus(t, m), &Options{Mode: ModeRGMII, InBand: true})
	require.ErrorIs(t, err, mac.ErrConfig)
	_, err = New(newBus(t, m), &Options{Mode: 9})
	require.ErrorIs(t, err, mac.ErrConfig)
}

// While everybody's frames pass the station address stands at all ones, as Linux
// has it, and comes back afterwards.
func TestAddressWhilePromiscuous(t *testing.T) {
	r := newRig(t, rigOptions{})
	require.NoError(t, r.c.SetFilter(mac.Filter{Promiscuous: true}))
	require.Equal(t, mac.Broadcast[:4], binary.BigEndian.AppendUint32(nil, r.m.Read32(neta.MACHigh)))
	require.NoError(t, r.c.SetAddress(partner))
	require.Equal(t, mac.Broadcast[:4], binary.BigEndian.AppendUint32(nil, r.m.Read32(neta.MACHigh)))
	require.NoError(t, r.c.SetFilter(mac.Filter{}))
	require.Equal(t, partner, r.c.readAddress())
	require.Zero(t, r.m.Read32(neta.PortConfig)&neta.ConfigPromiscuous|r.m.Read32(neta.TypePriority)&neta.PriorityForceUnicast)
	require.NoError(t, r.c.SetAddress(station))
	r.exchange(3, 100)
}

// Flow control that was negotiated in band.
func TestPauseOf1000BaseX(t *testing.T) {
	r := newRig(t, rigOptions{model: model.Config{BaseX: true, InBandLink: true, PHYAddress: -1}})
	r.m.SetLink(mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true})
	require.True(t, r.c.Interrupt().Link)
	link, ok := r.c.Link()
	require.True(t, ok)
	require.True(t, link.RXPause && link.TXPause)
}

func TestSMI(t *testing.T) {
	r := newRig(t, rigOptions{model: model.Config{PHYAddress: 3}})
	mdio := r.c.MDIO()
	id, err := mdio.Read(3, 2)
	require.NoError(t, err)
	require.Equal(t, r.m.PHY().Read(2), id)
	require.NoError(t, mdio.Write(3, 4, 0x0141))
	v, err := mdio.Read(3, 4)
	require.NoError(t, err)
	require.Equal(t, uint16(0x0141), v)
	v, err = mdio.Read(7, 2)
	require.NoError(t, err)
	require.Equal(t, uint16(0xFFFF), v, "nobody there")
	for _, bad := range [][2]int{{-1, 0}, {32, 0}, {0, -1}, {0, 32}} {
		_, err = mdio.Read(bad[0], bad[1])
		require.ErrorIs(t, err, mac.ErrConfig)
		require.ErrorIs(t, mdio.Write(bad[0], bad[1], 0), mac.ErrConfig)
	}
	_, err = mdio.Read45(3, 1, 0)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorIs(t, mdio.Write45(3, 1, 0, 0), mac.ErrUnsupported)
	r.m.MDIO().Break(context.DeadlineExceeded)
	_, err = mdio.Read(3, 2)
	require.ErrorContains(t, err, "no answer after 10ms")
	require.ErrorContains(t, mdio.Write(3, 4, 1), "still busy after 10ms")
	r.m.MDIO().Break(nil)
	_, err = mdio.Read(3, 2)
	require.NoError(t, err, "and works again")
}

// The size of a descriptor tells that it has been filled; what else it holds, and
// the frame, are looked at behind a read barrier.
func TestOrderOfLoads(t *testing.T) {
	variants(t, func(t *testing.T, o rigOptions) {
		r := newRig(t, o)
		for n := 1; n < 10; n++ {
			r.deliver(n, 100)
			r.bus.Trace().Log(1000)
			require.Len(t, r.harvest(64), n)
			sizes, barriers, others := 0, 0, 0
			for _, e := range r.bus.Trace().Events() {
				word := int(uint32(e.Addr)-r.c.rx[0].base) / 4 % neta.DescriptorWords
				switch {
				case e.Kind == sim.ReadBarrier:
					require.Equal(t, n, sizes, "sizes loaded before the barrier")
					barriers++
				case e.Kind == sim.DescriptorLoad && word == neta.RXSize:
					require.Zero(t, barriers)
					sizes++
				case e.Kind == sim.DescriptorLoad:
					require.Equal(t, 1, barriers, "word %d without a barrier", word)
					others++
				}
			}
			r.bus.Trace().Log(0)
			require.Equal(t, 1, barriers)
			require.GreaterOrEqual(t, others, n)
			r.rx.Refill()
		}
	})
}

func TestNothingIsAllocatedPerFrame(t *testing.T) {
	variants(t, func(t *testing.T, o rigOptions) {
		r := newRig(t, o)
		r.m.OnTransmit(nil)
		in, out := frame(station, 200, 1), frame(partner, 200, 2)
		frames := make([]ring.Frame, 64)
		require.Zero(t, testing.AllocsPerRun(200, func() {
			for range 20 {
				r.m.Deliver(in)
			}
			n := r.rx.Harvest(frames)
			if n != 20 {
				t.Fatalf("%d frames", n)
			}
			for i := range frames[:n] {
				r.pool.Recycle(frames[i].Pieces[0].Page)
			}
			r.rx.Refill()
			for range 20 {
				copy(r.tx.Reserve(len(out)), out)
				r.tx.Commit(ring.TXFrame{Checksum: ring.ChecksumFull})
			}
			r.tx.Flush()
		}))
	})
}
