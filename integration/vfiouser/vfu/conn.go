//go:build linux

package vfu

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// message is one request. The payload is good until the next is read; the
// descriptors are the receiver's to close.
type message struct {
	header
	payload []byte
	fds     []int
	// badFDs tells that there were more descriptors than a message may carry.
	badFDs bool
}

// takeFD hands over the only descriptor, or -1 when there is none.
func (m *message) takeFD(i int) int {
	if i >= len(m.fds) {
		return -1
	}
	fd := m.fds[i]
	m.fds[i] = -1
	return fd
}

// closeFDs closes the descriptors that nobody has taken.
func (m *message) closeFDs() {
	for _, fd := range m.fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	m.fds = m.fds[:0]
}

// conn frames messages. It never reads beyond the end of a message, so that
// descriptors belong to the message they arrive with, however many the client
// has under way. One goroutine uses it.
type conn struct {
	c       *net.UnixConn
	timeout time.Duration
	msg     message
	buf     [maxMessage]byte
	oob     []byte
}

func newConn(c *net.UnixConn, timeout time.Duration) *conn {
	return &conn{
		c: c, timeout: timeout, oob: make([]byte, unix.CmsgSpace(4*maxFDs)),
		msg: message{fds: make([]int, 0, maxFDs)},
	}
}

// read waits for the next message. It returns io.EOF when the client has left
// between two messages.
func (c *conn) read() (*message, error) {
	m := &c.msg
	m.fds, m.badFDs = m.fds[:0], false
	err := c.receive(m)
	if err != nil {
		m.closeFDs()
		return nil, err
	}
	return m, nil
}

func (c *conn) receive(m *message) error {
	n, err := c.recv(m, c.buf[:headerLen])
	if err != nil {
		return err // between messages: plain io.EOF
	}
	if err := c.c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	if err := c.recvAll(m, c.buf[n:headerLen]); err != nil {
		return fmt.Errorf("vfu: read header: %w", err)
	}
	m.header = parseHeader(c.buf[:])
	if m.size < headerLen || m.size > maxMessage {
		return fmt.Errorf("vfu: command %d: message of %d bytes: want %d to %d", m.command, m.size, headerLen, maxMessage)
	}
	m.payload = c.buf[headerLen:m.size]
	if err := c.recvAll(m, m.payload); err != nil {
		return fmt.Errorf("vfu: read %d bytes of command %d: %w", len(m.payload), m.command, err)
	}
	return c.c.SetReadDeadline(time.Time{})
}

func (c *conn) recvAll(m *message, p []byte) error {
	for len(p) > 0 {
		n, err := c.recv(m, p)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
		p = p[n:]
	}
	return nil
}

// recv reads once, and keeps descriptors in m.
func (c *conn) recv(m *message, p []byte) (int, error) {
	n, on, flags, _, err := c.c.ReadMsgUnix(p, c.oob)
	if flags&unix.MSG_CTRUNC != 0 {
		m.badFDs = true
	}
	if on > 0 {
		c.keepFDs(m, c.oob[:on])
	}
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (c *conn) keepFDs(m *message, oob []byte) {
	controls, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		m.badFDs = true
		return
	}
	for i := range controls {
		fds, err := unix.ParseUnixRights(&controls[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			if len(m.fds) == maxFDs {
				unix.Close(fd)
				m.badFDs = true
				continue
			}
			m.fds = append(m.fds, fd)
		}
	}
}

// write sends a reply.
func (c *conn) write(b []byte) error {
	if err := c.c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	if _, err := c.c.Write(b); err != nil {
		return fmt.Errorf("vfu: write reply: %w", err)
	}
	return nil
}
