package usernet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim/cable"
)

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
			transfer(t, n, guest, 700_001)
		})
	}
}

func TestTransferOverABadCable(t *testing.T) {
	bad := cable.Impairments{Seed: 3, Drop: 5, Corrupt: 10, Duplicate: 10, Swap: 10}
	n, guest := newPair(t, Options{}, &cable.Options{AToB: bad, BToA: bad})
	transfer(t, n, guest, 1<<18)
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
	message := bytes.Repeat([]byte("0123456789"), 400)
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
