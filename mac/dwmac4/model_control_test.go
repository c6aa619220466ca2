package dwmac4_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/dwmac4"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/mac/sim/phy"
	"github.com/barewire/barewire/ring"
)

// TestBringUpOrder: the order that matters, whatever lies between.
func TestBringUpOrder(t *testing.T) {
	b := newBed(t, model.Config{})
	b.bus.Trace().Log(10000)
	b.device(nil)
	at := map[string]int{}
	var config []uint32
	for i, e := range b.bus.Trace().Events() {
		if e.Kind != sim.RegisterWrite {
			continue
		}
		name := e.Name
		switch {
		case name == "MAC_Config":
			config = append(config, e.Value)
			if e.Value&3 == 3 {
				name = "TE|RE"
			}
		case name == "DMA_CH0_TxControl" && e.Value&1 != 0:
			name = "ST"
		case name == "DMA_CH0_RxControl" && e.Value&1 != 0:
			name = "SR"
		case name == "DMA_Mode" && e.Value&1 != 0:
			name = "SWR"
		}
		at[name] = i
	}
	for _, pair := range [][2]string{
		{"SWR", "DMA_SysBus"}, {"DMA_SysBus", "DMA_CH0_TxControl"},
		{"DMA_CH0_RxRingLen", "SR"}, {"DMA_CH0_RxListHigh", "DMA_CH0_RxList"}, {"DMA_CH0_RxList", "DMA_CH0_RxTail"}, {"DMA_CH0_RxTail", "SR"},
		{"DMA_CH0_TxRingLen", "ST"}, {"DMA_CH0_TxList", "DMA_CH0_TxTail"}, {"DMA_CH0_TxTail", "ST"},
		{"MTL_Q0_RxQOpMode", "MAC_RxQCtrl0"}, {"MAC_RxQCtrl0", "SR"}, {"MTL_Q0_TxQOpMode", "ST"},
		{"MMC_RxIntMask", "MMC_Control"}, {"DMA_CH0_IntEnable", "SR"}, {"SR", "TE|RE"}, {"ST", "TE|RE"},
	} {
		require.Contains(t, at, pair[0])
		require.Contains(t, at, pair[1])
		require.Less(t, at[pair[0]], at[pair[1]], "%s before %s", pair[0], pair[1])
	}
	for i, v := range config[:len(config)-1] {
		require.Zero(t, v&3, "MAC_Config write %d of %d runs the MAC before the link is known", i, len(config))
	}
	require.Equal(t, 511, b.model.RXAvailable(0), "every posted slot is seen (B008)")
}

// TestSameRegistersEachTime: stop, reset and start lead to the same registers
// (B061).
func TestSameRegistersEachTime(t *testing.T) {
	b := newBed(t, model.Config{Queues: 2, AddressBits: 40})
	var first []string
	s := mac.Setup{RXQueues: 2, TXQueues: 2, MTU: 1500, Address: station, BufferSize: 2048, RXChecksum: true, TXChecksum: true}
	var rx [2]ring.RXCodec
	var tx [2]ring.TXCodec
	for q := range 2 {
		r, err := b.core.NewRX(q, b.alloc(mac.Descriptors, 64*16), 64, 2048)
		require.NoError(t, err)
		x, err := b.core.NewTX(q, b.alloc(mac.Descriptors, 64*16), 64)
		require.NoError(t, err)
		rx[q], tx[q] = r, x
	}
	buffers := b.alloc(mac.Buffers, 2*63*2048)
	for round := range 50 {
		require.NoError(t, b.core.Reset(context.Background()))
		require.NoError(t, b.core.Configure(s))
		require.NoError(t, b.core.SetFilter(mac.Filter{Multicast: []mac.HardwareAddr{{1, 2, 3}, {1, 2, 4}, {1, 2, 5}, {1, 2, 6}}}))
		for q := range 2 {
			rx[q].Reset()
			tx[q].Reset()
			bufs := make([]ring.Buffer, 63)
			for i := range bufs {
				bufs[i].Addr = buffers.DeviceAddr() + uint64(q*63+i)*2048
			}
			rx[q].Post(0, bufs)
			_, err := b.core.SetWatchdog(q, 100)
			require.NoError(t, err)
		}
		require.NoError(t, b.core.Start())
		require.NoError(t, b.core.SetLink(fullSpeed))
		var dump []string
		for off := uint32(0); off < gmac4.WindowSize; off += 4 {
			dump = append(dump, fmt.Sprintf("%s %#x", gmac4.RegName(off), b.regs.Read32(off)))
		}
		if first == nil {
			first = dump
		}
		require.Equal(t, first, dump, "round %d", round)
		for range round%7 + 1 {
			b.model.Deliver(frame(station, 300))
		}
		require.NoError(t, b.core.Stop())
	}
}

type memory interface {
	Bytes() []byte
	DeviceAddr() uint64
	Coherent() bool
	SyncForCPU(int, int)
	SyncForDevice(int, int)
	Release() error
}

func TestResets(t *testing.T) {
	b := newBed(t, model.Config{SlowReset: 20 * time.Millisecond})
	b.model.Faults().Once(sim.SlowReset)
	require.NoError(t, b.core.Reset(context.Background()))
	b.model.Faults().Once(sim.DeadReset)
	require.ErrorIs(t, b.core.Reset(context.Background()), mac.ErrReset)
	require.NoError(t, b.core.Reset(context.Background()), "the next one works")
}

// TestCrash: a driver that died has left DMA running. The next one stops it before
// anything else (B086).
func TestCrash(t *testing.T) {
	b := newBed(t, model.Config{MACAddress: station})
	b.device(&mac.Config{Address: mac.HardwareAddr{2, 9, 9, 9, 9, 9}})
	b.model.Deliver(frame(mac.Broadcast, 100))

	next, err := dwmac4.New(b.bus)
	require.NoError(t, err)
	require.Equal(t, mac.HardwareAddr{2, 9, 9, 9, 9, 9}, next.Info().Address, "as it was left")
	b.bus.Trace().Log(1000)
	require.NoError(t, next.Reset(context.Background()))
	last := map[string]uint32{}
	for _, e := range b.bus.Trace().Events() {
		if e.Kind == sim.RegisterWrite && e.Name == "DMA_Mode" {
			break
		}
		if e.Kind == sim.RegisterWrite {
			last[e.Name] = e.Value
		}
	}
	require.Zero(t, last["DMA_CH0_TxControl"]&gmac4.TxControlST)
	require.Zero(t, last["DMA_CH0_RxControl"]&gmac4.RxControlSR)
	require.Zero(t, last["MAC_Config"]&(gmac4.ConfigTE|gmac4.ConfigRE))
	require.Len(t, last, 7, "stopped, and nothing else touched: %v", last)
	before := b.model.Stats().RX[0]
	b.model.Deliver(frame(mac.Broadcast, 100))
	require.Equal(t, before, b.model.Stats().RX[0], "no DMA after the reset")
}

// TestEveryCauseEnds raises each status bit alone and then all together: within two
// runs of the handler the line is low (B057 to B059).
func TestEveryCauseEnds(t *testing.T) {
	for _, version := range []uint8{0x40, 0x41, 0x52} {
		for bit := range 17 {
			raised := uint32(1) << bit
			if bit == 16 {
				raised = 0xFFFF
			}
			b := newBed(t, model.Config{Version: version})
			b.start()
			b.core.UnmaskTX(0)
			b.model.RaiseStatus(0, raised)
			pending := b.regs.Read32(gmac4.DMAIntStatus)
			ev := b.core.Interrupt()
			b.core.Interrupt()
			require.Zero(t, b.regs.Read32(gmac4.DMAIntStatus), "version %#x, bits %#x", version, raised)
			switch raised {
			case gmac4.IntRI:
				require.Equal(t, mac.Events{RX: 1}, ev)
			case gmac4.IntRBU:
				require.Equal(t, mac.Events{RX: 1, Starved: 1}, ev)
			case gmac4.IntTI:
				require.Equal(t, mac.Events{TX: 1}, ev)
			case gmac4.IntFBE, gmac4.IntRPS:
				require.Equal(t, mac.Events{Fatal: 1}, ev)
			case gmac4.IntTPS:
				require.Equal(t, mac.Events{TXStopped: 1}, ev)
			case 0xFFFF:
				require.Equal(t, mac.Events{RX: 1, Starved: 1, TX: 1, Fatal: 1, TXStopped: 1}, ev)
			default:
				require.Zero(t, pending, "not enabled")
				require.Equal(t, mac.Events{}, ev)
			}
		}
	}
}

// start brings the core up with rings of 8, the receive ring posted.
func (b *bed) start() (rx ring.RXCodec, tx ring.TXCodec, buffers memory) {
	b.Helper()
	require.NoError(b, b.core.Reset(context.Background()))
	rx, err := b.core.NewRX(0, b.alloc(mac.Descriptors, 8*16), 8, 2048)
	require.NoError(b, err)
	tx, err = b.core.NewTX(0, b.alloc(mac.Descriptors, 8*16), 8)
	require.NoError(b, err)
	require.NoError(b, b.core.Configure(mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, Address: station, BufferSize: 2048, RXChecksum: true, TXChecksum: true}))
	buffers = b.alloc(mac.Buffers, 8*2048)
	b.post(rx, buffers, 0, 7)
	require.NoError(b, b.core.Start())
	require.NoError(b, b.core.SetLink(fullSpeed))
	return rx, tx, buffers
}

func (b *bed) post(rx ring.RXCodec, buffers memory, from, n int) {
	bufs := make([]ring.Buffer, n)
	for i := range bufs {
		bufs[i].Addr = buffers.DeviceAddr() + uint64((from+i)%8)*2048
	}
	rx.Post(from, bufs)
}

// TestStarvation: a ring run dry reports RBU once, does not storm while it stays
// dry, and goes on after the tail write (B001, B058).
func TestStarvation(t *testing.T) {
	b := newBed(t, model.Config{})
	rx, _, buffers := b.start()
	for range 12 {
		b.model.Deliver(frame(station, 100))
	}
	require.Equal(t, mac.Events{RX: 1, Starved: 1}, b.core.Interrupt())
	for range 20 {
		b.model.Deliver(frame(station, 100))
		require.Equal(t, mac.Events{}, b.core.Interrupt(), "masked until refilled")
	}
	out := make([]ring.Completion, 7)
	b.core.Ack(0)
	require.Equal(t, 7, rx.Harvest(0, out))
	b.post(rx, buffers, 7, 7)
	rx.Kick(6)
	b.core.Unmask(0)
	require.Equal(t, 7, rx.Harvest(7, out), "the waiting frames came at once")
	require.Equal(t, mac.Events{RX: 1, Starved: 1}, b.core.Interrupt())
}

// TestWatchdog: without interrupt requests one interrupt comes when the watchdog
// ends, and frames meanwhile do not put it off.
func TestWatchdog(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(0, 0))
	b := newBed(t, model.Config{Clock: clock, ClockHz: 100_000_000})
	rx, _, _ := b.start()
	actual, err := b.core.SetWatchdog(0, 100)
	require.NoError(t, err)
	require.Equal(t, 100, actual) // 39 units of 2.56 us
	for range 4 {
		b.model.Deliver(frame(station, 100))
		require.Equal(t, mac.Events{}, b.core.Interrupt())
		clock.Advance(24 * time.Microsecond)
	}
	clock.Advance(5 * time.Microsecond)
	require.Equal(t, mac.Events{RX: 1}, b.core.Interrupt())
	require.Equal(t, 4, rx.Harvest(0, make([]ring.Completion, 8)))
	require.Equal(t, uint64(1), b.model.Stats().Watchdog)
	_, err = b.core.SetWatchdog(0, 1)
	require.ErrorIs(t, err, ring.ErrCoalesce)
}

func TestLinkFollowsTheModel(t *testing.T) {
	b := newBed(t, model.Config{})
	b.start()
	for _, l := range []mac.Link{{Up: true, Speed: 100, FullDuplex: true}, {}, {Up: true, Speed: 10}, fullSpeed} {
		b.model.SetLink(l)
		require.Equal(t, mac.Events{Link: true}, b.core.Interrupt())
		require.Equal(t, mac.Events{}, b.core.Interrupt())
		got, ok := b.core.Link()
		require.True(t, ok)
		require.Equal(t, l, got)
		require.NoError(t, b.core.SetLink(got))
	}
}

func TestPHYAccess(t *testing.T) {
	b := newBed(t, model.Config{PHYAddress: 7, PHY: phy.Config{ID: 0x001CC916}})
	m := b.core.MDIO()
	hi, err := m.Read(7, 2)
	require.NoError(t, err)
	lo, err := m.Read(7, 3)
	require.NoError(t, err)
	require.Equal(t, []uint16{0x001C, 0xC916}, []uint16{hi, lo})
	none, err := m.Read(8, 2)
	require.NoError(t, err)
	require.Equal(t, uint16(0xFFFF), none)
}

// TestStopFromAnyState: frames that cannot go anywhere keep neither side from
// stopping (B056, B085).
func TestStopFromAnyState(t *testing.T) {
	for name, prepare := range map[string]func(b *bed, tx ring.TXCodec, buffers memory){
		"idle": func(*bed, ring.TXCodec, memory) {},
		"receive ring dry, FIFO full": func(b *bed, _ ring.TXCodec, _ memory) {
			for range 50 {
				b.model.Deliver(frame(station, 1500))
			}
		},
		"link lost with frames in the ring": func(b *bed, tx ring.TXCodec, buffers memory) {
			b.model.SetLink(mac.Link{})
			b.sendAll(tx, buffers)
		},
		"MAC off with frames in the ring": func(b *bed, tx ring.TXCodec, buffers memory) {
			require.NoError(b, b.core.SetLink(mac.Link{}))
			b.sendAll(tx, buffers)
		},
		"bus error on transmit": func(b *bed, tx ring.TXCodec, buffers memory) {
			b.model.Faults().Once(sim.TXBusError)
			b.sendAll(tx, buffers)
			require.Equal(b, uint32(1), b.core.Interrupt().Fatal)
		},
		"bus error on receive": func(b *bed, _ ring.TXCodec, _ memory) {
			b.model.Faults().Once(sim.RXBusError)
			b.model.Deliver(frame(station, 100))
			require.Equal(b, uint32(1), b.core.Interrupt().Fatal)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, model.Config{RXFIFO: 4096, TXFIFO: 4096})
			_, tx, buffers := b.start()
			prepare(b, tx, buffers)
			require.NoError(t, b.core.Stop())
			require.NoError(t, buffers.Release(), "DMA into it would be a violation from here on")
			b.model.SetLink(fullSpeed)
			b.model.Deliver(frame(station, 100))
			require.Zero(t, b.regs.Read32(gmac4.DMAIntStatus))

			rx, tx, buffers := b.start()
			b.sent = nil
			b.model.Deliver(frame(station, 100))
			require.Equal(t, 1, rx.Harvest(0, make([]ring.Completion, 1)))
			b.sendAll(tx, buffers)
			require.Len(t, b.sent, 7)
			require.Equal(t, 7, tx.Done(0, 6, 7))
			require.Zero(t, b.core.Interrupt().Fatal)
		})
	}
}

// sendAll fills a transmit ring of 8.
func (b *bed) sendAll(tx ring.TXCodec, buffers memory) {
	frames := make([]ring.TXFrame, 7)
	for i := range frames {
		frames[i] = ring.TXFrame{Addr: buffers.DeviceAddr() + uint64(i)*2048, Len: 1514, Interrupt: true}
	}
	tx.Fill(0, frames)
	tx.Kick(7)
}
