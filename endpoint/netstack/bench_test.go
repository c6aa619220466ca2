package netstack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// bulk sends b.N times 64 KiB from client to server.
func bulk(b *testing.B, client, server *Host, address string) {
	c, s := connect(b, client, server, address)
	defer s.Close()
	done := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, s)
		done <- n
	}()
	buf := make([]byte, 64<<10)
	b.SetBytes(int64(len(buf)))
	before := client.stack.Stats().TCP.Retransmits.Value()
	b.ResetTimer()
	for range b.N {
		if _, err := c.Write(buf); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, c.Close())
	require.Equal(b, int64(b.N)*int64(len(buf)), <-done)
	b.StopTimer()
	resent := client.stack.Stats().TCP.Retransmits.Value() - before
	b.ReportMetric(float64(resent)/float64(b.N), "resent/op")
}

// BenchmarkTCPBulk is one TCP stream between two stacks in one process, at an MTU
// of 1500 and without offloads.
//
// "pipe" is gVisor's pipe, which runs the receiver within the sender's call.
// The others are over a link with a queue, as a network card is, and compare
// what Host sets with its alternatives: loss is every so many full frames lost.
func BenchmarkTCPBulk(b *testing.B) {
	for _, address := range []string{"10.0.0.2:0", "[2001:db8::2]:0"} {
		b.Run("pipe/"+address, func(b *testing.B) {
			pa, pb := pipe.New(macA, macB, 1514)
			bulk(b, newHost(b, ethernet.New(pa), &Options{Addresses: []netip.Prefix{a4, a6}, DADTransmits: -1}),
				newHost(b, ethernet.New(pb), &Options{Addresses: []netip.Prefix{b4, b6}, DADTransmits: -1}), address)
		})
	}
	for _, every := range []int64{0, 10000, 1000, 100} {
		for _, cc := range []string{"cubic", "reno"} {
			for _, recovery := range []tcpip.TCPRecovery{tcpip.TCPRACKLossDetection, 0} {
				b.Run(fmt.Sprintf("loss=%d/%s/rack=%d", every, cc, recovery), func(b *testing.B) {
					la, lb := newLinks()
					client := newHost(b, la, &Options{Addresses: []netip.Prefix{a4}, DADTransmits: -1})
					server := newHost(b, lb, &Options{Addresses: []netip.Prefix{b4}, DADTransmits: -1})
					option := tcpip.CongestionControlOption(cc)
					require.Nil(b, client.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &option))
					require.Nil(b, client.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &recovery))
					if every > 0 {
						var n atomic.Int64
						la.setDrop(func(p *stack.PacketBuffer) bool {
							return p.Size() > 1000 && n.Add(1)%every == 0
						})
					}
					bulk(b, client, server, "10.0.0.2:0")
				})
			}
		}
	}
	for _, size := range []int{64 << 10, 256 << 10, 1 << 20, 4 << 20} {
		b.Run(fmt.Sprintf("buffers=%dK", size>>10), func(b *testing.B) {
			la, lb := newLinks()
			r := BufferRange{Default: size}
			o := func(p netip.Prefix) *Options {
				return &Options{Addresses: []netip.Prefix{p}, DADTransmits: -1, TCPReceiveBuffer: r, TCPSendBuffer: r}
			}
			bulk(b, newHost(b, la, o(a4)), newHost(b, lb, o(b4)), "10.0.0.2:0")
		})
	}
}

// BenchmarkUDPRoundTrip is a datagram of 64 bytes there and back.
func BenchmarkUDPRoundTrip(b *testing.B) {
	la, lb := newLinks()
	client := newHost(b, la, &Options{Addresses: []netip.Prefix{a4}, DADTransmits: -1})
	server := newHost(b, lb, &Options{Addresses: []netip.Prefix{b4}, DADTransmits: -1})
	ctx := context.Background()
	pc, err := server.ListenPacket(ctx, "udp", ":7")
	require.NoError(b, err)
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.(*UDPConn).ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = pc.(*UDPConn).WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	var c net.Conn
	c, err = client.DialContext(ctx, "udp", "10.0.0.2:7")
	require.NoError(b, err)
	buf := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(buf); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
