//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/integration/vfiouser"
	"github.com/barewire/barewire/mac/sim"
)

// A boot, with all that is to be fetched for it, and one command in the guest take
// no longer than this, or they have failed. A busy machine takes its time.
const (
	bootTime    = 10 * time.Minute
	commandTime = 3 * time.Minute
)

// setup is what differs between machines.
type setup struct {
	title string
	cores []core
	// wrap puts something between the bus and a model.
	wrap     func(i int, m model) sim.Device
	nodes    []guest.Node // of no device
	messages bool         // MSI instead of INTx, first device only
	posted   bool
	bytes    int // that a TCP transfer moves; 0: 128 KiB
	// manual leaves the drivers out of the guest's start-up.
	manual bool
	// debian is the guest's system. nil: arm64's.
	debian *guest.Debian
}

// machine is a guest with modelled MACs, which its Linux drives as eth0, eth1 …
type machine struct {
	setup
	t       *testing.T
	shell   *guest.Shell
	devices []*device
	served  chan error
	gone    bool // the guest has ended; no further check means anything
}

// lib is what the guest's shell knows.
const lib = `
ip() { /sbin/ip "$@"; } # not busybox's
# carrier DEV: wait for the link
carrier() { for i in $(seq 1000); do [ "$(cat /sys/class/net/$1/carrier 2>/dev/null)" = 1 ] && return 0; sleep 0.05; done; return 1; }
insert() { for m in $(cat /mod/order); do [ -d /sys/module/$m ] || insmod /mod/$m.ko || return 1; done; }
# configure DEV N: addresses
configure() {
	[ -e /sys/class/net/$1 ] || return 1
	echo 0 > /proc/sys/net/ipv6/conf/$1/accept_dad
	echo 1 > /proc/sys/net/ipv6/conf/$1/keep_addr_on_down
	ip addr add 192.0.2.$2/24 dev $1
	ip link set $1 up
	ip -6 addr add fd00::$2/64 dev $1
	carrier $1
}
# stat DEV NAME: a counter of ethtool -S
stat() { ethtool -S $1 | sed -n "s/^ *$2: //p"; }
`

// start boots a machine and, unless told not to, has it bring up its interfaces:
// device i is 192.0.2.(10+i) and fd00::(10+i). The test that the machine belongs
// to ends with checks of what every machine must be at its end.
func start(t *testing.T, s setup) *machine {
	t.Helper()
	needQEMU(t)
	score.Machine(t, s.title)
	m := &machine{setup: s, t: t, served: make(chan error, len(s.cores))}
	if !check(t, s.title, "boot", func(t *testing.T) { m.boot(t, m.t) }) {
		t.FailNow()
	}
	if !s.manual {
		if !check(t, s.title, "insmod, probe and up", m.bringUp) {
			t.FailNow()
		}
	}
	return m
}

// boot starts the guest. What it leaves is cleaned up when outer ends.
func (m *machine) boot(t, outer *testing.T) {
	ctx, cancel := context.WithTimeout(outer.Context(), bootTime)
	defer cancel()
	life, end := context.WithCancel(context.WithoutCancel(outer.Context())) // the guest outlives the test, to tell why it failed
	outer.Cleanup(end)
	debian, err := m.debian, error(nil)
	if debian == nil {
		debian, err = guest.Fetch(ctx)
	}
	require.NoError(t, err)
	var names []string
	for _, c := range m.cores {
		names = append(names, c.modules...)
	}
	modules, err := debian.Modules(ctx, names...)
	require.NoError(t, err)
	busybox, err := os.ReadFile(debian.Busybox())
	require.NoError(t, err)
	tools, err := debian.Tools()
	require.NoError(t, err)
	initrd := guest.NewInitrd(busybox, modules, lib+guest.Pings+guest.ShellScript)
	initrd.Add(tools)

	dir := outer.TempDir()
	vectors := 0
	g := &guest.Machine{PostedWrites: m.posted, Nodes: m.nodes}
	for i, c := range m.cores {
		d := &device{core: c, model: c.model()}
		var dev sim.Device = d.model
		if m.wrap != nil {
			dev = m.wrap(i, d.model)
		}
		o := &vfiouser.Options{Trace: d.trace, BARSize: c.barSize}
		at := slot{index: i, bar: guest.BAR + uint32(i*max(guest.BARSize, c.barSize)), irq: guest.IntA(i)}
		if i == 0 && (m.messages || c.lines > 1) {
			at.irq = nil
			for line := range max(c.lines, 1) {
				at.irq = append(at.irq, 0, firstMessage+uint32(line), 1)
			}
			o.MSIVectors = 1 << bits.Len(uint(max(c.lines, 1)-1))
			vectors = o.MSIVectors
		}
		d.server, err = vfiouser.New(dev, o)
		require.NoError(t, err)
		socket := filepath.Join(dir, "mac"+strconv.Itoa(i))
		l, err := vfiouser.Listen(socket)
		require.NoError(t, err)
		go func() { m.served <- d.server.AcceptAndServe(life, l) }()
		m.devices = append(m.devices, d)
		g.Sockets = append(g.Sockets, socket)
		g.Nodes = append(g.Nodes, c.node(at)...)
	}
	outer.Cleanup(func() { m.end(outer, end) })
	cmd, err := debian.Command(life, g, initrd.Bytes(), dir)
	require.NoError(t, err)
	m.shell, err = guest.NewShell(ctx, cmd)
	require.NoError(t, err)
	for i := range m.devices {
		m.run(t, "echo 1 > /sys/bus/pci/devices/0000:00:0"+strconv.Itoa(i+1)+".0/enable")
	}
	if vectors > 0 {
		m.run(t, useMessages(vectors))
	}
}

// firstMessage is the shared peripheral interrupt of the first message to QEMU's
// GICv2m.
const firstMessage = 48

// useMessages has the guest use the first function's messages, a power of two of
// them, as the platform device's interrupts: it writes the capability by hand.
// Address and data are those of QEMU's GICv2m; 80 is the first message's number in
// the whole controller.
func useMessages(vectors int) string {
	return fmt.Sprintf(`
config() { printf "$2" | dd of=/sys/bus/pci/devices/0000:00:01.0/config bs=1 seek=$(($1)) conv=notrunc 2>/dev/null; }
config 0x54 '\100\000\002\010'
config 0x58 '\000\000\000\000'
config 0x5c '\120\000'
config 0x04 '\006\004'
config 0x52 '\%03o\000'`, 1|(bits.Len(uint(vectors))-1)<<4)
}

// bringUp loads the drivers and configures the interfaces.
func (m *machine) bringUp(t *testing.T) {
	m.run(t, "insert")
	for i, d := range m.devices {
		m.run(t, fmt.Sprintf("configure eth%d %d", i, 10+i))
		require.Equal(t, d.driver, m.run(t, fmt.Sprintf("basename $(readlink /sys/class/net/eth%d/device/driver)", i)))
	}
}

// unload takes the driver from the first device, reload gives it back.
func (m *machine) unload(t *testing.T) {
	d := m.devices[0]
	if d.remove != "" {
		m.run(t, d.remove)
		return
	}
	m.run(t, "rmmod "+d.modules[len(d.modules)-1])
}

func (m *machine) reload(t *testing.T) {
	if script := m.devices[0].insert; script != "" {
		m.run(t, script)
	}
	m.run(t, "insert; configure eth0 10")
}

// run runs a script in the guest and returns what it said. The test fails when
// its status is not 0.
func (m *machine) run(t *testing.T, script string) string {
	t.Helper()
	out, err := m.try(t, script)
	require.NoError(t, err)
	return out
}

func (m *machine) try(t *testing.T, script string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	begin := time.Now()
	out, err := m.shell.Run(ctx, script)
	m.gone = m.gone || errors.Is(err, guest.ErrGone)
	t.Logf("%s: %.2f s\n%s", strings.TrimSpace(script), time.Since(begin).Seconds(), out)
	return out, err
}

// number is run for a script that says a number.
func (m *machine) number(t *testing.T, script string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(m.run(t, script), 10, 64)
	require.NoError(t, err)
	return n
}

// pings sends n echo requests of each size and wants as many answers.
func (m *machine) pings(t *testing.T, n int, address string, sizes ...int) {
	t.Helper()
	var list strings.Builder
	want := make([]string, len(sizes))
	for i, s := range sizes {
		fmt.Fprintf(&list, " %d", s)
		want[i] = strconv.Itoa(n)
	}
	got := m.run(t, fmt.Sprintf("for s in%s; do pings %d $s %s; done", list.String(), n, address))
	require.Equal(t, strings.Join(want, "\n"), got, "answers to %d pings of each size%s", n, list.String())
}

// healthy are the checks that end a machine's test: Linux has complained of
// nothing, its driver has counted no error, and it has broken no rule of the
// hardware.
func (m *machine) healthy(t *testing.T) {
	t.Helper()
	check(t, m.title, "no warning, no error counted", func(t *testing.T) {
		// Modules that were built for the test are not signed.
		require.Empty(t, m.run(t, `dmesg | grep -v 'module verification failed: signature' | grep -E 'WARNING:|Oops|BUG:|nobody cared|timed out|Call trace|failed' || true`))
		for i := range m.devices {
			// tx_dropped also counts what was to be sent as the interface went down.
			errors := m.run(t, fmt.Sprintf(`cd /sys/class/net/eth%d/statistics; grep -H . *_errors collisions | grep -v ':0$' || true`, i))
			require.Empty(t, errors)
		}
	})
	check(t, m.title, "driver removed", m.unload)
	check(t, m.title, "no rule of the hardware broken", func(t *testing.T) {
		for _, d := range m.devices {
			require.Empty(t, d.model.Violations().List())
			require.Zero(t, d.server.Stats().DMAFaults)
			require.Zero(t, d.server.Stats().Errors)
		}
	})
}

// end switches the guest off, if there is one, and waits for the servers.
func (m *machine) end(t *testing.T, cancel context.CancelFunc) {
	if m.shell == nil {
		cancel()
	} else {
		ctx, done := context.WithTimeout(context.Background(), commandTime)
		defer done()
		if t.Failed() {
			out, _ := m.shell.Run(ctx, "dmesg | tail -60")
			t.Log(out)
		}
		if err := m.shell.PowerOff(ctx); err != nil {
			t.Error(err)
		}
	}
	for range m.devices {
		if err := <-m.served; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	for i, d := range m.devices {
		t.Logf("eth%d: %+v, rules broken: %q", i, d.server.Stats(), d.model.Violations().List())
	}
}
