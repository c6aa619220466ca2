package dwmac1000_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/dwmac1000"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwmac1000"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

var (
	station   = mac.HardwareAddr{2, 0, 0, 0, 0, 1}
	partner   = mac.HardwareAddr{2, 0, 0, 0, 0, 2}
	fullSpeed = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
)

// bed is a driver on a model that does all DMA inline, so that every run is the
// same.
type bed struct {
	*testing.T
	model *model.Model
	bus   *bussim.Bus
	regs  mac.Registers
	core  *dwmac1000.Core
	sent  [][]byte
}

func newBed(t *testing.T, cfg model.Config, p dwmac1000.Platform) *bed {
	t.Helper()
	cfg.Inline, cfg.InBandLink = true, true
	b := &bed{T: t, model: model.New(cfg)}
	b.bus = bussim.New(b.model, nil)
	b.model.OnTransmit(func(f []byte) { b.sent = append(b.sent, bytes.Clone(f)) })
	var err error
	b.regs, err = b.bus.Registers(0)
	require.NoError(t, err)
	b.core, err = dwmac1000.NewCore(b.bus, p)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Empty(t, b.model.Violations().List())
		require.Empty(t, b.bus.Space().Violations().List())
	})
	return b
}

// device opens and starts a device on the core, and returns its queue.
func (b *bed) device(cfg mac.Config) *mac.Queue {
	b.Helper()
	cfg.Address = station
	d, err := mac.NewDevice(context.Background(), b.bus, b.core, &cfg)
	require.NoError(b, err)
	require.NoError(b, d.Start())
	require.Equal(b, fullSpeed, d.Link())
	q := d.Queues()[0]
	require.NoError(b, q.Own())
	b.Cleanup(func() {
		q.Disown()
		require.NoError(b, d.Close())
	})
	return q
}

// rings are a core's rings with no device around them, so that nobody else takes
// its interrupts.
type rings struct {
	rx    ring.RXCodec
	tx    ring.TXCodec
	pages uint64
	bufs  []ring.Buffer
}

// rings makes rings of eight slots.
func (b *bed) rings() rings {
	b.Helper()
	alloc := func(use mac.Use, size int) pagepool.Memory {
		m, err := b.bus.Alloc(mac.Alloc{Use: use, Size: size, Align: 64, AddressBits: 32})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, m.Release()) })
		return m
	}
	b.Cleanup(func() { require.NoError(b, b.core.Reset(context.Background())) })
	l := b.core.Info().Ring
	r := rings{bufs: make([]ring.Buffer, 8)}
	var err error
	r.rx, err = b.core.NewRX(0, alloc(mac.Descriptors, l.RXBytes(8)), 8, 2032)
	require.NoError(b, err)
	r.tx, err = b.core.NewTX(0, alloc(mac.Descriptors, l.TXBytes(8)), 8)
	require.NoError(b, err)
	r.pages = alloc(mac.Buffers, 8*2048).DeviceAddr()
	for i := range r.bufs {
		r.bufs[i] = ring.Buffer{Addr: r.pages + uint64(i)*2048}
	}
	return r
}

// start posts all eight slots and starts the core.
func (b *bed) start(r rings) {
	b.Helper()
	require.NoError(b, b.core.Configure(mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, Address: station, BufferSize: 2032}))
	r.rx.Reset()
	r.tx.Reset()
	r.rx.Post(0, r.bufs)
	require.NoError(b, b.core.Start())
	require.NoError(b, b.core.SetLink(fullSpeed))
}

type received struct {
	data  []byte
	flags ring.Flags
}

// receive takes all frames from the queue, and refills it.
func receive(q *mac.Queue) (got []received) {
	frames := make([]ring.Frame, 64)
	for {
		q.Ack()
		n := q.RX.Harvest(frames)
		for _, f := range frames[:n] {
			var data []byte
			for _, p := range f.Pieces {
				data = append(data, q.Pool.Bytes(p.Page)[p.Off:p.Off+p.Len]...)
				q.Pool.Recycle(p.Page)
			}
			got = append(got, received{data, f.Flags})
		}
		q.Refill()
		if n == 0 {
			return got
		}
	}
}

// frame is a frame of n bytes with this type or length.
func frame(typ uint16, n int) []byte {
	f := make([]byte, n)
	copy(f, station[:])
	copy(f[6:], partner[:])
	binary.BigEndian.PutUint16(f[12:], typ)
	for i := 14; i < n; i++ {
		f[i] = byte(i * 7)
	}
	return f
}

// TestLengthFrames: frames with a length field, which MACs strip pad and FCS from
// when they are told to, arrive as they are (B032).
func TestLengthFrames(t *testing.T) {
	for name, cfg := range map[string]model.Config{"extended": {}, "normal": {NormalDescriptors: true, Version: 0x32}} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, cfg, dwmac1000.Platform{})
			q := b.device(mac.Config{})
			for _, typ := range []uint16{3, 38, 46, 100, 1500, 0x600, 0x800, 0x8100} {
				f := frame(typ, max(60, min(1514, 14+int(typ))))
				b.model.Deliver(f)
				got := receive(q)
				require.Len(t, got, 1, "%#x", typ)
				require.Equal(t, f, got[0].data, "%#x", typ)
			}
		})
	}
}

// TestSummaryOfChecksums: cores that put checksum errors into the error summary
// lose no frame for it.
func TestSummaryOfChecksums(t *testing.T) {
	for name, cfg := range map[string]model.Config{
		"extended": {SummarySums: true}, "normal": {SummarySums: true, NormalDescriptors: true, Version: 0x32},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, cfg, dwmac1000.Platform{})
			q := b.device(mac.Config{})
			f := frame(0x800, 100)
			copy(f[14:], []byte{0x45, 0, 0, 86, 0, 0, 0, 0, 64, 17, 0, 1, 10, 0, 0, 1, 10, 0, 0, 2})
			b.model.Deliver(f)
			got := receive(q)
			require.Len(t, got, 1)
			require.Equal(t, f, got[0].data)
			require.Equal(t, ring.ChecksumBad, got[0].flags)
		})
	}
}

// TestStarvation: a receive ring that has run dry is told of, and goes on after a
// refill, on cores that wait for a poll demand and on those that do not (B001, B002).
func TestStarvation(t *testing.T) {
	for _, waits := range []bool{true, false} {
		for _, chained := range []bool{true, false} {
			t.Run(fmt.Sprintf("waits %v, chained %v", waits, chained), func(t *testing.T) {
				b := newBed(t, model.Config{StaysSuspended: waits}, dwmac1000.Platform{Chained: chained})
				r := b.rings()
				b.start(r)
				out := make([]ring.Completion, 8)
				slot := 0
				for round := range 20 {
					for i := range 10 { // two more than there are slots: they wait in the FIFO
						b.model.Deliver(frame(0x88B5, 100+i))
					}
					require.Equal(t, mac.Events{RX: 1, Starved: 1}, b.core.Interrupt(), "round %d: RU alone wakes", round)
					require.Equal(t, mac.Events{}, b.core.Interrupt(), "masked, nothing more comes")
					got := 0
					for got < 10 {
						b.core.Ack(0)
						n := r.rx.Harvest(slot, out)
						require.Positive(t, n, "stalled after %d frames", got)
						for i := range n {
							require.EqualValues(t, 104+got+i, out[i].Len)
						}
						r.rx.Post(slot, r.bufs[:n])
						slot, got = (slot+n)%8, got+n
						r.rx.Kick(slot)
					}
					b.core.Ack(0)
					b.core.Unmask(0)
				}
			})
		}
	}
}

// TestRestart: after a stop the device goes on where it was, unless the list
// addresses are written (B027), and every start leads to the same registers (B061).
func TestRestart(t *testing.T) {
	for _, chained := range []bool{false, true} {
		b := newBed(t, model.Config{Overwrites: true}, dwmac1000.Platform{Chained: chained})
		r := b.rings()
		var first string
		for round := range 5 {
			b.start(r)
			dump := b.dump()
			if first == "" {
				first = dump
			}
			require.Equal(t, first, dump, "round %d: the same registers each time", round)
			b.sent = nil
			frames := make([]ring.TXFrame, 3)
			for i := range frames {
				frames[i] = ring.TXFrame{Addr: r.pages, Len: uint32(100 + i)}
			}
			r.tx.Fill(0, frames)
			r.tx.Kick(3)
			require.Len(t, b.sent, 3)
			require.Equal(t, 3, r.tx.Done(0, 2, 3))
			for i := range 3 + round {
				b.model.Deliver(frame(0x88B5, 100+i))
			}
			out := make([]ring.Completion, 8)
			require.Equal(t, 3+round, r.rx.Harvest(0, out))
			require.NoError(t, b.core.Stop())
		}
	}
}

// dump is what registers hold that are not zero, without the counters and the last
// buffers used.
func (b *bed) dump() string {
	var all strings.Builder
	for off := uint32(0); off < gmac3.WindowSize; off += 4 {
		if off >= gmac3.MMC && off < gmac3.MMC+dwregs.MMCSize || off == gmac3.DMACurTxBuf || off == gmac3.DMACurRxBuf {
			continue
		}
		if v := b.regs.Read32(off); v != 0 {
			fmt.Fprintf(&all, "%s %#x\n", gmac3.RegName(off), v)
		}
	}
	return all.String()
}

// TestEveryCauseEnds: whatever the status says, the line goes down after Interrupt
// has been called, and nothing that is wanted is lost.
func TestEveryCauseEnds(t *testing.T) {
	b := newBed(t, model.Config{}, dwmac1000.Platform{})
	b.start(b.rings())
	for bit := range uint32(17) {
		for range 3 {
			b.model.RaiseStatus(1 << bit)
			b.core.Interrupt()
		}
		v := b.regs.Read32(gmac3.DMAStatus) & b.regs.Read32(gmac3.DMAIntEnable)
		require.Zero(t, v&(gmac3.IntNormal|gmac3.IntAbnormal), "bit %d would fire for ever", bit)
	}
	b.model.SetLink(mac.Link{})
	require.True(t, b.core.Interrupt().Link)
	require.Zero(t, b.regs.Read32(gmac3.DMAStatus)&gmac3.StatusMAC)
	b.model.SetLink(fullSpeed)
	require.True(t, b.core.Interrupt().Link)
}

// TestUnderflow: a transmitter that has run dry is built up again.
func TestUnderflow(t *testing.T) {
	b := newBed(t, model.Config{}, dwmac1000.Platform{})
	b.start(b.rings())
	b.model.RaiseStatus(gmac3.IntUNF)
	require.Equal(t, mac.Events{TXStopped: 1}, b.core.Interrupt())
}

func TestPHYAccess(t *testing.T) {
	b := newBed(t, model.Config{PHYAddress: 9}, dwmac1000.Platform{})
	m := b.core.MDIO()
	id, err := m.Read(9, 2)
	require.NoError(t, err)
	require.NotZero(t, id)
	require.NotEqual(t, uint16(0xFFFF), id)
	none, err := m.Read(8, 2)
	require.NoError(t, err)
	require.Equal(t, uint16(0xFFFF), none, "nobody there")
	require.NoError(t, m.Write(9, 4, 0x0061))
	v, err := m.Read(9, 4)
	require.NoError(t, err)
	require.Equal(t, uint16(0x0061), v)
}

// TestChecksumJumbo: frames that the FIFO cannot hold are not asked to have
// checksums inserted.
func TestChecksumJumbo(t *testing.T) {
	b := newBed(t, model.Config{TXFIFO: 4096}, dwmac1000.Platform{TXFIFO: 4096, RXFIFO: 16384})
	_, err := mac.NewDevice(context.Background(), b.bus, b.core, &mac.Config{MTU: 9000, NoTXChecksum: true})
	require.NoError(t, err)

	b = newBed(t, model.Config{TXFIFO: 4096}, dwmac1000.Platform{TXFIFO: 4096, RXFIFO: 16384})
	d, err := mac.NewDevice(context.Background(), b.bus, b.core, &mac.Config{MTU: 9000})
	require.NoError(t, err)
	require.False(t, d.TXChecksum(), "left off by itself")
	require.NoError(t, d.Close())
}

// TestFilterSizes: every size of the hash table works, and so do the address slots
// of the second bank.
func TestFilterSizes(t *testing.T) {
	for _, bins := range []int{64, 128, 256} {
		b := newBed(t, model.Config{HashBins: bins, PerfectSlots: 31}, dwmac1000.Platform{HashBins: bins, Addresses: 32})
		q := b.device(mac.Config{})
		require.Equal(t, 31, b.core.Info().PerfectFilters)
		var f mac.Filter
		group := func(i int) mac.HardwareAddr { return mac.HardwareAddr{1, 0, 0x5e, 1, byte(i >> 8), byte(i)} }
		for i := range 40 {
			f.Multicast = append(f.Multicast, group(i))
		}
		require.NoError(t, b.core.SetFilter(f))
		for i := range 40 {
			in := frame(0x88B5, 60)
			a := group(i)
			copy(in, a[:])
			b.model.Deliver(in)
		}
		require.Len(t, receive(q), 40, "%d bins", bins)
		passed := b.model.Stats().Filtered
		for i := range 1000 {
			in := frame(0x88B5, 60)
			a := group(1000 + i)
			copy(in, a[:])
			b.model.Deliver(in)
			receive(q)
		}
		kept := int(b.model.Stats().Filtered - passed)
		require.Greater(t, kept, 1000-1000*9*2/bins, "%d bins keep out what is not wanted", bins)
	}
}

// TestResets: a reset that hangs can be given up, and tried again.
func TestResets(t *testing.T) {
	b := newBed(t, model.Config{}, dwmac1000.Platform{})
	b.model.Faults().Once(sim.DeadReset)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, b.core.Reset(ctx), mac.ErrReset)
	require.NoError(t, b.core.Reset(context.Background()), "the next one works")
}
