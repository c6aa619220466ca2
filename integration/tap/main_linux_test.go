package tap

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// outside names the variable that tells the inner run of the test binary which
// network namespace it was started from.
const outside = "BAREWIRE_TEST_OUTER_NETNS"

// obstacle is why there is no network namespace to test in. TestMain sets it.
var obstacle error

func TestMain(m *testing.M) {
	ours, err := os.Readlink("/proc/self/ns/net")
	outer, inner := os.LookupEnv(outside)
	switch {
	case err != nil:
		obstacle = fmt.Errorf("read the network namespace: %w", err)
	case inner && ours == outer:
		fmt.Fprintln(os.Stderr, "still in the network namespace of the machine: nothing is tested in there")
		os.Exit(1)
	case inner:
		goleak.VerifyTestMain(m)
		return
	default:
		if obstacle = missing(); obstacle == nil {
			code, err := rerun(ours)
			if err == nil {
				os.Exit(code)
			}
			obstacle = err
		}
	}
	os.Exit(m.Run()) // every test says that it is not run, and why
}

// missing looks for what the tests need.
func missing() error {
	if os.Geteuid() != 0 {
		return errors.New("needs root for a network namespace: sudo go test ./integration/tap")
	}
	tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("needs /dev/net/tun (modprobe tun; in a container --device /dev/net/tun): %w", err)
	}
	tun.Close()
	for _, program := range []string{"ip", "ping", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("needs the programs ip, ping and curl (sh .ci/setup): %w", err)
		}
	}
	return nil
}

// rerun runs the test binary in a new network namespace and returns its exit
// code. The namespace ends with the last process in it, which dies with us.
func rerun(ours string) (int, error) {
	// The parent-death signal is tied to the thread that starts the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), outside+"="+ours)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("needs to make a network namespace (in a container --cap-add SYS_ADMIN): %w", err)
	}
	// The child reports its goroutines for a SIGQUIT, which go test sends us when
	// time is over.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	close(signals)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	}
	fmt.Fprintln(os.Stderr, "the run in the network namespace:", err)
	return 1, nil
}

// needKernel skips the test when there is no kernel to test with, unless this is
// continuous integration, which must not skip it.
func needKernel(t *testing.T) {
	t.Helper()
	switch {
	case obstacle == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("CI must run this test: it %v", obstacle)
	default:
		t.Skipf("NOT TESTED against the kernel: it %v", obstacle)
	}
}
