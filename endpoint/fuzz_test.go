package endpoint_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/pagepool"
)

// FuzzReceive puts any bytes on the wire as frames, through model, driver,
// endpoint and netstack. Whatever they are, a good datagram after them arrives.
func FuzzReceive(f *testing.F) {
	m, err := fake.New(&fake.Options{Config: mac.Config{Coalesce: immediate, CopyBreak: pagepool.LendAlways, PageSize: 256, RXRing: 64, Pages: 256}})
	require.NoError(f, err)
	ep, err := endpoint.New(m.Device, &endpoint.Options{GRO: true})
	require.NoError(f, err)
	host, err := netstack.New(ep, &netstack.Options{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24"), netip.MustParsePrefix("fd00::1/64")}, DADTransmits: -1})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, host.Close()) })
	pc, err := host.ListenPacket(context.Background(), "udp", "192.0.2.1:2")
	require.NoError(f, err)

	f.Add([]byte{}, false)
	f.Add(udpFrame(m, 10), true)
	f.Add(fragments(m, 1000, false)[0], true)
	f.Add(append(udpFrame(m, 0)[:12], 0x86, 0xdd, 0x60), true)
	probe := udpFrame(m, 777)
	buf := make([]byte, 2048)
	f.Fuzz(func(t *testing.T, b []byte, addressed bool) {
		if addressed && len(b) >= 6 {
			a := m.Address()
			copy(b, a[:])
		}
		// Whole, and cut in two frames.
		m.Send(b)
		m.Send(b[:len(b)/2])
		m.Send(probe)
		for n := 0; n != 777; {
			require.NoError(t, pc.SetReadDeadline(time.Now().Add(patience)))
			n, _, err = pc.ReadFrom(buf)
			require.NoError(t, err)
		}
		require.Empty(t, m.Model().Violations().List())
	})
}
