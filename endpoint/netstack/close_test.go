package netstack

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Whatever is closed first, under traffic both ways, everything ends and no
// goroutine stays.
func TestCloseUnderTraffic(t *testing.T) {
	type parts struct {
		client, server *Host
		ln             net.Listener
		conns          []net.Conn
	}
	hosts := func(hs ...*Host) {
		var wg sync.WaitGroup
		for _, h := range hs {
			wg.Go(func() { h.Close() })
		}
		wg.Wait()
	}
	for name, closeAll := range map[string]func(p parts){
		"client first": func(p parts) { hosts(p.client); hosts(p.server) },
		"server first": func(p parts) { hosts(p.server); hosts(p.client) },
		"both at once": func(p parts) { hosts(p.server, p.client) },
		"twice":        func(p parts) { hosts(p.server, p.server, p.client, p.client); hosts(p.server) },
		"listener":     func(p parts) { p.ln.Close(); hosts(p.server, p.client) },
		"connections": func(p parts) {
			for _, c := range p.conns {
				c.Close()
			}
			hosts(p.client, p.server)
		},
		"connections at once": func(p parts) {
			var wg sync.WaitGroup
			for _, c := range p.conns {
				wg.Go(func() { c.Close() })
			}
			hosts(p.client, p.server)
			wg.Wait()
		},
		"interface": func(p parts) {
			p.server.stack.RemoveNIC(p.server.nic)
			hosts(p.server, p.client)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			for range 3 {
				a, b := pair(t)
				p := parts{client: a, server: b}
				ctx := context.Background()
				var err error
				p.ln, err = b.Listen(ctx, "tcp", ":80")
				require.NoError(t, err)
				var wg sync.WaitGroup
				var flowing sync.WaitGroup
				flow := func(c net.Conn) {
					p.conns = append(p.conns, c)
					flowing.Add(1)
					wg.Go(func() {
						buf := make([]byte, 16<<10)
						_, err := io.ReadFull(c, buf)
						flowing.Done()
						for err == nil {
							_, err = c.Read(buf)
						}
					})
					wg.Go(func() {
						buf := make([]byte, 16<<10)
						for {
							if _, err := c.Write(buf); err != nil {
								return
							}
						}
					})
				}
				for _, address := range []string{"10.0.0.2:80", "[2001:db8::2]:80"} {
					c, err := a.DialContext(ctx, "tcp", address)
					require.NoError(t, err)
					flow(c)
					s, err := p.ln.Accept()
					require.NoError(t, err)
					flow(s)
				}
				// One more that nobody accepts.
				pending, err := a.DialContext(ctx, "tcp", "10.0.0.2:80")
				require.NoError(t, err)
				p.conns = append(p.conns, pending)
				flowing.Wait()
				closeAll(p)
				wg.Wait()
			}
		})
	}
}

// Close wakes every blocked call, and each says why it ended.
func TestCloseWakes(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	la, lb := newLinks()
	a := newHost(t, la, &Options{
		Addresses: []netip.Prefix{a4}, DADTransmits: -1, DNS: []netip.Addr{b4.Addr()},
	})
	b := newHost(t, lb, &Options{Addresses: []netip.Prefix{b4}, DADTransmits: -1})
	ctx := context.Background()
	c, s := connect(t, a, b, "10.0.0.2:0")
	writer, full := connect(t, a, b, "10.0.0.2:0")
	ln, err := a.Listen(ctx, "tcp", ":0")
	require.NoError(t, err)
	pc, err := a.ListenPacket(ctx, "udp", ":0")
	require.NoError(t, err)
	sent := make(chan struct{}, 1000)
	la.setDrop(func(p *stack.PacketBuffer) bool {
		sent <- struct{}{}
		return true
	})
	calls := map[string]func() error{
		"Accept":   func() error { _, err := ln.Accept(); return err },
		"Read":     func() error { _, err := c.Read(make([]byte, 1)); return err },
		"Write":    func() error { _, err := writer.Write(make([]byte, 32<<20)); return err },
		"ReadFrom": func() error { _, _, err := pc.ReadFrom(make([]byte, 1)); return err },
		"Dial":     func() error { _, err := a.DialContext(ctx, "tcp", "10.0.0.2:99"); return err },
		"Lookup":   func() error { _, err := a.DialContext(ctx, "tcp", "name.test:99"); return err },
	}
	type result struct {
		name string
		err  error
	}
	results := make(chan result)
	for name, call := range calls {
		go func() { results <- result{name, call()} }()
	}
	<-sent
	require.NoError(t, a.Close())
	for range calls {
		r := <-results
		require.ErrorIs(t, r.err, net.ErrClosed, r.name)
		require.IsType(t, (*net.OpError)(nil), r.err, r.name)
	}
	// And nothing new begins.
	_, err = a.Listen(ctx, "tcp", ":80")
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = a.ListenPacket(ctx, "udp", ":80")
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = a.DialContext(ctx, "tcp", "10.0.0.2:80")
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorIs(t, a.AddAddress(a6), net.ErrClosed)
	require.ErrorIs(t, ln.Close(), nil)
	require.NoError(t, c.Close())
	for _, x := range []net.Conn{s, full} {
		require.NoError(t, x.Close())
	}
	require.NoError(t, b.Close())
}

// Closing a listener or a connection wakes the calls on it alone.
func TestCloseOne(t *testing.T) {
	a, b := pair(t)
	ctx := context.Background()
	ln, err := b.Listen(ctx, "tcp", ":80")
	require.NoError(t, err)
	errs := make(chan error)
	go func() { _, err := ln.Accept(); errs <- err }()
	require.NoError(t, ln.Close())
	require.ErrorIs(t, <-errs, net.ErrClosed)

	c, s := connect(t, a, b, "10.0.0.2:0")
	go func() { _, err := s.Read(make([]byte, 1)); errs <- err }()
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-errs, net.ErrClosed)
	_, err = c.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.NoError(t, c.Close())

	pc, err := b.ListenPacket(ctx, "udp", ":80")
	require.NoError(t, err)
	go func() { _, _, err := pc.ReadFrom(make([]byte, 1)); errs <- err }()
	require.NoError(t, pc.Close())
	require.ErrorIs(t, <-errs, net.ErrClosed)
}

// A transmit queue has a goroutine that must end as well.
func TestTXQueue(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	la, lb := newLinks()
	a := newHost(t, la, &Options{Addresses: []netip.Prefix{a4}, DADTransmits: -1, TXQueue: 1000})
	b := newHost(t, lb, &Options{Addresses: []netip.Prefix{b4}, DADTransmits: -1})
	c, s := connect(t, a, b, "10.0.0.2:0")
	_, err := c.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	got, err := io.ReadAll(s)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
	require.NoError(t, s.Close())
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}
