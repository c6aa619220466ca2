package usernet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
	"github.com/barewire/barewire/mac/sim"
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

// requireReset connects and is reset, which can be seen as early as in connect.
func requireReset(t *testing.T, addr net.Addr) {
	c, err := net.DialTimeout("tcp", addr.String(), patience)
	if err == nil {
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
		_, err = io.ReadAll(c)
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
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

// transfer sends size random bytes each way at once and compares their hashes.
func transfer(t *testing.T, n, guest *Network, size int) {
	sum := func(seed uint64, w io.Writer) []byte {
		var key [32]byte
		key[0] = byte(seed)
		h := sha256.New()
		_, err := io.CopyN(io.MultiWriter(h, w), rand.NewChaCha8(key), int64(size))
		if err != nil {
			t.Error(err)
		}
		return h.Sum(nil)
	}
	both := func(c net.Conn, seed uint64) (sent, got []byte) {
		var work sync.WaitGroup
		work.Go(func() {
			sent = sum(seed, c)
			if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		h := sha256.New()
		if _, err := io.Copy(h, c); err != nil {
			t.Error(err)
		}
		work.Wait()
		return sent, h.Sum(nil)
	}
	var guestSent, guestGot []byte
	done := make(chan struct{})
	serveGuest(t, guest, func(c net.Conn) {
		guestSent, guestGot = both(c, 1)
		close(done)
	})
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(t, err)
	sent, got := both(dialHost(t, addr), 2)
	<-done
	require.Equal(t, sent, guestGot)
	require.Equal(t, guestSent, got)
}

func TestTransferWithAndWithoutOffloads(t *testing.T) {
	for _, o := range []Options{
		{}, {NoSegmentation: true}, {NoCoalescing: true}, {NoSegmentation: true, NoCoalescing: true},
		{MTU: 1280}, {MTU: 9001}, {MTU: 65535}, {SkipRXChecksum: true},
	} {
		t.Run(fmt.Sprintf("%d-%v-%v-%v", o.MTU, o.NoSegmentation, o.NoCoalescing, o.SkipRXChecksum), func(t *testing.T) {
			n, guest := newPair(t, o, nil)
			transfer(t, n, guest, 1<<20)
		})
	}
}

func TestTransferOverABadCable(t *testing.T) {
	bad := cable.Impairments{Seed: 3, Drop: 5, Corrupt: 10, Duplicate: 10, Swap: 10}
	n, guest := newPair(t, Options{}, &cable.Options{AToB: bad, BToA: bad})
	transfer(t, n, guest, 1<<19)
}

func TestHalfClose(t *testing.T) {
	n, guest := newPair(t, Options{}, nil)
	serveGuest(t, guest, func(c net.Conn) {
		all, err := io.ReadAll(c)
		if err == nil {
			_, err = c.Write(append(all, " to you"...))
		}
		if err != nil {
			t.Error(err)
		}
	})
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(t, err)
	c := dialHost(t, addr)
	_, err = c.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, c.CloseWrite())
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "hello to you", string(got))
}

func TestGuestClosesFirst(t *testing.T) {
	n, guest := newPair(t, Options{}, nil)
	got := make(chan string, 1)
	serveGuest(t, guest, func(c net.Conn) {
		if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		all, err := io.ReadAll(c)
		if err != nil {
			t.Error(err)
		}
		got <- string(all)
	})
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(t, err)
	c := dialHost(t, addr)
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = c.Write([]byte("late"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, "late", <-got)
}

func TestResetsGoBothWays(t *testing.T) {
	n, guest := newPair(t, Options{}, nil)
	result := make(chan error, 1)
	serveGuest(t, guest, func(c net.Conn) {
		first := make([]byte, 1)
		if _, err := io.ReadFull(c, first); err != nil {
			t.Error(err)
		}
		if first[0] == 'r' { // the guest resets: close with unread data
			_, err := c.Read(first)
			if err != nil {
				t.Error(err)
			}
			return
		}
		_, err := io.ReadAll(c)
		result <- err
	})
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(t, err)

	c := dialHost(t, addr)
	_, err = c.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, c.SetLinger(0))
	require.NoError(t, c.Close())
	require.ErrorContains(t, <-result, "reset")

	c = dialHost(t, addr)
	_, err = c.Write(bytes.Repeat([]byte("r"), 100))
	require.NoError(t, err)
	_, err = io.ReadAll(c)
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestGuestThatDoesNotAccept(t *testing.T) {
	n, _ := newPair(t, Options{}, nil)
	addr, err := n.ForwardTCP(anyHostPort, port(81))
	require.NoError(t, err)
	requireReset(t, addr)
	require.EqualValues(t, 1, n.Stats().TCPFailed)

	_, err = n.DialContext(context.Background(), "tcp", ":81")
	require.ErrorContains(t, err, "refused")
}

func TestNoGuestAtAll(t *testing.T) {
	n, err := New(&Options{DialTimeout: time.Millisecond})
	require.NoError(t, err)
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(t, err)
	requireReset(t, addr)
	require.NotZero(t, n.Stats().TXUnplugged)

	failed := make(chan error)
	go func() {
		_, err := n.DialContext(context.Background(), "tcp", ":80")
		failed <- err
	}()
	require.NoError(t, n.Close())
	require.Error(t, <-failed)
}

func TestManyConnectionsAtOnce(t *testing.T) {
	const conns = 250
	n, guest := newPair(t, Options{}, nil)
	serveGuest(t, guest, func(c net.Conn) {
		if _, err := io.Copy(c, c); err != nil {
			t.Error(err)
		}
	})
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(t, err)
	var open []*net.TCPConn
	for range conns {
		open = append(open, dialHost(t, addr))
	}
	message := bytes.Repeat([]byte("0123456789"), 2000)
	var work sync.WaitGroup
	for _, c := range open {
		work.Go(func() {
			go func() { _, _ = c.Write(message); _ = c.CloseWrite() }()
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, message) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	work.Wait()
	require.EqualValues(t, conns, n.Stats().TCPConns)
}

func TestMaxConns(t *testing.T) {
	n, guest := newPair(t, Options{MaxConns: 2}, nil)
	serveGuest(t, guest, func(c net.Conn) { _, _ = io.Copy(c, c) })
	addr, err := n.ForwardTCP(anyHostPort, port(80))
	require.NoError(t, err)
	echo := func(c *net.TCPConn) {
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 1))
		require.NoError(t, err)
	}
	a, b, waits := dialHost(t, addr), dialHost(t, addr), dialHost(t, addr)
	echo(a)
	echo(b)
	require.EqualValues(t, 2, n.Stats().TCPConns)
	require.NoError(t, a.Close())
	echo(waits)
	require.EqualValues(t, 3, n.Stats().TCPConns)
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

func TestUDPForward(t *testing.T) {
	clock := sim.NewManualClock(time.Unix(0, 0))
	n, guest := newPair(t, Options{Clock: clock, UDPIdle: time.Minute, MaxUDPClients: 2}, nil)
	server, err := guest.ListenUDP(port(53))
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		buf := make([]byte, 65536)
		for {
			k, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(append([]byte("re:"), buf[:k]...), from)
		}
	}()
	t.Cleanup(func() { server.Close(); require.NoError(t, guest.Close()); <-served })
	addr, err := n.ForwardUDP(anyHostPort, port(53))
	require.NoError(t, err)
	client := func() *net.UDPConn {
		c, err := net.DialUDP("udp", nil, addr.(*net.UDPAddr))
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
		t.Cleanup(func() { c.Close() })
		return c
	}
	ask := func(c *net.UDPConn, q string) {
		_, err := c.Write([]byte(q))
		require.NoError(t, err)
		buf := make([]byte, 65536)
		k, err := c.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "re:"+q, string(buf[:k]))
	}
	a, b, c := client(), client(), client()
	ask(a, "one")
	ask(b, "two")
	ask(a, string(bytes.Repeat([]byte("large"), 3000))) // in fragments
	require.EqualValues(t, 2, n.Stats().UDPActive)

	clock.Advance(time.Second)
	ask(a, "again")
	ask(c, "takes the place of b")
	s := n.Stats()
	require.EqualValues(t, 2, s.UDPActive)
	require.EqualValues(t, 1, s.UDPEvicted)
	require.EqualValues(t, 3, s.UDPClients)

	clock.Advance(time.Minute - 1)
	require.EqualValues(t, 2, n.Stats().UDPActive)
	ask(a, "alive")
	clock.Advance(1)
	require.EqualValues(t, 1, n.Stats().UDPActive, "c is forgotten")
	ask(a, "alive")
	clock.Advance(2 * time.Minute)
	require.Zero(t, n.Stats().UDPActive)
	require.Zero(t, clock.Timers())
	ask(b, "back")
}

func TestUDPToAClosedPort(t *testing.T) {
	n, guest := newPair(t, Options{}, nil)
	addr, err := n.ForwardUDP(anyHostPort, port(53))
	require.NoError(t, err)
	c, err := net.DialUDP("udp", nil, addr.(*net.UDPAddr))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = c.Write([]byte("refused"))
	require.NoError(t, err)
	// The refusal has come when the guest has sent ARP and ICMP.
	require.Eventually(t, func() bool { return n.Stats().RXFrames >= 2 }, patience, time.Millisecond)
	server, err := guest.ListenUDP(port(53))
	require.NoError(t, err)
	defer server.Close()
	buf := make([]byte, 100)
	require.NoError(t, server.SetReadDeadline(time.Now().Add(patience)))
	_, err = c.Write([]byte("now"))
	require.NoError(t, err)
	k, from, err := server.ReadFrom(buf)
	require.NoError(t, err)
	_, err = server.WriteTo(buf[:k], from)
	require.NoError(t, err)
	k, err = c.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "now", string(buf[:k]))
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
