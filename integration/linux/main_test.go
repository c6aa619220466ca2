//go:build linux

package linux

import (
	"flag"
	"testing"

	"github.com/barewire/barewire/integration/internal/checks"
)

var (
	full    = flag.Bool("full", false, "also what has to be built first: make integration-full")
	boots   = flag.Bool("qemu", false, "boot Linux in QEMU; nothing is tested without")
	tracing = flag.Bool("trace", false, "print the register accesses of Linux's driver and of Barewire's instead of testing")
)

// score counts checks.
var score checks.Score

// TestMain ends with a line that says how many checks have passed.
func TestMain(m *testing.M) {
	flag.Parse()
	score.Main(m, *boots)
}

// check runs one check, which is a subtest with a line of its own in the output.
func check(t *testing.T, machine, name string, f func(t *testing.T)) bool {
	t.Helper()
	return score.Check(t, machine, name, f)
}

func needQEMU(t *testing.T) {
	t.Helper()
	if !*boots {
		t.Skip("boots Linux in QEMU: make integration-linux")
	}
	if *tracing {
		t.Skip("traces only")
	}
}
