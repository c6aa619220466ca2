//go:build linux

package qemu

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/integration/internal/site"
	"github.com/barewire/barewire/mac"
)

// A boot, one command and one exchange take no longer than this, or they have failed.
// A busy machine takes its time.
const (
	fetchTime    = 10 * time.Minute
	bootTime     = 8 * time.Minute
	commandTime  = 2 * time.Minute
	transferTime = 4 * time.Minute
)

// machine is a board that runs.
type machine struct {
	board
	debian *guest.Debian
	dir    string // where QEMU runs
	// programs are for the board, by name.
	programs map[string][]byte
	port     int // where the server's is forwarded to
	client   *site.Client
	shell    *guest.Shell // nil when the server is /init
}

// prepare fetches what the board needs, and makes the programs of these packages.
func prepare(t *testing.T, b board, packages ...string) *machine {
	ctx, cancel := context.WithTimeout(t.Context(), fetchTime)
	defer cancel()
	debian, err := b.fetch(ctx)
	require.NoError(t, err)
	m := &machine{board: b, debian: debian, dir: t.TempDir(), port: freePort(t), programs: map[string][]byte{}}
	for _, p := range packages {
		data, err := guest.Build(ctx, t.TempDir(), debian.Arch(), "github.com/barewire/barewire/"+p)
		require.NoError(t, err)
		m.programs[path.Base(p)] = data
	}
	m.client = site.New(fmt.Sprintf("http://127.0.0.1:%d", m.port), transferTime)
	t.Cleanup(m.client.Close)
	return m
}

// freePort is a port of 127.0.0.1 that nobody uses, for TCP or for UDP.
func freePort(t *testing.T) int {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		c, err := net.ListenPacket("udp", l.Addr().String())
		if err == nil {
			require.NoError(t, c.Close())
			return port
		}
	}
	t.Fatal("no port is free for both TCP and UDP")
	return 0
}

// qemu is the board with these files, and what is added to the kernel's command line.
func (m *machine) qemu(ctx context.Context, t *testing.T, files *guest.Initrd, words string) *exec.Cmd {
	tree, err := m.tree(m.debian)
	require.NoError(t, err)
	cmd, err := m.debian.SoC(ctx, &guest.SoC{
		Machine: m.name, Args: m.args, MemoryMB: m.ram, Tree: tree, NIC: m.nic, Port: m.port,
		Append: strings.TrimSpace(m.boot + " " + words),
	}, files.Bytes(), m.dir)
	require.NoError(t, err)
	return cmd
}

// start boots the board with a shell.
func (m *machine) start(t, outer *testing.T) {
	ctx, cancel := context.WithTimeout(outer.Context(), bootTime)
	defer cancel()
	modules, err := m.debian.Modules(ctx, m.modules...)
	require.NoError(t, err)
	busybox, err := os.ReadFile(m.debian.Busybox())
	require.NoError(t, err)
	files := guest.NewInitrd(busybox, modules, guest.ShellScript)
	for _, name := range slices.Sorted(maps.Keys(m.programs)) {
		files.File("bin/"+name, m.programs[name])
	}
	life, end := context.WithCancel(context.WithoutCancel(outer.Context())) // the board outlives the test, to tell why it failed
	outer.Cleanup(end)
	m.shell, err = guest.NewShell(ctx, m.qemu(life, t, files, ""))
	require.NoError(t, err)
	outer.Cleanup(func() { m.end(outer) })
	m.run(t, `for m in $(cat /mod/order); do insmod /mod/$m.ko || exit 1; done
		echo 'nobody:x:65534:65534:nobody:/:/bin/sh' > /etc/passwd`)
}

// end switches the board off.
func (m *machine) end(t *testing.T) {
	m.client.Close()
	ctx, done := context.WithTimeout(context.Background(), commandTime)
	defer done()
	if t.Failed() {
		out, _ := m.shell.Run(ctx, "cat /tmp/log; cat /proc/interrupts; dmesg | tail -40")
		t.Log(out)
	}
	if err := m.shell.PowerOff(ctx); err != nil {
		t.Error(err)
	}
}

// run runs a script on the board and returns what it said.
func (m *machine) run(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	begin := time.Now()
	out, err := m.shell.Run(ctx, script)
	t.Logf("%s: %.2f s\n%s", strings.TrimSpace(script), time.Since(begin).Seconds(), out)
	require.NoError(t, err)
	return out
}

// monitor gives QEMU a command.
func (m *machine) monitor(t *testing.T, command string) {
	t.Helper()
	c, err := net.Dial("unix", filepath.Join(m.dir, guest.SoCMonitor))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(commandTime)))
	_, err = c.Write([]byte(command + "\n"))
	require.NoError(t, err)
	// The prompt comes once at the beginning, and once more when the command is done.
	var got strings.Builder
	buf := make([]byte, 4096)
	for strings.Count(got.String(), "(qemu) ") < 2 {
		n, err := c.Read(buf)
		require.NoError(t, err, "QEMU's monitor: %s", &got)
		got.Write(buf[:n])
	}
}

// startServer starts the server with more flags and waits until it listens.
func (m *machine) startServer(t *testing.T, more string) string {
	out := m.run(t, `rm -f /tmp/pid /tmp/log
		(
			sh -c 'echo $$ > /tmp/pid; exec httpserver `+m.flags()+` `+more+`'
			echo "exit code $?"
		) > /tmp/log 2>&1 &
		for i in $(seq 900); do
			grep -qE 'listening|exit code' /tmp/log && break
			sleep 0.1
		done
		cat /tmp/log`)
	require.Contains(t, out, "listening on http://10.0.2.15:80/")
	return out
}

// logged waits until the server has logged a line, and returns it.
func (m *machine) logged(t *testing.T, pattern string) string {
	return m.run(t, `for i in $(seq 300); do grep -E '`+pattern+`' /tmp/log && exit 0; sleep 0.1; done; exit 1`)
}

// keys is the flag for the interrupt as a key.
func (m *machine) keys(t *testing.T) string {
	return "-irq-input " + m.run(t, `for i in $(seq 100); do
			for e in /sys/class/input/event*; do
				[ "$(cat $e/device/name)" = `+macLineName+` ] && echo /dev/input/${e##*/} && exit 0
			done
			sleep 0.1
		done
		exit 1`)
}

// interrupts is the kernel's count of the MAC's interrupts, on all CPUs.
func (m *machine) interrupts(t *testing.T) uint64 {
	t.Helper()
	out := m.run(t, `awk '/`+macLineName+`/ { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' /proc/interrupts`)
	n, err := strconv.ParseUint(out, 10, 64)
	require.NoError(t, err)
	return n
}

// snapshot is what the server says of its device.
func (m *machine) snapshot(t *testing.T) mac.Snapshot {
	t.Helper()
	body, err := m.client.Get(t.Context(), "/stats.json")
	require.NoError(t, err)
	var s struct{ Device mac.Snapshot }
	require.NoError(t, json.Unmarshal(body, &s))
	return s.Device
}
