package usernet

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac/sim/cable"
)

// checkFrame fails unless all lengths and checksums of an IP packet are right.
func checkFrame(t *testing.T, mtu int, frame []byte) {
	t.Helper()
	if len(frame) < minFrame || len(frame) > headerLen+mtu {
		t.Errorf("frame of %d bytes, MTU %d", len(frame), mtu)
	}
	ip := trim(frame)[headerLen:]
	var segment []byte
	var src, dst tcpip.Address
	var proto tcpip.TransportProtocolNumber
	switch header.Ethernet(frame).Type() {
	case header.IPv4ProtocolNumber:
		h := header.IPv4(ip)
		if !h.IsValid(len(ip)) || !h.IsChecksumValid() {
			t.Errorf("IPv4 header % x", ip[:20])
		}
		src, dst, proto, segment = h.SourceAddress(), h.DestinationAddress(), h.TransportProtocol(), h.Payload()
	case header.IPv6ProtocolNumber:
		h := header.IPv6(ip)
		if !h.IsValid(len(ip)) {
			t.Errorf("IPv6 header % x", ip[:40])
		}
		src, dst, proto, segment = h.SourceAddress(), h.DestinationAddress(), tcpip.TransportProtocolNumber(h.NextHeader()), h.Payload()
	default:
		return
	}
	if proto != header.TCPProtocolNumber {
		return
	}
	sum := header.PseudoHeaderChecksum(proto, src, dst, uint16(len(segment)))
	if checksum.Checksum(segment, sum) != 0xffff {
		t.Errorf("TCP checksum of %d bytes is wrong", len(segment))
	}
}

func TestEveryFrameOnTheWireIsRight(t *testing.T) {
	for _, at := range []string{"10.0.2.15:80", "[fd00:6261:7265::15]:80"} {
		for _, o := range []Options{{}, {NoSegmentation: true}, {MTU: 1281}} {
			mtu := o.MTU
			if mtu == 0 {
				mtu = 1500
			}
			var full atomic.Int64 // netstack leaves room for all TCP options
			tap := func(_ cable.Direction, frame []byte) {
				checkFrame(t, mtu, frame)
				if len(frame) > headerLen+mtu-60 {
					full.Add(1)
				}
			}
			n, guest := newPair(t, o, &cable.Options{Taps: []cable.Tap{tap}})
			l, err := guest.ListenTCP(netip.MustParseAddrPort(at))
			require.NoError(t, err)
			c, err := n.DialContext(context.Background(), "tcp", at)
			require.NoError(t, err)
			peer, err := l.Accept()
			require.NoError(t, err)
			sent := make(chan error)
			go func() {
				_, err := c.Write(make([]byte, 1_000_003))
				sent <- err
			}()
			for got := 0; got < 1_000_003; {
				k, err := peer.Read(make([]byte, 100_000))
				require.NoError(t, err)
				got += k
			}
			require.NoError(t, <-sent)
			require.Greater(t, full.Load(), int64(600), "segments of the maximum size")
			peer.Close()
			c.Close()
			l.Close()
		}
	}
}

func TestReceiveFilter(t *testing.T) {
	n, err := New(nil)
	require.NoError(t, err)
	defer n.Close()
	frame := func(n int, dst ...byte) []byte { return append(dst, make([]byte, n-len(dst))...) }
	n.Deliver(nil)
	n.Deliver(frame(13, 0xff))
	n.Deliver(frame(1515, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff))
	n.Deliver(frame(60, 2, 0, 0, 0, 0, 1))
	n.Deliver(frame(60, 0x33, 0x33, 0, 0, 0, 1))
	n.Deliver(frame(14, 0x52, 0x55, 10, 0, 2, 2))
	n.Deliver(frame(1514, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff))
	require.NoError(t, n.Close())
	s := n.Stats()
	require.EqualValues(t, 2, s.RXShort)
	require.EqualValues(t, 1, s.RXTooLong)
	require.EqualValues(t, 1, s.RXNotOurs)
	require.LessOrEqual(t, s.RXFrames, uint64(3))
}

// blockedDispatcher is a stack that takes its time.
type blockedDispatcher struct {
	stack.NetworkDispatcher
	inside, gate chan struct{}
}

func (d *blockedDispatcher) DeliverNetworkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {
	d.inside <- struct{}{}
	<-d.gate
}

func broadcastFrame() []byte {
	f := make([]byte, 60)
	copy(f, "\xff\xff\xff\xff\xff\xff")
	return f
}

func TestDetachDoesNotWaitForDelivery(t *testing.T) {
	o, err := (*Options)(nil).withDefaults()
	require.NoError(t, err)
	var c counters
	l := newLink(&o, &c)
	d := &blockedDispatcher{inside: make(chan struct{}), gate: make(chan struct{})}
	require.False(t, l.IsAttached())
	l.Wait() // never attached: nothing to wait for
	l.Attach(d)
	require.True(t, l.IsAttached())
	l.receive(broadcastFrame())
	<-d.inside
	// As RemoveNIC does, with the lock held that the delivery may be waiting for.
	l.Attach(nil)
	l.Wait()
	require.False(t, l.IsAttached())
	action := 0
	l.SetOnCloseAction(func() { action++ })
	closed := make(chan struct{})
	go func() { l.Close(); close(closed) }()
	select {
	case <-closed:
		t.Fatal("Close did not wait for the delivery")
	default:
	}
	close(d.gate)
	<-closed
	l.Close()
	require.Equal(t, 1, action)
}

func TestFullQueueDrops(t *testing.T) {
	o, err := (&Options{QueueBytes: 1}).withDefaults()
	require.NoError(t, err)
	var c counters
	l := newLink(&o, &c)
	for range batch + 3 {
		l.receive(broadcastFrame())
	}
	require.EqualValues(t, 3, c.rxDropped.Load())
	l.Close()
}
