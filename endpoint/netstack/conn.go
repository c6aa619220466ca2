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

var _ net.Conn = (*TCPConn)(nil)

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

// fail makes the error that a call returns of what went wrong. A call that Close
// has woken sees all sorts of errors, and reports that.
func (c *handle) fail(op string, addr net.Addr, err error) error {
	if err == nil {
		return nil
	}
	if c.closed.Load() || c.host.closed.Load() {
		err = net.ErrClosed
	} else if err == io.EOF {
		return err
	}
	return opError(op, c.network, c.local, addr, err)
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
	return n, c.fail("read", c.remote, gonetError("read", err))
}

// Write implements net.Conn.Write.
func (c *TCPConn) Write(b []byte) (int, error) {
	if err := c.check("write"); err != nil {
		return 0, err
	}
	n, err := c.conn.Write(b)
	return n, c.fail("write", c.remote, gonetError("write", err))
}

// CloseRead shuts down the reading side. Most callers should just use Close.
func (c *TCPConn) CloseRead() error {
	if err := c.check("close"); err != nil {
		return err
	}
	return c.fail("close", c.remote, gonetError("shutdown", c.conn.CloseRead()))
}

// CloseWrite shuts down the writing side: the peer reads to the end, and this
// side can go on reading.
func (c *TCPConn) CloseWrite() error {
	if err := c.check("close"); err != nil {
		return err
	}
	return c.fail("close", c.remote, gonetError("shutdown", c.conn.CloseWrite()))
}

// SetDeadline implements net.Conn.SetDeadline.
func (c *TCPConn) SetDeadline(t time.Time) error {
	if err := c.check("set"); err != nil {
		return err
	}
	return c.conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.SetReadDeadline.
func (c *TCPConn) SetReadDeadline(t time.Time) error {
	if err := c.check("set"); err != nil {
		return err
	}
	return c.conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.SetWriteDeadline.
func (c *TCPConn) SetWriteDeadline(t time.Time) error {
	if err := c.check("set"); err != nil {
		return err
	}
	return c.conn.SetWriteDeadline(t)
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
	terr := c.ep.SetSockOpt(&idle)
	if terr == nil {
		terr = c.ep.SetSockOpt(&interval)
	}
	if terr == nil {
		terr = c.ep.SetSockOptInt(tcpip.KeepaliveCountOption, keepAliveProbes)
	}
	return c.fail("set", c.remote, sysError("setsockopt", terr))
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
