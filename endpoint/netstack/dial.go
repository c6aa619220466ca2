package netstack

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// DialContext connects to an address. network is "tcp", "tcp4", "tcp6", "udp",
// "udp4" or "udp6"; the result is a *TCPConn or *UDPConn. It fits
// http.Transport.DialContext.
//
// The host is a numeric address, or a name that is looked up through Options.DNS.
// A name's addresses are tried one after the other, IPv6 first where the host
// has a global IPv6 address, and share the time until ctx's deadline. For an IPv6
// address DialContext waits until duplicate address detection has ended. ctx
// ends nothing once the connection stands.
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	kind := strings.TrimRight(network, "46")
	if kind != "tcp" && kind != "udp" {
		return nil, opError("dial", network, nil, nil, net.UnknownNetworkError(network))
	}
	family, err := parseNetwork(kind, network)
	if err != nil {
		return nil, opError("dial", network, nil, nil, err)
	}
	addrs, port, err := h.remoteAddresses(ctx, family, network, address)
	if err != nil {
		return nil, opError("dial", network, nil, nil, err)
	}
	var first error
	for i, addr := range addrs {
		remote := netip.AddrPortFrom(addr, port)
		var conn net.Conn
		if kind == "tcp" {
			conn, err = h.dialTCP(ctx, network, remote, len(addrs)-i)
		} else {
			conn, err = h.dialUDP(ctx, network, remote)
		}
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil || h.closed.Load() {
			break
		}
	}
	return nil, first
}

// remoteAddresses turns an address into what can be dialed; there is at least
// one.
func (h *Host) remoteAddresses(ctx context.Context, family tcpip.NetworkProtocolNumber, network, address string) ([]netip.Addr, uint16, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, 0, err
	}
	if host == "" {
		return nil, 0, &net.AddrError{Err: "missing host in address", Addr: address}
	}
	port, err := h.lookupPort(ctx, network, service)
	if err != nil {
		return nil, 0, err
	}
	addrs, err := h.lookup(ctx, family, host)
	return addrs, port, err
}

// prepare readies an endpoint for connecting to remote.
func (h *Host) prepare(ctx context.Context, remote netip.AddrPort, transport tcpip.TransportProtocolNumber) (bound, error) {
	if err := ctx.Err(); err != nil {
		return bound{}, err
	}
	if remote.Addr().Is6() {
		// What became of the addresses shows when a route is looked for.
		_ = h.await(ctx, netip.Addr.Is6)
		if err := ctx.Err(); err != nil {
			return bound{}, err
		}
	}
	return h.endpoint(transport, protocolOf(remote.Addr()))
}

// connectAddress is remote for the stack. Link-local addresses mean nothing
// without their interface, and there is one.
func (h *Host) connectAddress(remote netip.AddrPort) tcpip.FullAddress {
	full := tcpip.FullAddress{Addr: toAddress(remote.Addr()), Port: remote.Port()}
	if a := remote.Addr(); a.IsLinkLocalUnicast() || a.IsMulticast() {
		full.NIC = h.nic
	}
	return full
}

// dialTCP makes one of left attempts.
func (h *Host) dialTCP(ctx context.Context, network string, remote netip.AddrPort, left int) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, opError("dial", network, nil, net.TCPAddrFromAddrPort(remote), err)
	}
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		// An address that does not answer must leave time for the others.
		share := max(2*time.Second, time.Until(deadline)/time.Duration(left))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share)
		defer cancel()
	}
	b, err := h.prepare(ctx, remote, tcp.ProtocolNumber)
	if err != nil {
		return fail(err)
	}
	entry, ready := waiter.NewChannelEntry(waiter.WritableEvents | waiter.EventHUp | waiter.EventErr)
	b.wq.EventRegister(&entry)
	defer b.wq.EventUnregister(&entry)
	terr := b.ep.Connect(h.connectAddress(remote))
	if _, started := terr.(*tcpip.ErrConnectStarted); started {
		select {
		case <-ready:
			terr = b.ep.LastError()
		case <-ctx.Done():
			b.close(h)
			return fail(ctx.Err())
		case <-h.ctx.Done():
			b.close(h)
			return fail(net.ErrClosed)
		}
	}
	if terr != nil {
		b.close(h)
		if h.closed.Load() {
			return fail(net.ErrClosed)
		}
		return fail(sysError("connect", terr))
	}
	b.local = h.localOf(b.ep, netip.Addr{})
	return newTCPConn(h, network, b, remote), nil
}

func (h *Host) dialUDP(ctx context.Context, network string, remote netip.AddrPort) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, opError("dial", network, nil, net.UDPAddrFromAddrPort(remote), err)
	}
	b, err := h.prepare(ctx, remote, udp.ProtocolNumber)
	if err != nil {
		return fail(err)
	}
	if terr := b.ep.Connect(h.connectAddress(remote)); terr != nil {
		b.close(h)
		return fail(sysError("connect", terr))
	}
	b.local = h.localOf(b.ep, netip.Addr{})
	return newUDPConn(h, network, b, remote), nil
}
