//go:build linux

package linux

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim/cable"
)

// engines are the checks of dwmac4's checksum and segmentation engines that go
// beyond the list.
func (m *machine) engines(t *testing.T, b *barewire) {
	p := m.devices[0].model.(*probe)
	check(t, m.title, "TSO and transmit checksums by the engines", func(t *testing.T) {
		before := p.Stats()
		m.transfers(t, b)
		after := p.Stats()
		require.NotZero(t, after.TSOFrames-before.TSOFrames)
		require.Greater(t, after.TSOSegments-before.TSOSegments, 2*(after.TSOFrames-before.TSOFrames))
		require.NotZero(t, after.Checksums-before.Checksums)
		require.GreaterOrEqual(t, after.MSSContexts-before.MSSContexts, uint64(1), "IPv4 and IPv6 differ in the MSS")
	})
	check(t, m.title, "ethtool -K tx off: neither checksums nor TSO", func(t *testing.T) {
		m.run(t, "ethtool -K eth0 tx off")
		defer m.run(t, "ethtool -K eth0 tx on tso on")
		before := p.Stats()
		m.transfers(t, b)
		require.Equal(t, before.TSOFrames, p.Stats().TSOFrames)
		require.Equal(t, before.Checksums, p.Stats().Checksums)
	})
	check(t, m.title, "ethtool -K rx off: the engine is", func(t *testing.T) {
		require.NotZero(t, p.Read32(macConfig)&configIPC)
		m.run(t, "ethtool -K eth0 rx off")
		require.Zero(t, p.Read32(macConfig)&configIPC)
		before := m.number(t, "stat eth0 mmc_rx_tcp_gd")
		m.download(t, peer4, 100_000)
		require.Equal(t, before, m.number(t, "stat eth0 mmc_rx_tcp_gd"))
		m.run(t, "ethtool -K eth0 rx on")
		require.NotZero(t, p.Read32(macConfig)&configIPC)
		m.download(t, peer4, 100_000)
		require.Less(t, before, m.number(t, "stat eth0 mmc_rx_tcp_gd"))
	})
	check(t, m.title, "bits flipped on the wire are caught", func(t *testing.T) {
		b.plug(&cable.Options{AToB: cable.Impairments{Seed: 3, Corrupt: 20}, BToA: cable.Impairments{Seed: 4, Corrupt: 20}})
		defer b.plug(nil)
		before := m.number(t, "stat eth0 mmc_rx_tcp_err")
		m.upload(t, peer4, 1<<20)
		m.download(t, peer4, 1<<20)
		require.NotZero(t, b.cable.Stats(fromLinux).Corrupted)
		require.NotZero(t, b.cable.Stats(toLinux).Corrupted)
		require.NotZero(t, m.number(t, "stat eth0 mmc_rx_tcp_err")-before, "seen by the model's engine")
		require.NotZero(t, m.number(t, `awk '/^Tcp:/ { n = $NF } END { print n }' /proc/net/snmp`), "and dropped by Linux: InCsumErrors")
	})
}

// moderation are the checks of dwmac4's requests for interrupts in descriptors.
func (m *machine) moderation(t *testing.T) {
	p := m.devices[0].model.(*probe)
	check(t, m.title, "ethtool -A: nothing to set on a fixed link", func(t *testing.T) {
		_, err := m.try(t, "ethtool -A eth0 rx on")
		require.Error(t, err)
		require.Zero(t, p.Read32(macRxFlow)&rxFlowRFE)
	})
	check(t, m.title, "ethtool -C tx-frames", func(t *testing.T) {
		defer m.run(t, "ethtool -C eth0 tx-usecs 5000 tx-frames 25")
		count := func() (frames, interrupts int64) {
			n, ioc := p.tx.Load(), p.txIOC.Load()
			m.pings(t, 20, peer4, 56)
			return p.tx.Load() - n, p.txIOC.Load() - ioc
		}
		m.run(t, "ethtool -C eth0 tx-usecs 1000 tx-frames 0")
		n, ioc := count()
		require.GreaterOrEqual(t, n, int64(20))
		require.Zero(t, ioc, "by the timer only")
		m.run(t, "ethtool -C eth0 tx-usecs 1000 tx-frames 1")
		n, ioc = count()
		require.GreaterOrEqual(t, n, int64(20))
		require.Equal(t, n, ioc)
	})
	check(t, m.title, "ethtool -C rx-frames", func(t *testing.T) {
		defer m.run(t, "ethtool -C eth0 rx-frames 0; ethtool -G eth0 rx 512; carrier eth0")
		m.run(t, "ethtool -G eth0 rx 64; carrier eth0; ethtool -C eth0 rx-frames 0")
		ioc, stat := p.rxIOC.Load(), p.Stats().IOC
		m.pings(t, 80, peer4, 56)
		require.Equal(t, ioc, p.rxIOC.Load(), "watchdog only")
		require.Equal(t, stat, p.Stats().IOC)
		m.run(t, "ethtool -C eth0 rx-frames 8")
		m.pings(t, 70, peer4, 56) // round the ring: what was posted before has no IOC
		n, ioc, stat := p.rx.Load(), p.rxIOC.Load(), p.Stats().IOC
		m.pings(t, 20, peer4, 56)
		n, ioc = p.rx.Load()-n, p.rxIOC.Load()-ioc
		require.GreaterOrEqual(t, n, int64(20))
		require.Equal(t, n, ioc, "stmmac asks at every descriptor, whatever the number")
		require.GreaterOrEqual(t, p.Stats().IOC-stat, uint64(20))
	})
}
