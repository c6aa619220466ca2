package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/cores"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/models"
	"github.com/barewire/barewire/mac/sim/pcap"
	"github.com/barewire/barewire/mac/sim/tap"
	"github.com/barewire/barewire/mac/sim/usernet"
	"github.com/barewire/barewire/pagepool"
)

const (
	// stackPort is where the server listens inside of the stack when a port of
	// this machine is forwarded to it.
	stackPort = 80
	// defaultCore is the simulated one.
	defaultCore = "dwmac4"
	// fifoSize of the modelled MAC holds two jumbo frames for each of 8 queues.
	fifoSize = 256 << 10

	linkPatience  = 5 * time.Second  // for the link to come up
	patience      = 30 * time.Second // for a client that stands still
	drainWait     = 2 * time.Second  // for the last bytes to arrive at shutdown
	drainInterval = 5 * time.Millisecond
)

// link is that of the fake MAC: the cable obeys its pause frames, as the far end
// knows none.
var link = mac.Link{Up: true, Speed: 1000, FullDuplex: true, TXPause: true}

// machine is the whole arrangement, from the wire up:
//
//	usernet or TAP - cable (- pcap) - model and driver of a MAC - endpoint - host - http.Server
//	      the world - a real MAC with UIO or VFIO - its driver -/
type machine struct {
	opts *options
	log  *slog.Logger

	// The simulated world: nil where it has no part.
	user  *usernet.Network
	tap   *tap.TAP
	pcap  *pcap.Writer
	fake  *fake.MAC
	cable *cable.Cable

	// Of a real device; nil and 0 for a fake one.
	bus     fmt.Stringer
	clockHz int

	dev  *mac.Device
	ep   *endpoint.Endpoint
	host *netstack.Host

	site    server
	http    *http.Server
	started time.Time
	urls    []string

	// alive ends when requests are no longer waited for.
	alive context.Context
	kill  context.CancelFunc
	work  sync.WaitGroup // goroutines started here
	conns connections
}

// boot starts everything. What it has started when it fails has been closed.
func boot(ctx context.Context, o *options, log *slog.Logger) (*machine, error) {
	m := &machine{opts: o, log: log, started: time.Now()}
	m.alive, m.kill = context.WithCancel(context.WithoutCancel(ctx))
	m.site = server{stats: func() any { return m.statistics() }, patience: patience}
	for _, step := range []func(context.Context) error{m.openWire, m.openMAC, m.openStack, m.serve, m.publish} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, m.close())
		}
	}
	return m, nil
}

// openWire makes the far end of the cable.
func (m *machine) openWire(context.Context) (err error) {
	if m.opts.hardware() {
		return nil
	}
	if m.opts.tap != "" {
		m.tap, err = tap.Open(m.opts.tap, &tap.Options{MTU: m.opts.mtu})
		if err != nil {
			m.tap = nil
			return err
		}
	} else if m.user, err = usernet.New(&usernet.Options{MTU: m.opts.mtu}); err != nil {
		return err
	}
	if m.opts.pcap != "" {
		if m.pcap, err = pcap.Create(m.opts.pcap, nil); err != nil {
			return fmt.Errorf("%w: choose a file that can be written with -pcap", err)
		}
	}
	return nil
}

// config is what a MAC is asked for, fake or real.
func (m *machine) config() mac.Config {
	return mac.Config{
		MTU: m.opts.mtu, Queues: m.opts.queues, CopyBreak: m.opts.copyBreak,
		Coalesce: &m.opts.coalesce, Logger: m.log,
	}
}

// openMAC opens the real MAC, or makes a fake one and plugs the cable in.
func (m *machine) openMAC(ctx context.Context) (err error) {
	if m.opts.hardware() {
		return m.openHardware(ctx)
	}
	config := m.config()
	config.Link = link
	core, err := m.opts.fakeCore()
	if err != nil {
		return err
	}
	m.fake, err = fake.New(&fake.Options{
		Config: config, Core: core,
		Build: sim.Build{
			FIFO:   fifoSize,
			Inline: true, // the FIFO drains, and asks for a pause, as each frame arrives
		},
	})
	if err != nil {
		return err
	}
	m.dev = m.fake.Device
	o := cable.Options{Link: link, FlowControl: true}
	if m.pcap != nil {
		o.Taps = []cable.Tap{m.pcap.Tap}
	}
	var far sim.Port = m.user
	if m.tap != nil {
		far = m.tap
	}
	m.cable = cable.Connect(m.fake.Port(), far, &o)
	return nil
}

// fakeCore is the core that -core names, with its model.
func (o *options) fakeCore() (fake.Core, error) {
	name := o.core
	if name == "" {
		name = defaultCore
	}
	driver, err := cores.Find(name)
	if err != nil {
		return fake.Core{}, err
	}
	model, err := models.Find(name)
	return fake.Core{Driver: driver, Build: model.Build}, err
}

// openStack makes what is on top of the MAC, which starts it, and waits for the
// link.
func (m *machine) openStack(ctx context.Context) (err error) {
	up := make(chan struct{})
	var once sync.Once
	m.dev.OnLink(func(l mac.Link) {
		if l.Up {
			once.Do(func() { close(up) })
		}
	})
	m.ep, err = endpoint.New(m.dev, &endpoint.Options{GRO: true, GSO: true, Logger: m.log})
	if err != nil {
		return err
	}
	o := netstack.Options{Addresses: m.opts.ips, Gateways: m.opts.gateways, Logger: m.log}
	if m.user != nil {
		guest := m.user.Guest(stackPort).Addr()
		o.Addresses = []netip.Prefix{netip.PrefixFrom(guest, 24)}
	}
	m.host, err = netstack.New(m.ep, &o)
	if err = errors.Join(err, m.ep.Err()); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, linkPatience)
	defer cancel()
	select {
	case <-up:
		return nil
	case <-wait.Done():
	}
	if m.opts.hardware() && ctx.Err() == nil {
		m.log.Warn("no link yet", "device", m.dev.Name()) // a real cable may come later
		return nil
	}
	return fmt.Errorf("wait for the link of %s: %w", m.dev.Name(), wait.Err())
}

// serve listens in the stack.
func (m *machine) serve(ctx context.Context) error {
	at := netip.AddrPortFrom(netip.IPv6Unspecified(), stackPort)
	if m.user == nil {
		at = m.opts.addr
		if !at.Addr().IsValid() {
			at = netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
		}
	}
	listener, err := m.host.Listen(ctx, "tcp", at.String())
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	echo, err := m.host.ListenPacket(ctx, "udp", net.JoinHostPort(at.Addr().String(), fmt.Sprint(port)))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	m.http = &http.Server{
		Handler:           m.site.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       patience,
		WriteTimeout:      patience,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return m.alive },
		ConnState:         m.conns.observe,
		ErrorLog:          slog.NewLogLogger(m.log.Handler(), slog.LevelDebug),
	}
	m.work.Go(func() { m.http.Serve(listener) }) // ends with Shutdown
	m.work.Go(func() { echoUDP(echo) })          // ends with the host
	if m.user == nil {
		for _, p := range m.opts.ips {
			if a := m.opts.addr.Addr(); !a.IsValid() || a.IsUnspecified() || a == p.Addr() {
				m.urls = append(m.urls, url(p.Addr(), port))
			}
		}
	}
	return nil
}

// publish forwards the port of this machine, if there is to be one.
func (m *machine) publish(context.Context) error {
	if m.user == nil {
		return nil
	}
	guest := m.user.Guest(stackPort)
	addr, err := m.user.ForwardTCP(m.opts.addr, guest)
	if err != nil {
		return fmt.Errorf("-addr %s: %w", m.opts.addr, err)
	}
	at := addr.(*net.TCPAddr).AddrPort()
	m.urls = []string{url(at.Addr(), int(at.Port()))}
	if _, err := m.user.ForwardUDP(at, guest); err != nil {
		m.log.Warn("no UDP echo", "err", err)
	}
	return nil
}

func url(a netip.Addr, port int) string {
	a = a.Unmap()
	if a.IsUnspecified() {
		a = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "http://" + netip.AddrPortFrom(a, uint16(port)).String() + "/"
}

// echoUDP sends each datagram back until the socket is closed.
func echoUDP(c net.PacketConn) {
	defer c.Close()
	buf := make([]byte, 64<<10)
	for {
		n, from, err := c.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			c.WriteTo(buf[:n], from) // as lossy as UDP is
		}
	}
}

// close ends everything from the top down, so that what is above never finds its
// floor gone: requests, then their last bytes, stack, endpoint and MAC; then
// cable, far end and recording. It does so also after a boot that stopped
// half-way.
func (m *machine) close() error {
	if m.http != nil {
		m.shutdownHTTP()
	}
	m.kill()
	var errs []error
	switch {
	case m.host != nil:
		errs = append(errs, m.host.Close(), m.ep.Err())
	case m.dev != nil:
		errs = append(errs, m.dev.Close())
	}
	m.work.Wait()
	m.conns.wait()
	if m.cable != nil {
		errs = append(errs, m.cable.Close())
	}
	if m.user != nil {
		errs = append(errs, m.user.Close())
	}
	if m.tap != nil {
		errs = append(errs, m.tap.Close())
	}
	if m.pcap != nil {
		errs = append(errs, m.pcap.Close())
	}
	return errors.Join(errs...)
}

// shutdownHTTP lets requests under way end, cuts them off when they take too
// long, and waits until the clients have what was sent.
func (m *machine) shutdownHTTP() {
	ctx, cancel := context.WithTimeout(context.Background(), m.opts.grace)
	defer cancel()
	if err := m.http.Shutdown(ctx); err != nil {
		m.log.Warn("connections cut off", "after", m.opts.grace)
		m.http.Close()
		return
	}
	ticker := time.NewTicker(drainInterval)
	defer ticker.Stop()
	for end := time.Now().Add(drainWait); m.draining() && time.Now().Before(end); {
		<-ticker.C
	}
}

// draining reports whether a connection that was closed has not been
// acknowledged to its end.
func (m *machine) draining() bool {
	if m.user != nil && m.user.Stats().TCPActive > 0 {
		return true
	}
	for _, e := range m.host.Stack().RegisteredEndpoints() {
		if s, ok := e.(interface{ State() uint32 }); ok {
			switch tcp.EndpointState(s.State()) {
			case tcp.StateFinWait1, tcp.StateClosing, tcp.StateLastAck:
				return true
			}
		}
	}
	return false
}

// lent is how many pages an error of close says are still lent.
func lent(err error) (n int) {
	var e *pagepool.LentError
	if errors.As(err, &e) {
		n = e.Lent
	}
	return n
}

// oneLine is an error without line breaks.
func oneLine(err error) string {
	return strings.NewReplacer(":\n", ": ", "\n", "; ").Replace(err.Error())
}
