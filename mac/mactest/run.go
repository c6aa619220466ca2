package mactest

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/barewire/barewire/mac/sim"
)

// check is one sub-test.
type check struct {
	name string
	run  func(*bench)
}

// checks are all sub-tests, in the order in which they run.
func checks() []check {
	return slices.Concat(openChecks, trafficChecks, ringChecks, dropChecks(), filterChecks, coalesceChecks,
		interruptChecks, linkChecks, offloadChecks, counterChecks, lifecycleChecks, repairChecks(), costChecks)
}

// Has reports whether the suite has a sub-test of this name.
func Has(name string) bool {
	return slices.ContainsFunc(checks(), func(k check) bool { return k.name == name })
}

// Run runs the suite on c, twice: on coherent memory, and with a cache between the
// CPU and the buffers that shows each sync that is missing (see Core.CoherentOnly).
// Sub-tests in c.Missing are logged and counted; the last line of each pass has the
// numbers.
func Run(t *testing.T, c Core) {
	for name := range c.Missing {
		if !Has(name) {
			t.Errorf("%s: Missing lists %q, which is no sub-test of the suite", c.Name, name)
		}
	}
	both(t, c, checks())
}

// both runs sub-tests on both kinds of memory.
func both(t *testing.T, c Core, all []check) {
	pass(t, c, all)
	if c.CoherentOnly {
		return
	}
	c.Name += ", memory not coherent"
	c.memory.NonCoherent = true
	t.Run("not_coherent", func(t *testing.T) { pass(t, c, all) })
}

// pass runs each sub-test once.
func pass(t *testing.T, c Core, all []check) {
	ran, missing, failed := 0, 0, 0
	for _, k := range all {
		if reason, ok := c.Missing[k.name]; ok {
			t.Logf("%s: %s: not supported: %s", c.Name, k.name, reason)
			missing++
			continue
		}
		if !run(t, c, k) {
			failed++
		}
		ran++
	}
	t.Logf("%s: %d sub-tests: %d passed, %d failed, %d not supported", c.Name, len(all), ran-failed, failed, missing)
}

// run runs one sub-test in a bubble of its own.
func run(t *testing.T, c Core, k check) bool {
	return t.Run(testName(k.name), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { k.run(newBench(t, c)) })
	})
}

// testName makes one path element after the group out of a name.
func testName(s string) string { return strings.ReplaceAll(s, " ", "_") }

// wireFaults spoil one frame, fatalFaults need a repair. The others are known to
// sub-tests by name.
var (
	wireFaults  = []sim.Fault{sim.BadCRC, sim.BadLength, sim.Overflow, sim.Truncated, sim.MissingFirst, sim.DropFrame}
	fatalFaults = []sim.Fault{sim.RXBusError, sim.TXBusError, sim.DescriptorBusError, sim.StuckOwn}
)
