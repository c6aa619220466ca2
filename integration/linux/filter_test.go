//go:build linux

package linux

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Addresses of the filter checks.
var (
	ownAddress   = [6]byte{2, 0, 0, 0, 0, 10}
	otherAddress = [6]byte{2, 0, 0, 0, 0, 99}
	everyone     = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	group        = [6]byte{1, 0, 0x5e, 1, 2, 3}
	otherGroup   = [6]byte{1, 0, 0x5e, 9, 9, 9}
)

// deliver sends n frames to a destination address from the wire.
func (d *device) deliver(n int, to [6]byte) {
	f := make([]byte, 60)
	copy(f, to[:])
	copy(f[6:], []byte{2, 0, 0, 0, 0, 1, 0x88, 0xb5}) // an EtherType for experiments
	for range n {
		d.port().Deliver(f)
	}
}

// passes checks whether Linux gets frames to an address. It drops them, since it
// has no use for their EtherType, and counts that: nothing else is counted there.
// One more frame, to the station's own address, comes after them: once that is
// counted, they have passed or they never will.
func (m *machine) passes(t *testing.T, want bool, to, own [6]byte) {
	t.Helper()
	dropped := func() uint64 { return m.number(t, "cat /sys/class/net/eth0/statistics/rx_dropped") }
	expect := dropped() + 1
	if want {
		expect += 5
	}
	m.devices[0].deliver(5, to)
	m.devices[0].deliver(1, own)
	got := uint64(0)
	m.until(t, func() bool { got = dropped(); return got >= expect }, "Linux has the frames that should pass")
	require.Equal(t, expect, got, "to % x", to)
}

// filters are the checks of multicast and promiscuous mode.
func (m *machine) filters() []step {
	return []step{
		{"unicast filter", true, func(t *testing.T) {
			m.passes(t, true, ownAddress, ownAddress)
			m.passes(t, true, everyone, ownAddress)
			m.passes(t, false, otherAddress, ownAddress)
		}},
		{"multicast filter, ip maddr", true, func(t *testing.T) {
			m.passes(t, false, group, ownAddress)
			m.run(t, "ip maddr add 01:00:5e:01:02:03 dev eth0")
			m.passes(t, true, group, ownAddress)
			m.passes(t, false, otherGroup, ownAddress)
			m.run(t, "ip maddr del 01:00:5e:01:02:03 dev eth0")
			m.passes(t, false, group, ownAddress)
		}},
		{"all multicast", true, func(t *testing.T) {
			m.run(t, "ip link set eth0 allmulticast on")
			m.passes(t, true, otherGroup, ownAddress)
			m.passes(t, false, otherAddress, ownAddress)
			m.run(t, "ip link set eth0 allmulticast off")
			m.passes(t, false, otherGroup, ownAddress)
		}},
		{"promiscuous mode", true, func(t *testing.T) {
			m.run(t, "ip link set eth0 promisc on")
			m.passes(t, true, otherAddress, ownAddress)
			m.passes(t, true, otherGroup, ownAddress)
			m.run(t, "ip link set eth0 promisc off")
			m.passes(t, false, otherAddress, ownAddress)
		}},
		{"another station address", true, func(t *testing.T) {
			m.run(t, "ip link set eth0 down; ip link set eth0 address 02:00:00:00:00:63; ip link set eth0 up; carrier eth0")
			m.passes(t, false, ownAddress, otherAddress)
			m.pings(t, 3, peer4, 56)
			m.run(t, "ip link set eth0 down; ip link set eth0 address 02:00:00:00:00:0a; ip link set eth0 up; carrier eth0")
			m.passes(t, false, otherAddress, ownAddress)
			m.pings(t, 3, peer4, 56)
		}},
	}
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
