package netstack

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"
)

var (
	_ net.Conn       = (*UDPConn)(nil)
	_ net.PacketConn = (*UDPConn)(nil)
)

// UDPConn is a UDP socket, connected when it comes from DialContext. It takes
// gonet's place, since a reader blocked in gonet sleeps through the ICMP error
// that says nobody listens, and since gonet knows no netip.
type UDPConn struct {
	handle
	wq          *waiter.Queue
	ip4         bool // an IPv4 socket
	read, write deadline
}

func newUDPConn(h *Host, network string, b bound, remote netip.AddrPort) *UDPConn {
	c := &UDPConn{
		handle: handle{host: h, network: network, ep: b.ep, local: net.UDPAddrFromAddrPort(b.local)},
		wq:     b.wq,
		ip4:    b.local.Addr().Is4(),
	}
	if remote.IsValid() {
		c.remote = net.UDPAddrFromAddrPort(remote)
	}
	return c
}

// Read implements net.Conn.Read. A datagram longer than b is cut.
func (c *UDPConn) Read(b []byte) (int, error) {
	n, _, err := c.ReadFromUDPAddrPort(b)
	return n, err
}

// ReadFrom implements net.PacketConn.ReadFrom. A datagram longer than b is cut.
func (c *UDPConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUDPAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// ReadFromUDPAddrPort is ReadFrom for netip. An IPv4 address is always given as
// such.
func (c *UDPConn) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	var res tcpip.ReadResult
	err := c.wait("read", &c.read, waiter.ReadableEvents|waiter.EventErr, func() (terr tcpip.Error) {
		w := tcpip.SliceWriter(b)
		res, terr = c.ep.Read(&w, tcpip.ReadOptions{NeedRemoteAddr: true})
		return terr
	})
	if err != nil {
		return 0, netip.AddrPort{}, c.fail("read", c.remote, err)
	}
	return res.Count, netip.AddrPortFrom(fromAddress(res.RemoteAddr.Addr), res.RemoteAddr.Port), nil
}

// Write implements net.Conn.Write, for a connected socket.
func (c *UDPConn) Write(b []byte) (int, error) {
	n, err := c.send(b, nil)
	return n, c.fail("write", c.remote, err)
}

// WriteTo implements net.PacketConn.WriteTo. Any net.Addr that prints as a
// numeric address and port will do.
func (c *UDPConn) WriteTo(b []byte, addr net.Addr) (int, error) {
	var to netip.AddrPort
	switch a := addr.(type) {
	case nil:
	case *net.UDPAddr:
		if a != nil {
			to = a.AddrPort()
		}
	default:
		to, _ = netip.ParseAddrPort(a.String())
	}
	return c.WriteToUDPAddrPort(b, to)
}

// WriteToUDPAddrPort is WriteTo for netip.
func (c *UDPConn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if !to.IsValid() {
		return 0, opError("write", c.network, c.local, nil, &net.AddrError{Err: "no UDP address to write to"})
	}
	to = netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port())
	var err error
	switch {
	case c.remote != nil:
		err = net.ErrWriteToConnected
	case c.ip4 && !to.Addr().Is4():
		// The stack would send to such an address as if it were IPv4.
		err = &net.AddrError{Err: "non-IPv4 address", Addr: to.String()}
	default:
		full := c.host.connectAddress(to)
		var n int
		if n, err = c.send(b, &full); err == nil {
			return n, nil
		}
	}
	return 0, c.fail("write", net.UDPAddrFromAddrPort(to), err)
}

// send sends one datagram, to the connected address when to is nil.
func (c *UDPConn) send(b []byte, to *tcpip.FullAddress) (int, error) {
	var n int64
	err := c.wait("write", &c.write, waiter.WritableEvents, func() (terr tcpip.Error) {
		n, terr = c.ep.Write(bytes.NewReader(b), tcpip.WriteOptions{To: to})
		return terr
	})
	return int(n), err
}

// wait calls try until it does not block, the deadline has passed or the socket
// is closed.
func (c *UDPConn) wait(op string, d *deadline, events waiter.EventMask, try func() tcpip.Error) error {
	passed := d.passed()
	select {
	case <-passed:
		return os.ErrDeadlineExceeded
	default:
	}
	if c.closed.Load() || c.host.closed.Load() {
		return net.ErrClosed
	}
	terr := try()
	if _, block := terr.(*tcpip.ErrWouldBlock); !block {
		return sysError(op, terr)
	}
	entry, ready := waiter.NewChannelEntry(events)
	c.wq.EventRegister(&entry)
	defer c.wq.EventUnregister(&entry)
	for {
		terr := try()
		if _, block := terr.(*tcpip.ErrWouldBlock); !block {
			return sysError(op, terr)
		}
		select {
		case <-ready:
		case <-passed:
			return os.ErrDeadlineExceeded
		case <-c.host.ctx.Done():
			return net.ErrClosed
		}
	}
}

// SetDeadline implements net.Conn.SetDeadline.
func (c *UDPConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.SetReadDeadline.
func (c *UDPConn) SetReadDeadline(t time.Time) error {
	if err := c.check("set"); err != nil {
		return err
	}
	c.read.set(t)
	return nil
}

// SetWriteDeadline implements net.Conn.SetWriteDeadline.
func (c *UDPConn) SetWriteDeadline(t time.Time) error {
	if err := c.check("set"); err != nil {
		return err
	}
	c.write.set(t)
	return nil
}

// deadline is a moment that can be moved, also while calls wait for it. The zero
// deadline never comes.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{} // closed when the deadline has passed
}

// passed is closed when the deadline has passed.
func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done == nil {
		d.done = make(chan struct{})
	}
	return d.done
}

// set moves the deadline; the zero time takes it away. Calls that wait follow,
// as long as the old deadline has not passed.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh := d.done == nil
	if d.timer != nil && !d.timer.Stop() {
		fresh = true // the timer has closed done, or is about to
	}
	d.timer = nil
	if !fresh {
		select {
		case <-d.done:
			fresh = true
		default:
		}
	}
	if fresh {
		d.done = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	done := d.done
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { close(done) })
	} else {
		close(done)
	}
}
