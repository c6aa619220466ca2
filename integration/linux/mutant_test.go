//go:build linux

package linux

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/mac/sim/usernet"
)

// emptyTail takes a receive tail at the current descriptor for an empty ring. It
// stands for a full one: Linux gives all descriptors back.
type emptyTail struct{ *probe }

func (d emptyTail) Write32(off, v uint32) {
	if off == dmaRxTail {
		control := d.Read32(dmaRxControl) &^ controlStart
		if v != d.Read32(dmaCurrentRx) {
			control |= controlStart
		}
		d.probe.Write32(off, v)
		d.probe.Write32(dmaRxControl, control)
		return
	}
	d.probe.Write32(off, v)
}

// swappedStatus has the receive interrupt where "receive buffer unavailable" is.
type swappedStatus struct{ *probe }

func swap(v uint32) uint32 {
	return v&^(statusRI|statusRBU) | v&statusRI<<1 | v&statusRBU>>1
}

func (d swappedStatus) Read32(off uint32) uint32 {
	if off == dmaStatus {
		return swap(d.probe.Read32(off))
	}
	return d.probe.Read32(off)
}

func (d swappedStatus) Write32(off, v uint32) {
	if off == dmaStatus {
		v = swap(v)
	}
	d.probe.Write32(off, v)
}

// lostInterrupt loses one rising edge of the line, and only one.
type lostInterrupt struct {
	*probe
	edges atomic.Int32
}

func (d *lostInterrupt) Connect(mem sim.DMA, irq func(level bool)) {
	d.probe.Connect(mem, func(level bool) {
		if level && d.edges.Add(1) == 5 {
			return
		}
		irq(level)
	})
}

// TestMutants has Linux drive models that are wrong in one thing each, beside one
// that is not. A wrong model that passes would mean that these checks show
// nothing.
func TestMutants(t *testing.T) {
	mutants := []string{"", "a full receive ring taken for an empty one", "a status bit at the wrong place", "one interrupt lost"}
	m := start(t, setup{
		title: "mutants", cores: slices.Repeat([]core{dwmac4Core(dwmac4.Config{})}, len(mutants)), manual: true,
		wrap: func(i int, m model) sim.Device {
			p := m.(*probe)
			switch i {
			case 1:
				return emptyTail{p}
			case 2:
				return swappedStatus{p}
			case 3:
				return &lostInterrupt{probe: p}
			}
			return p
		},
	})
	m.run(t, "insert")
	for i, name := range mutants {
		network, err := usernet.New(nil)
		require.NoError(t, err)
		wire := cable.Connect(m.devices[i].port(), network, nil)
		if name == "" {
			name = "the model itself"
		}
		check(t, m.title, name, func(t *testing.T) {
			m.run(t, fmt.Sprintf("ip addr add 10.0.2.15/24 dev eth%d; ip link set eth%[1]d up; carrier eth%[1]d", i))
			answers := m.number(t, "wait=2 pings 20 56 10.0.2.2")
			if i == 0 {
				require.EqualValues(t, 20, answers)
			} else {
				require.Less(t, answers, uint64(20), "Linux works with a model that is wrong")
			}
			m.run(t, fmt.Sprintf("ip link set eth%d down; ip addr flush dev eth%[1]d", i))
		})
		require.NoError(t, wire.Close())
		require.NoError(t, network.Close())
	}
}
