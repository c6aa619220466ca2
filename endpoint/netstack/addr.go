package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// ErrDuplicate means that another host on the link has the address.
var ErrDuplicate = errors.New("address is in use by another host")

// address is one own address. It is the stack's dispatcher for it.
type address struct {
	host   *Host
	prefix netip.Prefix

	// settled is closed when detection has ended; err, guarded by Host.mu, says
	// how.
	settled chan struct{}
	err     error
}

// OnChanged implements stack.AddressDispatcher.OnChanged. The stack holds locks
// of its own here.
func (a *address) OnChanged(_ stack.AddressLifetimes, state stack.AddressAssignmentState) {
	a.host.mu.Lock()
	defer a.host.mu.Unlock()
	if state == stack.AddressAssigned {
		a.settle(nil)
	}
}

// OnRemoved implements stack.AddressDispatcher.OnRemoved. The stack holds locks
// of its own here, so the rest of the work is done elsewhere.
func (a *address) OnRemoved(reason stack.AddressRemovalReason) {
	h := a.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if reason != stack.AddressRemovalDADFailed {
		a.settle(net.ErrClosed)
		return
	}
	if !h.closed.Load() {
		h.work.Go(func() {
			h.log.Error("netstack: address is in use by another host, removed", "address", a.prefix)
			h.config.Lock()
			defer h.config.Unlock()
			if err := h.withdraw(a); err != nil {
				h.log.Error("netstack: multicast filter is out of step", "err", err)
			}
		})
	}
	a.settle(ErrDuplicate)
}

// settle ends the wait for the address. The caller holds Host.mu.
func (a *address) settle(err error) {
	a.err = err
	select {
	case <-a.settled:
	default:
		close(a.settled)
	}
}

// duplicate reports whether detection has failed. The caller holds Host.mu.
func (a *address) duplicate() bool { return a.err == ErrDuplicate }

// AddAddress gives the interface an address, and a route to its prefix. The
// filter lets its solicited-node group through first.
//
// An IPv4 address works at once. An IPv6 address is tentative until duplicate
// address detection has passed; AddAddress does not wait (WaitAddresses does).
// When another host has it, it is taken away again, which is logged, and which
// WaitAddresses reports until RemoveAddress or another AddAddress.
func (h *Host) AddAddress(p netip.Prefix) error {
	p = cleanPrefix(p)
	if !p.IsValid() || p.Bits() == 0 || p.Addr().IsUnspecified() || p.Addr().IsMulticast() {
		return fmt.Errorf("netstack: add address %s: not an address of a host with its prefix", p)
	}
	h.config.Lock()
	defer h.config.Unlock()
	a := &address{host: h, prefix: p, settled: make(chan struct{})}
	h.mu.Lock()
	if h.closed.Load() {
		h.mu.Unlock()
		return fmt.Errorf("netstack: add address %s: %w", p, net.ErrClosed)
	}
	if old := h.find(p.Addr()); old != nil && old.duplicate() {
		h.drop(old)
	} else if old != nil {
		h.mu.Unlock()
		return fmt.Errorf("netstack: add address %s: the host has %s already", p, p.Addr())
	}
	h.addrs = append(h.addrs, a)
	h.mu.Unlock()

	if err := h.filter.sync(h.wantedGroups()); err != nil {
		return errors.Join(err, h.forget(a))
	}
	terr := h.stack.AddProtocolAddress(h.nic, tcpip.ProtocolAddress{
		Protocol: protocolOf(p.Addr()),
		AddressWithPrefix: tcpip.AddressWithPrefix{
			Address:   toAddress(p.Addr()),
			PrefixLen: p.Bits(),
		},
	}, stack.AddressProperties{PEB: stack.CanBePrimaryEndpoint, Disp: a})
	if terr != nil {
		err := fmt.Errorf("netstack: add address %s: %w", p, sysError("add", terr))
		return errors.Join(err, h.forget(a))
	}
	h.stack.ReplaceRoute(h.onLinkRoute(p))
	return nil
}

// RemoveAddress takes an address away, with its route and its place in the
// filter. Connections that use it end by themselves, as they do when a cable is
// pulled.
func (h *Host) RemoveAddress(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	h.config.Lock()
	defer h.config.Unlock()
	h.mu.Lock()
	a := h.find(addr)
	duplicate := a != nil && a.duplicate()
	h.mu.Unlock()
	if a == nil {
		return fmt.Errorf("netstack: remove address %s: the host does not have it", addr)
	}
	if duplicate { // the stack does not have it any more
		return h.forget(a)
	}
	if terr := h.stack.RemoveAddress(h.nic, toAddress(addr)); terr != nil {
		err := fmt.Errorf("netstack: remove address %s: %w", addr, sysError("remove", terr))
		return errors.Join(err, h.forget(a))
	}
	return h.forget(a)
}

// Addresses are the host's addresses in the order they were added, tentative
// ones included, duplicates not.
func (h *Host) Addresses() []netip.Prefix {
	h.mu.Lock()
	defer h.mu.Unlock()
	ps := make([]netip.Prefix, 0, len(h.addrs))
	for _, a := range h.addrs {
		if !a.duplicate() {
			ps = append(ps, a.prefix)
		}
	}
	return ps
}

// WaitAddresses waits until duplicate address detection has ended for all
// addresses that the host was given. It returns an error that wraps ErrDuplicate
// when one is taken, or what ended the wait.
func (h *Host) WaitAddresses(ctx context.Context) error {
	return h.await(ctx, func(netip.Addr) bool { return true })
}

// await waits for the addresses that match.
func (h *Host) await(ctx context.Context, match func(netip.Addr) bool) error {
	h.mu.Lock()
	wait := slices.Clone(h.addrs)
	h.mu.Unlock()
	var errs []error
	for _, a := range wait {
		if !match(a.prefix.Addr()) {
			continue
		}
		select {
		case <-a.settled:
			h.mu.Lock()
			err := a.err
			h.mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("netstack: address %s: %w", a.prefix.Addr(), err))
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-h.ctx.Done():
			return net.ErrClosed
		}
	}
	return errors.Join(errs...)
}

// SetGateways replaces the default routes: at most one gateway per family. None
// removes them.
func (h *Host) SetGateways(gateways ...netip.Addr) error {
	var routes []tcpip.Route
	for _, gw := range gateways {
		gw = gw.Unmap().WithZone("")
		if !gw.IsValid() || gw.IsUnspecified() || gw.IsMulticast() {
			return fmt.Errorf("netstack: gateway %s: not the address of a router", gw)
		}
		dst := header.IPv4EmptySubnet
		if gw.Is6() {
			dst = header.IPv6EmptySubnet
		}
		for _, r := range routes {
			if r.Destination == dst {
				return fmt.Errorf("netstack: gateways %v: at most one per family", gateways)
			}
		}
		routes = append(routes, tcpip.Route{Destination: dst, Gateway: toAddress(gw), NIC: h.nic})
	}
	h.config.Lock()
	defer h.config.Unlock()
	h.stack.RemoveRoutes(func(r tcpip.Route) bool {
		return r.NIC == h.nic && r.Gateway.Len() > 0 && r.Destination.Prefix() == 0
	})
	for _, r := range routes {
		h.stack.AddRoute(r)
	}
	return nil
}

// addBaseRoutes sends groups and the limited broadcast to the interface, with or
// without a gateway.
func (h *Host) addBaseRoutes() {
	for _, p := range []string{"224.0.0.0/4", "255.255.255.255/32", "ff00::/8"} {
		h.stack.AddRoute(h.onLinkRoute(netip.MustParsePrefix(p)))
	}
}

func (h *Host) onLinkRoute(p netip.Prefix) tcpip.Route {
	dst := tcpip.AddressWithPrefix{Address: toAddress(p.Masked().Addr()), PrefixLen: p.Bits()}
	return tcpip.Route{Destination: dst.Subnet(), NIC: h.nic}
}

// find looks an address up. The caller holds mu.
func (h *Host) find(addr netip.Addr) *address {
	for _, a := range h.addrs {
		if a.prefix.Addr() == addr {
			return a
		}
	}
	return nil
}

// drop takes an address off the list. The caller holds mu.
func (h *Host) drop(a *address) {
	h.addrs = slices.DeleteFunc(h.addrs, func(b *address) bool { return a == b })
}

// forget drops an address that the stack no longer has. The caller holds config.
func (h *Host) forget(a *address) error {
	h.mu.Lock()
	h.drop(a)
	h.mu.Unlock()
	return h.withdraw(a)
}

// withdraw takes away what came with an address: its route, unless another
// address shares the prefix, and its group. The caller holds config.
func (h *Host) withdraw(a *address) error {
	h.mu.Lock()
	shared := slices.ContainsFunc(h.addrs, func(b *address) bool {
		return b != a && !b.duplicate() && a.prefix.Masked() == b.prefix.Masked()
	})
	h.mu.Unlock()
	if !shared {
		gone := h.onLinkRoute(a.prefix)
		h.stack.RemoveRoutes(func(r tcpip.Route) bool {
			return r.Equal(gone) && r.Gateway.Len() == 0
		})
	}
	return h.filter.sync(h.wantedGroups())
}

func cleanPrefix(p netip.Prefix) netip.Prefix {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return netip.PrefixFrom(p.Addr().WithZone(""), p.Bits())
}

// toAddress and fromAddress convert; an IPv4-mapped address becomes IPv4, and an
// invalid address stands for netstack's empty one.
func toAddress(a netip.Addr) tcpip.Address {
	switch a = a.Unmap(); {
	case a.Is4():
		return tcpip.AddrFrom4(a.As4())
	case a.Is6():
		return tcpip.AddrFrom16(a.As16())
	default:
		return tcpip.Address{}
	}
}

func fromAddress(a tcpip.Address) netip.Addr {
	b, _ := netip.AddrFromSlice(a.AsSlice())
	return b.Unmap()
}

func protocolOf(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Unmap().Is4() {
		return ipv4.ProtocolNumber
	}
	return ipv6.ProtocolNumber
}
