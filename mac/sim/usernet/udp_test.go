package usernet

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim"
)

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
