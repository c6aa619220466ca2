// Package usernet is a user-mode network: a small TCP/IP stack at the other end
// of the wire, in the same process, that forwards ports of this host into the
// guest's stack. It needs no root and no kernel driver, and runs on every
// operating system.
//
//	n, err := usernet.New(nil)
//	wire := cable.Connect(model.Port(), n, nil)
//	addr, err := n.ForwardTCP(netip.MustParseAddrPort("127.0.0.1:8080"), netip.AddrPortFrom(netip.Addr{}, 80))
//
// The network is the gateway of a subnet whose one other station is the guest:
//
//	gateway  10.0.2.2/24   fd00:6261:7265::2/64   52:55:0a:00:02:02
//	guest    10.0.2.15     fd00:6261:7265::15     any MAC address
//
// The gateway answers ARP, neighbour discovery and ping. The guest cannot reach
// beyond it: there is no address translation and no DHCP server.
package usernet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

// ErrClosed means that the network has been closed.
var ErrClosed = errors.New("user-mode network closed")

// Options are the options of New.
type Options struct {
	// MTU is the largest IP packet in bytes, 1280 to 65535. 0 means 1500.
	MTU int
	// Address is the gateway's MAC address. Zero means 52:55:0a:00:02:02.
	Address mac.HardwareAddr
	// Gateway4 and Gateway6 are the gateway's addresses with their subnets. Zero
	// means 10.0.2.2/24 and fd00:6261:7265::2/64.
	Gateway4, Gateway6 netip.Prefix
	// Guest4 and Guest6 are the guest's addresses, for what is forwarded without
	// one. Zero means 10.0.2.15 and fd00:6261:7265::15.
	Guest4, Guest6 netip.Addr

	// MaxConns is how many TCP connections are forwarded at once; further clients
	// wait to be accepted. 0 means 1024.
	MaxConns int
	// DialTimeout is how long the guest has to accept a connection. 0 means 10 s.
	DialTimeout time.Duration
	// MaxUDPClients is how many clients a forwarded UDP port serves at once; a
	// further one takes the place of the one idle longest. 0 means 256.
	MaxUDPClients int
	// UDPIdle is how long a UDP client may be idle before it is forgotten. 0
	// means 60 s.
	UDPIdle time.Duration

	// QueueBytes bounds what waits for the gateway's stack; frames that come
	// beyond it are dropped, as a network card drops them. 0 means 4 MiB.
	QueueBytes int
	// NoSegmentation makes TCP build each segment itself instead of handing 64
	// KiB at a time to be cut here. NoCoalescing hands each received frame to
	// the stack alone instead of joining the frames of a connection.
	NoSegmentation, NoCoalescing bool
	// SkipRXChecksum trusts the checksums of received packets. Sent packets always
	// have theirs.
	SkipRXChecksum bool

	// Clock times UDPIdle. nil means wall time. The stack itself runs on wall time.
	Clock sim.Clock
}

// withDefaults fills in zero values and checks the rest.
func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	def(&c.MTU, 1500)
	def(&c.Address, mac.HardwareAddr{0x52, 0x55, 10, 0, 2, 2})
	def(&c.Gateway4, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 2, 2}), 24))
	def(&c.Gateway6, netip.MustParsePrefix("fd00:6261:7265::2/64"))
	def(&c.Guest4, netip.AddrFrom4([4]byte{10, 0, 2, 15}))
	def(&c.Guest6, netip.MustParseAddr("fd00:6261:7265::15"))
	def(&c.MaxConns, 1024)
	def(&c.DialTimeout, 10*time.Second)
	def(&c.MaxUDPClients, 256)
	def(&c.UDPIdle, time.Minute)
	def(&c.QueueBytes, 4<<20)
	if c.Clock == nil {
		c.Clock = sim.RealClock{}
	}
	switch {
	case c.MTU < 1280 || c.MTU > 65535:
		return c, fmt.Errorf("usernet: MTU %d is not within 1280 (IPv6's least) to 65535: %w", c.MTU, mac.ErrConfig)
	case !c.Address.Usable():
		return c, fmt.Errorf("usernet: MAC address %v is a group address or zero: %w", c.Address, mac.ErrConfig)
	case !c.Gateway4.IsValid() || !c.Gateway4.Addr().Is4():
		return c, fmt.Errorf("usernet: Gateway4 %v is not an IPv4 address with a subnet: %w", c.Gateway4, mac.ErrConfig)
	case !c.Gateway6.IsValid() || !c.Gateway6.Addr().Is6() || c.Gateway6.Addr().Is4In6():
		return c, fmt.Errorf("usernet: Gateway6 %v is not an IPv6 address with a subnet: %w", c.Gateway6, mac.ErrConfig)
	case !c.Guest4.Is4() || !c.Guest6.Is6() || c.Guest6.Is4In6():
		return c, fmt.Errorf("usernet: guest addresses %v and %v are not IPv4 and IPv6: %w", c.Guest4, c.Guest6, mac.ErrConfig)
	case c.MaxConns < 0 || c.MaxUDPClients < 0 || c.DialTimeout < 0 || c.UDPIdle < 0 || c.QueueBytes < 0:
		return c, fmt.Errorf("usernet: a limit is negative: %w", mac.ErrConfig)
	}
	return c, nil
}

func def[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// closeWait is how long Close waits for a wire that does not take its frame.
const closeWait = 2 * time.Second

var _ sim.Port = (*Network)(nil)

// Network is a user-mode network. As a sim.Port it goes at the end of a cable.
// Its methods may be called from any goroutine.
type Network struct {
	opts  Options
	link  *link
	stack *stack.Stack
	stats counters
	slots chan struct{} // one for each TCP connection

	copyBuffers, datagrams sync.Pool

	// life ends with Close; what waits on the network's behalf waits on it too.
	life   context.Context
	end    context.CancelFunc
	work   sync.WaitGroup // all goroutines of forwarded ports
	close  sync.Once
	closed error

	mu     sync.Mutex
	open   map[io.Closer]struct{} // listeners, and connections to abort
	ending bool
}

// New makes a network. nil options are the defaults. Errors wrap mac.ErrConfig.
func New(o *Options) (*Network, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Network{
		opts:  opts,
		slots: make(chan struct{}, opts.MaxConns),
		open:  make(map[io.Closer]struct{}),
	}
	n.copyBuffers.New = func() any { return new([copyBuffer]byte) }
	n.datagrams.New = func() any { return new([maxDatagram]byte) }
	n.link = newLink(&n.opts, &n.stats)
	n.stack, err = newStack(&n.opts, n.link)
	if err != nil {
		return nil, err
	}
	n.life, n.end = context.WithCancel(context.Background())
	return n, nil
}

// Deliver implements sim.Port. It does not wait: when the gateway's stack falls
// behind, frames are dropped and counted.
func (n *Network) Deliver(frame []byte) { n.link.receive(frame) }

// OnTransmit implements sim.Port.
func (n *Network) OnTransmit(f func(frame []byte)) { n.link.setTransmit(f) }

// Guest is where port of the guest is, over IPv4.
func (n *Network) Guest(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(n.opts.Guest4, port)
}

// target fills in the guest's address where none is given.
func (n *Network) target(guest netip.AddrPort) (netip.AddrPort, error) {
	if guest.Port() == 0 {
		return guest, fmt.Errorf("guest address %v has no port: %w", guest, mac.ErrConfig)
	}
	addr := guest.Addr().Unmap()
	if !addr.IsValid() {
		addr = n.opts.Guest4
	}
	return netip.AddrPortFrom(addr, guest.Port()), nil
}

// hold registers c to be closed with the network. It fails, and closes c, on a
// closed network.
func (n *Network) hold(c io.Closer) error {
	n.mu.Lock()
	ending := n.ending
	if !ending {
		n.open[c] = struct{}{}
	}
	n.mu.Unlock()
	if ending {
		return errors.Join(ErrClosed, c.Close())
	}
	return nil
}

func (n *Network) release(c io.Closer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
}

// start runs f in a goroutine that Close waits for. It reports false on a closed
// network.
func (n *Network) start(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ending {
		return false
	}
	n.work.Go(f)
	return true
}

// Close ends the forwarded ports, resets all connections and ends the stack. It
// may be called more than once. When the wire holds a frame and does not let go
// within two seconds, Close returns an error and goes on in the background.
func (n *Network) Close() error {
	n.close.Do(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			n.tearDown()
		}()
		timeout := time.NewTimer(closeWait)
		defer timeout.Stop()
		select {
		case <-done:
		case <-timeout.C:
			n.closed = fmt.Errorf("usernet: close: the wire has not taken a frame in %v: close the cable first", closeWait)
		}
	})
	return n.closed
}

func (n *Network) tearDown() {
	n.end()
	n.mu.Lock()
	n.ending = true
	open := n.open
	n.open = make(map[io.Closer]struct{})
	n.mu.Unlock()
	for c := range open {
		_ = c.Close() // ends what waits on it; there is nobody to tell
	}
	n.work.Wait()
	n.stack.Destroy()
}

// Stats returns the counts so far.
func (n *Network) Stats() Stats { return n.stats.stats() }

func fullAddress(a netip.AddrPort) tcpip.FullAddress {
	full := tcpip.FullAddress{NIC: nicID, Port: a.Port()}
	if a.Addr().IsValid() && !a.Addr().IsUnspecified() {
		full.Addr = tcpip.AddrFromSlice(a.Addr().AsSlice())
	}
	return full
}

// isIPv6 reports the IP version to use for an address; none at all means IPv4.
func isIPv6(a netip.Addr) bool { return a.Is6() && !a.Is4In6() }

// DialContext connects from the gateway to a station on the wire. network is tcp,
// tcp4, tcp6, udp, udp4 or udp6, and address an IP address with a port; without
// the IP address (":80") it is the guest's. It fits http.Transport.
func (n *Network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := n.parse(network, address)
	if err != nil {
		return nil, fmt.Errorf("usernet: dial %s %s: %w", network, address, err)
	}
	var c net.Conn
	if network[:3] == "udp" {
		c, err = n.dialUDP(to)
	} else {
		c, err = n.dialTCP(ctx, to)
	}
	if err != nil {
		return nil, fmt.Errorf("usernet: dial %s %s: %w", network, address, err)
	}
	return c, nil
}

func (n *Network) parse(network, address string) (netip.AddrPort, error) {
	guest := n.opts.Guest4
	switch network {
	case "tcp", "tcp4", "udp", "udp4":
	case "tcp6", "udp6":
		guest = n.opts.Guest6
	default:
		return netip.AddrPort{}, fmt.Errorf("use tcp, tcp4, tcp6, udp, udp4 or udp6: %w", net.UnknownNetworkError(network))
	}
	if port, ok := strings.CutPrefix(address, ":"); ok {
		address = net.JoinHostPort(guest.String(), port)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return to, fmt.Errorf("need an IP address and a port: %w", err)
	}
	if v6 := isIPv6(to.Addr()); network[len(network)-1] == '4' && v6 || network[len(network)-1] == '6' && !v6 {
		return to, fmt.Errorf("the address is not of that IP version: %w", mac.ErrConfig)
	}
	return n.target(to)
}
