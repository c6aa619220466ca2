//go:build linux

package guestserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/integration/internal/site"
	"github.com/barewire/barewire/integration/vfiouser"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/usernet"
)

// A boot, with all that is to be fetched for it, and one command in the guest or one
// exchange with it take no longer than this, or they have failed. A busy machine
// takes its time.
const (
	bootTime     = 10 * time.Minute
	commandTime  = 3 * time.Minute
	transferTime = 4 * time.Minute
)

// fifoSize of the model, in bytes: an emulated guest is slow to take what comes.
const fifoSize = 256 << 10

// setup is what differs between machines.
type setup struct {
	title string
	core  string // name of its driver
	fetch func(context.Context) (*guest.Debian, error)
	model sim.Model
	iommu bool
	ram   uint64 // an address in the guest's RAM
	boot  string // added to the kernel's command line
	// modules in the order to load them in, bind the commands that give the device
	// at $d to the server's bus, flags those of the server.
	modules []string
	bind    string
	flags   string
	line    string // what the server says of its bus
	irq     string // name of its interrupt in /proc/interrupts
}

// machine is a guest with one modelled MAC, on which the server runs.
type machine struct {
	setup
	shell  *guest.Shell
	dev    *device
	server *vfiouser.Server
	served chan error
	net    *usernet.Network
	client *site.Client
	cable  *cable.Cable
}

// initrd is the guest's file system, with the server in it.
func initrd(ctx context.Context, t *testing.T, d *guest.Debian, modules ...string) []byte {
	loaded, err := d.Modules(ctx, modules...)
	require.NoError(t, err)
	busybox, err := os.ReadFile(d.Busybox())
	require.NoError(t, err)
	// The firmware of a PC ends without an end of line.
	r := guest.NewInitrd(busybox, loaded, "echo\n"+guest.Pings+guest.ShellScript)
	program, err := guest.Build(ctx, t.TempDir(), d.Arch(), "github.com/barewire/barewire/examples/httpserver")
	require.NoError(t, err)
	r.File("bin/httpserver", program)
	return r.Bytes()
}

// serve serves a device at a socket in dir until ctx ends.
func serve(ctx context.Context, t *testing.T, dev *device, o *vfiouser.Options, socket string) (*vfiouser.Server, chan error) {
	server, err := vfiouser.New(dev, o)
	require.NoError(t, err)
	l, err := vfiouser.Listen(socket)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.AcceptAndServe(ctx, l) }()
	return server, served
}

// start boots a machine and binds its device.
func start(t *testing.T, s setup) *machine {
	score.Machine(t, s.title)
	m := &machine{setup: s}
	for _, c := range []struct {
		name string
		f    func(t, outer *testing.T)
	}{{"boot", m.startGuest}, {"bind the device", m.bindDevice}} {
		if !check(t, s.title, c.name, func(inner *testing.T) { c.f(inner, t) }) {
			t.FailNow()
		}
	}
	return m
}

func (m *machine) startGuest(t, outer *testing.T) {
	ctx, cancel := context.WithTimeout(outer.Context(), bootTime)
	defer cancel()
	debian, err := m.fetch(ctx)
	require.NoError(t, err)
	files := initrd(ctx, t, debian, m.modules...)
	life, end := context.WithCancel(context.WithoutCancel(outer.Context())) // the guest outlives the test, to tell why it failed
	outer.Cleanup(end)

	m.net, err = usernet.New(nil)
	require.NoError(t, err)
	outer.Cleanup(func() { require.NoError(outer, m.net.Close()) })
	at, err := m.net.ForwardTCP(netip.MustParseAddrPort("127.0.0.1:0"), m.net.Guest(80))
	require.NoError(t, err)
	m.client = site.New("http://"+at.String(), transferTime)
	outer.Cleanup(m.client.Close)

	m.dev = newDevice(m.model)
	m.cable = cable.Connect(m.dev.port(), m.net, &cable.Options{Link: fast})
	outer.Cleanup(func() { require.NoError(outer, m.cable.Close()) })
	dir := outer.TempDir()
	socket := filepath.Join(dir, "mac")
	m.server, m.served = serve(life, t, m.dev, &vfiouser.Options{MasterOnly: true, WindowBARs: true}, socket)
	outer.Cleanup(func() { m.end(outer, end) })
	cmd, err := debian.Board(life, &guest.Board{Sockets: []string{socket}, IOMMU: m.iommu, Append: m.boot}, files, dir)
	require.NoError(t, err)
	m.shell, err = guest.NewShell(ctx, cmd)
	require.NoError(t, err)
}

// end switches the guest off and waits for the model's server.
func (m *machine) end(t *testing.T, cancel context.CancelFunc) {
	m.client.Close()
	if m.shell == nil {
		cancel()
	} else {
		ctx, done := context.WithTimeout(context.Background(), commandTime)
		defer done()
		if t.Failed() {
			out, _ := m.shell.Run(ctx, "cat /tmp/log; dmesg | tail -40")
			t.Log(out)
		}
		if err := m.shell.PowerOff(ctx); err != nil {
			t.Error(err)
		}
	}
	if err := <-m.served; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	t.Logf("%+v DMA granted %d refused %d", m.server.Stats(), m.dev.granted.Load(), m.dev.refused.Load())
}

func (m *machine) bindDevice(t, _ *testing.T) {
	d := guest.PCIAddress(0)
	m.run(t, `for m in $(cat /mod/order); do
			o=; [ $m = vfio_iommu_type1 ] && o=$(cat /proc/cmdline | tr ' ' '\n' | grep ^allow_unsafe_interrupts)
			insmod /mod/$m.ko $o || exit 1
		done
		echo 8 > /proc/sys/vm/nr_hugepages
		d=`+d+`; p=/sys/bus/pci/devices/$d
		`+m.bind)
}

// run runs a script in the guest and returns what it said.
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

func (m *machine) number(t *testing.T, script string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(m.run(t, script), 10, 64)
	require.NoError(t, err)
	return n
}

// startServer starts the server and waits until it listens.
func (m *machine) startServer(t *testing.T) {
	out := m.run(t, `rm -f /tmp/pid /tmp/log
		(
			sh -c 'echo $$ > /tmp/pid; exec httpserver -dev `+guest.PCIAddress(0)+` -clock `+strconv.Itoa(m.dev.ClockHz())+` -ip 10.0.2.15/24,fd00:6261:7265::15/64 -gw 10.0.2.2 -addr :80 `+m.flags+`'
			echo "exit code $?"
		) > /tmp/log 2>&1 &
		for i in $(seq 900); do
			grep -qE 'listening|exit code' /tmp/log && break
			sleep 0.1
		done
		cat /tmp/log`)
	require.Contains(t, out, "listening on http://10.0.2.15:80/")
	require.Regexp(t, regexp.MustCompile(`(?m)^bus +`+m.line), out)
}

// get fetches a path of the server.
func (m *machine) get(t *testing.T, path string) []byte {
	t.Helper()
	body, err := m.client.Get(t.Context(), path)
	require.NoError(t, err)
	return body
}

// counters is what the checks want of /stats.json.
type counters struct {
	Device struct {
		Core       string
		Recoveries struct {
			FatalBusError uint64 `json:"fatal_bus_error"`
			Failed        uint64
		}
		Queues []struct {
			RXInterrupts uint64 `json:"rx_interrupts"`
		}
	}
}

func (m *machine) counters(t *testing.T) (c counters) {
	t.Helper()
	require.NoError(t, json.Unmarshal(m.get(t, "/stats.json"), &c))
	return c
}

// interrupts is the guest kernel's count of the server's interrupt.
func (m *machine) interrupts(t *testing.T) uint64 {
	t.Helper()
	return m.number(t, `awk '/`+m.irq+`/ { print $2 }' /proc/interrupts`)
}
