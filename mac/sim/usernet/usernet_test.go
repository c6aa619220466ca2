package usernet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim/cable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that a fault would make endless.
const patience = time.Minute

// guestOptions make a network that plays the guest of another one.
func guestOptions(o Options) *Options {
	o.Gateway4, o.Guest4 = netip.MustParsePrefix("10.0.2.15/24"), netip.MustParseAddr("10.0.2.2")
	o.Gateway6, o.Guest6 = netip.MustParsePrefix("fd00:6261:7265::15/64"), netip.MustParseAddr("fd00:6261:7265::2")
	o.Address = mac.HardwareAddr{2, 0, 0, 0, 0, 15}
	return &o
}

// newPair makes a network and one that plays its guest, on a cable.
func newPair(t testing.TB, o Options, wire *cable.Options) (n, guest *Network) {
	n, err := New(&o)
	require.NoError(t, err)
	guest, err = New(guestOptions(o))
	require.NoError(t, err)
	c := cable.Connect(n, guest, wire)
	t.Cleanup(func() {
		require.NoError(t, n.Close())
		require.NoError(t, guest.Close())
		require.NoError(t, c.Close())
	})
	return n, guest
}

var anyHostPort netip.AddrPort // a free port of 127.0.0.1

func port(p uint16) netip.AddrPort { return netip.AddrPortFrom(netip.Addr{}, p) }

// serveGuest accepts connections on port 80 of a network.
func serveGuest(t testing.TB, guest *Network, serve func(net.Conn)) {
	l, err := guest.ListenTCP(port(80))
	require.NoError(t, err)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { defer c.Close(); serve(c) })
		}
	})
	t.Cleanup(func() { require.NoError(t, guest.Close()); l.Close(); work.Wait() })
}

func dialHost(t testing.TB, addr net.Addr) *net.TCPConn {
	c, err := net.DialTimeout("tcp", addr.String(), patience)
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

func TestHTTPOverBothIPVersions(t *testing.T) {
	n, guest := newPair(t, Options{}, nil)
	body := bytes.Repeat([]byte("barewire"), 50_000)
	for _, at := range []string{"10.0.2.15:80", "[fd00:6261:7265::15]:80"} {
		target := netip.MustParseAddrPort(at)
		l, err := guest.ListenTCP(target)
		require.NoError(t, err)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got, _ := io.ReadAll(r.Body)
			_, _ = w.Write(got)
		})}
		served := make(chan error)
		go func() { served <- server.Serve(l) }()
		addr, err := n.ForwardTCP(anyHostPort, target)
		require.NoError(t, err)

		viaHost := &http.Client{Transport: &http.Transport{}, Timeout: patience}
		inside := &http.Client{Transport: &http.Transport{DialContext: n.DialContext}, Timeout: patience}
		for client, url := range map[*http.Client]string{viaHost: "http://" + addr.String(), inside: "http://" + at} {
			answer, err := client.Post(url, "text/plain", bytes.NewReader(body))
			require.NoError(t, err)
			got, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.True(t, bytes.Equal(body, got))
			client.CloseIdleConnections()
		}
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	}
	require.Zero(t, n.Stats().RXDropped)
	require.NotZero(t, guest.Stats().RXJoined)
}

func TestCloseEndsEverything(t *testing.T) {
	n, guest := newPair(t, Options{}, nil)
	serveGuest(t, guest, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(t, err)
	var work sync.WaitGroup
	for range 5 {
		c := dialHost(t, addr)
		_, err = c.Write([]byte("x"))
		require.NoError(t, err)
		work.Go(func() {
			for {
				if _, err := c.Write(make([]byte, 1000)); err != nil {
					return // the reset
				}
			}
		})
	}
	require.NoError(t, n.Close())
	work.Wait()
	require.NoError(t, n.Close())
	_, err = net.Dial("tcp", addr.String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = n.ForwardTCP(anyHostPort, port(80))
	require.ErrorIs(t, err, ErrClosed)
	_, err = n.ForwardUDP(anyHostPort, port(80))
	require.ErrorIs(t, err, ErrClosed)
	_, err = n.DialContext(context.Background(), "tcp", ":80")
	require.ErrorIs(t, err, ErrClosed)
	n.Deliver(make([]byte, 60))
}

func TestTearDownUnderTraffic(t *testing.T) {
	for range 30 {
		n, err := New(nil)
		require.NoError(t, err)
		guest, err := New(guestOptions(Options{}))
		require.NoError(t, err)
		c := cable.Connect(n, guest, nil)
		l, err := guest.ListenTCP(port(80))
		require.NoError(t, err)
		var work sync.WaitGroup
		work.Go(func() {
			peer, err := l.Accept()
			if err == nil {
				_, _ = io.Copy(io.Discard, peer)
				peer.Close()
			}
		})
		conn, err := n.DialContext(context.Background(), "tcp", ":80")
		require.NoError(t, err)
		work.Go(func() { _, _ = io.Copy(conn, zeros{}) })
		require.NoError(t, n.Close())
		require.NoError(t, guest.Close())
		require.NoError(t, c.Close())
		l.Close()
		conn.Close()
		work.Wait()
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestCloseDoesNotHangOnAStuckWire(t *testing.T) {
	n, err := New(nil)
	require.NoError(t, err)
	gate, inside := make(chan struct{}), make(chan struct{}, 100)
	n.OnTransmit(func([]byte) { inside <- struct{}{}; <-gate })
	n.Deliver(arpRequest())
	<-inside // the receiving goroutine sends the answer
	require.ErrorContains(t, n.Close(), "close the cable first")
	close(gate)
	<-n.life.Done()
	n.link.worker.Wait()
}

// arpRequest makes an ARP request for the gateway, which it answers at once.
func arpRequest() []byte {
	f := broadcastFrame()
	copy(f[6:], []byte{2, 0, 0, 0, 0, 15, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 15, 10, 0, 2, 15, 0, 0, 0, 0, 0, 0, 10, 0, 2, 2})
	return f
}

func TestConfiguration(t *testing.T) {
	v6 := netip.MustParsePrefix("fd00::1/64")
	for name, o := range map[string]Options{
		"mtu":      {MTU: 1279},
		"mtu high": {MTU: 65536},
		"address":  {Address: mac.Broadcast},
		"gateway4": {Gateway4: v6},
		"gateway6": {Gateway6: netip.MustParsePrefix("10.0.0.1/8")},
		"guest":    {Guest4: v6.Addr()},
		"limit":    {MaxConns: -1},
	} {
		_, err := New(&o)
		require.ErrorIs(t, err, mac.ErrConfig, name)
	}
	n, err := New(nil)
	require.NoError(t, err)
	require.Equal(t, "10.0.2.15:80", n.Guest(80).String())
	_, err = n.ForwardTCP(anyHostPort, port(0))
	require.ErrorIs(t, err, mac.ErrConfig)
	for _, c := range [][2]string{{"tcp", "host"}, {"tcp", "example.com:80"}, {"ip", "10.0.2.15:80"}, {"tcp6", "10.0.2.15:80"}, {"udp4", "[::1]:1"}, {"tcp", ":0"}, {"", ":1"}} {
		_, err := n.DialContext(context.Background(), c[0], c[1])
		require.Error(t, err, c)
	}
	var unknown net.UnknownNetworkError
	_, err = n.DialContext(context.Background(), "ip", ":1")
	require.True(t, errors.As(err, &unknown))

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, err = n.ForwardTCP(taken.Addr().(*net.TCPAddr).AddrPort(), port(80))
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.NoError(t, n.Close())
}
