package dwmac

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
)

const (
	addrBase uint32 = 0x300
	hashBase uint32 = 0x10
)

// testFilter is an address filter as GMAC4 has it.
var testFilter = FilterRegisters{
	Mode:     0x8,
	AddrHigh: func(n int) uint32 { return addrBase + 8*uint32(n) },
	AddrLow:  func(n int) uint32 { return addrBase + 8*uint32(n) + 4 },
	Hash:     func(n int) uint32 { return hashBase + 4*uint32(n) },
	Perfect:  3, Bins: 64,
}

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
		require.Equal(t, bins, [3]int{HashBin(a, 64), HashBin(a, 128), HashBin(a, 256)}, addr)
	}
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
	const hpf = dwregs.FilterHPF
	for _, c := range []struct {
		name          string
		f             mac.Filter
		perfect, bins int
		mode          uint32
		used          int // slots
	}{
		{"nothing", mac.Filter{}, 3, 64, hpf, 0},
		{"groups in slots", mac.Filter{Multicast: group(3)}, 3, 64, hpf, 3},
		{"one more: hash", mac.Filter{Multicast: group(4)}, 3, 64, hpf | dwregs.FilterHMC, 3},
		{"as many as bins", mac.Filter{Multicast: group(67)}, 3, 64, hpf | dwregs.FilterHMC, 3},
		{"more than bins", mac.Filter{Multicast: group(68)}, 3, 64, hpf | dwregs.FilterPM, 3},
		{"no hash table", mac.Filter{Multicast: group(4)}, 3, 0, hpf | dwregs.FilterPM, 3},
		{"stations first", mac.Filter{Unicast: station(2), Multicast: group(2)}, 3, 64, hpf | dwregs.FilterHMC, 3},
		{"stations hashed", mac.Filter{Unicast: station(4)}, 3, 64, hpf | dwregs.FilterHUC, 3},
		{"no room for stations", mac.Filter{Unicast: station(4)}, 3, 0, hpf | dwregs.FilterPR, 3},
		{"nowhere at all", mac.Filter{Unicast: station(1)}, 0, 0, hpf | dwregs.FilterPR, 0},
		{"all groups", mac.Filter{AllMulticast: true, Multicast: group(100), Unicast: station(1)}, 3, 64, hpf | dwregs.FilterPM, 1},
		{"promiscuous", mac.Filter{Promiscuous: true, Multicast: group(1)}, 3, 64, hpf | dwregs.FilterPR | 2<<6, 0},
	} {
		var now filterState
		next := now.plan(c.f, &FilterRegisters{Perfect: c.perfect, Bins: c.bins, Modes: synopsysModes()})
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
	hash, all := dwregs.FilterHUC, uint32(0)
	if a.Multicast() {
		hash, all = dwregs.FilterHMC, dwregs.FilterPM
	}
	if s.mode&(dwregs.FilterPR|all) != 0 {
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
	b := HashBin(a, bins)
	return s.hash[b/32]>>(b%32)&1 != 0
}

// TestSetFilterNeverDropsWanted replays the register writes of many changes one by
// one: an address wanted before and after passes at every moment, what is wanted
// passes at the end, and slot 0 is never written.
func TestSetFilterNeverDropsWanted(t *testing.T) {
	regs := &fakeRegs{regs: map[uint32]uint32{}}
	c := NewFilter(regs, testFilter)
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
		c.Set(f)
		var high uint32
		for _, w := range regs.writes {
			switch n := int(w.off-addrBase) / 8; {
			case w.off == testFilter.Mode:
				hw.mode = w.v
			case w.off >= hashBase && w.off <= hashBase+4*7:
				hw.hash[(w.off-hashBase)/4] = w.v
			case w.off == testFilter.AddrHigh(n):
				high = w.v
			case w.off == testFilter.AddrLow(n):
				require.Positive(t, n, "slot 0 is the station's own")
				hw.slots[n-1] = mac.HardwareAddr{}
				if high&dwregs.AddrHighAE != 0 {
					hw.slots[n-1] = mac.HardwareAddr{byte(w.v), byte(w.v >> 8), byte(w.v >> 16), byte(w.v >> 24), byte(high), byte(high >> 8)}
				}
			default:
				t.Fatalf("write to %#x", w.off)
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
		c.Set(f)
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

// TestOtherModes: a core may have the bits of its mode register elsewhere.
func TestOtherModes(t *testing.T) {
	at := testFilter
	at.Bins = 0
	at.Modes = FilterModes{Everything: 1 << 31, Control: 2 << 12, AllMulticast: 1 << 16}
	regs := &fakeRegs{regs: map[uint32]uint32{}}
	f := NewFilter(regs, at)
	for _, c := range []struct {
		want mac.Filter
		mode uint32
	}{
		{mac.Filter{AllMulticast: true}, 1 << 16},
		{mac.Filter{}, 0},
		{mac.Filter{Promiscuous: true}, 1<<31 | 2<<12},
		{mac.Filter{Unicast: []mac.HardwareAddr{{2, 1}, {2, 2}, {2, 3}, {2, 4}}}, 1 << 31},
	} {
		f.Set(c.want)
		require.Equal(t, c.mode, regs.regs[at.Mode], "%+v", c.want)
	}
}
