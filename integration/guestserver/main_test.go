//go:build linux

package guestserver

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

var (
	boots = flag.Bool("qemu", false, "boot Linux in QEMU; nothing is tested without")
	_     = flag.Bool("trace", false, "without meaning here: for the checks of package linux")
)

// score counts checks.
var score struct{ passed, failed atomic.Int32 }

// TestMain ends with a line that says how many checks have passed.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if *boots {
		if err := goleak.Find(); code == 0 && err != nil {
			fmt.Println(err)
			score.failed.Add(1)
			code = 1
		}
		fmt.Printf("%d passed, %d failed\n", score.passed.Load(), score.failed.Load())
	}
	os.Exit(code)
}

// check runs one check, which is a subtest with a line of its own in the output.
func check(t *testing.T, machine, name string, f func(t *testing.T)) bool {
	t.Helper()
	ok := t.Run(name, f)
	verdict, count := "ok  ", &score.passed
	if !ok {
		verdict, count = "FAIL", &score.failed
	}
	count.Add(1)
	fmt.Printf("%s %s: %s\n", verdict, machine, name)
	return ok
}

func needQEMU(t *testing.T) {
	t.Helper()
	if !*boots {
		t.Skip("boots Linux in QEMU: make integration-linux")
	}
}
