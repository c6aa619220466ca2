//go:build linux

package linux

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim/cable"
)

// tally counts what is on a wire as hardware counters do: "frames", "octets" with
// and "bytes" without FCS, "broadcast", "multicast", "unicast", "bin0" to "bin5" by
// octets (64, to 127, 255, 511, 1023, more), "ipv4", and "icmp", "tcp" and "udp" of
// both versions with their "…_octets". "reports" are those of IGMP and MLD.
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
	n["bytes"] += uint64(len(f))
	switch {
	case f[0]&f[1]&f[2]&f[3]&f[4]&f[5] == 0xff:
		n["broadcast"]++
	case f[0]&1 != 0:
		n["multicast"]++
		if f[5] == 0x16 && (f[0] == 0x33 || f[0] == 1) {
			n["reports"]++
		}
	default:
		n["unicast"]++
	}
	bins := []int{64, 127, 255, 511, 1023}
	i := 0
	for i < len(bins) && size > bins[i] {
		i++
	}
	n[fmt.Sprintf("bin%d", i)]++
	ip := f[ethernetH:]
	switch binary.BigEndian.Uint16(f[12:]) {
	case 0x86dd:
		kind := map[byte]string{6: "tcp", 17: "udp", 58: "icmp"}[ip[6]]
		n[kind]++
		n[kind+"_octets"] += uint64(binary.BigEndian.Uint16(ip[4:]))
	case 0x0800:
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
	return maps.Clone(w.n[dir])
}

// count is what the driver and the wire have counted.
type count struct{ driver, tx, rx map[string]uint64 }

// count reads ethtool -S while nothing is on the wire: when two readings with the
// wire between them are the same.
func (m *machine) count(t *testing.T, w *tally) count {
	t.Helper()
	d := m.devices[0]
	var last count
	for range 30 {
		now := count{map[string]uint64{}, w.get(fromLinux), w.get(toLinux)}
		for line := range strings.Lines(m.run(t, "ethtool -S eth0")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if d.sent[name] == "" && d.received[name] == "" {
				continue
			}
			n, err := strconv.ParseUint(value, 10, 64)
			require.NoError(t, err, line)
			now.driver[name] = n
		}
		if maps.Equal(now.driver, last.driver) && maps.Equal(now.tx, last.tx) && maps.Equal(now.rx, last.rx) {
			return now
		}
		last = now
	}
	t.Fatal("the wire is never quiet")
	return count{}
}

// statistics compares the counters that Linux reads from the model with what was
// on the wire.
func (m *machine) statistics(t *testing.T, b *barewire) {
	d := m.devices[0]
	w := newTally()
	b.plug(&cable.Options{Taps: []cable.Tap{w.tap}})
	defer b.plug(nil)
	m.reachPeer(t)
	var begin, end count
	for range 5 {
		begin = m.count(t, w)
		m.pings(t, 3, peer4, 0, 18, 19, 60, 81, 82, 209, 210, 465, 466, 977, 978, 1472)
		m.upload(t, peer4, 100_000)
		m.download(t, peer4, 100_000)
		m.run(t, "arping -c 2 -I eth0 192.0.2.77; ping -c 2 -I eth0 224.0.0.1 > /dev/null; true")
		end = m.count(t, w)
		// A young peer tells routers of its groups. Whether a core counts what its
		// filter keeps out is its own business.
		if end.rx["reports"] == begin.rx["reports"] {
			break
		}
	}
	for _, side := range []struct {
		names         map[string]string
		before, after map[string]uint64
	}{{d.sent, begin.tx, end.tx}, {d.received, begin.rx, end.rx}} {
		for name, key := range side.names {
			require.Contains(t, end.driver, name, "no counter of ethtool -S")
			require.Equal(t, side.after[key]-side.before[key], end.driver[name]-begin.driver[name], "%s counts %s", name, key)
		}
	}
	for _, key := range []string{"broadcast", "multicast"} {
		require.NotZero(t, end.tx[key]-begin.tx[key], key)
	}
	for _, key := range []string{"tcp", "icmp", "bin5"} {
		require.NotZero(t, end.rx[key]-begin.rx[key], key)
	}
}
