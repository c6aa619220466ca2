// Package checks counts the checks of a suite and prints a line for each, and one
// for all of them at its end.
package checks

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// Score counts checks. Its methods may be called from any goroutine.
type Score struct{ passed, failed atomic.Int32 }

// Main runs the tests of a binary and ends it. When report is set it looks for
// goroutines left over, and the last line says how many checks have passed. Flags
// have been parsed.
func (s *Score) Main(m *testing.M, report bool) {
	code := m.Run()
	if report {
		if err := goleak.Find(); code == 0 && err != nil {
			fmt.Println(err)
			s.failed.Add(1)
			code = 1
		}
		fmt.Printf("%d passed, %d failed\n", s.passed.Load(), s.failed.Load())
	}
	os.Exit(code)
}

// Check runs one check, which is a subtest with a line of its own in the output.
func (s *Score) Check(t *testing.T, machine, name string, f func(t *testing.T)) bool {
	t.Helper()
	ok := t.Run(name, f)
	verdict, count := "ok  ", &s.passed
	if !ok {
		verdict, count = "FAIL", &s.failed
	}
	count.Add(1)
	fmt.Printf("%s %s: %s\n", verdict, machine, name)
	return ok
}
