package endpoint_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/mac/fake"
)

// receiver is a dispatcher that counts what is delivered and, when asked, keeps
// it. It is what netstack is to the endpoint.
type receiver struct {
	count atomic.Int64
	link  atomic.Int64 // delivered to packet sockets alone
	keep  bool
	each  func() // called with every delivery
	mu    sync.Mutex
	pkts  []*stack.PacketBuffer
	caps  []stack.LinkEndpointCapabilities
	ep    *endpoint.Endpoint
}

func (r *receiver) DeliverNetworkPacket(_ tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	if r.keep {
		r.mu.Lock()
		r.pkts = append(r.pkts, pkt.IncRef())
		r.caps = append(r.caps, r.ep.Capabilities())
		r.mu.Unlock()
	}
	r.count.Add(1)
	if r.each != nil {
		r.each()
	}
}

func (r *receiver) DeliverLinkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {
	r.link.Add(1)
}

func (r *receiver) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pkts {
		p.DecRef()
	}
	r.pkts, r.caps = nil, nil
}

// eventually waits for a state that another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting: %s", what)
		}
		runtime.Gosched()
	}
}

// single makes an endpoint on a fake MAC whose wire is the test's.
func single(t testing.TB, o nodeOptions, keep bool) (*fake.MAC, *endpoint.Endpoint, *receiver) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	m, err := fake.New(&o.fake)
	require.NoError(t, err)
	ep, err := endpoint.New(m.Device, &o.endpoint)
	require.NoError(t, err)
	r := &receiver{keep: keep, ep: ep}
	ep.Attach(r)
	require.NoError(t, ep.Err())
	eventually(t, "link up", func() bool { return m.Link().Up })
	t.Cleanup(func() {
		r.release()
		ep.Close()
		require.NoError(t, ep.Err())
		require.Empty(t, m.Model().Violations().List())
		goleak.VerifyNone(t, ignore)
	})
	return m, ep, r
}
