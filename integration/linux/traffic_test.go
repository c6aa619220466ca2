//go:build linux

package linux

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim/cable"
)

// sizes are payloads of echoes around every edge: the padding of short frames,
// the least that an engine sums, cache lines, the largest frame.
var sizes = []int{0, 1, 17, 18, 19, 46, 63, 64, 65, 127, 128, 255, 256, 511, 512, 1000, 1471, 1472}

// traffic are the checks that any peer is good for.
func (m *machine) traffic(peer stack) []step {
	n := cmp.Or(m.bytes, 128<<10)
	return []step{
		{"ping, IPv4, 0 to 1472", true, func(t *testing.T) { m.pings(t, 2, peer4, sizes...) }},
		{"ping, IPv6, 0 to 1452", true, func(t *testing.T) { m.pings(t, 2, peer6, append(sizes[:len(sizes)-2:len(sizes)-2], 1451, 1452)...) }},
		{"ping, fragments", true, func(t *testing.T) { m.pings(t, 2, peer4, 1473, 4000, 8000); m.pings(t, 2, peer6, 1453, 8000) }},
		{"HTTP download, IPv4", true, func(t *testing.T) { m.download(t, peer4, n) }},
		{"TCP upload, IPv4", true, func(t *testing.T) { m.upload(t, peer4, n) }},
		{"HTTP download, IPv6", true, func(t *testing.T) { m.download(t, "["+peer6+"]", n) }},
		{"TCP upload, IPv6", true, func(t *testing.T) { m.upload(t, peer6, n) }},
		{"HTTP server in the guest", true, func(t *testing.T) { m.fetch(t, peer, "192.0.2.10", n) }},
		{"TCP both ways at once", true, func(t *testing.T) { m.echo(t, peer, "192.0.2.10", n) }},
	}
}

// transfers is some of everything that an engine may have a part in.
func (m *machine) transfers(t *testing.T, b *barewire) {
	t.Helper()
	m.fetch(t, b, "192.0.2.10", 300_000) // by sendfile, in large pieces
	m.fetch(t, b, "[fd00::10]", 300_000)
	m.upload(t, peer6, 100_000)
	m.download(t, peer4, 100_000)
}

// features switches each feature off and on.
func (m *machine) features(t *testing.T, b *barewire) {
	d := m.devices[0]
	for _, f := range d.features {
		used := func() uint64 {
			if f.used == nil {
				return 0
			}
			return f.used(d.model)
		}
		require.NotContains(t, m.run(t, "ethtool -K eth0 "+f.name+" off; ethtool -k eth0"), "Could not")
		before := used()
		m.transfers(t, b)
		require.Equal(t, before, used(), "%s is off", f.name)
		m.run(t, "ethtool -K eth0 "+f.name+" on")
		m.transfers(t, b)
		if f.used != nil {
			require.Greater(t, used(), before, "%s is on", f.name)
		}
	}
}

// coalescing looks at what ethtool -C makes of registers. When interrupts come
// depends on QEMU's speed.
func (m *machine) coalescing(t *testing.T) {
	d := m.devices[0]
	for _, s := range d.coalesce {
		d.mark()
		m.run(t, "ethtool -C eth0 "+s.args)
		written := d.writes(s.reg)
		require.NotEmpty(t, written, "%s writes register %#x", s.args, s.reg)
		require.Equal(t, s.want, written[len(written)-1], "%s: register %#x", s.args, s.reg)
		m.pings(t, 3, peer4, 56)
	}
	last := d.coalesce[len(d.coalesce)-1]
	for _, bad := range d.refused {
		d.mark()
		_, err := m.try(t, "ethtool -C eth0 "+bad)
		require.Error(t, err, bad)
		for _, v := range d.writes(last.reg) { // a driver may write before it has seen all of a request
			require.Equal(t, last.want, v, bad)
		}
	}
}

// ringSizes sets the rings up anew with ethtool -G.
func (m *machine) ringSizes(t *testing.T) {
	d := m.devices[0]
	for _, n := range d.rings {
		m.run(t, fmt.Sprintf("ethtool -G eth0 rx %d tx %[1]d; carrier eth0", n))
		if d.slots != nil {
			rx, tx := d.slots(d.model)
			require.Equal(t, [2]int{n, n}, [2]int{rx, tx}, "descriptors of the receive and the transmit ring")
		}
		m.pings(t, 5, peer4, 56, 1472)
		m.upload(t, peer4, 200_000)
		m.download(t, peer4, 200_000)
	}
}

// mtu sends frames of the largest size both ways. The MTU is the network's: both
// ends have it.
func (m *machine) mtu(t *testing.T, b *barewire) {
	set := func(mtu int) {
		require.NoError(t, b.mac.SetMTU(mtu))
		m.run(t, fmt.Sprintf("ip link set eth0 down; ip link set eth0 mtu %d && ip link set eth0 up && carrier eth0", mtu))
	}
	defer set(1500)
	for _, mtu := range m.devices[0].mtus {
		set(mtu)
		var longest [2]atomic.Int64
		b.plug(&cable.Options{Taps: []cable.Tap{func(dir cable.Direction, f []byte) {
			longest[dir].Store(max(longest[dir].Load(), int64(len(f))))
		}}})
		m.reachPeer(t)
		m.pings(t, 2, peer4, 56, mtu-29, mtu-28)
		m.upload(t, peer4, 200_000)
		m.download(t, peer4, 200_000)
		m.upload(t, peer6, 200_000)
		b.plug(nil)
		m.reachPeer(t)
		require.EqualValues(t, mtu+ethernetH, longest[fromLinux].Load())
		require.EqualValues(t, mtu+ethernetH, longest[toLinux].Load())
	}
}

// reachPeer waits until the peer answers: a cable may just have been plugged in.
func (m *machine) reachPeer(t *testing.T) {
	t.Helper()
	m.run(t, "for i in $(seq 30); do ping -c 1 -W 1 -q "+peer4+" > /dev/null && exit 0; done; exit 1")
}
