//go:build linux

package linux

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// pairLib gives the guest a second network namespace, in which eth1 is, and
// sends a file between the two.
const pairLib = `
other() { nsenter -t $(cat /tmp/other) -n "$@"; }
# there FROM TO ADDRESS: send a file to where TO runs a command
there() {
	$2 nc -l -p 5000 -e sh -c 'cat > /tmp/rx' & receiver=$!
	for i in $(seq 600); do $2 netstat -ltn | grep -q :5000 && break; sleep 0.1; done
	$1 nc $3 5000 < /tmp/tx; wait $receiver; cmp /tmp/tx /tmp/rx
}
`

// TestPair joins two cores, an old one with 32-bit addresses and one that is as
// by default, both driven by Linux.
func TestPair(t *testing.T) {
	m := start(t, setup{title: "stmmac 4.10 and 5.10", cores: []core{
		dwmac4Core(dwmac4.Config{Version: 0x41, AddressBits: 32, Seed: 1}), dwmac4Core(dwmac4.Config{}),
	}})
	old := m.devices[0].model.(*probe)
	wire := cable.Connect(m.devices[0].port(), m.devices[1].port(), nil)
	defer func() { require.NoError(t, wire.Close()) }()
	m.run(t, pairLib+`
		ip link set eth1 down
		unshare -n sleep 10000 > /dev/null 2>&1 & echo $! > /tmp/other
		for i in $(seq 600); do [ $(readlink /proc/$!/ns/net) != $(readlink /proc/self/ns/net) ] && break; sleep 0.05; done
		ip link set eth1 netns $(cat /tmp/other)
		other /sbin/ip addr add 192.0.2.11/24 dev eth1
		other /sbin/ip link set eth1 up
		other /sbin/ip -6 addr add fd00::11/64 dev eth1 nodad
		head -c 500000 /dev/urandom > /tmp/tx; sleep 0.5`)
	check(t, m.title, "ping, IPv4 and IPv6, 0 to 1472", func(t *testing.T) {
		m.pings(t, 1, "192.0.2.11", 56) // resolves the address
		m.pings(t, 2, "192.0.2.11", sizes...)
		m.pings(t, 2, "fd00::11", 0, 1, 1000, 1452, 4000)
	})
	transfers := func(t *testing.T) {
		before := old.Stats()
		for _, version := range [][2]string{{"192.0.2.11", "192.0.2.10"}, {"fd00::11", "fd00::10"}} {
			m.run(t, pairLib+fmt.Sprintf("there '' other %s && there other '' %s", version[0], version[1]))
		}
		require.NotZero(t, old.Stats().Checksums-before.Checksums)
	}
	check(t, m.title, "TCP both ways, IPv4 and IPv6", transfers)
	check(t, m.title, "TCP over a wire that flips bits", func(t *testing.T) {
		require.NoError(t, wire.Close())
		wire = cable.Connect(m.devices[0].port(), m.devices[1].port(), &cable.Options{
			AToB: cable.Impairments{Seed: 1, Corrupt: 20}, BToA: cable.Impairments{Seed: 2, Corrupt: 20},
		})
		transfers(t)
		require.NotZero(t, wire.Stats(cable.AToB).Corrupted)
		require.NotZero(t, wire.Stats(cable.BToA).Corrupted)
		bad := m.run(t, "ethtool -S eth0 | sed -n 's/^ *mmc_rx_tcp_err: //p'")
		require.NotEqual(t, "0", strings.TrimSpace(bad), "the engine has seen them")
	})
	m.run(t, "kill $(cat /tmp/other); for i in $(seq 600); do [ -e /sys/class/net/eth1 ] && break; sleep 0.1; done; true")
	m.healthy(t)
}
