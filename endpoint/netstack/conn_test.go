package netstack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

func TestConnConformance(t *testing.T) {
	for _, address := range []string{"10.0.0.2:0", "[2001:db8::2]:0"} {
		t.Run(address, func(t *testing.T) {
			a, b := pair(t)
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				c1, c2 = connect(t, a, b, address)
				return c1, c2, func() { c1.Close(); c2.Close() }, nil
			})
		})
	}
}

func TestHTTP(t *testing.T) {
	a, b := pair(t)
	ln, err := b.Listen(context.Background(), "tcp", ":80")
	require.NoError(t, err)
	require.Equal(t, "[::]:80", ln.Addr().String())
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %s %d", r.RemoteAddr[:3], r.URL.Path, n)
	})}
	served := make(chan error)
	go func() { served <- srv.Serve(ln) }()

	tr := &http.Transport{DialContext: a.DialContext}
	client := &http.Client{Transport: tr}
	for host, remote := range map[string]string{"10.0.0.2": "10.", "[2001:db8::2]": "[20"} {
		resp, err := client.Post("http://"+host+"/x", "", bytes.NewReader(make([]byte, 1<<20)))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, remote+" /x 1048576", string(body))
	}
	tr.CloseIdleConnections()
	require.NoError(t, srv.Shutdown(context.Background()))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}

// A host reaches itself at its own addresses.
func TestSelf(t *testing.T) {
	a, _ := pair(t)
	for _, address := range []string{"10.0.0.1:0", "[2001:db8::1]:0"} {
		c, s := connect(t, a, a, address)
		_, err := c.Write([]byte("hello"))
		require.NoError(t, err)
		buf := make([]byte, 5)
		_, err = io.ReadFull(s, buf)
		require.NoError(t, err)
		require.Equal(t, "hello", string(buf))
		c.Close()
		s.Close()
	}
}

func TestConnDetails(t *testing.T) {
	a, b := pair(t)
	conn, peer := connect(t, a, b, "10.0.0.2:0")
	c, s := conn.(*TCPConn), peer.(*TCPConn)
	require.Equal(t, c.RemoteAddr(), s.LocalAddr())
	require.Equal(t, c.LocalAddr().String(), s.RemoteAddr().String())

	// As in package net, keep-alive is on and Nagle's algorithm off.
	for _, x := range []*TCPConn{c, s} {
		require.True(t, x.ep.SocketOptions().GetKeepAlive())
		require.False(t, x.ep.SocketOptions().GetDelayOption())
		var idle tcpip.KeepaliveIdleOption
		require.Nil(t, x.ep.GetSockOpt(&idle))
		require.Equal(t, 15*time.Second, time.Duration(idle))
	}
	require.NoError(t, c.SetNoDelay(false))
	require.True(t, c.ep.SocketOptions().GetDelayOption())
	require.NoError(t, c.SetKeepAlive(false))
	require.False(t, c.ep.SocketOptions().GetKeepAlive())
	require.NoError(t, c.SetReadBuffer(64<<10))
	require.NoError(t, c.SetWriteBuffer(64<<10))
	require.EqualValues(t, 64<<10, c.ep.SocketOptions().GetReceiveBufferSize())
	require.EqualValues(t, 64<<10, c.ep.SocketOptions().GetSendBufferSize())

	// Half-close.
	_, err := c.Write([]byte("request"))
	require.NoError(t, err)
	require.NoError(t, c.CloseWrite())
	got, err := io.ReadAll(s)
	require.NoError(t, err)
	require.Equal(t, "request", string(got))
	_, err = s.Write([]byte("reply"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	got, err = io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "reply", string(got))
	_, err = c.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EPIPE)

	// Deadlines.
	require.NoError(t, c.SetReadDeadline(time.Unix(1, 0)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.True(t, err.(net.Error).Timeout())

	// After Close: addresses stay, everything else says so.
	local := c.LocalAddr()
	require.NoError(t, c.Close())
	require.Equal(t, local, c.LocalAddr())
	for name, f := range map[string]func() error{
		"Read":               func() error { _, err := c.Read(make([]byte, 1)); return err },
		"Write":              func() error { _, err := c.Write(make([]byte, 1)); return err },
		"Close":              c.Close,
		"CloseRead":          c.CloseRead,
		"CloseWrite":         c.CloseWrite,
		"SetDeadline":        func() error { return c.SetDeadline(time.Now()) },
		"SetNoDelay":         func() error { return c.SetNoDelay(true) },
		"SetKeepAlive":       func() error { return c.SetKeepAlive(true) },
		"SetKeepAlivePeriod": func() error { return c.SetKeepAlivePeriod(time.Second) },
		"SetLinger":          func() error { return c.SetLinger(0) },
		"SetReadBuffer":      func() error { return c.SetReadBuffer(4096) },
		"SetWriteBuffer":     func() error { return c.SetWriteBuffer(4096) },
	} {
		require.ErrorIs(t, f(), net.ErrClosed, name)
	}
}

// Close without lingering resets the connection, and the reader learns why.
func TestReset(t *testing.T) {
	a, b := pair(t)
	c, s := connect(t, a, b, "10.0.0.2:0")
	defer c.Close()
	require.NoError(t, s.(*TCPConn).SetLinger(0))
	require.NoError(t, s.Close())
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.Regexp(t, `^read tcp 10\.0\.0\.1:\d+->10\.0\.0\.2:\d+: read: connection reset by peer$`, err.Error())
}

func TestListenErrors(t *testing.T) {
	a, _ := pair(t)
	ctx := context.Background()
	ln, err := a.Listen(ctx, "tcp", "10.0.0.1:80")
	require.NoError(t, err)
	defer ln.Close()
	all, err := a.Listen(ctx, "tcp", ":80")
	require.NoError(t, err, "beside a listener on one address")
	defer all.Close()
	for _, c := range []struct {
		network, address string
		is               error
		text             string
	}{
		{"tcp", "10.0.0.1:80", syscall.EADDRINUSE, "listen tcp 10.0.0.1:80: bind: address already in use"},
		{"tcp", ":80", syscall.EADDRINUSE, "listen tcp [::]:80: bind: address already in use"},
		{"tcp", "10.0.0.9:80", syscall.EADDRNOTAVAIL, "listen tcp 10.0.0.9:80: bind: cannot assign requested address"},
		{"tcp6", "10.0.0.1:0", nil, "listen tcp6: address 10.0.0.1: no suitable address found"},
		{"tcp4", "[::]:0", nil, "listen tcp4: address ::: no suitable address found"},
		{"tcp", "10.0.0.1", nil, "listen tcp: address 10.0.0.1: missing port in address"},
		{"tcp", "10.0.0.1:70000", nil, "listen tcp: address 70000: invalid port"},
		{"udp", ":1", nil, "listen udp: unknown network udp"},
		{"tcp5", ":1", nil, "listen tcp5: unknown network tcp5"},
		{"tcp", "name.test:1", nil, "listen tcp: lookup name.test: no DNS server: set Options.DNS or give a numeric address"},
	} {
		_, err := a.Listen(ctx, c.network, c.address)
		require.EqualError(t, err, c.text, c.network+" "+c.address)
		if c.is != nil {
			require.ErrorIs(t, err, c.is)
		}
	}
	_, err = a.ListenPacket(ctx, "tcp", ":1")
	require.EqualError(t, err, "listen tcp: unknown network tcp")
	require.NoError(t, ln.Close())
	require.ErrorIs(t, ln.Close(), net.ErrClosed)
}

// A server can be started again at once on the same port, whatever state its
// connections are in.
func TestListenAgain(t *testing.T) {
	a, b := pair(t)
	var clients []net.Conn
	for range 3 {
		c, s := connect(t, a, b, "10.0.0.2:80")
		require.NoError(t, s.Close())
		clients = append(clients, c)
	}
	for _, c := range clients {
		c.Close()
	}
}

func TestKeepAliveOff(t *testing.T) {
	la, _ := newLinks()
	h := newHost(t, la, &Options{Addresses: []netip.Prefix{a4}, DADTransmits: -1, KeepAlive: -1})
	c, s := connect(t, h, h, "10.0.0.1:0")
	for _, x := range []net.Conn{c, s} {
		require.False(t, x.(*TCPConn).ep.SocketOptions().GetKeepAlive())
		require.NoError(t, x.Close())
	}
}

func TestDialErrors(t *testing.T) {
	la, lb := newLinks()
	a := newHost(t, la, &Options{Addresses: []netip.Prefix{a4, a6}, DADTransmits: -1})
	newHost(t, lb, &Options{Addresses: []netip.Prefix{b4, b6}, DADTransmits: -1})
	ctx := context.Background()
	for _, c := range []struct {
		network, address string
		is               error
		text             string
	}{
		{"tcp", "10.0.0.2:81", syscall.ECONNREFUSED, "dial tcp 10.0.0.2:81: connect: connection refused"},
		{"tcp", "[2001:db8::2]:81", syscall.ECONNREFUSED, "dial tcp [2001:db8::2]:81: connect: connection refused"},
		{"tcp", "10.0.0.1:81", syscall.ECONNREFUSED, "dial tcp 10.0.0.1:81: connect: connection refused"},
		{"tcp", "192.0.2.1:80", syscall.ENETUNREACH, "dial tcp 192.0.2.1:80: connect: network is unreachable"},
		{"udp", "192.0.2.1:80", syscall.ENETUNREACH, "dial udp 192.0.2.1:80: connect: network is unreachable"},
		{"tcp4", "[2001:db8::2]:81", nil, "dial tcp4: address 2001:db8::2: no suitable address found"},
		{"tcp", ":81", nil, "dial tcp: address :81: missing host in address"},
		{"ip", "10.0.0.2:1", nil, "dial ip: unknown network ip"},
		{"tcp44", "10.0.0.2:1", nil, "dial tcp44: unknown network tcp44"},
	} {
		_, err := a.DialContext(ctx, c.network, c.address)
		require.EqualError(t, err, c.text, c.network+" "+c.address)
		if c.is != nil {
			require.ErrorIs(t, err, c.is)
		}
	}

	// From here on SYNs are lost, and said to be.
	syn := make(chan struct{}, 100)
	lb.setDrop(func(p *stack.PacketBuffer) bool {
		if p.TransportProtocolNumber == 6 {
			syn <- struct{}{}
			return true
		}
		return false
	})
	cancelled, cancel := context.WithCancel(ctx)
	go func() {
		<-syn
		cancel()
	}()
	_, err := a.DialContext(cancelled, "tcp", "10.0.0.2:82")
	require.ErrorIs(t, err, context.Canceled)
	require.IsType(t, (*net.OpError)(nil), err)
	_, err = a.DialContext(cancelled, "tcp", "10.0.0.2:82")
	require.ErrorIs(t, err, context.Canceled)

	late, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = a.DialContext(late, "tcp", "10.0.0.2:82")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, err.(net.Error).Timeout())
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Empty(t, a.endpoints, "failed dials left endpoints behind")
}

func TestManyConnects(t *testing.T) {
	a, b := pair(t)
	const n = 200
	ctx := context.Background()
	ln, err := b.Listen(ctx, "tcp", ":80")
	require.NoError(t, err)
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			address := "10.0.0.2:80"
			if i%2 == 1 {
				address = "[2001:db8::2]:80"
			}
			c, err := a.DialContext(ctx, "tcp", address)
			if err != nil {
				errs <- err
				return
			}
			defer c.Close()
			if _, err := fmt.Fprintf(c, "%03d", i); err != nil {
				errs <- err
				return
			}
			got, err := io.ReadAll(c)
			if err == nil && string(got) != fmt.Sprintf("%03d", i) {
				err = fmt.Errorf("connection %d read %q", i, got)
			}
			errs <- err
		})
	}
	for range n {
		c, err := ln.Accept()
		require.NoError(t, err)
		wg.Go(func() {
			defer c.Close()
			_, _ = io.CopyN(c, c, 3)
		})
	}
	wg.Wait()
	for range n {
		require.NoError(t, <-errs)
	}
	require.NoError(t, ln.Close())
	retries := a.stack.Stats().TCP.Retransmits.Value()
	require.Zero(t, b.stack.Stats().TCP.ListenOverflowSynDrop.Value())
	t.Log("retransmissions:", retries)
}
