package usernet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// copyBuffer is how much of each direction of a connection waits in between.
	copyBuffer = 32 << 10
	// acceptPause is how long a listener waits when the host is out of file
	// descriptors.
	acceptPause = 50 * time.Millisecond
)

// guestConn is a connection to the guest that can be reset.
type guestConn struct {
	*gonet.TCPConn
	ep tcpip.Endpoint
}

// reset ends the connection with a TCP reset.
func (c *guestConn) reset() { c.ep.Abort() }

func (n *Network) dialTCP(ctx context.Context, to netip.AddrPort) (*guestConn, error) {
	if n.life.Err() != nil {
		return nil, ErrClosed
	}
	queue := new(waiter.Queue)
	ep, terr := n.stack.NewEndpoint(tcp.ProtocolNumber, protocol(to.Addr()), queue)
	if terr != nil {
		return nil, tcpError("make an endpoint", terr)
	}
	ep.SocketOptions().SetKeepAlive(true)
	entry, connected := waiter.NewChannelEntry(waiter.WritableEvents | waiter.EventErr | waiter.EventHUp)
	queue.EventRegister(&entry)
	defer queue.EventUnregister(&entry)

	terr = ep.Connect(fullAddress(to))
	if _, started := terr.(*tcpip.ErrConnectStarted); started {
		select {
		case <-connected:
			terr = ep.LastError()
		case <-ctx.Done():
			ep.Abort()
			return nil, context.Cause(ctx)
		case <-n.life.Done():
			ep.Abort()
			return nil, ErrClosed
		}
	}
	if terr != nil {
		ep.Close()
		return nil, tcpError("connect", terr)
	}
	return &guestConn{gonet.NewTCPConn(queue, ep), ep}, nil
}

// ForwardTCP accepts connections at an address of this host and connects each to
// guest. Port 0 of host picks a free one, and no address means 127.0.0.1; guest
// without an address means the guest's IPv4 address. It returns the address it
// listens on. The port is open until Close.
//
// End of stream and reset go both ways. A client whose connection the guest does
// not accept is reset.
func (n *Network) ForwardTCP(host, guest netip.AddrPort) (net.Addr, error) {
	guest, err := n.target(guest)
	if err != nil {
		return nil, fmt.Errorf("usernet: forward tcp %v: %w", host, err)
	}
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(local(host)))
	if err != nil {
		return nil, fmt.Errorf("usernet: forward tcp to %v: use another host port, or 0 for any: %w", guest, err)
	}
	if err := n.hold(listener); err != nil {
		return nil, fmt.Errorf("usernet: forward tcp %v: %w", host, err)
	}
	n.start(func() { n.accept(listener, guest) })
	return listener.Addr(), nil
}

// local fills in the loopback address where none is given.
func local(host netip.AddrPort) netip.AddrPort {
	if host.Addr().IsValid() {
		return host
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), host.Port())
}

func (n *Network) accept(listener *net.TCPListener, guest netip.AddrPort) {
	for {
		select {
		case n.slots <- struct{}{}:
		case <-n.life.Done():
			return
		}
		client, err := listener.AcceptTCP()
		if err != nil {
			<-n.slots
			if errors.Is(err, net.ErrClosed) || !n.pause() {
				return
			}
			continue
		}
		if !n.start(func() { n.serve(client, guest); <-n.slots }) {
			client.Close()
		}
	}
}

// pause waits before another attempt. It reports false when the network closes.
func (n *Network) pause() bool {
	timer := time.NewTimer(acceptPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-n.life.Done():
		return false
	}
}

// serve connects one client to the guest and carries both directions.
func (n *Network) serve(client *net.TCPConn, guest netip.AddrPort) {
	ctx, cancel := context.WithTimeout(n.life, n.opts.DialTimeout)
	to, err := n.dialTCP(ctx, guest)
	cancel()
	if err != nil {
		n.stats.tcpFailed.Add(1)
		resetClient(client)
		return
	}
	n.stats.tcpConns.Add(1)
	n.stats.tcpActive.Add(1)
	defer n.stats.tcpActive.Add(-1)
	p := &pair{client: client, guest: to, buffers: &n.copyBuffers}
	if n.hold(p) != nil {
		return // hold has reset both
	}
	defer n.release(p)
	var up sync.WaitGroup
	up.Go(func() { p.carry(to, client) })
	p.carry(client, to)
	up.Wait()
	_ = client.Close() // both directions have ended: nothing is left to lose
	_ = to.Close()
}

// resetClient closes a connection with a TCP reset.
func resetClient(c *net.TCPConn) {
	_ = c.SetLinger(0) // else the close is an orderly one
	_ = c.Close()
}

// pair is a client's connection and the guest's.
type pair struct {
	client  *net.TCPConn
	guest   *guestConn
	buffers *sync.Pool
}

// Close resets both connections, which ends both directions.
func (p *pair) Close() error {
	resetClient(p.client)
	p.guest.reset()
	return nil
}

// halfCloser is what both kinds of connection have in common.
type halfCloser interface {
	io.Writer
	CloseWrite() error
}

// carry copies one direction to its end, which it passes on. Whatever else ends
// it resets both connections.
func (p *pair) carry(to halfCloser, from io.Reader) {
	buf := p.buffers.Get().(*[copyBuffer]byte)
	defer p.buffers.Put(buf)
	for {
		k, err := from.Read(buf[:])
		if k > 0 {
			if _, err := to.Write(buf[:k]); err != nil {
				_ = p.Close() // does not fail
				return
			}
		}
		if err == io.EOF {
			err = to.CloseWrite()
			if err == nil {
				return
			}
		}
		if err != nil {
			_ = p.Close()
			return
		}
	}
}
