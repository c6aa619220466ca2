//go:build linux

package linux

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/mac/sim/tap"
)

// namespace is a thread in a network namespace of its own. Sockets and programs
// that it makes live there.
type namespace struct{ calls chan func() }

func newNamespace(t *testing.T) *namespace {
	n := &namespace{calls: make(chan func())}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		made <- unix.Unshare(unix.CLONE_NEWNET)
		for f := range n.calls {
			f()
		}
	}()
	t.Cleanup(func() { close(n.calls) })
	require.NoError(t, <-made)
	return n
}

func (n *namespace) do(f func()) {
	done := make(chan struct{})
	n.calls <- func() { defer close(done); f() }
	<-done
}

// command runs a program there.
func (n *namespace) command(t *testing.T, name string, args ...string) {
	t.Helper()
	var out []byte
	var err error
	n.do(func() { out, err = exec.Command(name, args...).CombinedOutput() })
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

// DialContext implements stack. The address is numeric, so that one socket is
// made, and by this goroutine.
func (n *namespace) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	n.do(func() { c, err = new(net.Dialer).DialContext(ctx, network, address) })
	return c, err
}

// Listen implements stack.
func (n *namespace) Listen(ctx context.Context, network, address string) (l net.Listener, err error) {
	n.do(func() { l, err = new(net.ListenConfig).Listen(ctx, network, address) })
	return l, err
}

// TestKernelPeer has this machine's kernel at the other end of the wire, behind a
// TAP device in a network namespace.
func TestKernelPeer(t *testing.T) {
	needQEMU(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root for a TAP device")
	}
	m := start(t, setup{title: "stmmac 5.10, this kernel", cores: []core{dwmac4Core(dwmac4.Config{})}, bytes: 1 << 20})
	n := newNamespace(t)
	var dev *tap.TAP
	var err error
	n.do(func() { dev, err = tap.Open("bw0", &tap.Options{MTU: 9000}) })
	require.NoError(t, err)
	wire := cable.Connect(m.devices[0].port(), dev, nil)
	t.Cleanup(func() {
		require.NoError(t, wire.Close())
		require.NoError(t, dev.Close())
	})
	n.command(t, "ip", "addr", "add", peer4+"/24", "dev", "bw0")
	n.command(t, "ip", "addr", "add", peer6+"/64", "dev", "bw0", "nodad")
	n.command(t, "ip", "link", "set", "bw0", "up")
	n.command(t, "ip", "link", "set", "lo", "up")
	serve(t, n)
	m.reachPeer(t)
	m.steps(t, m.traffic(n))
	check(t, m.title, "ping from this kernel", func(t *testing.T) {
		for _, size := range sizes {
			n.command(t, "ping", "-q", "-c", "2", "-i", "0.05", "-W", "10", "-s", fmt.Sprint(size), "192.0.2.10")
		}
		for _, size := range []int{0, 56, 1452, 4000} {
			n.command(t, "ping", "-6", "-q", "-c", "2", "-i", "0.05", "-W", "10", "-s", fmt.Sprint(size), "fd00::10")
		}
	})
	m.healthy(t)
}
