package endpoint_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac/fake"
)

// patience bounds every wait in these tests; a test that reaches it has failed.
const patience = 20 * time.Second

// node is a host on a fake MAC.
type node struct {
	mac  *fake.MAC
	ep   *endpoint.Endpoint
	host *netstack.Host
	ip4  netip.Addr
	ip6  netip.Addr
}

type nodeOptions struct {
	fake     fake.Options
	endpoint endpoint.Options
}

// pair makes two hosts on one wire, closes them when the test ends, and checks
// then that no page is lent, no goroutine left and no rule of the hardware
// broken.
func pair(t testing.TB, a, b nodeOptions) (*node, *node) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	if _, bench := t.(*testing.B); !bench { // these cost time per frame
		a.fake.Config.Poison, b.fake.Config.Poison = true, true
		a.fake.Build.CheckArmed, b.fake.Build.CheckArmed = true, true
	}
	a.fake.Config.Name, b.fake.Config.Name = "a", "b"
	x, y, err := fake.Pair(&a.fake, &b.fake)
	require.NoError(t, err)
	na := newNode(t, x, a.endpoint, "192.0.2.1", "fd00::1")
	nb := newNode(t, y, b.endpoint, "192.0.2.2", "fd00::2")
	t.Cleanup(func() {
		na.close(t)
		nb.close(t)
		goleak.VerifyNone(t, ignore)
	})
	return na, nb
}

func newNode(t testing.TB, m *fake.MAC, o endpoint.Options, ip4, ip6 string) *node {
	t.Helper()
	ep, err := endpoint.New(m.Device, &o)
	require.NoError(t, err)
	n := &node{mac: m, ep: ep, ip4: netip.MustParseAddr(ip4), ip6: netip.MustParseAddr(ip6)}
	n.host, err = netstack.New(ep, &netstack.Options{
		Addresses:    []netip.Prefix{netip.PrefixFrom(n.ip4, 24), netip.PrefixFrom(n.ip6, 64)},
		DADTransmits: -1,
	})
	require.NoError(t, err)
	return n
}

func (n *node) close(t testing.TB) {
	t.Helper()
	require.NoError(t, n.host.Close())
	require.NoError(t, n.ep.Err(), "closing reports lent pages and DMA that does not stop")
	s := n.mac.Snapshot()
	for _, q := range s.Queues {
		require.Zero(t, q.Pool.Lent, "pages lent after close")
		require.Equal(t, q.Pool.Pages, q.Pool.Free, "free pages after close")
	}
	require.Empty(t, n.mac.Model().Violations().List())
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}
