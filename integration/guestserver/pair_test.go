//go:build linux

package guestserver

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/integration/vfiouser"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

const clockHandle = 0x7001

// stmmac is the device-tree node with which Linux's driver takes the guest's
// first device.
func stmmac(m sim.Model) []guest.Node {
	return []guest.Node{
		{Name: "mac-clock", Props: []guest.Prop{
			guest.Strings("compatible", "fixed-clock"), guest.Cells("#clock-cells", 0),
			guest.Cells("clock-frequency", uint32(m.ClockHz())), guest.Cells("phandle", clockHandle),
		}},
		{Name: "ethernet@10000000", Props: []guest.Prop{
			guest.Strings("compatible", m.Compatible()...),
			guest.Cells("reg", 0, guest.BAR, 0, guest.BARSize),
			guest.Cells("interrupts", guest.IntA(0)...), guest.Strings("interrupt-names", "macirq"),
			guest.Cells("clocks", clockHandle, clockHandle), guest.Strings("clock-names", "stmmaceth", "pclk"),
			guest.Strings("phy-mode", "rgmii"), {Name: "dma-coherent"}, {Name: "snps,tso"},
			{Name: "mac-address", Value: []byte{2, 0, 0, 0, 0, 10}},
		}, Children: []guest.Node{{Name: "fixed-link", Props: []guest.Prop{guest.Cells("speed", 100), {Name: "full-duplex"}}}}},
	}
}

// TestPair has two MACs in one guest, and a cable between them: Linux's driver
// and TCP on the first, the server on the second.
func TestPair(t *testing.T) {
	needQEMU(t)
	const title = "stmmac and the server, arm64"
	score.Machine(t, title)
	var shell *guest.Shell
	m := &machine{}
	linux, ours := newDevice(dwmac4.New(dwmac4.Config{AnyLinkChange: true})), newDevice(dwmac4.Config{}.Build(sim.Build{FIFO: fifoSize}))
	var servers []*vfiouser.Server
	boot := func(t, outer *testing.T) {
		ctx, cancel := context.WithTimeout(outer.Context(), bootTime)
		defer cancel()
		debian, err := guest.Fetch(ctx)
		require.NoError(t, err)
		files := initrd(ctx, t, debian, "dwmac-generic", "uio_pci_generic")
		life, end := context.WithCancel(context.WithoutCancel(outer.Context())) // the guest outlives the test, to tell why it failed
		outer.Cleanup(end)
		wire := cable.Connect(linux.port(), ours.port(), &cable.Options{Link: fast})
		outer.Cleanup(func() { require.NoError(outer, wire.Close()) })
		dir := outer.TempDir()
		g := &guest.Machine{Nodes: stmmac(linux.Model)}
		for i, d := range []*device{linux, ours} {
			socket := filepath.Join(dir, []string{"linux", "ours"}[i])
			server, served := serve(life, t, d, &vfiouser.Options{MasterOnly: d == ours}, socket)
			servers = append(servers, server)
			outer.Cleanup(func() {
				if shell == nil {
					end()
				}
				if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
					outer.Error(err)
				}
				outer.Logf("%+v %+v", server.Stats(), d.stats())
			})
			g.Sockets = append(g.Sockets, socket)
		}
		cmd, err := debian.Command(life, g, files, dir)
		require.NoError(t, err)
		shell, err = guest.NewShell(ctx, cmd)
		require.NoError(t, err)
		m.shell = shell
		outer.Cleanup(func() {
			ctx, done := context.WithTimeout(context.Background(), commandTime)
			defer done()
			if outer.Failed() {
				out, _ := shell.Run(ctx, "wget -q -O - http://192.0.2.2/stats.json; cat /proc/net/dev /proc/net/snmp /tmp/log; dmesg | tail -40")
				outer.Log(out)
			}
			if err := shell.PowerOff(ctx); err != nil {
				outer.Error(err)
			}
		})
	}
	for _, c := range []struct {
		name string
		f    func(t *testing.T)
	}{
		{"boot", func(inner *testing.T) { boot(inner, t) }},
		{"both drivers up, server started", func(t *testing.T) {
			out := m.run(t, `echo 1 > /sys/bus/pci/devices/0000:00:01.0/enable
				for m in $(cat /mod/order); do insmod /mod/$m.ko || exit 1; done
				for i in $(seq 600); do [ -e /sys/class/net/eth0 ] && break; sleep 0.1; done
				ip addr add 192.0.2.10/24 dev eth0 && ip link set eth0 up || exit 1
				echo 8 > /proc/sys/vm/nr_hugepages
				echo uio_pci_generic > /sys/bus/pci/devices/0000:00:02.0/driver_override
				echo 0000:00:02.0 > /sys/bus/pci/drivers_probe
				httpserver -bus uio -dev uio0 -unsafe-hugepages -ip 192.0.2.2/24 -addr :80 > /tmp/log 2>&1 &
				echo $! > /tmp/pid
				for i in $(seq 900); do grep -q listening /tmp/log && break; sleep 0.1; done
				cat /tmp/log`)
			require.Contains(t, out, "listening on http://192.0.2.2:80/")
		}},
		{"ping of 0 to 1472 bytes", func(t *testing.T) {
			require.Equal(t, "5\n5\n5\n5", m.run(t, `for s in 0 56 1000 1472; do pings 5 $s 192.0.2.2; done`))
		}},
		{"TCP from the server to Linux, 2 MiB", func(t *testing.T) {
			require.Equal(t, "equal", m.run(t, `want=$(wget -q -O - 'http://192.0.2.2/bytes?n=2M&sum=1' | cut -c1-64)
				got=$(wget -q -O - 'http://192.0.2.2/bytes?n=2M' | sha256sum | cut -c1-64)
				[ ${#want} = 64 ] && [ $want = $got ] && echo equal`))
		}},
		{"TCP from Linux to the server, 2 MiB", func(t *testing.T) {
			require.Equal(t, "equal", m.run(t, `head -c 2097152 /dev/urandom > /tmp/up
				want=$(sha256sum < /tmp/up | cut -c1-64)
				(printf 'POST /upload HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2097152\r\n\r\n'; cat /tmp/up) | nc 192.0.2.2 80 > /tmp/answer
				grep -q $want /tmp/answer && echo equal`))
		}},
		{"SIGTERM: no page lent", func(t *testing.T) {
			require.Contains(t, m.run(t, `kill -TERM $(cat /tmp/pid); while [ -d /proc/$(cat /tmp/pid) ]; do sleep 0.1; done; cat /tmp/log`), "; 0 pages lent")
		}},
		{"no rule of the hardware broken, no warning of the kernel", func(t *testing.T) {
			require.Empty(t, linux.Violations().List())
			require.Empty(t, ours.Violations().List())
			for _, s := range servers {
				require.Zero(t, s.Stats().DMAFaults)
				require.NotZero(t, s.Stats().INTxSent)
			}
			require.Empty(t, m.run(t, `dmesg | grep -E 'WARNING:|Oops|BUG:|nobody cared|timed out|Call trace' || true`))
		}},
	} {
		if !check(t, title, c.name, c.f) {
			return
		}
	}
}
