package netstack

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/waiter"
)

func TestUDPEcho(t *testing.T) {
	a, b := pair(t)
	ctx := context.Background()
	pc, err := b.ListenPacket(ctx, "udp", ":7")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1<<16)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if _, err := pc.WriteTo(buf[:n], from); err != nil {
				t.Error(err)
			}
		}
	}()
	for _, address := range []string{"10.0.0.2:7", "[2001:db8::2]:7"} {
		c, err := a.DialContext(ctx, "udp", address)
		require.NoError(t, err)
		require.Equal(t, address, c.RemoteAddr().String())
		for _, size := range []int{0, 1, 1452, 1472, 1473, 9000, 65507} {
			sent := bytes.Repeat([]byte{byte(size), 1, 2}, 22000)[:size]
			n, err := c.Write(sent)
			require.NoError(t, err)
			require.Equal(t, size, n)
			got := make([]byte, 1<<16)
			n, err = c.Read(got)
			require.NoError(t, err)
			require.True(t, bytes.Equal(sent, got[:n]), "%s: %d bytes", address, size)
		}
		_, err = c.Write(make([]byte, 65536))
		require.ErrorIs(t, err, syscall.EMSGSIZE)
		_, err = c.(*UDPConn).WriteTo([]byte("x"), c.RemoteAddr())
		require.ErrorIs(t, err, net.ErrWriteToConnected)
		require.NoError(t, c.Close())
	}
	require.NoError(t, pc.Close())
	<-done
}

func TestUDPAddresses(t *testing.T) {
	a, b := pair(t)
	ctx := context.Background()
	pcs := make(map[string]*UDPConn)
	for _, network := range []string{"udp", "udp4", "udp6"} {
		pc, err := a.ListenPacket(ctx, network, ":0")
		require.NoError(t, err)
		defer pc.Close()
		pcs[network] = pc.(*UDPConn)
	}
	sink, err := b.ListenPacket(ctx, "udp", ":9")
	require.NoError(t, err)
	defer sink.Close()
	to4, to6 := netip.MustParseAddrPort("10.0.0.2:9"), netip.MustParseAddrPort("[2001:db8::2]:9")
	mapped := netip.AddrPortFrom(netip.AddrFrom16(to4.Addr().As16()), 9)
	for _, c := range []struct {
		network string
		to      netip.AddrPort
		from    netip.Addr // invalid: refused
	}{
		{"udp", to4, a4.Addr()}, {"udp", mapped, a4.Addr()}, {"udp", to6, a6.Addr()},
		{"udp4", to4, a4.Addr()}, {"udp4", mapped, a4.Addr()}, {"udp4", to6, netip.Addr{}},
		{"udp6", to6, a6.Addr()}, {"udp6", to4, netip.Addr{}},
		{"udp", netip.AddrPort{}, netip.Addr{}},
	} {
		_, err := pcs[c.network].WriteToUDPAddrPort([]byte("x"), c.to)
		if !c.from.IsValid() {
			require.Error(t, err, "%v", c)
			require.IsType(t, (*net.OpError)(nil), err)
			continue
		}
		require.NoError(t, err, "%v", c)
		_, from, err := sink.(*UDPConn).ReadFromUDPAddrPort(make([]byte, 8))
		require.NoError(t, err)
		require.Equal(t, c.from, from.Addr())
	}
	for _, addr := range []net.Addr{nil, (*net.UDPAddr)(nil), &net.UDPAddr{IP: net.IP{1, 2, 3}}, &net.UnixAddr{Name: "x"}} {
		_, err := pcs["udp"].WriteTo([]byte("x"), addr)
		require.IsType(t, (*net.OpError)(nil), err)
	}
	_, err = pcs["udp"].WriteTo([]byte("x"), &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 9})
	require.NoError(t, err)

	// Nobody listens: the ICMP error comes back on the next call.
	c, err := a.DialContext(ctx, "udp4", "10.0.0.2:10")
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("x"))
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// A read deadline can be moved while a read waits, and taken away.
func TestUDPDeadline(t *testing.T) {
	a, b := pair(t)
	ctx := context.Background()
	c, err := a.ListenPacket(ctx, "udp", ":7")
	require.NoError(t, err)
	defer c.Close()
	buf := make([]byte, 8)
	for range 2 {
		require.NoError(t, c.SetDeadline(time.Unix(1, 0)))
		_, _, err = c.ReadFrom(buf)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.True(t, err.(net.Error).Timeout())
		_, err = c.WriteTo(buf, &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 7})
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)

		// Waiting without a deadline, or with a far one.
		for _, far := range []time.Time{{}, time.Now().Add(time.Hour)} {
			require.NoError(t, c.SetDeadline(far))
			errs := make(chan error)
			go func() { _, _, err := c.ReadFrom(buf); errs <- err }()
			require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
			require.ErrorIs(t, <-errs, os.ErrDeadlineExceeded)
		}
		require.NoError(t, c.SetDeadline(time.Time{}))
		peer, err := b.DialContext(ctx, "udp", "10.0.0.1:7")
		require.NoError(t, err)
		_, err = peer.Write([]byte("x"))
		require.NoError(t, err)
		n, _, err := c.ReadFrom(buf)
		require.NoError(t, err)
		require.Equal(t, "x", string(buf[:n]))
		require.NoError(t, peer.Close())
	}
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.SetDeadline(time.Time{}), net.ErrClosed)
	_, err = c.WriteTo(buf, &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 7})
	require.ErrorIs(t, err, net.ErrClosed)
}

// Packet endpoints see frames when they are asked for.
func TestPacketSockets(t *testing.T) {
	la, lb := newLinks()
	a := newHost(t, la, &Options{Addresses: []netip.Prefix{a4}, DADTransmits: -1, PacketSockets: true})
	b := newHost(t, lb, &Options{Addresses: []netip.Prefix{b4}, DADTransmits: -1})
	var wq waiter.Queue
	entry, ready := waiter.NewChannelEntry(waiter.ReadableEvents)
	wq.EventRegister(&entry)
	ep, terr := a.stack.NewPacketEndpoint(true, header.IPv4ProtocolNumber, &wq)
	require.Nil(t, terr)
	defer ep.Close()
	require.Nil(t, ep.Bind(tcpip.FullAddress{NIC: a.nic, Port: uint16(header.IPv4ProtocolNumber)}))
	c, err := b.DialContext(context.Background(), "udp", "10.0.0.1:7")
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("hello"))
	require.NoError(t, err)
	<-ready
	var frame bytes.Buffer
	_, terr = ep.Read(&frame, tcpip.ReadOptions{})
	require.Nil(t, terr)
	require.Equal(t, "hello", frame.String()[header.IPv4MinimumSize+header.UDPMinimumSize:])
}
