package netstack

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	macA = tcpip.LinkAddress("\x02\x00\x00\x00\x00\x0a")
	macB = tcpip.LinkAddress("\x02\x00\x00\x00\x00\x0b")
)

var (
	a4 = netip.MustParsePrefix("10.0.0.1/24")
	a6 = netip.MustParsePrefix("2001:db8::1/64")
	b4 = netip.MustParsePrefix("10.0.0.2/24")
	b6 = netip.MustParsePrefix("2001:db8::2/64")
)

// link is an endpoint under test control. Like a network card, and unlike the
// pipe below it, it sends from a goroutine of its own: a pipe runs the receiving
// stack within the sender's call, and two stacks that close at the same time
// would wait for each other's locks. It can drop what is sent, and records what
// its multicast filter is told. It forwards the GSO side of what it wraps, as
// every wrapper must.
type link struct {
	stack.LinkEndpoint
	drop atomic.Pointer[func(*stack.PacketBuffer) bool]
	wg   sync.WaitGroup

	mu       sync.Mutex
	more     *sync.Cond
	attached bool
	queue    []*stack.PacketBuffer
	groups   map[tcpip.LinkAddress]int
	refuse   error
}

func (l *link) Attach(d stack.NetworkDispatcher) {
	l.LinkEndpoint.Attach(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attached = d != nil; l.attached {
		l.wg.Go(l.send)
	}
	l.more.Broadcast()
}

func (l *link) Close() {
	l.wg.Wait() // detached before
	l.LinkEndpoint.Close()
}

func (l *link) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	drop := l.drop.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range pkts.AsSlice() {
		if l.attached && len(l.queue) < 4096 && (drop == nil || !(*drop)(p)) {
			l.queue = append(l.queue, p.IncRef())
		}
	}
	l.more.Signal()
	return pkts.Len(), nil
}

// send moves packets from the queue to the pipe. What is queued when the link
// is detached still goes out.
func (l *link) send() {
	for {
		l.mu.Lock()
		for l.attached && len(l.queue) == 0 {
			l.more.Wait()
		}
		batch := l.queue
		l.queue = nil
		l.mu.Unlock()
		if batch == nil {
			return
		}
		var pkts stack.PacketBufferList
		for _, p := range batch {
			pkts.PushBack(p)
		}
		_, _ = l.LinkEndpoint.WritePackets(pkts)
		pkts.Reset()
	}
}

func (l *link) setDrop(f func(*stack.PacketBuffer) bool) { l.drop.Store(&f) }

func (l *link) GSOMaxSize() uint32 {
	if g, ok := l.LinkEndpoint.(stack.GSOEndpoint); ok {
		return g.GSOMaxSize()
	}
	return 0
}

func (l *link) SupportedGSO() stack.SupportedGSO {
	if g, ok := l.LinkEndpoint.(stack.GSOEndpoint); ok {
		return g.SupportedGSO()
	}
	return stack.GSONotSupported
}

func (l *link) JoinGroup(a tcpip.LinkAddress) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return l.refuse
	}
	l.groups[a]++
	return nil
}

func (l *link) LeaveGroup(a tcpip.LinkAddress) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return l.refuse
	}
	if l.groups[a]--; l.groups[a] == 0 {
		delete(l.groups, a)
	}
	return nil
}

func (l *link) setRefuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = err
}

// joined is the filter as text, with counts.
func (l *link) joined() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := make(map[string]int)
	for a, n := range l.groups {
		m[a.String()] = n
	}
	return m
}

// newLinks makes both ends of a cable with an IP MTU of 1500.
func newLinks() (a, b *link) {
	pa, pb := pipe.New(macA, macB, 1514)
	wrap := func(p *pipe.Endpoint) *link {
		l := &link{LinkEndpoint: ethernet.New(p), groups: make(map[tcpip.LinkAddress]int)}
		l.more = sync.NewCond(&l.mu)
		return l
	}
	return wrap(pa), wrap(pb)
}

// pair makes two hosts on one cable, without duplicate address detection.
func pair(t testing.TB) (a, b *Host) {
	la, lb := newLinks()
	return newHost(t, la, &Options{Addresses: []netip.Prefix{a4, a6}, DADTransmits: -1}),
		newHost(t, lb, &Options{Addresses: []netip.Prefix{b4, b6}, DADTransmits: -1})
}

func newHost(t testing.TB, l stack.LinkEndpoint, o *Options) *Host {
	t.Helper()
	h, err := New(l, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// connect makes a TCP connection from client to a new listener on server.
func connect(t testing.TB, client, server *Host, address string) (c, s net.Conn) {
	t.Helper()
	ctx := context.Background()
	ln, err := server.Listen(ctx, "tcp", address)
	require.NoError(t, err)
	defer ln.Close()
	c, err = client.DialContext(ctx, "tcp", ln.Addr().String())
	require.NoError(t, err)
	s, err = ln.Accept()
	require.NoError(t, err)
	return c, s
}
