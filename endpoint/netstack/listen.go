package netstack

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// backlog bounds the connections that wait for Accept. It is the default of
// Linux's somaxconn, which package net uses too; beyond it the stack answers
// with SYN cookies.
const backlog = 4096

// Listen listens for TCP connections. network is "tcp", "tcp4" or "tcp6"; the
// connections that Accept returns are *TCPConn. As in package net, "tcp" with an
// empty or unspecified host (":8080", "[::]:8080") serves IPv4 and IPv6 alike,
// and port 0 picks a free port. A port may have one such listener beside
// listeners on single addresses, which then get what is sent to those.
//
// When the host is an IPv6 address in duplicate address detection, Listen waits
// for the outcome. ctx is for that and for looking up a name, not for the
// listener's life.
func (h *Host) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	local, v6only, err := h.localAddress(ctx, "tcp", network, address)
	if err != nil {
		return nil, opError("listen", network, nil, nil, err)
	}
	b, err := h.bind(local, v6only, tcp.ProtocolNumber)
	if err != nil {
		return nil, opError("listen", network, nil, net.TCPAddrFromAddrPort(local), err)
	}
	if terr := b.ep.Listen(backlog); terr != nil {
		b.close(h)
		return nil, opError("listen", network, nil, net.TCPAddrFromAddrPort(local), sysError("listen", terr))
	}
	return &listener{host: h, network: network, bound: b, addr: net.TCPAddrFromAddrPort(b.local), done: make(chan struct{})}, nil
}

// ListenPacket opens a UDP socket. network is "udp", "udp4" or "udp6"; the
// result is a *UDPConn. Hosts, ports and ctx mean what they mean for Listen. A
// multicast host gets the datagrams of that group alone; see JoinGroup.
// Broadcasts may be sent.
func (h *Host) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	local, v6only, err := h.localAddress(ctx, "udp", network, address)
	if err != nil {
		return nil, opError("listen", network, nil, nil, err)
	}
	b, err := h.bind(local, v6only, udp.ProtocolNumber)
	if err != nil {
		return nil, opError("listen", network, nil, net.UDPAddrFromAddrPort(local), err)
	}
	return newUDPConn(h, network, b, netip.AddrPort{}), nil
}

// bound is an endpoint that has a local address.
type bound struct {
	ep    tcpip.Endpoint
	wq    *waiter.Queue
	local netip.AddrPort
}

func (b bound) close(h *Host) {
	h.untrack(b.ep)
	b.ep.Close()
}

// bind makes an endpoint and binds it. An unspecified IPv6 address without
// v6only takes IPv4 too.
func (h *Host) bind(local netip.AddrPort, v6only bool, transport tcpip.TransportProtocolNumber) (bound, error) {
	b, err := h.endpoint(transport, protocolOf(local.Addr()))
	if err != nil {
		return b, err
	}
	b.ep.SocketOptions().SetV6Only(v6only)
	addr := tcpip.FullAddress{Port: local.Port()}
	if !local.Addr().IsUnspecified() {
		addr.Addr = toAddress(local.Addr())
	}
	if addr.Addr.Len() > 0 && local.Addr().IsLinkLocalUnicast() {
		addr.NIC = h.nic
	}
	if terr := b.ep.Bind(addr); terr != nil {
		b.close(h)
		return b, sysError("bind", terr)
	}
	b.local = h.localOf(b.ep, local.Addr())
	return b, nil
}

// endpoint makes an endpoint that belongs to the host.
func (h *Host) endpoint(transport tcpip.TransportProtocolNumber, network tcpip.NetworkProtocolNumber) (bound, error) {
	b := bound{wq: new(waiter.Queue)}
	var terr tcpip.Error
	if b.ep, terr = h.stack.NewEndpoint(transport, network, b.wq); terr != nil {
		return b, sysError("socket", terr)
	}
	if err := h.track(b.ep); err != nil {
		return b, err
	}
	// As package net does: datagrams may be broadcast, and a listener may take a
	// port on which old connections still wait for their end.
	switch transport {
	case udp.ProtocolNumber:
		b.ep.SocketOptions().SetBroadcast(true)
	case tcp.ProtocolNumber:
		b.ep.SocketOptions().SetReuseAddress(true)
	}
	return b, nil
}

// localOf is the local address of ep; wildcard stands for an empty one.
func (h *Host) localOf(ep tcpip.Endpoint, wildcard netip.Addr) netip.AddrPort {
	full, terr := ep.GetLocalAddress()
	if terr != nil {
		return netip.AddrPort{}
	}
	a := fromAddress(full.Addr)
	if !a.IsValid() {
		a = wildcard
	}
	return netip.AddrPortFrom(a, full.Port)
}

// localAddress works out where to listen.
func (h *Host) localAddress(ctx context.Context, kind, network, address string) (local netip.AddrPort, v6only bool, err error) {
	family, err := parseNetwork(kind, network)
	if err != nil {
		return local, false, err
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return local, false, err
	}
	port, err := h.lookupPort(ctx, network, service)
	if err != nil {
		return local, false, err
	}
	addr := netip.IPv6Unspecified()
	if host != "" {
		addrs, err := h.lookup(ctx, family, host)
		if err != nil {
			return local, false, err
		}
		addr = addrs[0]
	}
	if addr.IsUnspecified() {
		addr = netip.IPv6Unspecified()
		if family == ipv4.ProtocolNumber {
			addr = netip.IPv4Unspecified()
		}
		return netip.AddrPortFrom(addr, port), family == ipv6.ProtocolNumber, nil
	}
	if addr.Is6() {
		// A duplicate shows as an address that cannot be bound.
		_ = h.await(ctx, func(a netip.Addr) bool { return a == addr })
		if ctx.Err() != nil {
			return local, false, ctx.Err()
		}
	}
	return netip.AddrPortFrom(addr, port), addr.Is6(), nil
}

// parseNetwork splits "tcp6" and the like; family 0 is both.
func parseNetwork(kind, network string) (family tcpip.NetworkProtocolNumber, err error) {
	suffix, ok := strings.CutPrefix(network, kind)
	switch {
	case ok && suffix == "":
		return 0, nil
	case ok && suffix == "4":
		return ipv4.ProtocolNumber, nil
	case ok && suffix == "6":
		return ipv6.ProtocolNumber, nil
	default:
		return 0, net.UnknownNetworkError(network)
	}
}

// opError makes the error that every call returns. Addresses may be nil
// pointers.
func opError(op, network string, source, addr net.Addr, err error) error {
	return &net.OpError{Op: op, Net: network, Source: source, Addr: addr, Err: err}
}

// listener is a net.Listener on a TCP endpoint. It takes gonet's place, since
// gonet's hides the endpoint that keep-alive is set on.
type listener struct {
	host    *Host
	network string
	bound   bound
	addr    *net.TCPAddr
	once    sync.Once
	done    chan struct{}
}

// Accept implements net.Listener.Accept.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.accept()
	if err != nil {
		return nil, opError("accept", l.network, nil, l.addr, err)
	}
	return conn, nil
}

func (l *listener) accept() (net.Conn, error) {
	var peer tcpip.FullAddress
	ep, wq, terr := l.bound.ep.Accept(&peer)
	if _, wait := terr.(*tcpip.ErrWouldBlock); wait {
		entry, ready := waiter.NewChannelEntry(waiter.ReadableEvents)
		l.bound.wq.EventRegister(&entry)
		defer l.bound.wq.EventUnregister(&entry)
		for {
			ep, wq, terr = l.bound.ep.Accept(&peer)
			if _, wait := terr.(*tcpip.ErrWouldBlock); !wait {
				break
			}
			select {
			case <-ready:
			case <-l.done:
				return nil, net.ErrClosed
			case <-l.host.ctx.Done():
				return nil, net.ErrClosed
			}
		}
	}
	if terr != nil {
		if l.isClosed() {
			return nil, net.ErrClosed
		}
		return nil, sysError("accept", terr)
	}
	if err := l.host.track(ep); err != nil {
		return nil, err
	}
	b := bound{ep: ep, wq: wq, local: l.host.localOf(ep, l.bound.local.Addr())}
	return newTCPConn(l.host, l.network, b, netip.AddrPortFrom(fromAddress(peer.Addr), peer.Port)), nil
}

func (l *listener) isClosed() bool {
	select {
	case <-l.done:
		return true
	default:
		return l.host.closed.Load()
	}
}

// Close implements net.Listener.Close. Connections that nobody has accepted yet
// are reset.
func (l *listener) Close() error {
	err := opError("close", l.network, nil, l.addr, net.ErrClosed)
	l.once.Do(func() {
		close(l.done)
		l.bound.close(l.host)
		err = nil
	})
	return err
}

// Addr implements net.Listener.Addr.
func (l *listener) Addr() net.Addr { return l.addr }
