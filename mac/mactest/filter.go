package mactest

import (
	"github.com/barewire/barewire/mac"
)

var filterChecks = []check{
	{"filter/groups", groups},
	{"filter/stations", stations},
	{"filter/join counts", joinCounts},
	{"filter/all groups and everything", widened},
	{"filter/own address", ownAddress},
}

// passes delivers a frame and reports whether the hardware let it through.
func (b *bench) passes(dst mac.HardwareAddr) bool {
	b.Helper()
	f := ether(dst, 80, int(dst[5]))
	b.deliver(f)
	got := b.receive()
	if len(got) == 0 {
		return false
	}
	b.want([][]byte{f}, got)
	return true
}

// filters wants each of these through, or kept out.
func (b *bench) filters(through bool, when string, addrs ...mac.HardwareAddr) {
	b.Helper()
	for _, a := range addrs {
		if b.passes(a) != through {
			b.Fatalf("%s: a frame to %s: let through %v, want %v", when, a, !through, through)
		}
	}
}

func group(i int) mac.HardwareAddr {
	return mac.HardwareAddr{0x33, 0x33, 0xff, 0, byte(i >> 8), byte(i)}
}

func stationN(i int) mac.HardwareAddr { return mac.HardwareAddr{2, 7, 0, 0, byte(i >> 8), byte(i)} }

var (
	strangeGroup = mac.HardwareAddr{0x01, 0x1b, 0x19, 0, 0, 0}
	sizes        = func(exact, bins int) []int {
		return []int{1, exact, exact + 1, exact + bins, exact + bins + 1, 200, exact + bins, exact + 1, exact, 1, 0}
	}
)

// groups joins ever more groups, past everything that the core can tell apart, and
// leaves them again: the joined ones always pass, and others are kept out as far
// as the core can.
func groups(b *bench) {
	b.start(mac.Config{})
	b.filters(true, "before anybody joins", strangeGroup, group(1), station, mac.Broadcast)
	i := b.drv.Info()
	joined := 0
	for _, n := range sizes(i.PerfectFilters, i.HashBins) {
		for ; joined < n; joined++ {
			b.noError(b.dev.JoinGroup(group(joined)), "join")
		}
		for ; joined > n; joined-- {
			b.noError(b.dev.LeaveGroup(group(joined-1)), "leave")
		}
		for k := range n {
			b.filters(true, "joined", group(k))
		}
		b.filters(true, "always", station, mac.Broadcast)
		if b.core.Filter.Groups > 0 && n <= b.core.Filter.Groups {
			b.filters(false, "not joined", strangeGroup, group(n), group(n+1))
		}
		b.filters(false, "another station", stranger)
	}
}

func stations(b *bench) {
	b.start(mac.Config{})
	i := b.drv.Info()
	added := 0
	for _, n := range sizes(i.PerfectFilters, i.HashBins) {
		for ; added < n; added++ {
			b.noError(b.dev.AddUnicast(stationN(added)), "add")
		}
		for ; added > n; added-- {
			b.noError(b.dev.RemoveUnicast(stationN(added-1)), "remove")
		}
		for k := range n {
			b.filters(true, "added", stationN(k))
		}
		b.filters(true, "always", station, mac.Broadcast)
		if n <= b.core.Filter.Stations {
			b.filters(false, "not added", stranger, stationN(n), stationN(n+1))
		}
	}
}

// joinCounts: a group joined twice is left when both have left.
func joinCounts(b *bench) {
	b.start(mac.Config{})
	b.noError(b.dev.JoinGroup(group(1)), "join")
	b.noError(b.dev.JoinGroup(group(1)), "join")
	b.noError(b.dev.AddUnicast(stationN(1)), "add")
	b.noError(b.dev.AddUnicast(stationN(1)), "add")
	b.noError(b.dev.LeaveGroup(group(1)), "leave")
	b.noError(b.dev.RemoveUnicast(stationN(1)), "remove")
	b.filters(true, "one of two is left", group(1), stationN(1))
	b.noError(b.dev.LeaveGroup(group(1)), "leave")
	b.noError(b.dev.RemoveUnicast(stationN(1)), "remove")
	b.filters(false, "both have left", stationN(1))
	if b.core.Filter.Groups > 0 {
		b.filters(false, "both have left", group(1))
	}
	b.wrap(b.dev.LeaveGroup(group(1)), mac.ErrConfig, "leave once more")
}

func widened(b *bench) {
	b.start(mac.Config{})
	b.noError(b.dev.JoinGroup(group(1)), "join")
	b.noError(b.dev.SetAllMulticast(true), "all groups")
	b.filters(true, "all groups", group(1), group(2), strangeGroup, station, mac.Broadcast)
	b.filters(false, "all groups", stranger)
	b.noError(b.dev.SetPromiscuous(true), "everything")
	b.filters(true, "everything", group(1), strangeGroup, station, stranger, mac.Broadcast)
	b.noError(b.dev.SetAllMulticast(false), "not all groups")
	b.filters(true, "everything", group(1), strangeGroup, station, stranger, mac.Broadcast)
	b.noError(b.dev.SetPromiscuous(false), "not everything")
	b.filters(true, "narrowed again", group(1), station, mac.Broadcast)
	b.filters(false, "narrowed again", stranger)
	if b.core.Filter.Groups > 0 {
		b.filters(false, "narrowed again", strangeGroup)
	}
}

func ownAddress(b *bench) {
	b.start(mac.Config{})
	b.filters(false, "another station", stranger)
	b.noError(b.dev.SetAddress(stranger), "set address")
	b.filters(true, "the new address", stranger, mac.Broadcast)
	b.filters(false, "the old address", station)
	b.wrap(b.dev.SetAddress(mac.Broadcast), mac.ErrConfig, "a group as station address")
	b.filters(true, "still the new one", stranger)
}
