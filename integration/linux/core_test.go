//go:build linux

package linux

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/integration/vfiouser"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim"
)

// model is what the checks need of a core's model.
type model interface {
	sim.Device
	// Violations are what Linux's driver did that the manual forbids.
	Violations() *sim.Violations
}

// core is a MAC as Linux's driver is to find it, and what the check list may
// expect of the two. A core's file fills it in, boots it and runs the list:
//
//	func TestMyCore(t *testing.T) {
//		m := start(t, setup{title: "mydriver, my SoC", cores: []core{myCore()}})
//		b := newBarewire(t, m.devices[0])
//		m.list(t, b)
//		// checks of its own
//		m.healthy(t)
//	}
type core struct {
	// model makes the hardware. Its port is a sim.LinkPort.
	model func() model
	// node makes the MAC's device-tree node and those that it refers to.
	node func(s slot) []guest.Node
	// modules are the kernel modules to load, with what they need; the last is the
	// MAC's own. driver is the name of the driver that must bind, as sysfs has it.
	modules []string
	driver  string
	// barSize is that of BAR 0 in bytes, a power of two. 0: 64 KiB. What of it the
	// model's registers leave are spare words, for resets and system controllers.
	barSize int
	// lines is the number of interrupt lines. More than one come as messages, as
	// QEMU's board has no more than one line for a device: sim.MultiLine. First
	// device only.
	lines int
	// remove and insert are commands in the guest that take the driver from the
	// device and give it back. "": rmmod and insmod. ravb cannot be unloaded.
	remove, insert string
	// link is the cable's, as the node's fixed link is to be. Zero: 1000 Mb/s.
	link mac.Link
	// peer is the core that Barewire has at the other end of the cable. Zero: a GMAC5,
	// which goes up to 1 Gb/s.
	peer fake.Core

	// running reports whether receiver and transmitter are on. nil: not looked at.
	running func(model) bool
	// sent and received are counters of ethtool -S by what they count on the wire;
	// see tally.
	sent, received map[string]string
	// features are switched by ethtool -K.
	features []feature
	// coalesce are good arguments of ethtool -C, the default last; refused are bad
	// ones.
	coalesce []setting
	refused  []string
	// rings are numbers of descriptors for ethtool -G, the default last. slots are
	// those of the receive and the transmit ring by the registers; nil: not looked
	// at.
	rings []int
	slots func(model) (rx, tx int)
	// mtus are tried, the largest frame each way. MTU 1500 is always.
	mtus []int

	// missing are the checks of the list that do not apply, by name, with the
	// reason: something that the hardware or Linux's driver has not.
	missing map[string]string
}

// feature is one of ethtool -K.
type feature struct {
	name string // "tx"
	// used counts what the model's engine has done; nil: not looked at.
	used func(model) uint64
}

// setting is something that ends up in a register.
type setting struct {
	args      string // "rx-usecs 100"
	reg, want uint32 // the last value written
}

// device is a core's model in a guest.
type device struct {
	core
	watch
	model  model
	server *vfiouser.Server
}

func (d *device) port() sim.LinkPort { return d.model.Port().(sim.LinkPort) }

// slot is where a device is in the guest.
type slot struct {
	index int
	bar   uint32   // address of BAR 0
	irq   []uint32 // interrupt specifiers, three cells for each line
}

// Handles of nodes, for slot.handle. A core's own are from firstHandle on.
const (
	clockHandle = iota + 1
	resetHandle
	phyHandle
	firstHandle
)

// handle is the phandle of a node of this device, out of the way of QEMU's.
func (s slot) handle(n uint32) uint32 { return 0x7000 + uint32(s.index)<<8 + n }

// mac is the MAC's node. Its registers are size bytes of the BAR.
func (s slot) mac(size uint32, compatible []string, props ...guest.Prop) guest.Node {
	return guest.Node{Name: fmt.Sprintf("ethernet@%x", s.bar), Props: append([]guest.Prop{
		guest.Strings("compatible", compatible...),
		guest.Cells("reg", 0, s.bar, 0, size),
		{Name: "dma-coherent"},
		{Name: "mac-address", Value: []byte{2, 0, 0, 0, 0, byte(10 + s.index)}},
	}, props...)}
}

// clock is a fixed clock with clockHandle.
func (s slot) clock(hz int) guest.Node {
	return guest.Node{Name: fmt.Sprintf("clock-%d", s.index), Props: []guest.Prop{
		guest.Strings("compatible", "fixed-clock"), guest.Cells("#clock-cells", 0),
		guest.Cells("clock-frequency", uint32(hz)), guest.Cells("phandle", s.handle(clockHandle)),
	}}
}

// spare is a device in size bytes of spare words at off in the BAR, such as a
// system controller:
//
//	s.spare("syscon", firstHandle, 0x8000, 0x100)
func (s slot) spare(compatible string, handle, off, size uint32, props ...guest.Prop) guest.Node {
	_, name, ok := strings.Cut(compatible, ",")
	if !ok {
		name = compatible
	}
	return guest.Node{Name: fmt.Sprintf("%s@%x", name, s.bar+off), Props: append([]guest.Prop{
		guest.Strings("compatible", compatible), guest.Cells("reg", 0, s.bar+off, 0, size),
		guest.Cells("phandle", s.handle(handle)),
	}, props...)}
}

// reset is a reset controller with resetHandle, of 32 lines in the spare word at
// off in the BAR.
func (s slot) reset(off uint32) guest.Node {
	return s.spare("snps,dw-high-reset", resetHandle, off, 4, guest.Cells("#reset-cells", 1))
}

// fixedLink is a child of the MAC's node.
func fixedLink(speed uint32) guest.Node {
	return guest.Node{Name: "fixed-link", Props: []guest.Prop{guest.Cells("speed", speed), {Name: "full-duplex"}}}
}

// step is one check of the list.
type step struct {
	name  string
	given bool // the core says what to expect
	f     func(t *testing.T)
}

// list runs the checks that any core is good for, but what it says it is not.
func (m *machine) list(t *testing.T, b *barewire) {
	t.Helper()
	d := m.devices[0]
	steps := m.traffic(b)
	steps = append(steps,
		step{"ethtool -S: counters are what was on the wire", d.sent != nil && d.received != nil, func(t *testing.T) { m.statistics(t, b) }},
		step{"ethtool -K", d.features != nil, func(t *testing.T) { m.features(t, b) }},
		step{"ethtool -C", d.coalesce != nil && d.refused != nil, m.coalescing},
		step{"ethtool -G", d.rings != nil, m.ringSizes},
		step{"MTU", d.mtus != nil, func(t *testing.T) { m.mtu(t, b) }},
	)
	steps = append(steps, m.filters()...)
	steps = append(steps, m.lifeCycle(b)...)
	for name := range d.missing {
		require.True(t, slices.ContainsFunc(steps, func(s step) bool { return s.name == name }), "missing: no check of the list is %q", name)
	}
	m.steps(t, steps)
}

// steps runs checks, and says which the first core leaves out.
func (m *machine) steps(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		if reason, ok := m.devices[0].missing[s.name]; ok {
			fmt.Printf("none %s: %s: %s\n", m.title, s.name, reason)
			continue
		}
		if m.gone {
			t.FailNow()
		}
		check(t, m.title, s.name, func(t *testing.T) {
			require.True(t, s.given, "the core says neither what to expect nor, in missing, why there is nothing")
			s.f(t)
		})
	}
}
