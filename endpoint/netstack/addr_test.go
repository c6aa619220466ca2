package netstack

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/faketime"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/sniffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// base is what every host's filter lets through.
var base = map[string]int{"01:00:5e:00:00:01": 1, "33:33:00:00:00:01": 1}

func with(extra ...string) map[string]int {
	m := make(map[string]int)
	for k, v := range base {
		m[k] = v
	}
	for _, e := range extra {
		m[e] = 1
	}
	return m
}

func TestFilter(t *testing.T) {
	la, _ := newLinks()
	h := newHost(t, la, &Options{NoLinkLocal6: true, DADTransmits: -1})
	require.Equal(t, base, la.joined())

	// IPv4 addresses have no group of their own.
	require.NoError(t, h.AddAddress(a4))
	require.Equal(t, base, la.joined())

	// Two addresses with the same last 24 bits share their solicited-node group.
	one, two := netip.MustParsePrefix("2001:db8::1:203/64"), netip.MustParsePrefix("2001:db8:1::1:203/64")
	shared := with("33:33:ff:01:02:03")
	require.NoError(t, h.AddAddress(one))
	require.Equal(t, shared, la.joined())
	require.NoError(t, h.AddAddress(two))
	require.Equal(t, shared, la.joined())
	require.NoError(t, h.RemoveAddress(one.Addr()))
	require.Equal(t, shared, la.joined())
	require.NoError(t, h.RemoveAddress(two.Addr()))
	require.Equal(t, base, la.joined())

	// Groups are counted, and 32 IPv4 groups share a link address.
	g1, g2 := netip.MustParseAddr("224.1.2.3"), netip.MustParseAddr("225.129.2.3")
	g6 := netip.MustParseAddr("ff02::fb")
	require.NoError(t, h.JoinGroup(g1))
	require.NoError(t, h.JoinGroup(g1))
	require.NoError(t, h.JoinGroup(g2))
	require.NoError(t, h.JoinGroup(g6))
	require.Equal(t, with("01:00:5e:01:02:03", "33:33:00:00:00:fb"), la.joined())
	in, terr := h.stack.IsInGroup(h.nic, toAddress(g1))
	require.Nil(t, terr)
	require.True(t, in)
	require.NoError(t, h.LeaveGroup(g1))
	require.NoError(t, h.LeaveGroup(g6))
	require.NoError(t, h.LeaveGroup(g2))
	require.Equal(t, with("01:00:5e:01:02:03"), la.joined())
	require.NoError(t, h.LeaveGroup(g1))
	require.Equal(t, base, la.joined())
	in, terr = h.stack.IsInGroup(h.nic, toAddress(g1))
	require.Nil(t, terr)
	require.False(t, in)
	require.EqualError(t, h.LeaveGroup(g1), "netstack: leave group 224.1.2.3: not joined")
	require.EqualError(t, h.JoinGroup(a4.Addr()), "netstack: join group 10.0.0.1: not a multicast address")
	require.Error(t, h.JoinGroup(netip.Addr{}))

	// An address added behind the host's back is found by SyncFilter.
	require.Nil(t, h.stack.AddProtocolAddress(h.nic, tcpip.ProtocolAddress{
		Protocol:          header.IPv6ProtocolNumber,
		AddressWithPrefix: toAddress(one.Addr()).WithPrefix(),
	}, stack.AddressProperties{}))
	require.Equal(t, base, la.joined())
	require.NoError(t, h.SyncFilter())
	require.Equal(t, shared, la.joined())
}

// The link-local address is there by default, its group too.
func TestLinkLocal(t *testing.T) {
	la, lb := newLinks()
	a := newHost(t, la, &Options{DADTransmits: -1})
	b := newHost(t, lb, nil)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("fe80::ff:fe00:a/64")}, a.Addresses())
	require.Equal(t, with("33:33:ff:00:00:0a"), la.joined())
	require.NoError(t, b.RemoveAddress(netip.MustParseAddr("fe80::ff:fe00:b")))
	require.NoError(t, b.AddAddress(netip.MustParsePrefix("10.0.0.2/24")))

	// Zones are understood, and not needed.
	for _, address := range []string{"[fe80::ff:fe00:a]:0", "[fe80::ff:fe00:a%eth0]:0"} {
		ln, err := a.Listen(context.Background(), "tcp", address)
		require.NoError(t, err)
		c, err := a.DialContext(context.Background(), "tcp", ln.Addr().String())
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, ln.Close())
	}
}

// A sniffer in between does not hide the filter.
func TestFilterBehindWrapper(t *testing.T) {
	la, _ := newLinks()
	w, err := sniffer.NewWithWriter(la, io.Discard, 128)
	require.NoError(t, err)
	newHost(t, w, &Options{NoLinkLocal6: true})
	require.Equal(t, base, la.joined())
}

func TestFilterErrors(t *testing.T) {
	la, _ := newLinks()
	broken := errors.New("broken")
	la.setRefuse(broken)
	_, err := New(la, nil)
	require.ErrorIs(t, err, broken)
	require.False(t, la.IsAttached())

	la, _ = newLinks()
	h := newHost(t, la, &Options{NoLinkLocal6: true, DADTransmits: -1})
	la.setRefuse(broken)
	require.ErrorIs(t, h.AddAddress(a6), broken)
	require.Empty(t, h.Addresses())
	require.ErrorIs(t, h.JoinGroup(netip.MustParseAddr("ff02::fb")), broken)
	la.setRefuse(nil)
	require.NoError(t, h.AddAddress(a6))
	require.NoError(t, h.JoinGroup(netip.MustParseAddr("ff02::fb")))
	require.Equal(t, with("33:33:ff:00:00:01", "33:33:00:00:00:fb"), la.joined())
	// A leave that failed is made up for later.
	la.setRefuse(broken)
	require.ErrorIs(t, h.RemoveAddress(a6.Addr()), broken)
	la.setRefuse(nil)
	require.NoError(t, h.SyncFilter())
	require.Equal(t, with("33:33:00:00:00:fb"), la.joined())
}

// Calls that need an IPv6 address wait until it may be used.
func TestDuplicateAddressDetection(t *testing.T) {
	la, lb := newLinks()
	clock := faketime.NewManualClock()
	h := newHost(t, la, &Options{Addresses: []netip.Prefix{a4, a6}, clock: clock})
	newHost(t, lb, &Options{Addresses: []netip.Prefix{b4, b6}, DADTransmits: -1})
	ctx := context.Background()
	require.Equal(t, with("33:33:ff:00:00:0a", "33:33:ff:00:00:01"), la.joined())

	// Tentative: one cannot bind, and a wait ends with its context.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, h.WaitAddresses(ended), context.Canceled)
	_, err := h.Listen(ended, "tcp", "[2001:db8::1]:80")
	require.ErrorIs(t, err, context.Canceled)
	_, err = h.DialContext(ended, "udp", "[2001:db8::2]:80")
	require.ErrorIs(t, err, context.Canceled)
	// IPv4 and wildcards do not wait.
	for _, address := range []string{"10.0.0.1:80", ":81"} {
		ln, err := h.Listen(ctx, "tcp", address)
		require.NoError(t, err)
		ln.Close()
	}

	errs := make(chan error, 3)
	go func() {
		ln, err := h.Listen(ctx, "tcp", "[2001:db8::1]:80")
		if err == nil {
			ln.Close()
		}
		errs <- err
	}()
	go func() {
		c, err := h.DialContext(ctx, "udp", "[2001:db8::2]:80")
		if err == nil {
			c.Close()
		}
		errs <- err
	}()
	go func() { errs <- h.WaitAddresses(ctx) }()
	clock.Advance(time.Second - 1)
	require.ErrorIs(t, h.WaitAddresses(ended), context.Canceled)
	clock.Advance(1)
	for range 3 {
		require.NoError(t, <-errs)
	}
}

func TestDuplicateAddress(t *testing.T) {
	la, lb := newLinks()
	other := newHost(t, lb, &Options{Addresses: []netip.Prefix{b6}, DADTransmits: -1})
	h := newHost(t, la, &Options{NoLinkLocal6: true})
	require.NoError(t, h.AddAddress(b6))
	ctx := context.Background()
	err := h.WaitAddresses(ctx)
	require.ErrorIs(t, err, ErrDuplicate)
	require.EqualError(t, err, "netstack: address 2001:db8::2: address is in use by another host")
	h.work.Wait() // the rest is done in the background
	require.Empty(t, h.Addresses())
	require.Equal(t, base, la.joined())
	_, err = h.Listen(ctx, "tcp", "[2001:db8::2]:80")
	require.ErrorIs(t, err, syscall.EADDRNOTAVAIL)
	_, err = h.DialContext(ctx, "udp", "[2001:db8::3]:80")
	require.ErrorIs(t, err, syscall.ENETUNREACH)

	// It can be tried again, or given up.
	require.NoError(t, h.AddAddress(b6))
	require.ErrorIs(t, h.WaitAddresses(ctx), ErrDuplicate)
	require.NoError(t, h.RemoveAddress(b6.Addr()))
	require.NoError(t, h.WaitAddresses(ctx))
	require.NoError(t, other.Close())
	require.NoError(t, h.AddAddress(b6))
	require.NoError(t, h.WaitAddresses(ctx))
	require.Equal(t, []netip.Prefix{b6}, h.Addresses())
	require.Equal(t, with("33:33:ff:00:00:02"), la.joined())
}

func TestAddresses(t *testing.T) {
	la, lb := newLinks()
	h := newHost(t, la, &Options{NoLinkLocal6: true, Addresses: []netip.Prefix{a4}, DADTransmits: -1})
	newHost(t, lb, &Options{Addresses: []netip.Prefix{b4}, DADTransmits: -1})
	for _, bad := range []netip.Prefix{
		{}, netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("224.0.0.1/4"), netip.MustParsePrefix("10.0.0.1/0"),
	} {
		require.Error(t, h.AddAddress(bad), "%s", bad)
	}
	require.EqualError(t, h.AddAddress(netip.MustParsePrefix("10.0.0.1/8")),
		"netstack: add address 10.0.0.1/8: the host has 10.0.0.1 already")
	mapped := netip.PrefixFrom(netip.MustParseAddr("::ffff:10.0.0.7"), 120)
	require.NoError(t, h.AddAddress(mapped))
	require.Equal(t, []netip.Prefix{a4, netip.MustParsePrefix("10.0.0.7/24")}, h.Addresses())
	require.EqualError(t, h.RemoveAddress(netip.MustParseAddr("10.0.0.9")),
		"netstack: remove address 10.0.0.9: the host does not have it")

	// The route stays until the last address of the prefix goes.
	dial := func() error {
		c, err := h.DialContext(context.Background(), "udp", "10.0.0.2:1")
		if err == nil {
			c.Close()
		}
		return err
	}
	require.NoError(t, dial())
	require.NoError(t, h.RemoveAddress(a4.Addr()))
	require.NoError(t, dial())
	require.NoError(t, h.RemoveAddress(netip.MustParseAddr("10.0.0.7")))
	require.ErrorIs(t, dial(), syscall.ENETUNREACH)
	require.NoError(t, h.AddAddress(a4))
	require.NoError(t, dial())
}

func TestGateways(t *testing.T) {
	la, lb := newLinks()
	a := newHost(t, la, &Options{Addresses: []netip.Prefix{a4, a6}, DADTransmits: -1})
	b := newHost(t, lb, &Options{
		Addresses: []netip.Prefix{
			b4, b6, netip.MustParsePrefix("198.51.100.1/24"), netip.MustParsePrefix("2001:db8:9::1/64"),
		},
		DADTransmits: -1,
	})
	far := []string{"198.51.100.1:0", "[2001:db8:9::1]:0"}
	dial := func() (errs []error) {
		for _, address := range far {
			_, err := a.DialContext(context.Background(), "udp", address[:len(address)-1]+"9")
			errs = append(errs, err)
		}
		return errs
	}
	for _, err := range dial() {
		require.ErrorIs(t, err, syscall.ENETUNREACH)
	}
	require.NoError(t, a.SetGateways(b4.Addr(), b6.Addr()))
	for _, address := range far {
		c, s := connect(t, a, b, address)
		c.Close()
		s.Close()
	}
	require.NoError(t, a.SetGateways())
	for _, err := range dial() {
		require.ErrorIs(t, err, syscall.ENETUNREACH)
	}
	for _, bad := range [][]netip.Addr{
		{{}}, {netip.IPv4Unspecified()}, {netip.MustParseAddr("224.0.0.1")}, {a4.Addr(), b4.Addr()},
	} {
		require.Error(t, a.SetGateways(bad...), "%v", bad)
	}
}

func TestMulticast(t *testing.T) {
	a, b := pair(t)
	ctx := context.Background()
	for _, group := range []string{"224.0.0.251", "ff02::fb"} {
		g := netip.MustParseAddr(group)
		pc, err := b.ListenPacket(ctx, "udp", ":5353")
		require.NoError(t, err)
		require.NoError(t, b.JoinGroup(g))
		out, err := a.ListenPacket(ctx, "udp", ":0")
		require.NoError(t, err)
		_, err = out.WriteTo([]byte("query"), net.UDPAddrFromAddrPort(netip.AddrPortFrom(g, 5353)))
		require.NoError(t, err)
		buf := make([]byte, 16)
		n, from, err := pc.ReadFrom(buf)
		require.NoError(t, err)
		require.Equal(t, "query", string(buf[:n]))
		_, err = pc.WriteTo([]byte("answer"), from)
		require.NoError(t, err)
		n, _, err = out.ReadFrom(buf)
		require.NoError(t, err)
		require.Equal(t, "answer", string(buf[:n]))
		require.NoError(t, pc.Close())

		// Bound to the group, a socket gets nothing else.
		pc, err = b.ListenPacket(ctx, "udp", netip.AddrPortFrom(g, 5353).String())
		require.NoError(t, err)
		own := b4.Addr()
		if g.Is6() {
			own = b6.Addr()
		}
		for _, to := range []netip.Addr{own, g} {
			_, err = out.WriteTo([]byte(to.String()), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 5353)))
			require.NoError(t, err)
		}
		n, _, err = pc.ReadFrom(buf)
		require.NoError(t, err)
		require.Equal(t, group, string(buf[:n]))
		require.NoError(t, b.LeaveGroup(g))
		require.NoError(t, pc.Close())
		require.NoError(t, out.Close())
	}
}

func TestBroadcast(t *testing.T) {
	a, b := pair(t)
	ctx := context.Background()
	pc, err := b.ListenPacket(ctx, "udp4", ":67")
	require.NoError(t, err)
	out, err := a.ListenPacket(ctx, "udp4", ":68")
	require.NoError(t, err)
	for _, to := range []string{"255.255.255.255:67", "10.0.0.255:67"} {
		_, err = out.WriteTo([]byte("x"), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to)))
		require.NoError(t, err)
		_, _, err = pc.ReadFrom(make([]byte, 16))
		require.NoError(t, err)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		text string
	}{
		{Options{DADTransmits: 256}, "netstack: DADTransmits 256: need at most 255"},
		{Options{UDPBuffer: 100}, "netstack: UDPBuffer 100: need 4096 to 4194304 bytes"},
		{Options{TXQueue: -1}, "netstack: TXQueue -1: need 0 or a length in packets"},
		{Options{TCPReceiveBuffer: BufferRange{Min: 10, Default: 5}}, "netstack: TCPReceiveBuffer {10, 5, 8388608}: need 0 < Min <= Default <= Max"},
		{Options{TCPSendBuffer: BufferRange{Min: -1}}, "netstack: TCPSendBuffer {-1, 262144, 8388608}: need 0 < Min <= Default <= Max"},
		{Options{Addresses: []netip.Prefix{{}}}, "netstack: add address invalid Prefix: not an address of a host with its prefix"},
		{Options{Gateways: []netip.Addr{{}}}, "netstack: gateway invalid IP: not the address of a router"},
		{Options{DNS: []netip.Addr{{}}}, "netstack: DNS server invalid IP: not an address that can be asked"},
	} {
		la, _ := newLinks()
		_, err := New(la, &c.o)
		require.EqualError(t, err, c.text)
	}
	_, err := New(nil, nil)
	require.EqualError(t, err, "netstack: New needs a link endpoint")

	for _, c := range []struct{ in, out BufferRange }{
		{BufferRange{}, BufferRange{4096, 1 << 20, 8 << 20}},
		{BufferRange{Max: 64 << 10}, BufferRange{4096, 64 << 10, 64 << 10}},
		{BufferRange{Default: 16 << 20}, BufferRange{4096, 16 << 20, 16 << 20}},
		{BufferRange{Min: 2 << 20}, BufferRange{2 << 20, 2 << 20, 8 << 20}},
	} {
		got, err := c.in.withDefaults("", defaultTCPReceive)
		require.NoError(t, err)
		require.Equal(t, c.out, got)
	}
}
