package usernet

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkTCP sends 64 KiB at a time from one network to another over a cable.
func BenchmarkTCP(b *testing.B) {
	for _, o := range []Options{
		{}, {NoCoalescing: true}, {NoSegmentation: true}, {NoSegmentation: true, NoCoalescing: true},
		{SkipRXChecksum: true}, {MTU: 9000}, {MTU: 65535},
	} {
		name := fmt.Sprintf("mtu=%d/segmentation=%v/coalescing=%v/rxchecksum=%v", max(o.MTU, 1500), !o.NoSegmentation, !o.NoCoalescing, !o.SkipRXChecksum)
		b.Run(name, func(b *testing.B) {
			n, guest := newPair(b, o, nil)
			benchmarkStream(b, guest, func() net.Conn {
				c, err := n.DialContext(context.Background(), "tcp", ":80")
				require.NoError(b, err)
				return c
			})
			s := guest.Stats()
			b.ReportMetric(float64(s.RXDropped)/float64(b.N), "drops/op")
			b.ReportMetric(float64(s.RXFrames)/float64(s.RXFrames-s.RXJoined), "frames/packet")
		})
	}
}

// BenchmarkForward is the same from a socket of the host through a forwarded
// port.
func BenchmarkForward(b *testing.B) {
	n, guest := newPair(b, Options{}, nil)
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(b, err)
	benchmarkStream(b, guest, func() net.Conn {
		c, err := net.Dial("tcp", addr.String())
		require.NoError(b, err)
		return c
	})
}

func benchmarkStream(b *testing.B, guest *Network, dial func() net.Conn) {
	const block = 64 << 10
	done := make(chan int64, 1)
	serveGuest(b, guest, func(c net.Conn) {
		buf := make([]byte, block)
		total := int64(0)
		for {
			k, err := c.Read(buf)
			total += int64(k)
			if err != nil {
				break
			}
		}
		done <- total
	})
	c := dial()
	data := make([]byte, block)
	b.SetBytes(block)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		_, err := c.Write(data)
		require.NoError(b, err)
	}
	require.NoError(b, c.(interface{ CloseWrite() error }).CloseWrite())
	require.EqualValues(b, int64(b.N)*block, <-done)
	b.StopTimer()
	require.NoError(b, c.Close())
}

// BenchmarkUDP sends datagrams to a socket that drops what it cannot take.
func BenchmarkUDP(b *testing.B) {
	n, guest := newPair(b, Options{}, nil)
	server, err := guest.ListenUDP(port(9))
	require.NoError(b, err)
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, server.(io.Reader))
	}()
	c, err := n.DialContext(context.Background(), "udp", ":9")
	require.NoError(b, err)
	data := make([]byte, 1400)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for range b.N {
		_, err := c.Write(data)
		require.NoError(b, err)
	}
	b.StopTimer()
	require.NoError(b, c.Close())
	require.NoError(b, guest.Close())
	require.NoError(b, server.Close())
	<-read
}
