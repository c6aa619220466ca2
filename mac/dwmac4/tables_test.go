package dwmac4

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/ring"
)

func TestHashBin(t *testing.T) {
	for addr, bins := range map[string][3]int{
		"01:00:5e:00:00:01": {32, 64, 128},
		"01:00:5e:00:00:fb": {48, 96, 192},
		"33:33:00:00:00:01": {1, 3, 6},
		"33:33:ff:12:34:56": {61, 122, 244},
		"01:80:c2:00:00:0e": {30, 60, 120},
	} {
		a, err := mac.ParseHardwareAddr(addr)
		require.NoError(t, err)
		require.Equal(t, bins, [3]int{hashBin(a, 64), hashBin(a, 128), hashBin(a, 256)}, addr)
	}
}

func TestFIFOSizes(t *testing.T) {
	for field, want := range map[uint32]int{0: 0, 3: 0, 4: 2048, 5: 4096, 7: 16384, 8: 32768} {
		require.Equal(t, want, fifoSize(field), "field %d", field)
	}
	require.Equal(t, 4, usableQueues(4, 16384))
	require.Equal(t, 2, usableQueues(4, 4096), "a queue needs room for a frame")
	require.Equal(t, 1, usableQueues(4, 0), "unknown FIFO: no way to split it")
	require.Equal(t, 8, usableQueues(16, 65536))
	require.Equal(t, 5376, share(16384, 3))
}

func TestBurst(t *testing.T) {
	for _, c := range []struct {
		fifo, mtu int
		pbl       uint32
		ok        bool
	}{
		{0, 1500, 1, true},
		{0, 1501, 1, false},
		{2048, 1500, 2, true}, // 1522 + 19*16 = 1826; with 32 beats 2082
		{2048, 1850, 1, true},
		{2048, 1851, 1, false},
		{4096, 1500, 8, true},
		{4096, 3002, 8, true},
		{4096, 3003, 4, true},
		{8192, 7994, 1, true},
		{16384, 9000, 8, true},
	} {
		pbl, ok := burst(c.fifo, c.mtu)
		require.Equal(t, c.ok, ok, "%+v", c)
		require.Equal(t, c.pbl, pbl, "%+v", c)
	}
	for fifo, want := range map[int]int{0: 1500, 2048: 1850, 4096: 3898, 8192: 7994, 16384: 9000, 65536: 9000} {
		require.Equal(t, want, maxMTU(fifo), "FIFO %d", fifo)
		_, ok := burst(fifo, want)
		require.True(t, ok, "FIFO %d carries its own limit", fifo)
	}
}

func TestRxQueueMode(t *testing.T) {
	const rsf, ehfc, keep = gmac4.RxQOpRSF, gmac4.RxQOpEHFC, gmac4.RxQOpDISTCPEF
	for _, c := range []struct {
		fifo, mtu int
		rqs       uint32
		rfa, rfd  uint32
		flags     uint32
	}{
		{0, 1500, 0, 0, 0, rsf | keep},
		{2048, 1500, 7, 0, 0, rsf | keep}, // no flow control below 4 KiB
		{4096, 1500, 15, 1, 3, rsf | keep | ehfc},
		{8192, 1500, 31, 4, 7, rsf | keep | ehfc},
		{16384, 1500, 63, 4, 7, rsf | keep | ehfc},
		{65536, 1500, 255, 4, 7, rsf | keep | ehfc},
		{65536, 9000, 255, 34, 37, rsf | keep | ehfc}, // two frames of headroom
		{16384, 9000, 63, 10, 13, rsf | keep | ehfc},  // as much as is sensible
		{8192, 9000, 31, 4, 7, keep | ehfc},           // frame longer than the FIFO: cut through
	} {
		v := rxQueueMode(c.fifo, c.mtu)
		name := fmt.Sprintf("FIFO %d, MTU %d", c.fifo, c.mtu)
		require.Equal(t, c.rqs, gmac4.Get(gmac4.RxQOpRQS, v), name)
		require.Equal(t, [2]uint32{c.rfa, c.rfd}, [2]uint32{gmac4.Get(gmac4.RxQOpRFA, v), gmac4.Get(gmac4.RxQOpRFD, v)}, name)
		require.Equal(t, c.flags, v&^(gmac4.RxQOpRQS|gmac4.RxQOpRFA|gmac4.RxQOpRFD), name)
	}
}

// TestFlowThresholds: whatever the sizes, a pause ends with more room than it
// starts with, and both levels lie inside the FIFO.
func TestFlowThresholds(t *testing.T) {
	for fifo := 4096; fifo <= 1<<18; fifo += fifoBlock {
		for _, mtu := range []int{68, 1500, 2000, 4000, 9000} {
			rfa, rfd := flowThresholds(fifo, mtu+headerRoom+fcsLen)
			require.Greater(t, rfd, rfa)
			require.LessOrEqual(t, rfd, uint32(63))
			require.Less(t, 1024+512*int(rfd), fifo, "FIFO %d, MTU %d", fifo, mtu)
		}
	}
}

func TestWatchdogValue(t *testing.T) {
	for _, c := range []struct {
		usecs, hz int
		shift     uint
		reg       uint32
		actual    int
	}{
		{0, 100e6, 0, 0, 0},
		{410, 100e6, 0, 0xA0, 410}, // the 0xA0 of the manual's examples
		{328, 125e6, 0, 0xA0, 328},
		{164, 250e6, 0, 0xA0, 164},
		{200, 125e6, 0, 98, 201},
		{2, 100e6, 0, 1, 3}, // the least: nearest to 2.56
		{653, 100e6, 0, 255, 653},
		{655, 100e6, 3, 1<<16 | 128, 655},
		{5000, 100e6, 3, 3<<16 | 244, 4997},
		{1000, 500e6, 3, 3<<16 | 244, 999},
	} {
		reg, actual, err := watchdogValue(c.usecs, c.hz, c.shift)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c.reg, reg, "%+v", c)
		require.Equal(t, c.actual, actual, "%+v", c)
	}
	for _, c := range []struct {
		usecs int
		shift uint
		text  string
	}{
		{1, 0, "takes 0 or 2 to 654"}, {655, 0, "takes 0 or 2 to 654"}, {-1, 0, "takes 0 or 2 to 654"},
		{5233, 3, "takes 0 or 2 to 5232"}, {1 << 30, 3, "takes 0 or 2 to 5232"},
	} {
		_, _, err := watchdogValue(c.usecs, 100e6, c.shift)
		require.ErrorIs(t, err, ring.ErrCoalesce)
		require.ErrorContains(t, err, c.text)
	}
	for usecs := 2; usecs <= 654; usecs++ { // the named range is exact
		_, actual, err := watchdogValue(usecs, 100e6, 0)
		require.NoError(t, err)
		require.InDelta(t, usecs, actual, 2)
	}
}

func TestClockRange(t *testing.T) {
	dividers := map[uint32]int{2: 16, 3: 26, 0: 42, 1: 62, 4: 102, 5: 124, 6: 204, 7: 324}
	for hz := int(1e6); hz <= 800e6; hz += 1e6 {
		cr, ok := clockRange(hz)
		require.True(t, ok)
		require.LessOrEqual(t, hz/dividers[cr], int(2.5e6), "%d Hz", hz)
	}
	cr, ok := clockRange(0)
	require.True(t, ok)
	require.Equal(t, uint32(7), cr, "unknown: the slowest")
	_, ok = clockRange(1e9)
	require.False(t, ok)
}

func TestPlan(t *testing.T) {
	group := func(n int) (s []mac.HardwareAddr) {
		for i := range n {
			s = append(s, mac.HardwareAddr{1, 0, 0x5e, 0, byte(i >> 8), byte(i)})
		}
		return s
	}
	station := func(n int) (s []mac.HardwareAddr) {
		for i := range n {
			s = append(s, mac.HardwareAddr{2, 0, 0, 1, 0, byte(i)})
		}
		return s
	}
	const hpf = gmac4.FilterHPF
	for _, c := range []struct {
		name          string
		f             mac.Filter
		perfect, bins int
		mode          uint32
		used          int // slots
	}{
		{"nothing", mac.Filter{}, 3, 64, hpf, 0},
		{"groups in slots", mac.Filter{Multicast: group(3)}, 3, 64, hpf, 3},
		{"one more: hash", mac.Filter{Multicast: group(4)}, 3, 64, hpf | gmac4.FilterHMC, 3},
		{"as many as bins", mac.Filter{Multicast: group(67)}, 3, 64, hpf | gmac4.FilterHMC, 3},
		{"more than bins", mac.Filter{Multicast: group(68)}, 3, 64, hpf | gmac4.FilterPM, 3},
		{"no hash table", mac.Filter{Multicast: group(4)}, 3, 0, hpf | gmac4.FilterPM, 3},
		{"stations first", mac.Filter{Unicast: station(2), Multicast: group(2)}, 3, 64, hpf | gmac4.FilterHMC, 3},
		{"stations hashed", mac.Filter{Unicast: station(4)}, 3, 64, hpf | gmac4.FilterHUC, 3},
		{"no room for stations", mac.Filter{Unicast: station(4)}, 3, 0, hpf | gmac4.FilterPR, 3},
		{"nowhere at all", mac.Filter{Unicast: station(1)}, 0, 0, hpf | gmac4.FilterPR, 0},
		{"all groups", mac.Filter{AllMulticast: true, Multicast: group(100), Unicast: station(1)}, 3, 64, hpf | gmac4.FilterPM, 1},
		{"promiscuous", mac.Filter{Promiscuous: true, Multicast: group(1)}, 3, 64, hpf | gmac4.FilterPR | 2<<6, 0},
	} {
		var now filterState
		next := now.plan(c.f, c.perfect, c.bins)
		require.Equal(t, c.mode, next.mode, c.name)
		used := 0
		for i, a := range next.slots {
			if a != (mac.HardwareAddr{}) {
				used++
				require.Less(t, i, c.perfect, c.name)
			}
		}
		require.Equal(t, c.used, used, c.name)
	}
}

// passes is the filter as the manual describes it.
func (s *filterState) passes(a mac.HardwareAddr, bins int) bool {
	hash, all := gmac4.FilterHUC, uint32(0)
	if a.Multicast() {
		hash, all = gmac4.FilterHMC, gmac4.FilterPM
	}
	if s.mode&(gmac4.FilterPR|all) != 0 {
		return true
	}
	for _, slot := range s.slots {
		if slot == a {
			return true
		}
	}
	if s.mode&hash == 0 || bins == 0 {
		return false
	}
	b := hashBin(a, bins)
	return s.hash[b/32]>>(b%32)&1 != 0
}

// TestSetFilterNeverDropsWanted replays the register writes of many changes one by
// one: an address wanted before and after passes at every moment, what is wanted
// passes at the end, and slot 0 is never written.
func TestSetFilterNeverDropsWanted(t *testing.T) {
	regs := newRegs(0x1051)
	c := newCore(t, regs)
	state := uint64(1)
	random := func(n int) int { state = state*6364136223846793005 + 1442695040888963407; return int(state>>33) % n }
	pool := make([]mac.HardwareAddr, 40)
	for i := range pool {
		pool[i] = mac.HardwareAddr{byte(i % 2), 0, 0x5e, 1, 2, byte(i)}
	}
	var before mac.Filter
	var hw filterState
	for range 1000 {
		var f mac.Filter
		rare := 1 + random(40)
		for _, a := range pool {
			if random(rare) == 0 {
				if a.Multicast() {
					f.Multicast = append(f.Multicast, a)
				} else {
					f.Unicast = append(f.Unicast, a)
				}
			}
		}
		f.AllMulticast, f.Promiscuous = random(8) == 0, random(8) == 0
		regs.writes = nil
		require.NoError(t, c.SetFilter(f))
		var high uint32
		for _, w := range regs.writes {
			switch n := int(w.off-gmac4.MACAddr) / 8; {
			case w.off == gmac4.MACPacketFilter:
				hw.mode = w.v
			case w.off >= gmac4.HashTable(0) && w.off <= gmac4.HashTable(7):
				hw.hash[(w.off-gmac4.HashTable(0))/4] = w.v
			case w.off == gmac4.AddrHigh(n):
				high = w.v
			case w.off == gmac4.AddrLow(n):
				require.Positive(t, n, "slot 0 is the station's own")
				hw.slots[n-1] = mac.HardwareAddr{}
				if high&gmac4.AddrHighAE != 0 {
					hw.slots[n-1] = mac.HardwareAddr{byte(w.v), byte(w.v >> 8), byte(w.v >> 16), byte(w.v >> 24), byte(high), byte(high >> 8)}
				}
			default:
				t.Fatalf("write to %s", gmac4.RegName(w.off))
			}
			for _, a := range append(append([]mac.HardwareAddr{}, before.Multicast...), before.Unicast...) {
				if contains(f, a) {
					require.True(t, hw.passes(a, 64), "%s dropped for a moment", a)
				}
			}
		}
		for _, a := range append(append([]mac.HardwareAddr{}, f.Multicast...), f.Unicast...) {
			require.True(t, hw.passes(a, 64), "%s dropped", a)
		}
		before = f
		regs.writes = nil
		require.NoError(t, c.SetFilter(f))
		require.Empty(t, regs.writes, "nothing changed, nothing written")
	}
}

func contains(f mac.Filter, a mac.HardwareAddr) bool {
	for _, b := range append(append([]mac.HardwareAddr{}, f.Multicast...), f.Unicast...) {
		if a == b {
			return true
		}
	}
	return false
}
