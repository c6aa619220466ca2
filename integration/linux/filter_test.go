//go:build linux

package linux

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deliver sends n frames to a destination address from the wire, and says how
// many the model has let through and how many its filter has held.
func (m *machine) deliver(n int, to [6]byte) (passed, filtered uint64) {
	p := m.probes[0]
	f := make([]byte, 60)
	copy(f, to[:])
	copy(f[6:], []byte{2, 0, 0, 0, 0, 1, 0x88, 0xb5}) // an EtherType for experiments
	before := p.Stats()
	for range n {
		p.Deliver(f)
	}
	after := p.Stats()
	return after.RX[0] - before.RX[0], after.Filtered - before.Filtered
}

// filters are the checks of multicast and promiscuous mode. Nothing else may be
// on the wire: what is delivered is counted exactly.
func (m *machine) filters(t *testing.T) {
	p := m.probes[0]
	own, foreign := [6]byte{2, 0, 0, 0, 0, 10}, [6]byte{2, 0, 0, 0, 0, 99}
	group, other := [6]byte{1, 0, 0x5e, 1, 2, 3}, [6]byte{1, 0, 0x5e, 9, 9, 9}
	want := func(t *testing.T, to [6]byte, passes bool) {
		t.Helper()
		passed, filtered := m.deliver(5, to)
		if passes {
			require.Equal(t, [2]uint64{5, 0}, [2]uint64{passed, filtered}, "% x", to)
		} else {
			require.Equal(t, [2]uint64{0, 5}, [2]uint64{passed, filtered}, "% x", to)
		}
	}
	received := func(t *testing.T) uint64 { return m.number(t, "cat /sys/class/net/eth0/statistics/rx_packets") }

	check(t, m.title, "unicast filter", func(t *testing.T) {
		before := received(t)
		want(t, own, true)
		want(t, [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true)
		want(t, foreign, false)
		m.until(t, func() bool { return received(t) == before+10 }, "Linux has the ten frames that passed")
	})
	check(t, m.title, "multicast filter, ip maddr", func(t *testing.T) {
		want(t, group, false)
		m.run(t, "ip maddr add 01:00:5e:01:02:03 dev eth0")
		require.Equal(t, uint32(filterHMC), p.Read32(macPacketFilter)&(filterHMC|filterPR))
		before := received(t)
		want(t, group, true)
		want(t, other, false)
		m.until(t, func() bool { return received(t) >= before+5 }, "Linux has the group's frames")
		m.run(t, "ip maddr del 01:00:5e:01:02:03 dev eth0")
		want(t, group, false)
		m.run(t, "ip link set eth0 allmulticast on")
		want(t, other, true)
		want(t, foreign, false)
		m.run(t, "ip link set eth0 allmulticast off")
		want(t, other, false)
	})
	check(t, m.title, "promiscuous mode", func(t *testing.T) {
		require.Zero(t, p.Read32(macPacketFilter)&filterPR)
		m.run(t, "ip link set eth0 promisc on")
		require.NotZero(t, p.Read32(macPacketFilter)&filterPR)
		before := received(t)
		want(t, foreign, true)
		want(t, other, true)
		m.until(t, func() bool { return received(t) >= before+10 }, "Linux has them")
		m.run(t, "ip link set eth0 promisc off")
		require.Zero(t, p.Read32(macPacketFilter)&filterPR)
		want(t, foreign, false)
	})
	check(t, m.title, "another station address", func(t *testing.T) {
		m.run(t, "ip link set eth0 down; ip link set eth0 address 02:00:00:00:00:63; ip link set eth0 up; carrier eth0")
		want(t, foreign, true)
		want(t, own, false)
		m.pings(t, 3, peer4, 56)
		m.run(t, "ip link set eth0 down; ip link set eth0 address 02:00:00:00:00:0a; ip link set eth0 up; carrier eth0")
		want(t, own, true)
		want(t, foreign, false)
		m.pings(t, 3, peer4, 56)
	})
}

// until waits for something that the guest is about to do.
func (m *machine) until(t *testing.T, done func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(commandTime); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}
