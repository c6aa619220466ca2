package mii

import (
	"math/bits"
	"strings"
)

// Modes is a set of speeds with their duplex. A greater bit is preferred by
// auto-negotiation (802.3 annex 28B.3).
type Modes uint16

// The modes that twisted pair negotiates.
const (
	Mode10Half Modes = 1 << iota
	Mode10Full
	Mode100Half
	Mode100Full
	Mode1000Half
	Mode1000Full
	Mode2500
	Mode5000
	Mode10000
	modeEnd

	// AllModes is every mode there is.
	AllModes = modeEnd - 1
)

var modes = [...]struct {
	speed int
	full  bool
	name  string
}{
	{10, false, "10/half"}, {10, true, "10/full"}, {100, false, "100/half"}, {100, true, "100/full"},
	{1000, false, "1000/half"}, {1000, true, "1000/full"}, {2500, true, "2500/full"}, {5000, true, "5000/full"}, {10000, true, "10000/full"},
}

// ModeOf is the mode of a speed in Mbit/s, 0 when there is none.
func ModeOf(speed int, full bool) Modes {
	for i, m := range modes {
		if m.speed == speed && m.full == full {
			return 1 << i
		}
	}
	return 0
}

// Best is the one of m that auto-negotiation chooses: its speed in Mbit/s, 0 for
// an empty set.
func (m Modes) Best() (speed int, full bool) {
	m &= AllModes
	if m == 0 {
		return 0, false
	}
	b := modes[bits.Len16(uint16(m))-1]
	return b.speed, b.full
}

// String lists the modes, the slowest first.
func (m Modes) String() string {
	if m == 0 {
		return "none"
	}
	var names []string
	for i, k := range modes {
		if m&(1<<i) != 0 {
			names = append(names, k.name)
		}
	}
	if rest := m &^ AllModes; rest != 0 {
		names = append(names, "unknown")
	}
	return strings.Join(names, " ")
}
