//go:build linux

package linux

import (
	"testing"

	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// sizes are payloads of echoes around every edge: the padding of short frames,
// the least that an engine sums, cache lines, the largest frame.
var sizes = []int{0, 1, 17, 18, 19, 46, 63, 64, 65, 127, 128, 255, 256, 511, 512, 1000, 1471, 1472}

// TestStmmac is the core as it is by default, with a fixed link and Barewire as
// the peer.
func TestStmmac(t *testing.T) {
	m := start(t, setup{title: "stmmac 5.10", models: []dwmac4.Config{{}}, fixed: gigabit()})
	b := newBarewire(t, m.probes[0])
	m.traffic(t, b)
	m.offloads(t, b)
	m.moderation(t)
	m.rings(t, b)
	m.filters(t)
	m.lifeCycle(t, b)
	m.healthy(t)
}

// traffic is what any peer is good for.
func (m *machine) traffic(t *testing.T, peer stack) {
	for _, c := range []struct {
		name string
		f    func(t *testing.T)
	}{
		{"ping, IPv4, 0 to 1472", func(t *testing.T) { m.pings(t, 2, peer4, sizes...) }},
		{"ping, IPv6, 0 to 1452", func(t *testing.T) { m.pings(t, 2, peer6, append(sizes[:len(sizes)-2:len(sizes)-2], 1451, 1452)...) }},
		{"ping, fragments", func(t *testing.T) { m.pings(t, 2, peer4, 1473, 4000, 8000); m.pings(t, 2, peer6, 1453, 8000) }},
		{"HTTP download, IPv4", func(t *testing.T) { m.download(t, peer4, 1<<20) }},
		{"TCP upload, IPv4", func(t *testing.T) { m.upload(t, peer4, 1<<20) }},
		{"HTTP download, IPv6", func(t *testing.T) { m.download(t, "["+peer6+"]", 1<<19) }},
		{"TCP upload, IPv6", func(t *testing.T) { m.upload(t, peer6, 1<<19) }},
		{"HTTP server in the guest", func(t *testing.T) { m.fetch(t, peer, "192.0.2.10", 1<<20) }},
		{"TCP both ways at once", func(t *testing.T) { m.echo(t, peer, "192.0.2.10", 1<<19) }},
	} {
		check(t, m.title, c.name, c.f)
	}
}
