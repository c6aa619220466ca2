package netstack

import (
	"errors"
	"fmt"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// MulticastFilter is implemented by link endpoints with a multicast filter in
// hardware. netstack tells a link endpoint nothing about groups, so Host keeps
// the filter in step.
//
// Host serialises its calls and holds no lock of the stack during them. It joins
// each link address once, however many addresses or groups share it, and leaves
// what it joined; an endpoint with other users counts their joins apart. Frames
// to the joined addresses, broadcast and the own address must pass.
type MulticastFilter interface {
	JoinGroup(tcpip.LinkAddress) error
	LeaveGroup(tcpip.LinkAddress) error
}

// findFilter looks for a filter in ep and, since wrappers such as a sniffer hide
// it, in what ep wraps.
func findFilter(ep stack.LinkEndpoint) MulticastFilter {
	for ep != nil {
		if f, ok := ep.(MulticastFilter); ok {
			return f
		}
		w, ok := ep.(interface{ Child() stack.LinkEndpoint })
		if !ok {
			return nil
		}
		ep = w.Child()
	}
	return nil
}

// filter makes a MulticastFilter hold exactly a wanted set of addresses. It is
// guarded by Host.config.
type filter struct {
	hw     MulticastFilter // nil: none
	joined map[tcpip.LinkAddress]struct{}
}

// sync joins what is missing, then leaves what is too much. An address that
// fails stays as it was and is tried again by the next sync.
func (f *filter) sync(want map[tcpip.LinkAddress]struct{}) error {
	if f.hw == nil {
		return nil
	}
	var errs []error
	for a := range want {
		if _, ok := f.joined[a]; ok {
			continue
		}
		if err := f.hw.JoinGroup(a); err != nil {
			errs = append(errs, fmt.Errorf("netstack: join %s in the hardware filter: %w", a, err))
			continue
		}
		f.joined[a] = struct{}{}
	}
	for a := range f.joined {
		if _, ok := want[a]; ok {
			continue
		}
		if err := f.hw.LeaveGroup(a); err != nil {
			errs = append(errs, fmt.Errorf("netstack: leave %s in the hardware filter: %w", a, err))
			continue
		}
		delete(f.joined, a)
	}
	return errors.Join(errs...)
}

// groupLinkAddress is the Ethernet address that frames to a group are sent to
// (RFC 1112 section 6.4, RFC 2464 section 7).
func groupLinkAddress(group netip.Addr) tcpip.LinkAddress {
	a := toAddress(group)
	if group.Is4() {
		return header.EthernetAddressFromMulticastIPv4Address(a)
	}
	return header.EthernetAddressFromMulticastIPv6Address(a)
}

// wantedGroups is what the filter must let through: all-hosts and all-nodes, the
// solicited-node group of every IPv6 address, and the groups that were joined.
func (h *Host) wantedGroups() map[tcpip.LinkAddress]struct{} {
	want := map[tcpip.LinkAddress]struct{}{
		groupLinkAddress(netip.AddrFrom4([4]byte{224, 0, 0, 1})): {},
		groupLinkAddress(netip.IPv6LinkLocalAllNodes()):          {},
	}
	solicited := func(a tcpip.Address) {
		if a.BitLen() == header.IPv6AddressSizeBits {
			sn := header.SolicitedNodeAddr(a)
			want[header.EthernetAddressFromMulticastIPv6Address(sn)] = struct{}{}
		}
	}
	// Addresses that the stack was given behind our back count too.
	for _, a := range h.stack.AllAddresses()[h.nic] {
		solicited(a.AddressWithPrefix.Address)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.addrs {
		if !a.duplicate() {
			solicited(toAddress(a.prefix.Addr()))
		}
	}
	for g := range h.groups {
		want[groupLinkAddress(g)] = struct{}{}
	}
	return want
}

// SyncFilter brings the endpoint's multicast filter in step with the stack.
// Host's own methods do that themselves; call it after changing addresses on
// Stack directly. Groups joined on Stack directly, or by a socket option, are
// known to nobody: join them with JoinGroup instead.
func (h *Host) SyncFilter() error {
	h.config.Lock()
	defer h.config.Unlock()
	return h.filter.sync(h.wantedGroups())
}

// JoinGroup joins an IPv4 or IPv6 multicast group on the interface: in the stack,
// which announces it with IGMP or MLD, and in the hardware filter. Every packet
// connection that is bound to the port gets the group's datagrams. Joins are
// counted: each needs its LeaveGroup.
func (h *Host) JoinGroup(group netip.Addr) error {
	group = group.Unmap().WithZone("")
	if !group.IsMulticast() {
		return fmt.Errorf("netstack: join group %s: not a multicast address", group)
	}
	h.config.Lock()
	defer h.config.Unlock()
	h.mu.Lock()
	h.groups[group]++
	first := h.groups[group] == 1
	h.mu.Unlock()
	if !first {
		return nil
	}
	if err := h.filter.sync(h.wantedGroups()); err != nil {
		return errors.Join(err, h.forgetGroup(group))
	}
	if terr := h.stack.JoinGroup(protocolOf(group), h.nic, toAddress(group)); terr != nil {
		err := fmt.Errorf("netstack: join group %s: %w", group, sysError("join", terr))
		return errors.Join(err, h.forgetGroup(group))
	}
	return nil
}

// LeaveGroup undoes one JoinGroup.
func (h *Host) LeaveGroup(group netip.Addr) error {
	group = group.Unmap().WithZone("")
	h.config.Lock()
	defer h.config.Unlock()
	h.mu.Lock()
	n := h.groups[group]
	if n > 1 {
		h.groups[group]--
	}
	h.mu.Unlock()
	switch n {
	case 0:
		return fmt.Errorf("netstack: leave group %s: not joined", group)
	case 1:
		var err error
		if terr := h.stack.LeaveGroup(protocolOf(group), h.nic, toAddress(group)); terr != nil {
			err = fmt.Errorf("netstack: leave group %s: %w", group, sysError("leave", terr))
		}
		return errors.Join(err, h.forgetGroup(group))
	default:
		return nil
	}
}

// forgetGroup drops a group and takes it out of the hardware filter. The caller
// holds config.
func (h *Host) forgetGroup(group netip.Addr) error {
	h.mu.Lock()
	delete(h.groups, group)
	h.mu.Unlock()
	return h.filter.sync(h.wantedGroups())
}
