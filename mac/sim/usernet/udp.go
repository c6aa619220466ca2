package usernet

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/barewire/barewire/mac/sim"
)

// maxDatagram is more than the largest UDP payload.
const maxDatagram = 64 << 10

func (n *Network) dialUDP(to netip.AddrPort) (net.Conn, error) {
	if n.life.Err() != nil {
		return nil, ErrClosed
	}
	remote := fullAddress(to)
	return gonet.DialUDP(n.stack, nil, &remote, protocol(to.Addr()))
}

// ForwardUDP passes datagrams that come to an address of this host on to guest,
// and the answers back to the client they belong to. Addresses are as for
// ForwardTCP. Each client has a port of its own on the gateway until it has been
// idle for Options.UDPIdle.
func (n *Network) ForwardUDP(host, guest netip.AddrPort) (net.Addr, error) {
	guest, err := n.target(guest)
	if err != nil {
		return nil, fmt.Errorf("usernet: forward udp %v: %w", host, err)
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local(host)))
	if err != nil {
		return nil, fmt.Errorf("usernet: forward udp to %v: use another host port, or 0 for any: %w", guest, err)
	}
	f := &udpForward{network: n, conn: conn, guest: guest, clients: make(map[netip.AddrPort]*udpClient)}
	if err := n.hold(conn); err != nil {
		return nil, fmt.Errorf("usernet: forward udp %v: %w", host, err)
	}
	n.start(f.receive)
	return conn.LocalAddr(), nil
}

// udpForward is a forwarded UDP port.
type udpForward struct {
	network *Network
	conn    *net.UDPConn
	guest   netip.AddrPort

	mu      sync.Mutex
	clients map[netip.AddrPort]*udpClient
}

// udpClient is a client of a forwarded port, with its own socket to the guest.
type udpClient struct {
	forward *udpForward
	addr    netip.AddrPort
	ep      tcpip.Endpoint
	queue   waiter.Queue
	last    atomic.Int64 // when it sent or got something, in ns of the clock
	timer   sim.Timer    // guarded by forward.mu
	done    chan struct{}
}

// receive passes the clients' datagrams on until the port is closed.
func (f *udpForward) receive() {
	defer f.end()
	buf := make([]byte, maxDatagram)
	var payload bytes.Reader
	for {
		k, from, err := f.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			if errors.Is(err, net.ErrClosed) || f.network.life.Err() != nil {
				return
			}
			continue // an earlier answer was refused (ECONNREFUSED)
		}
		c, err := f.client(from)
		if err == nil {
			c.touch()
			payload.Reset(buf[:k])
			_, terr := c.ep.Write(&payload, tcpip.WriteOptions{})
			if terr != nil {
				// A write first reports, once, what ICMP said of an earlier datagram, and
				// sends nothing then.
				payload.Reset(buf[:k])
				_, terr = c.ep.Write(&payload, tcpip.WriteOptions{})
			}
			if terr == nil {
				continue
			}
		}
		f.network.stats.udpDropped.Add(1)
	}
}

// client returns the client at addr, and makes it when it is new.
func (f *udpForward) client(addr netip.AddrPort) (*udpClient, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.clients[addr]; ok {
		return c, nil
	}
	n := f.network
	c := &udpClient{forward: f, addr: addr, done: make(chan struct{})}
	ep, terr := n.stack.NewEndpoint(udp.ProtocolNumber, protocol(f.guest.Addr()), &c.queue)
	if terr != nil {
		return nil, tcpError("make an endpoint", terr)
	}
	c.ep = ep
	if terr := ep.Connect(fullAddress(f.guest)); terr != nil {
		ep.Close()
		return nil, tcpError("connect", terr)
	}
	if len(f.clients) == n.opts.MaxUDPClients {
		f.evict()
	}
	c.touch()
	if !n.start(c.answer) {
		ep.Close()
		return nil, ErrClosed
	}
	c.timer = n.opts.Clock.AfterFunc(n.opts.UDPIdle, c.expire)
	f.clients[addr] = c
	n.stats.udpClients.Add(1)
	n.stats.udpActive.Add(1)
	return c, nil
}

// evict forgets the client that has been idle longest. The caller holds mu.
func (f *udpForward) evict() {
	var oldest *udpClient
	for _, c := range f.clients {
		if oldest == nil || c.last.Load() < oldest.last.Load() {
			oldest = c
		}
	}
	f.network.stats.udpEvicted.Add(1)
	f.forget(oldest)
}

// forget ends a client. The caller holds mu.
func (f *udpForward) forget(c *udpClient) {
	delete(f.clients, c.addr)
	c.timer.Stop()
	close(c.done)
	f.network.stats.udpActive.Add(-1)
}

func (f *udpForward) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clients {
		f.forget(c)
	}
}

func (c *udpClient) touch() {
	c.last.Store(c.forward.network.opts.Clock.Now().UnixNano())
}

// expire forgets the client when it has been idle long enough, and looks again
// later otherwise.
func (c *udpClient) expire() {
	f, o := c.forward, &c.forward.network.opts
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[c.addr] != c {
		return
	}
	idle := time.Duration(o.Clock.Now().UnixNano() - c.last.Load())
	if idle < o.UDPIdle {
		c.timer = o.Clock.AfterFunc(o.UDPIdle-idle, c.expire)
		return
	}
	f.forget(c)
}

// answer passes the guest's datagrams back until the client is forgotten. It holds
// a buffer only while there are some.
func (c *udpClient) answer() {
	defer c.ep.Close()
	entry, readable := waiter.NewChannelEntry(waiter.ReadableEvents | waiter.EventErr)
	c.queue.EventRegister(&entry)
	defer c.queue.EventUnregister(&entry)
	for {
		c.drain()
		select {
		case <-readable:
		case <-c.done:
			return
		}
	}
}

func (c *udpClient) drain() {
	n := c.forward.network
	if c.ep.Readiness(waiter.ReadableEvents|waiter.EventErr) == 0 {
		return
	}
	buf := n.datagrams.Get().(*[maxDatagram]byte)
	defer n.datagrams.Put(buf)
	for {
		w := tcpip.SliceWriter(buf[:])
		result, terr := c.ep.Read(&w, tcpip.ReadOptions{})
		switch terr.(type) {
		case nil:
		case *tcpip.ErrConnectionRefused:
			continue // the guest refused a datagram; this has cleared the error
		default:
			return // nothing left, or closed
		}
		c.touch()
		if _, err := c.forward.conn.WriteToUDPAddrPort(buf[:result.Count], c.addr); err != nil {
			n.stats.udpDropped.Add(1)
		}
	}
}
