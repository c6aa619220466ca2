package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

const dnsPort = 53

// Resolver looks names up through this host and Options.DNS. Like every pure Go
// resolver it takes its habits (search domains, time-outs, the hosts file) from
// the operating system's files, but no server.
func (h *Host) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: h.dialDNS}
}

// lookup returns the addresses of host in the order to try them, at least one.
func (h *Host) lookup(ctx context.Context, family tcpip.NetworkProtocolNumber, host string) ([]netip.Addr, error) {
	addrs, err := h.lookupAll(ctx, host)
	if err != nil {
		return nil, err
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap().WithZone("")
	}
	if family != 0 {
		addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return protocolOf(a) != family })
	}
	if len(addrs) == 0 {
		return nil, &net.AddrError{Err: "no suitable address found", Addr: host}
	}
	preferred := h.preferredFamily()
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int {
		switch pa, pb := protocolOf(a) == preferred, protocolOf(b) == preferred; {
		case pa == pb:
			return 0
		case pa:
			return -1
		default:
			return 1
		}
	})
	return addrs, nil
}

func (h *Host) lookupAll(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if len(h.opts.DNS) == 0 {
		return nil, &net.DNSError{Err: "no DNS server: set Options.DNS or give a numeric address", Name: host}
	}
	// Close ends lookups too.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(net.ErrClosed) })()
	addrs, err := h.Resolver().LookupNetIP(ctx, "ip", host)
	if err == nil {
		return addrs, nil
	}
	if h.closed.Load() {
		return nil, net.ErrClosed
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if dns := new(net.DNSError); errors.As(err, &dns) {
		dns.Server = fmt.Sprint(h.opts.DNS) // not the operating system's
	}
	return nil, err
}

// preferredFamily is IPv6 when the host has a global IPv6 address, else IPv4.
func (h *Host) preferredFamily() tcpip.NetworkProtocolNumber {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.addrs {
		if ip := a.prefix.Addr(); ip.Is6() && ip.IsGlobalUnicast() {
			return ipv6.ProtocolNumber
		}
	}
	return ipv4.ProtocolNumber
}

// lookupPort knows numbers and the names of services.
func (h *Host) lookupPort(ctx context.Context, network, service string) (uint16, error) {
	port, err := net.DefaultResolver.LookupPort(ctx, network, service)
	if err != nil {
		return 0, err
	}
	return uint16(port), nil
}

// dialDNS is net.Resolver.Dial. The address is that of a server of the operating
// system, and of no interest.
func (h *Host) dialDNS(ctx context.Context, network, _ string) (net.Conn, error) {
	if len(h.opts.DNS) == 0 {
		return nil, errors.New("no DNS server: set Options.DNS")
	}
	if strings.HasPrefix(network, "udp") {
		pc, err := h.ListenPacket(ctx, "udp", ":0")
		if err != nil {
			return nil, err
		}
		return &dnsConn{UDPConn: pc.(*UDPConn)}, nil
	}
	// TCP is for answers that were too long: the server that sent the last good
	// one comes first.
	servers := slices.Clone(h.opts.DNS)
	if best := int(h.bestDNS.Load()); best > 0 {
		servers[0], servers[best] = servers[best], servers[0]
	}
	var errs []error
	for i, server := range servers {
		conn, err := h.dialTCP(ctx, "tcp", netip.AddrPortFrom(server, dnsPort), len(servers)-i)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// dnsConn asks all servers at once and takes the first good answer, so that a
// dead server costs nothing. The resolver uses one for one query.
type dnsConn struct {
	*UDPConn
	id    [2]byte
	asked int
}

// Write sends a query to every server.
func (c *dnsConn) Write(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, errors.New("netstack: short DNS query")
	}
	c.id, c.asked = [2]byte(b), 0
	var errs []error
	for _, s := range c.host.opts.DNS {
		if _, err := c.WriteToUDPAddrPort(b, netip.AddrPortFrom(s, dnsPort)); err != nil {
			errs = append(errs, err)
			continue
		}
		c.asked++
	}
	if c.asked == 0 {
		return 0, errors.Join(errs...)
	}
	return len(b), nil
}

// Read returns an answer to the query. A server that failed (SERVFAIL) or will
// not serve us (REFUSED) is heard only when no other is left.
func (c *dnsConn) Read(b []byte) (int, error) {
	const servFail, refused = 2, 5
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			return n, err
		}
		if n < 12 || [2]byte(b) != c.id || from.Port() != dnsPort {
			continue
		}
		server := slices.Index(c.host.opts.DNS, from.Addr())
		if server < 0 {
			continue
		}
		if rcode := b[3] & 15; rcode == servFail || rcode == refused {
			if c.asked--; c.asked > 0 {
				continue
			}
		} else {
			c.host.bestDNS.Store(int32(server))
		}
		return n, nil
	}
}
