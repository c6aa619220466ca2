package netstack

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// serveDNS answers queries on port 53 of h, over UDP and TCP, until h closes.
// Names ending in "big.test." are cut on UDP; rcode, unless it is success, is
// all that the server says.
func serveDNS(t *testing.T, h *Host, address string, rcode dnsmessage.RCode) {
	ctx := context.Background()
	answer := func(query []byte, udp bool) []byte {
		var p dnsmessage.Parser
		hdr, err := p.Start(query)
		if err != nil {
			return nil
		}
		q, err := p.Question()
		if err != nil {
			return nil
		}
		name := strings.ToLower(q.Name.String())
		m := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: hdr.ID, Response: true, RecursionAvailable: true, RCode: rcode},
			Questions: []dnsmessage.Question{q},
		}
		rh := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}
		has := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		switch {
		case rcode != dnsmessage.RCodeSuccess:
		case has("none."):
			m.RCode = dnsmessage.RCodeNameError
		case has("big.") && udp:
			m.Truncated = true
		case q.Type == dnsmessage.TypeA && !has("six."):
			last := byte(2)
			if has("dead.") {
				last = 99
			}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: rh, Body: &dnsmessage.AResource{A: [4]byte{10, 0, 0, last}}})
		case q.Type == dnsmessage.TypeAAAA && !has("four."):
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: rh, Body: &dnsmessage.AAAAResource{AAAA: b6.Addr().As16()}})
		}
		out, err := m.Pack()
		if err != nil {
			t.Error(err)
		}
		return out
	}
	pc, err := h.ListenPacket(ctx, "udp", net.JoinHostPort(address, "53"))
	require.NoError(t, err)
	ln, err := h.Listen(ctx, "tcp", net.JoinHostPort(address, "53"))
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if out := answer(buf[:n], true); out != nil {
				_, _ = pc.WriteTo(out, from)
			}
		}
	})
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err == nil {
				query := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(c, query); err == nil {
					out := answer(query, false)
					_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
				}
			}
			c.Close()
		}
	})
	t.Cleanup(func() {
		pc.Close()
		ln.Close()
		wg.Wait()
	})
}

func TestResolve(t *testing.T) {
	la, lb := newLinks()
	failing, silent := netip.MustParseAddr("10.0.0.53"), netip.MustParseAddr("10.0.0.54")
	a := newHost(t, la, &Options{
		Addresses: []netip.Prefix{a4, a6}, DADTransmits: -1,
		// The first two are of no use, and must cost nothing.
		DNS: []netip.Addr{silent, failing, b6.Addr()},
	})
	b := newHost(t, lb, &Options{
		Addresses: []netip.Prefix{b4, b6, netip.PrefixFrom(failing, 24), netip.PrefixFrom(silent, 24)}, DADTransmits: -1,
	})
	serveDNS(t, b, failing.String(), dnsmessage.RCodeServerFailure)
	serveDNS(t, b, b6.Addr().String(), dnsmessage.RCodeSuccess)
	mute, err := b.ListenPacket(context.Background(), "udp", net.JoinHostPort(silent.String(), "53"))
	require.NoError(t, err)
	defer mute.Close()

	ctx := context.Background()
	ln, err := b.Listen(ctx, "tcp", ":80")
	require.NoError(t, err)
	defer ln.Close()
	for _, c := range []struct{ network, host, remote string }{
		{"tcp", "both.test.", "[2001:db8::2]:80"},
		{"tcp4", "both.test.", "10.0.0.2:80"},
		{"tcp", "four.test.", "10.0.0.2:80"},
		{"tcp", "six.test.", "[2001:db8::2]:80"},
		{"tcp4", "big.test.", "10.0.0.2:80"},
	} {
		conn, err := a.DialContext(ctx, c.network, c.host+":http")
		require.NoError(t, err, c.host)
		require.Equal(t, c.remote, conn.RemoteAddr().String())
		conn.Close()
	}

	_, err = a.DialContext(ctx, "tcp", "none.test.:80")
	var dnsErr *net.DNSError
	require.ErrorAs(t, err, &dnsErr)
	require.True(t, dnsErr.IsNotFound)
	_, err = a.DialContext(ctx, "tcp4", "six.test.:80")
	require.EqualError(t, err, "dial tcp4: address six.test.: no suitable address found")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = a.DialContext(ended, "tcp", "both.test.:80")
	require.ErrorIs(t, err, context.Canceled)
}

// When every server fails, the lookup fails at once.
func TestResolveFailing(t *testing.T) {
	la, lb := newLinks()
	a := newHost(t, la, &Options{Addresses: []netip.Prefix{a4}, DADTransmits: -1, DNS: []netip.Addr{b4.Addr()}})
	b := newHost(t, lb, &Options{Addresses: []netip.Prefix{b4}, DADTransmits: -1})
	serveDNS(t, b, b4.Addr().String(), dnsmessage.RCodeRefused)
	_, err := a.DialContext(context.Background(), "tcp", "both.test.:80")
	var dnsErr *net.DNSError
	require.ErrorAs(t, err, &dnsErr)
	require.False(t, dnsErr.IsTimeout)
	require.EqualError(t, err, "dial tcp: lookup both.test. on [10.0.0.2]: server misbehaving")
}

// The second address of a name is tried when the first fails.
func TestDialFallback(t *testing.T) {
	la, lb := newLinks()
	a := newHost(t, la, &Options{Addresses: []netip.Prefix{a4, a6}, DADTransmits: -1, DNS: []netip.Addr{b4.Addr()}})
	b := newHost(t, lb, &Options{Addresses: []netip.Prefix{b4, b6}, DADTransmits: -1})
	serveDNS(t, b, b4.Addr().String(), dnsmessage.RCodeSuccess)
	ctx := context.Background()
	ln, err := b.Listen(ctx, "tcp4", ":80") // IPv6, tried first, is refused
	require.NoError(t, err)
	defer ln.Close()
	conn, err := a.DialContext(ctx, "tcp", "both.test.:80")
	require.NoError(t, err)
	require.Equal(t, "10.0.0.2:80", conn.RemoteAddr().String())
	conn.Close()
	_, err = a.DialContext(ctx, "tcp", "both.test.:81")
	require.EqualError(t, err, "dial tcp [2001:db8::2]:81: connect: connection refused")
	require.False(t, errors.Is(err, context.Canceled))
}
