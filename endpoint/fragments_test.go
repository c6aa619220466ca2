package endpoint

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

// sender is an endpoint on a MAC whose wire is the test's.
type sender struct {
	t   *testing.T
	mac *fake.MAC
	ep  *Endpoint
}

func newSender(t *testing.T, c mac.Config) *sender {
	t.Helper()
	c.Link = mac.Link{Up: true, Speed: 1000, FullDuplex: true}
	m, err := fake.New(&fake.Options{Config: c, Build: sim.Build{Inline: true}})
	require.NoError(t, err)
	ep, err := New(m.Device, nil)
	require.NoError(t, err)
	ep.Attach(&idle{})
	require.NoError(t, ep.Err())
	require.True(t, m.Link().Up)
	t.Cleanup(ep.Close)
	return &sender{t, m, ep}
}

// idle is a dispatcher that takes no interest in packets.
type idle struct{ stack.NetworkDispatcher }

// send writes a frame as netstack would and returns how many packets it was told
// went out.
func (s *sender) send(frames ...[]byte) int {
	s.t.Helper()
	var list stack.PacketBufferList
	for _, f := range frames {
		pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(f)})
		defer pkt.DecRef()
		list.PushBack(pkt)
	}
	n, _ := s.ep.WritePackets(list)
	return n
}

// sent is what has left so far and was not asked for before.
func (s *sender) sent() [][]byte {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	var frames [][]byte
	for {
		f, err := s.mac.Next(now)
		if err != nil {
			return frames
		}
		frames = append(frames, f)
	}
}

// cut makes n fragments of a UDP datagram without checksum, each with 80 bytes of
// IP payload, or fewer in the last.
func cut(id uint16, n int) [][]byte {
	whole := append(udpHeader(80*n-8-3), pattern(80*n-8-3)...)
	var frames [][]byte
	for i := range n {
		frames = append(frames, fragment4(id, 80*i, i < n-1, 0, whole[80*i:min(80*i+80, len(whole))]))
	}
	return frames
}

// fragment4 is one IPv4 fragment, with some words of IP options.
func fragment4(id uint16, offset int, more bool, options int, payload []byte) []byte {
	opts := make([]byte, 4*options) // end of options
	return ipv4(protoUDP, func(h header.IPv4) {
		h[0] = 0x45 + byte(options)
		h.SetID(id)
		flags := uint8(0)
		if more {
			flags = header.IPv4FlagMoreFragments
		}
		h.SetFlagsFragmentOffset(flags, uint16(offset))
	}, opts, payload)
}

// requireDatagram checks that frames are the fragments of cut, the UDP checksum
// filled in.
func requireDatagram(t *testing.T, frames [][]byte) {
	t.Helper()
	var payload []byte
	for _, f := range frames {
		ip := header.IPv4(f[14:])
		payload = append(payload, ip[ip.HeaderLength():ip.TotalLength()]...)
	}
	sum := header.PseudoHeaderChecksum(header.UDPProtocolNumber, ip4B, ip4A, uint16(len(payload)))
	require.NotZero(t, header.UDP(payload).Checksum())
	require.EqualValues(t, 0xffff, checksum.Checksum(payload, sum), "UDP checksum of %d fragments", len(frames))
}

// account checks that every packet given was sent or counted as dropped.
func (s *sender) account(given, sent int) {
	s.t.Helper()
	require.EqualValues(s.t, given-sent, s.mac.Stats().TXDropped, "%d packets given, %d sent: the rest is counted", given, sent)
}

func TestFragmentTrain(t *testing.T) {
	s := newSender(t, mac.Config{})
	for _, n := range []int{2, 3, 11, 200, 800} {
		require.Equal(t, n, s.send(cut(1, n)...))
		frames := s.sent()
		require.Len(t, frames, n)
		requireDatagram(t, frames)
	}
	s.account(0, 0)
}

// TestFragmentTrainLost: fragments kept back in vain were called sent, so their
// loss is counted when it is known.
func TestFragmentTrainLost(t *testing.T) {
	t.Run("no place", func(t *testing.T) {
		s := newSender(t, mac.Config{})
		const n = maxTrains + 5
		for id := range uint16(n) {
			require.Equal(t, 2, s.send(cut(id, 3)[:2]...))
		}
		require.Empty(t, s.sent())
		require.EqualValues(t, 10, s.ep.Stats().TXFragments)
		s.account(10, 0)
		s.ep.Close()
		require.EqualValues(t, 2*n, s.ep.Stats().TXFragments)
		s.account(2*n, 0)
	})
	t.Run("ring full", func(t *testing.T) {
		c := ring.DefaultCoalesce()
		c.TXUsecs = 0
		s := newSender(t, mac.Config{TXRing: 16, Coalesce: &c})
		s.mac.Faults().Always(sim.StuckOwn)
		given := cut(1, 60)
		require.Equal(t, 59, s.send(given...), "all but the last, for which the ring was found full")
		inRing := int(s.mac.Snapshot().Queues[0].TX.Frames)
		require.Positive(t, inRing)
		s.account(60, inRing)
	})
}

// TestFragmentTrainsMixed: two datagrams with one identification at the same time.
// A checksum over fragments of both would make a mixture look right.
func TestFragmentTrainsMixed(t *testing.T) {
	s := newSender(t, mac.Config{})
	a, b := cut(7, 2), cut(7, 2)
	b[1][len(b[1])-1] ^= 0xff
	s.send(a[0])
	s.send(b[0])
	s.send(a[1])
	s.send(b[1])
	for _, f := range s.sent() {
		require.NotZero(t, header.IPv4(f[14:]).FragmentOffset(), "a first fragment went out")
	}
	s.account(2, 0)
	require.Equal(t, 2, s.send(cut(7, 2)...), "the identification can be used again")
	requireDatagram(t, s.sent())
}

// TestFragmentsWithOtherHeaders: header lengths may differ from fragment to
// fragment (IP options are copied or not), as a raw socket can write them.
func TestFragmentsWithOtherHeaders(t *testing.T) {
	s := newSender(t, mac.Config{})
	whole := append(udpHeader(8), pattern(8)...)
	s.send(fragment4(1, 0, true, 0, whole[:8]), fragment4(1, 8, false, 10, whole[8:]))
	requireDatagram(t, s.sent())
	// A fragment of nothing does not make a train grow.
	for range 100 {
		s.send(fragment4(2, 0, true, 0, whole[:8]), fragment4(2, 8, true, 0, nil))
	}
}

// TestForwardedFragments are sent as they are, in the order they come.
func TestForwardedFragments(t *testing.T) {
	s := newSender(t, mac.Config{})
	frames := cut(1, 2)
	for _, i := range []int{1, 0} {
		pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frames[i]), IsForwardedPacket: true})
		var list stack.PacketBufferList
		list.PushBack(pkt)
		n, err := s.ep.WritePackets(list)
		require.Nil(t, err)
		require.Equal(t, 1, n)
		pkt.DecRef()
		require.Equal(t, [][]byte{frames[i]}, s.sent())
	}
}

// TestEmptyPacket: a packet without an Ethernet header is refused at once and takes
// nothing of the list with it.
func TestEmptyPacket(t *testing.T) {
	s := newSender(t, mac.Config{})
	good := ipv4(protoUDP, nil, udpHeader(20), pattern(20))
	require.Equal(t, 2, s.send(good, nil, good[:13], good))
	require.Len(t, s.sent(), 2)
	require.EqualValues(t, 2, s.ep.Stats().TXTooShort)
	s.account(4, 2)
}
