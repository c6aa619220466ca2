package endpoint_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// deterministic is a MAC that moves only when the test does something.
func deterministic(c mac.Config) (fake.Options, *sim.ManualClock) {
	clock := sim.NewManualClock(time.Unix(0, 0))
	return fake.Options{Config: c, Build: sim.Build{Inline: true, Clock: clock}}, clock
}

// udpFrame is a frame for m with n bytes of UDP payload and right checksums.
func udpFrame(m *fake.MAC, n int) []byte {
	b := make([]byte, 14+20+8+n)
	dst := m.Address()
	copy(b, dst[:])
	copy(b[6:], []byte{2, 0, 0, 0, 0, 0x77})
	b[12], b[13] = 0x08, 0x00
	ip := header.IPv4(b[14:])
	src4, dst4 := addr4(192, 0, 2, 9), addr4(192, 0, 2, 1)
	ip.Encode(&header.IPv4Fields{TotalLength: uint16(28 + n), TTL: 64, Protocol: uint8(header.UDPProtocolNumber), SrcAddr: src4, DstAddr: dst4})
	ip.SetChecksum(^ip.CalculateChecksum())
	udp := header.UDP(b[34:])
	udp.Encode(&header.UDPFields{SrcPort: 1, DstPort: 2, Length: uint16(8 + n)})
	for i := range n {
		b[42+i] = byte(i)
	}
	xsum := header.PseudoHeaderChecksum(header.UDPProtocolNumber, src4, dst4, uint16(8+n))
	udp.SetChecksum(^udp.CalculateChecksum(sumOf(b[42:], xsum)))
	return b
}

// TestReceiveReads counts descriptor words read: one status word for each
// descriptor, one verdict for each frame when the device checks checksums, and
// never a buffer address.
func TestReceiveReads(t *testing.T) {
	for _, c := range []struct {
		name      string
		config    mac.Config
		perFrame  int // descriptors
		withCheck bool
	}{
		{"no checksum offload", mac.Config{NoRXChecksum: true}, 1, false},
		{"checksum offload", mac.Config{}, 1, true},
		{"three descriptors a frame", mac.Config{NoRXChecksum: true, PageSize: 512}, 3, false},
		{"three descriptors a frame, checksum offload", mac.Config{PageSize: 512}, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, _ := deterministic(c.config)
			m, err := fake.New(&o)
			require.NoError(t, err)
			defer func() { require.NoError(t, m.Close()) }()
			require.NoError(t, m.Start())
			q := m.Queues()[0]
			require.NoError(t, q.Own())
			defer q.Disown()

			const n = 128
			frame := udpFrame(m, 1400)
			for range n {
				m.Send(frame)
			}
			frames := make([]ring.Frame, 64)
			before := m.Trace().Counts()
			m.Trace().Log(1 << 16)
			for range n / len(frames) {
				require.Equal(t, len(frames), q.RX.Harvest(frames))
				for _, f := range frames {
					for _, p := range f.Pieces {
						q.Pool.Recycle(p.Page)
					}
				}
			}
			want := n * c.perFrame
			if c.withCheck {
				want += n
			}
			require.EqualValues(t, want, m.Trace().Counts().Sub(before).DescriptorLoads)
			for _, e := range m.Trace().Events() {
				if e.Kind == sim.DescriptorLoad {
					word := e.Addr / 4 % 4
					require.True(t, word == 3 || c.withCheck && word == 1, "word %d of a descriptor was read", word)
				}
			}
			// An empty look costs one word more.
			before = m.Trace().Counts()
			require.Zero(t, q.RX.Harvest(frames))
			require.EqualValues(t, 1, m.Trace().Counts().Sub(before).DescriptorLoads)
		})
	}
}

// TestTransmitCounts sends in bulk and counts: one doorbell for each list, at
// most one descriptor word read for 16 packets, no transmit interrupt.
func TestTransmitCounts(t *testing.T) {
	for _, size := range []int{18, 1472} {
		o, _ := deterministic(mac.Config{})
		m, ep, _ := single(t, nodeOptions{fake: o}, false)
		const lists, perList = 400, 40
		pkt := packet(udpFrame(m, size))
		before, frames := m.Trace().Counts(), m.Stats().TXPackets
		for range lists {
			var list stack.PacketBufferList
			for range perList {
				list.PushBack(pkt)
			}
			n, err := ep.WritePackets(list)
			require.Nil(t, err)
			require.Equal(t, perList, n)
		}
		got := m.Trace().Counts().Sub(before)
		require.EqualValues(t, lists, got.Doorbells, "doorbells")
		require.EqualValues(t, lists*perList, m.Stats().TXPackets-frames)
		require.LessOrEqual(t, got.DescriptorLoads, uint64(lists*perList/16), "descriptor reads")
		require.Positive(t, got.DescriptorLoads)
		require.Zero(t, m.Snapshot().Queues[0].TXInterrupts)
		require.Zero(t, got.Interrupts)
		pkt.DecRef()
	}
}

// TestReceiveInterrupts offers full-size frames at 1 Gbit/s with rx-frames 0 and
// counts interrupts: the watchdog alone makes them, one for more than 30 frames.
// The poll goroutine is let finish after each, so that it unmasks as often as it
// can.
func TestReceiveInterrupts(t *testing.T) {
	c := ring.DefaultCoalesce()
	c.RXFrames, c.RXUsecs = 0, 400
	o, clock := deterministic(mac.Config{Coalesce: &c})
	m, _, r := single(t, nodeOptions{fake: o}, false)
	frame := udpFrame(m, 1472)
	const n = 3000
	const gap = 12304 * time.Nanosecond // 1538 bytes of wire time
	before, last := m.Trace().Counts(), uint64(0)
	for i := range n {
		m.Send(frame)
		clock.Advance(gap)
		raised := m.Trace().Counts().Sub(before).Interrupts
		if raised == last {
			continue
		}
		last = raised
		eventually(t, "poll goroutine asleep again", func() bool {
			return r.count.Load() == int64(i+1) && m.Model().Read32(dmaCh0InterruptEnable)&rie != 0
		})
	}
	got := m.Trace().Counts().Sub(before).Interrupts
	t.Logf("%d frames, %d interrupts: one for %.1f frames", n, got, float64(n)/float64(got))
	require.Positive(t, got)
	require.LessOrEqual(t, got, uint64(n/30))
	require.GreaterOrEqual(t, got, uint64(n/40), "the poll goroutine must have unmasked each time")
}

// DMA_CH0_Interrupt_Enable and its receive interrupt bit, read from the model
// without being counted.
const (
	dmaCh0InterruptEnable = 0x1134
	rie                   = 1 << 6
)

// TestNoAllocations: neither direction allocates, whatever the hand-off.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops buffers at random under the race detector")
	}
	for _, c := range []struct {
		name      string
		copyBreak int
		size      int
	}{
		{"lent", pagepool.LendAlways, 1472},
		{"copied", pagepool.CopyAlways, 1472},
		{"small", 0, 18},
	} {
		t.Run("receive/"+c.name, func(t *testing.T) {
			coalesce := ring.DefaultCoalesce()
			coalesce.RXFrames = 1
			o, _ := deterministic(mac.Config{CopyBreak: c.copyBreak, Coalesce: &coalesce})
			m, _, r := single(t, nodeOptions{fake: o}, false)
			frame := udpFrame(m, c.size)
			const batch = 64
			perRun := testing.AllocsPerRun(200, func() {
				want := r.count.Load() + batch
				for range batch {
					m.Send(frame)
				}
				eventually(t, "delivery", func() bool { return r.count.Load() == want })
			})
			require.Less(t, perRun/batch, 0.05, "allocations per received frame")
			if c.copyBreak == pagepool.LendAlways {
				require.NotZero(t, m.Snapshot().Queues[0].Pool.LentHighWater)
			}
		})
	}
	t.Run("transmit", func(t *testing.T) {
		o, _ := deterministic(mac.Config{})
		m, ep, _ := single(t, nodeOptions{fake: o}, false)
		m.Model().OnTransmit(func([]byte) {}) // the capture would allocate
		pkt := packet(udpFrame(m, 1472))
		defer pkt.DecRef()
		var list stack.PacketBufferList
		for range 32 {
			list.PushBack(pkt)
		}
		perRun := testing.AllocsPerRun(200, func() {
			if n, err := ep.WritePackets(list); n != 32 || err != nil {
				t.Fatalf("sent %d, %v", n, err)
			}
		})
		require.Zero(t, perRun)
	})
}

// packet is a packet with frame as its bytes, headers in place.
func packet(frame []byte) *stack.PacketBuffer {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
	pkt.LinkHeader().Consume(14)
	return pkt
}
