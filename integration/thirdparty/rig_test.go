package thirdparty

import (
	"context"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/pagepool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; a test that reaches it has failed.
const patience = 30 * time.Second

// pair makes two hosts on one wire. When the test ends it closes them and checks
// that no page is lent, no goroutine left, and no rule of the hardware broken.
func pair(t *testing.T) (server, client *netstack.Host) {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	options := func() *fake.Options {
		return &fake.Options{Config: mac.Config{Poison: true, CopyBreak: pagepool.LendAlways}}
	}
	a, b, err := fake.Pair(options(), options())
	require.NoError(t, err)
	return newHost(t, a, 1), newHost(t, b, 2)
}

func newHost(t *testing.T, m *fake.MAC, number byte) *netstack.Host {
	ep, err := endpoint.New(m.Device, &endpoint.Options{GRO: true, GSO: true})
	require.NoError(t, err)
	host, err := netstack.New(ep, &netstack.Options{
		Addresses: []netip.Prefix{
			netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, number}), 24),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 15: number}), 64),
		},
		DADTransmits: -1,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, host.Close())
		m.Unplug()
		require.NoError(t, ep.Err(), "closing reports pages still lent and DMA that does not stop")
		for _, q := range m.Snapshot().Queues {
			require.Equal(t, q.Pool.Pages, q.Pool.Free, "pages free after close")
		}
		require.Empty(t, m.Model().Violations().List(), "rules of the hardware broken")
	})
	return host
}

// newClient is an HTTP client that dials through host.
func newClient(t *testing.T, host *netstack.Host) *http.Client {
	transport := &http.Transport{DialContext: host.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
