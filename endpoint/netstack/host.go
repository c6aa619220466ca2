package netstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/qdisc/fifo"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/raw"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// Host is a TCP/IP stack with one interface. All methods may be called from any
// goroutine.
type Host struct {
	stack *stack.Stack
	nic   tcpip.NICID
	link  stack.LinkEndpoint
	opts  Options
	log   *slog.Logger

	// config serialises changes of addresses, routes and groups. It is held while
	// the stack and the filter are called, and so never taken in a callback of
	// the stack.
	config sync.Mutex
	filter filter // guarded by config

	// ctx ends when Close begins. It is the Host's life, not a request's.
	ctx      context.Context
	shutdown context.CancelFunc
	closing  sync.Once
	work     sync.WaitGroup // goroutines of this package
	closed   atomic.Bool    // written under mu
	bestDNS  atomic.Int32   // index of the server that answered last

	// mu guards what follows. Nothing of the stack is called under it.
	mu        sync.Mutex
	addrs     []*address
	groups    map[netip.Addr]int
	endpoints map[tcpip.Endpoint]struct{} // open handles
}

// New makes a host on link and takes it over: Host.Close closes it too. When New
// fails, link has been closed as well, if the stack was attached to it. A nil
// *Options means the zero Options.
//
// IPv6 addresses become usable when duplicate address detection has passed, by
// default after a second. New does not wait for that, but Listen, ListenPacket
// and DialContext do where they need it, and so does WaitAddresses.
func New(link stack.LinkEndpoint, opts *Options) (*Host, error) {
	if link == nil {
		return nil, errors.New("netstack: New needs a link endpoint")
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Host{
		nic:       o.NIC,
		link:      link,
		opts:      o,
		log:       o.Logger,
		filter:    filter{hw: findFilter(link), joined: make(map[tcpip.LinkAddress]struct{})},
		groups:    make(map[netip.Addr]int),
		endpoints: make(map[tcpip.Endpoint]struct{}),
	}
	h.ctx, h.shutdown = context.WithCancel(context.Background())
	h.stack = newStack(&o)
	if err := h.setup(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// newStack makes the stack with all that is not about an interface.
func newStack(o *Options) *stack.Stack {
	return stack.New(stack.Options{
		NetworkProtocols: []stack.NetworkProtocolFactory{
			arp.NewProtocol,
			ipv4.NewProtocolWithOptions(ipv4.Options{IGMP: ipv4.IGMPOptions{Enabled: true}}),
			ipv6.NewProtocolWithOptions(ipv6.Options{
				NDPConfigs: ipv6.NDPConfigurations{HandleRAs: ipv6.HandlingRAsDisabled},
				MLD:        ipv6.MLDOptions{Enabled: true},
				DADConfigs: stack.DADConfigurations{
					DupAddrDetectTransmits: uint8(o.DADTransmits),
					RetransmitTimer:        time.Second, // RFC 4861 section 10
				},
			}),
		},
		TransportProtocols: []stack.TransportProtocolFactory{
			tcp.NewProtocolCUBIC, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6,
		},
		Clock: o.clock,
		// Packets to an own address stay inside.
		HandleLocal: true,
		// DHCP clients and diagnostic programs need packet and raw endpoints.
		RawFactory:               raw.EndpointFactory{},
		AllowPacketEndpointWrite: true,
	})
}

// setup applies the options to the stack and brings the interface up.
func (h *Host) setup() error {
	o := &h.opts
	if err := tune(h.stack, o); err != nil {
		return err
	}
	nicOpts := stack.NICOptions{Name: fmt.Sprintf("nic%d", h.nic), DeliverLinkPackets: o.PacketSockets}
	if o.TXQueue > 0 {
		nicOpts.QDisc = fifo.New(h.link, 1, o.TXQueue)
	}
	if err := h.stack.CreateNICWithOptions(h.nic, h.link, nicOpts); err != nil {
		if nicOpts.QDisc != nil {
			nicOpts.QDisc.Close()
		}
		return fmt.Errorf("netstack: create interface %d: %s", h.nic, err)
	}
	if err := h.SyncFilter(); err != nil {
		return err
	}
	h.addBaseRoutes()
	if mac := h.link.LinkAddress(); !o.NoLinkLocal6 && header.IsValidUnicastEthernetAddress(mac) {
		if err := h.AddAddress(netip.PrefixFrom(fromAddress(header.LinkLocalAddr(mac)), 64)); err != nil {
			return err
		}
	}
	for _, p := range o.Addresses {
		if err := h.AddAddress(p); err != nil {
			return err
		}
	}
	return h.SetGateways(o.Gateways...)
}

// tune sets the transport protocols' options. What is the default of this gVisor
// version and matters is set all the same, so that a newer one does not change
// it unseen.
func tune(s *stack.Stack, o *Options) error {
	sack := tcpip.TCPSACKEnabled(true)
	var recovery tcpip.TCPRecovery
	if o.RACK {
		recovery = tcpip.TCPRACKLossDetection
	}
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	cc := tcpip.CongestionControlOption("cubic")
	delay := tcpip.TCPDelayEnabled(false) // Nagle
	reuse := tcpip.TCPTimeWaitReuseGlobal
	receive := tcpip.TCPReceiveBufferSizeRangeOption(o.TCPReceiveBuffer)
	send := tcpip.TCPSendBufferSizeRangeOption(o.TCPSendBuffer)
	for _, opt := range []tcpip.SettableTransportProtocolOption{
		&sack, &recovery, &moderate, &cc, &delay, &reuse, &receive, &send,
	} {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, opt); err != nil {
			return fmt.Errorf("netstack: set TCP option %T: %s", opt, err)
		}
	}
	for _, opt := range []any{
		tcpip.ReceiveBufferSizeOption{Min: tcp.MinBufferSize, Default: o.UDPBuffer, Max: maxUDPBuffer},
		tcpip.SendBufferSizeOption{Min: tcp.MinBufferSize, Default: o.UDPBuffer, Max: maxUDPBuffer},
	} {
		if err := s.SetOption(opt); err != nil {
			return fmt.Errorf("netstack: set option %T: %s", opt, err)
		}
	}
	return nil
}

// Stack is the stack itself, for everything that Host does not do.
func (h *Host) Stack() *stack.Stack { return h.stack }

// NIC is the number of the interface in the stack.
func (h *Host) NIC() tcpip.NICID { return h.nic }

// Close ends all listeners and connections, removes the interface, closes the
// link endpoint and waits until nothing of them runs any more. Established TCP
// connections are reset: finish what must arrive (CloseWrite, then read to the
// end) before. Blocked calls return with an error that wraps net.ErrClosed.
// Further calls wait for the first and return nil.
func (h *Host) Close() error {
	h.closing.Do(func() {
		h.mu.Lock()
		h.closed.Store(true)
		open := h.endpoints
		h.endpoints = nil
		h.mu.Unlock()
		h.shutdown()

		// The resets must leave before the interface goes.
		for ep := range open {
			ep.Abort()
		}
		for _, ep := range h.stack.RegisteredEndpoints() {
			ep.Abort()
		}
		// The interface goes before the stack, since no packet may make a new
		// connection while the stack ends. It is disabled first: RemoveNIC would
		// announce the leaving of groups with the stack locked, while packets on
		// their way in wait for that lock. Both fail only when the endpoint has
		// removed the interface itself.
		h.config.Lock()
		_ = h.stack.DisableNIC(h.nic)
		_ = h.stack.RemoveNIC(h.nic)
		h.config.Unlock()
		h.link.Wait()
		h.stack.Destroy()
		h.work.Wait()
	})
	return nil
}

// track registers an endpoint as open. It fails, and ends ep, when the host is
// closed.
func (h *Host) track(ep tcpip.Endpoint) error {
	h.mu.Lock()
	open := !h.closed.Load()
	if open {
		h.endpoints[ep] = struct{}{}
	}
	h.mu.Unlock()
	if !open {
		ep.Abort()
		return net.ErrClosed
	}
	return nil
}

// untrack forgets ep. The caller closes it.
func (h *Host) untrack(ep tcpip.Endpoint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.endpoints, ep)
}
