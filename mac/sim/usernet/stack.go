package usernet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

const (
	nicID = 1
	// bufferMax is the largest socket buffer. It bounds what a connection can
	// hold on either side, and the window that TCP's moderation grows to.
	bufferMax = 4 << 20
	// timeWait is short, since no packet lives long on a wire inside a process.
	timeWait = tcpip.TCPTimeWaitTimeoutOption(time.Second)
)

// tcpError makes an error of netstack's kind one of Go's.
func tcpError(what string, err tcpip.Error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, errors.New(err.String()))
}

// newStack makes the gateway's stack on the link.
func newStack(o *Options, l *link) (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols: []stack.NetworkProtocolFactory{
			arp.NewProtocol,
			ipv4.NewProtocol,
			// No duplicate address detection: it would keep the gateway silent for
			// its first second.
			ipv6.NewProtocolWithOptions(ipv6.Options{AutoGenLinkLocal: true}),
		},
		TransportProtocols: []stack.TransportProtocolFactory{
			tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6,
		},
	})
	if err := setUp(s, o, l); err != nil {
		s.Destroy()
		return nil, fmt.Errorf("usernet: set up the stack: %w", err)
	}
	return s, nil
}

func setUp(s *stack.Stack, o *Options, l *link) error {
	sack, moderate := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(true)
	delay, wait := tcpip.TCPDelayEnabled(false), timeWait
	// No RACK: after a burst of losses gVisor's sender would go on with two
	// segments a retransmission time-out, and a MAC's FIFO overflows in bursts.
	var recovery tcpip.TCPRecovery
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4 << 10, Default: 1 << 20, Max: bufferMax}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 4 << 10, Default: 1 << 20, Max: bufferMax}
	options := []tcpip.SettableTransportProtocolOption{&sack, &recovery, &moderate, &delay, &wait, &receive, &send}
	for _, option := range options {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return tcpError(fmt.Sprintf("option %T", option), err)
		}
	}
	if err := s.CreateNIC(nicID, l); err != nil {
		return tcpError("make the NIC", err)
	}
	for _, prefix := range []netip.Prefix{o.Gateway4, o.Gateway6} {
		proto := header.IPv4ProtocolNumber
		if prefix.Addr().Is6() {
			proto = header.IPv6ProtocolNumber
		}
		addr := tcpip.ProtocolAddress{
			Protocol: proto,
			AddressWithPrefix: tcpip.AddressWithPrefix{
				Address:   tcpip.AddrFromSlice(prefix.Addr().AsSlice()),
				PrefixLen: prefix.Bits(),
			},
		}
		if err := s.AddProtocolAddress(nicID, addr, stack.AddressProperties{}); err != nil {
			return tcpError("add "+prefix.String(), err)
		}
		s.AddRoute(tcpip.Route{Destination: addr.AddressWithPrefix.Subnet(), NIC: nicID})
	}
	return nil
}

// ListenTCP listens on the gateway, for the guest to connect to. An unspecified
// address means any of the gateway's of that IP version, none means any IPv4 one.
func (n *Network) ListenTCP(at netip.AddrPort) (net.Listener, error) {
	l, err := gonet.ListenTCP(n.stack, fullAddress(at), protocol(at.Addr()))
	if err != nil {
		return nil, fmt.Errorf("usernet: listen on tcp %v: %w", at, err)
	}
	return l, nil
}

// ListenUDP opens a UDP socket on the gateway, with addresses as ListenTCP's.
func (n *Network) ListenUDP(at netip.AddrPort) (net.PacketConn, error) {
	local := fullAddress(at)
	c, err := gonet.DialUDP(n.stack, &local, nil, protocol(at.Addr()))
	if err != nil {
		return nil, fmt.Errorf("usernet: listen on udp %v: %w", at, err)
	}
	return c, nil
}

// protocol returns the IP version of an address; none at all means IPv4.
func protocol(a netip.Addr) tcpip.NetworkProtocolNumber {
	if isIPv6(a) {
		return header.IPv6ProtocolNumber
	}
	return header.IPv4ProtocolNumber
}
