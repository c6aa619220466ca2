//go:build linux

package vfu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Server serves one device to one client.
type Server struct {
	dev  Device
	opts Options
	host Host

	cfg     Config
	config  *configSpace
	version bool // negotiated
	started atomic.Bool
	out     [maxMessage]byte

	messages, failed, reads, writes, resets atomic.Uint64
}

// New returns a server of dev. opts may be nil. It fails when no PCI function is
// like dev's Config.
func New(dev Device, opts *Options) (*Server, error) {
	s := &Server{dev: dev, cfg: dev.Config()}
	if err := s.cfg.check(); err != nil {
		return nil, err
	}
	if opts != nil {
		s.opts = *opts
	}
	s.opts = s.opts.withDefaults()
	s.host.mem.opts = s.opts
	s.host.irq.init(s.cfg.MSIVectors)
	s.config = newConfigSpace(&s.cfg)
	return s, nil
}

// Stats may be called from any goroutine, also after Serve.
func (s *Server) Stats() Stats {
	irq := &s.host.irq
	irq.mu.Lock()
	defer irq.mu.Unlock()
	return Stats{
		Messages: s.messages.Load(), Errors: s.failed.Load(), Reads: s.reads.Load(), Writes: s.writes.Load(), Resets: s.resets.Load(),
		Maps: s.host.mem.count(), Files: int(s.host.mem.nfiles.Load()), DMAFaults: s.host.mem.faults.Load(),
		INTxRaised: irq.raised, INTxSent: irq.sent, INTxUnmasks: irq.unmasks, MSISent: irq.messages,
	}
}

// ErrServed is returned by Serve for a Server that has served a client already.
var ErrServed = errors.New("vfu: a Server serves one client; make another")

// Serve attaches the device and serves the client at the other end of c until it
// leaves, which is no error, breaks the protocol, or ctx is done. Then it detaches the
// device, releases everything the client has given, and closes c.
func (s *Server) Serve(ctx context.Context, c *net.UnixConn) error {
	defer c.Close()
	if s.started.Swap(true) {
		return ErrServed
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	s.dev.Attach(&s.host)
	err := s.serve(newConn(c, s.opts.Timeout))
	s.dev.Detach()
	s.host.irq.release()
	err = errors.Join(err, s.host.mem.release())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (s *Server) serve(c *conn) error {
	for {
		m, err := c.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.messages.Add(1)
		err = s.answer(c, m)
		m.closeFDs()
		if err != nil {
			return err
		}
	}
}

// answer carries out one command.
func (s *Server) answer(c *conn, m *message) error {
	if m.flags&flagTypeMask != 0 {
		return fmt.Errorf("vfu: message of type %d, command %d: want a command", m.flags&flagTypeMask, m.command)
	}
	if !s.version && m.command != cmdVersion {
		return fmt.Errorf("vfu: command %d before the version", m.command)
	}
	n, errno := 0, unix.EINVAL
	if !m.badFDs {
		n, errno = s.handle(m, s.out[headerLen:])
	}
	if errno != 0 {
		s.failed.Add(1)
		n = 0
	}
	if m.flags&flagNoReply == 0 {
		putReply(s.out[:], m.header, headerLen+n, uint32(errno))
		if err := c.write(s.out[:headerLen+n]); err != nil {
			return err
		}
	}
	if !s.version {
		return fmt.Errorf("vfu: version not agreed upon: %w", errno)
	}
	return nil
}

// handle puts the payload of the reply into out and returns its length, or an
// errno.
func (s *Server) handle(m *message, out []byte) (int, unix.Errno) {
	switch m.command {
	case cmdVersion:
		return s.negotiate(m.payload, out)
	case cmdDMAMap:
		return s.dmaMap(m)
	case cmdDMAUnmap:
		return s.dmaUnmap(m.payload, out)
	case cmdGetInfo:
		return s.getInfo(m.payload, out)
	case cmdGetRegionInfo:
		return s.getRegionInfo(m.payload, out)
	case cmdGetIRQInfo:
		return s.getIRQInfo(m.payload, out)
	case cmdSetIRQs:
		return s.setIRQs(m)
	case cmdRegionRead:
		return s.regionRead(m.payload, out)
	case cmdRegionWrite:
		return s.regionWrite(m.payload, out)
	case cmdReset:
		return s.reset()
	}
	return 0, unix.ENOTSUP
}

// negotiate answers with the client's version and what this server can do.
// Whatever a client is capable of is fine: nothing is sent to it but replies.
func (s *Server) negotiate(p, out []byte) (int, unix.Errno) {
	if s.version || len(p) < 4 || wire.Uint16(p) != 0 {
		return 0, unix.EINVAL
	}
	if text := p[4:]; len(text) > 0 {
		text, ok := bytes.CutSuffix(text, []byte{0})
		var v struct {
			Capabilities map[string]any `json:"capabilities"`
		}
		if !ok || json.Unmarshal(text, &v) != nil {
			return 0, unix.EINVAL
		}
	}
	s.version = true
	wire.PutUint32(out, 0) // version 0.0: minor is the client's or less
	n := 4 + len(fmt.Appendf(out[4:4],
		`{"capabilities":{"max_msg_fds":%d,"max_data_xfer_size":%d,"max_dma_maps":%d,"pgsizes":%d}}`+"\x00",
		maxFDs, maxTransfer, s.opts.MaxMaps, pageSize))
	return n, 0
}
