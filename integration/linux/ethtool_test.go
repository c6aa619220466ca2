//go:build linux

package linux

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim/cable"
)

// tally counts what is on a wire as the MMC counters do.
type tally struct {
	mu sync.Mutex
	n  [2]map[string]uint64
}

func newTally() *tally { return &tally{n: [2]map[string]uint64{{}, {}}} }

// tap is a cable.Tap.
func (w *tally) tap(dir cable.Direction, f []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.n[dir]
	size := len(f) + fcsLength
	n["frames"]++
	n["octets"] += uint64(size)
	switch {
	case f[0]&f[1]&f[2]&f[3]&f[4]&f[5] == 0xff:
		n["broadcast"]++
	case f[0]&1 != 0:
		n["multicast"]++
	default:
		n["unicast"]++
	}
	bins := []int{64, 127, 255, 511, 1023}
	i := 0
	for i < len(bins) && size > bins[i] {
		i++
	}
	n[fmt.Sprintf("bin%d", i)]++
	if binary.BigEndian.Uint16(f[12:]) == 0x0800 {
		header := int(f[ethernetH]&15) * 4
		kind := map[byte]string{1: "icmp", 6: "tcp", 17: "udp"}[f[ethernetH+9]]
		n["ipv4"]++
		n[kind]++
		n[kind+"_octets"] += uint64(int(binary.BigEndian.Uint16(f[ethernetH+2:])) - header)
		n["ipv4_octets"] += uint64(binary.BigEndian.Uint16(f[ethernetH+2:]))
	}
}

func (w *tally) get(dir cable.Direction) map[string]uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]uint64{}
	for k, v := range w.n[dir] {
		out[k] = v
	}
	return out
}

// counters reads ethtool -S while nothing is on the wire.
func (m *machine) counters(t *testing.T, w *tally) (driver, tx, rx map[string]uint64) {
	t.Helper()
	for range 20 {
		before, beforeRX := w.get(fromLinux)["frames"], w.get(toLinux)["frames"]
		driver = map[string]uint64{}
		for line := range strings.Lines(m.run(t, "ethtool -S eth0")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if n, err := strconv.ParseUint(value, 10, 64); err == nil {
				driver[name] = n
			}
		}
		tx, rx = w.get(fromLinux), w.get(toLinux)
		if before == tx["frames"] && beforeRX == rx["frames"] {
			return driver, tx, rx
		}
	}
	t.Fatal("the wire is never quiet")
	return nil, nil, nil
}

// management compares the counters that Linux reads from the model with what was
// on the wire.
func (m *machine) management(t *testing.T, b *barewire) {
	w := newTally()
	b.plug(&cable.Options{Taps: []cable.Tap{w.tap}})
	defer b.plug(nil)
	d0, tx0, rx0 := m.counters(t, w)
	m.pings(t, 3, peer4, 0, 18, 19, 60, 81, 82, 209, 210, 465, 466, 977, 978, 1472)
	m.upload(t, peer4, 100_000)
	m.download(t, peer4, 100_000)
	m.run(t, "arping -c 2 -I eth0 192.0.2.77; ping -c 2 -I eth0 224.0.0.1 > /dev/null; true")
	d1, tx1, rx1 := m.counters(t, w)
	for name, key := range map[string]string{
		"framecount_gb": "frames", "framecount_g": "frames", "octetcount_gb": "octets", "octetcount_g": "octets",
		"broadcast_gb": "broadcast", "multicast_gb": "multicast", "unicast_gb": "unicast", "broadcastframe_g": "broadcast", "multicastframe_g": "multicast",
		"64_octets_gb": "bin0", "65_to_127_octets_gb": "bin1", "128_to_255_octets_gb": "bin2", "256_to_511_octets_gb": "bin3",
		"512_to_1023_octets_gb": "bin4", "1024_to_max_octets_gb": "bin5",
	} {
		require.Equal(t, tx1[key]-tx0[key], d1["mmc_tx_"+name]-d0["mmc_tx_"+name], "mmc_tx_%s", name)
	}
	for name, key := range map[string]string{
		"framecount_gb": "frames", "octetcount_gb": "octets", "octetcount_g": "octets", "unicast_g": "unicast",
		"broadcastframe_g": "broadcast", "multicastframe_g": "multicast",
		"64_octets_gb": "bin0", "65_to_127_octets_gb": "bin1", "128_to_255_octets_gb": "bin2", "256_to_511_octets_gb": "bin3",
		"512_to_1023_octets_gb": "bin4", "1024_to_max_octets_gb": "bin5",
		"ipv4_gd": "ipv4", "ipv4_gd_octets": "ipv4_octets", "tcp_gd": "tcp", "tcp_gd_octets": "tcp_octets",
		"icmp_gd": "icmp", "icmp_gd_octets": "icmp_octets",
	} {
		require.Equal(t, rx1[key]-rx0[key], d1["mmc_rx_"+name]-d0["mmc_rx_"+name], "mmc_rx_%s", name)
	}
	for _, name := range []string{"mmc_tx_broadcastframe_g", "mmc_tx_multicastframe_g", "mmc_rx_tcp_gd", "mmc_rx_icmp_gd", "mmc_rx_1024_to_max_octets_gb"} {
		require.NotZero(t, d1[name]-d0[name], name)
	}
}

// offloads are the checks of the engines: they work, and are used only when on.
func (m *machine) offloads(t *testing.T, b *barewire) {
	p := m.probes[0]
	transfers := func(t *testing.T) {
		m.fetch(t, b, "192.0.2.10", 300_000) // by sendfile, in large pieces
		m.fetch(t, b, "[fd00::10]", 300_000)
		m.upload(t, peer6, 100_000)
		m.download(t, peer4, 100_000)
	}
	check(t, m.title, "ethtool -S: MMC counters are what was on the wire", func(t *testing.T) { m.management(t, b) })
	check(t, m.title, "TSO and transmit checksums by the engines", func(t *testing.T) {
		before := p.Stats()
		transfers(t)
		after := p.Stats()
		require.NotZero(t, after.TSOFrames-before.TSOFrames)
		require.Greater(t, after.TSOSegments-before.TSOSegments, 2*(after.TSOFrames-before.TSOFrames))
		require.NotZero(t, after.Checksums-before.Checksums)
		require.GreaterOrEqual(t, after.MSSContexts-before.MSSContexts, uint64(1), "IPv4 and IPv6 differ in the MSS")
	})
	check(t, m.title, "ethtool -K tso off", func(t *testing.T) {
		m.run(t, "ethtool -K eth0 tso off")
		defer m.run(t, "ethtool -K eth0 tso on")
		before := p.Stats()
		transfers(t)
		require.Equal(t, before.TSOFrames, p.Stats().TSOFrames)
		require.NotZero(t, p.Stats().Checksums-before.Checksums)
	})
	check(t, m.title, "ethtool -K tx off", func(t *testing.T) {
		m.run(t, "ethtool -K eth0 tx off")
		defer m.run(t, "ethtool -K eth0 tx on tso on")
		before := p.Stats()
		transfers(t)
		require.Equal(t, before.TSOFrames, p.Stats().TSOFrames)
		require.Equal(t, before.Checksums, p.Stats().Checksums)
	})
	check(t, m.title, "ethtool -K rx off", func(t *testing.T) {
		require.NotZero(t, p.Read32(macConfig)&configIPC)
		m.run(t, "ethtool -K eth0 rx off")
		require.Zero(t, p.Read32(macConfig)&configIPC)
		before := m.number(t, "stat eth0 mmc_rx_tcp_gd")
		transfers(t)
		require.Equal(t, before, m.number(t, "stat eth0 mmc_rx_tcp_gd"))
		m.run(t, "ethtool -K eth0 rx on")
		require.NotZero(t, p.Read32(macConfig)&configIPC)
		transfers(t)
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

// moderation are the checks of ethtool -C, by what Linux writes into registers
// and descriptors; when interrupts come depends on QEMU's speed.
func (m *machine) moderation(t *testing.T) {
	p := m.probes[0]
	check(t, m.title, "ethtool -C rx-usecs", func(t *testing.T) {
		// The unit is 256 cycles of 125 MHz; the driver rounds to nearest.
		for _, c := range []struct {
			usecs int
			want  uint32
		}{{33, 0x10}, {60, 0x1d}, {200, 0x62}, {500, 0xf4}, {522, 0xff}, {328, 0xa0}} {
			p.mark()
			m.run(t, fmt.Sprintf("ethtool -C eth0 rx-usecs %d", c.usecs))
			require.Equal(t, []uint32{c.want}, p.writes(dmaRxWatchdog), "%d us", c.usecs)
			require.Equal(t, c.want, p.Read32(dmaRxWatchdog))
			m.pings(t, 3, peer4, 56)
		}
		p.mark()
		for _, bad := range []string{"rx-usecs 20", "rx-usecs 0", "rx-usecs 100000", "tx-frames 300", "tx-usecs 0 tx-frames 0", "tx-usecs 200000"} {
			_, err := m.try(t, "ethtool -C eth0 "+bad)
			require.Error(t, err, bad)
		}
		for _, v := range p.writes(dmaRxWatchdog) { // the driver writes before it has seen all of a request
			require.Equal(t, uint32(0xa0), v)
		}
	})
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

// rings are the checks of ethtool -G and of the MTU, which set the rings up anew.
func (m *machine) rings(t *testing.T, b *barewire) {
	p := m.probes[0]
	check(t, m.title, "ethtool -G ring sizes", func(t *testing.T) {
		defer m.run(t, "ethtool -G eth0 rx 512 tx 512; carrier eth0")
		for _, n := range []uint32{64, 128, 1024} {
			m.run(t, fmt.Sprintf("ethtool -G eth0 rx %d tx %d; carrier eth0", n, n))
			require.Equal(t, n-1, p.Read32(dmaRxRingLen)&0x3ff)
			require.Equal(t, n-1, p.Read32(dmaTxRingLen)&0x3ff)
			m.pings(t, 5, peer4, 56, 1472)
			m.upload(t, peer4, 300_000)
			m.download(t, peer4, 300_000)
		}
	})
	check(t, m.title, "MTU 1300 and 3000, and jumbo frames of 9000", func(t *testing.T) {
		defer m.run(t, "ip link set eth0 down; ip link set eth0 mtu 1500; ip link set eth0 up; carrier eth0")
		for _, mtu := range []int{1300, 3000, 9000} {
			m.run(t, fmt.Sprintf("ip link set eth0 down; ip link set eth0 mtu %d; ip link set eth0 up; carrier eth0", mtu))
			var longest [2]atomic.Int64
			b.plug(&cable.Options{Taps: []cable.Tap{func(dir cable.Direction, f []byte) {
				longest[dir].Store(max(longest[dir].Load(), int64(len(f))))
			}}})
			m.pings(t, 2, peer4, 56, mtu-29, mtu-28)
			m.upload(t, peer4, 300_000)
			m.download(t, peer4, 300_000)
			m.upload(t, peer6, 300_000)
			b.plug(nil)
			require.EqualValues(t, mtu+ethernetH, longest[fromLinux].Load())
			require.EqualValues(t, mtu+ethernetH, longest[toLinux].Load())
		}
	})
}
