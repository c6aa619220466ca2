// Package checks counts the checks of a suite and prints a line for each, with
// the time it took, one for each machine, and one for all at its end.
package checks

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

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
	begin := time.Now()
	ok := t.Run(name, f)
	verdict, count := "ok  ", &s.passed
	if !ok {
		verdict, count = "FAIL", &s.failed
	}
	count.Add(1)
	fmt.Printf("%s %s: %s (%.1f s)\n", verdict, machine, name, time.Since(begin).Seconds())
	return ok
}

// Machine has the time printed that a machine took, from now until it is off.
// It is called before what switches the machine off is registered with t.Cleanup.
func (s *Score) Machine(t *testing.T, machine string) {
	begin := time.Now()
	t.Cleanup(func() { fmt.Printf("     %s: %.1f s in all\n", machine, time.Since(begin).Seconds()) })
}
