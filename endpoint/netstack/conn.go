package netstack

import (
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

var (
	_ net.Conn       = (*TCPConn)(nil)
	_ net.Conn       = (*UDPConn)(nil)
	_ net.PacketConn = (*UDPConn)(nil)
)

// handle is what TCP and UDP connections share: life, addresses, errors.
type handle struct {
	host          *Host
	network       string
	ep            tcpip.Endpoint
	local, remote net.Addr // remote may be nil
	closed        atomic.Bool
}

// check fails when the connection is closed.
func (c *handle) check(op string) error {
	if c.closed.Load() || c.host.closed.Load() {
		return opError(op, c.network, c.local, c.remote, net.ErrClosed)
	}
	return nil
}

// fail turns an error of gonet into one that reads and branches as package net's
// does. io.EOF stays as it is.
func (c *handle) fail(op string, addr net.Addr, err error) error {
	if err == nil {
		return nil
	}
	// A call that Close has woken sees all sorts of errors.
	if c.closed.Load() || c.host.closed.Load() {
		err = net.ErrClosed
	} else if err == io.EOF {
		return err
	} else {
		err = gonetError(op, err)
	}
	return opError(op, c.network, c.local, addr, err)
}

// failStack does the same for the stack's own errors.
func (c *handle) failStack(op string, terr tcpip.Error) error {
	if terr == nil {
		return nil
	}
	return opError("set", c.network, c.local, c.remote, sysError(op, terr))
}

// Close closes the connection. Blocked calls return with an error that wraps
// net.ErrClosed. What was written to a TCP connection is still delivered.
func (c *handle) Close() error {
	if c.closed.Swap(true) {
		return opError("close", c.network, c.local, c.remote, net.ErrClosed)
	}
	c.host.untrack(c.ep)
	c.ep.Close()
	return nil
}

// LocalAddr is the local address. It stays valid after Close.
func (c *handle) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the remote address, nil for a UDP socket without one. It stays
// valid after Close.
func (c *handle) RemoteAddr() net.Addr { return c.remote }

// SetReadBuffer sets the size of the receive buffer in bytes, within the host's
// bounds. A TCP connection's window no longer grows by itself then.
func (c *handle) SetReadBuffer(bytes int) error {
	if err := c.check("set"); err != nil {
		return err
	}
	c.ep.SocketOptions().SetReceiveBufferSize(int64(bytes), true)
	return nil
}

// SetWriteBuffer sets the size of the send buffer in bytes, within the host's
// bounds.
func (c *handle) SetWriteBuffer(bytes int) error {
	if err := c.check("set"); err != nil {
		return err
	}
	c.ep.SocketOptions().SetSendBufferSize(int64(bytes), true)
	return nil
}

// deadlines is the part of gonet's connections that needs no mending but the
// error after Close.
type deadlines interface {
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// TCPConn is a TCP connection. It is a net.Conn with the further methods of
// *net.TCPConn that servers look for.
type TCPConn struct {
	handle
	conn *gonet.TCPConn
}

func newTCPConn(h *Host, network string, b bound, remote netip.AddrPort) *TCPConn {
	c := &TCPConn{
		handle: handle{
			host: h, network: network, ep: b.ep,
			local:  net.TCPAddrFromAddrPort(b.local),
			remote: net.TCPAddrFromAddrPort(remote),
		},
		conn: gonet.NewTCPConn(b.wq, b.ep),
	}
	if h.opts.KeepAlive > 0 {
		// It fails only for a connection that is already gone, as the first Read
		// will tell.
		_ = c.SetKeepAlivePeriod(h.opts.KeepAlive)
		_ = c.SetKeepAlive(true)
	}
	return c
}

// Read implements net.Conn.Read.
func (c *TCPConn) Read(b []byte) (int, error) {
	if err := c.check("read"); err != nil || len(b) == 0 {
		return 0, err
	}
	n, err := c.conn.Read(b)
	return n, c.fail("read", c.remote, err)
}

// Write implements net.Conn.Write.
func (c *TCPConn) Write(b []byte) (int, error) {
	if err := c.check("write"); err != nil {
		return 0, err
	}
	n, err := c.conn.Write(b)
	return n, c.fail("write", c.remote, err)
}

// CloseRead shuts down the reading side. Most callers should just use Close.
func (c *TCPConn) CloseRead() error {
	if err := c.check("close"); err != nil {
		return err
	}
	return c.fail("close", c.remote, c.conn.CloseRead())
}

// CloseWrite shuts down the writing side: the peer reads to the end, and this
// side can go on reading.
func (c *TCPConn) CloseWrite() error {
	if err := c.check("close"); err != nil {
		return err
	}
	return c.fail("close", c.remote, c.conn.CloseWrite())
}

// SetDeadline implements net.Conn.SetDeadline.
func (c *TCPConn) SetDeadline(t time.Time) error { return c.set(c.conn, deadlines.SetDeadline, t) }

// SetReadDeadline implements net.Conn.SetReadDeadline.
func (c *TCPConn) SetReadDeadline(t time.Time) error {
	return c.set(c.conn, deadlines.SetReadDeadline, t)
}

// SetWriteDeadline implements net.Conn.SetWriteDeadline.
func (c *TCPConn) SetWriteDeadline(t time.Time) error {
	return c.set(c.conn, deadlines.SetWriteDeadline, t)
}

func (c *handle) set(d deadlines, set func(deadlines, time.Time) error, t time.Time) error {
	if err := c.check("set"); err != nil {
		return err
	}
	return set(d, t)
}

// SetNoDelay switches Nagle's algorithm off (true, the default) or on.
func (c *TCPConn) SetNoDelay(noDelay bool) error {
	if err := c.check("set"); err != nil {
		return err
	}
	c.ep.SocketOptions().SetDelayOption(!noDelay)
	return nil
}

// SetKeepAlive switches keep-alive probes on or off.
func (c *TCPConn) SetKeepAlive(on bool) error {
	if err := c.check("set"); err != nil {
		return err
	}
	c.ep.SocketOptions().SetKeepAlive(on)
	return nil
}

// SetKeepAlivePeriod sets the idle time before the first keep-alive probe and
// the time between probes.
func (c *TCPConn) SetKeepAlivePeriod(d time.Duration) error {
	if err := c.check("set"); err != nil {
		return err
	}
	idle := tcpip.KeepaliveIdleOption(d)
	interval := tcpip.KeepaliveIntervalOption(d)
	for _, opt := range []tcpip.SettableSocketOption{&idle, &interval} {
		if err := c.failStack("keep-alive", c.ep.SetSockOpt(opt)); err != nil {
			return err
		}
	}
	return c.failStack("keep-alive", c.ep.SetSockOptInt(tcpip.KeepaliveCountOption, keepAliveProbes))
}

// SetLinger says what Close does with unsent data: sec < 0, the default, sends
// it in the background; 0 discards it and resets the connection.
func (c *TCPConn) SetLinger(sec int) error {
	if err := c.check("set"); err != nil {
		return err
	}
	c.ep.SocketOptions().SetLinger(tcpip.LingerOption{
		Enabled: sec >= 0,
		Timeout: time.Duration(max(sec, 0)) * time.Second,
	})
	return nil
}

// UDPConn is a UDP socket, connected when it comes from DialContext.
type UDPConn struct {
	handle
	conn *gonet.UDPConn
	ip4  bool // an IPv4 socket
}

func newUDPConn(h *Host, network string, b bound, remote netip.AddrPort) *UDPConn {
	c := &UDPConn{
		handle: handle{host: h, network: network, ep: b.ep, local: net.UDPAddrFromAddrPort(b.local)},
		conn:   gonet.NewUDPConn(b.wq, b.ep),
		ip4:    b.local.Addr().Is4(),
	}
	if remote.IsValid() {
		c.remote = net.UDPAddrFromAddrPort(remote)
	}
	return c
}

// Read implements net.Conn.Read. A datagram longer than b is cut.
func (c *UDPConn) Read(b []byte) (int, error) {
	n, _, err := c.ReadFrom(b)
	return n, err
}

// ReadFrom implements net.PacketConn.ReadFrom. A datagram longer than b is cut.
func (c *UDPConn) ReadFrom(b []byte) (int, net.Addr, error) {
	if err := c.check("read"); err != nil {
		return 0, nil, err
	}
	n, from, err := c.conn.ReadFrom(b)
	return n, from, c.fail("read", c.remote, err)
}

// ReadFromUDPAddrPort is ReadFrom for netip.
func (c *UDPConn) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, from, err := c.ReadFrom(b)
	if err != nil {
		return n, netip.AddrPort{}, err
	}
	ap := from.(*net.UDPAddr).AddrPort()
	return n, netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}

// Write implements net.Conn.Write, for a connected socket.
func (c *UDPConn) Write(b []byte) (int, error) {
	if err := c.check("write"); err != nil {
		return 0, err
	}
	n, err := c.conn.Write(b)
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
	if !to.IsValid() {
		return 0, opError("write", c.network, c.local, addr, &net.AddrError{Err: "no UDP address to write to"})
	}
	return c.WriteToUDPAddrPort(b, to)
}

// WriteToUDPAddrPort is WriteTo for netip.
func (c *UDPConn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	dst := net.UDPAddrFromAddrPort(netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port()))
	if err := c.check("write"); err != nil {
		return 0, err
	}
	if c.remote != nil {
		return 0, opError("write", c.network, c.local, dst, net.ErrWriteToConnected)
	}
	if !to.IsValid() {
		return 0, opError("write", c.network, c.local, dst, &net.AddrError{Err: "no UDP address to write to"})
	}
	// The stack would send to such an address as if it were IPv4.
	if c.ip4 && len(dst.IP) != net.IPv4len {
		return 0, opError("write", c.network, c.local, dst, &net.AddrError{Err: "non-IPv4 address", Addr: to.String()})
	}
	n, err := c.conn.WriteTo(b, dst)
	return n, c.fail("write", dst, err)
}

// SetDeadline implements net.Conn.SetDeadline.
func (c *UDPConn) SetDeadline(t time.Time) error { return c.set(c.conn, deadlines.SetDeadline, t) }

// SetReadDeadline implements net.Conn.SetReadDeadline.
func (c *UDPConn) SetReadDeadline(t time.Time) error {
	return c.set(c.conn, deadlines.SetReadDeadline, t)
}

// SetWriteDeadline implements net.Conn.SetWriteDeadline.
func (c *UDPConn) SetWriteDeadline(t time.Time) error {
	return c.set(c.conn, deadlines.SetWriteDeadline, t)
}
