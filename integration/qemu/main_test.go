//go:build linux

package qemu

import (
	"flag"
	"testing"

	"github.com/barewire/barewire/integration/internal/checks"
)

var boots = flag.Bool("qemu", false, "boot boards in QEMU; nothing is tested without")

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
		t.Skip("boots boards in QEMU: make integration-qemu")
	}
}
