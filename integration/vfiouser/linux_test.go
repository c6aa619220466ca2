//go:build linux && qemu

package vfiouser_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/integration/vfiouser"
	"github.com/barewire/barewire/integration/vfiouser/vfu"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/mac/sim/usernet"
)

// These tests boot a stock Debian kernel and run with -tags qemu. Each line
// "RESULT name value" of the console is a result.

// script brings up eth0, pings the gateway before and after a down and up, sends
// back what comes to port 7, and removes the driver.
const script = `
echo 1 > /sys/bus/pci/devices/0000:00:01.0/enable
for m in $(cat /mod/order); do insmod /mod/$m.ko || echo "RESULT insmod_$m failed"; done
for i in $(seq 50); do [ -e /sys/class/net/eth0 ] && break; sleep 0.1; done
ip addr add 10.0.2.15/24 dev eth0
received() { sed -n 's/.* \([0-9]*\) packets received.*/\1/p'; }
up() {
	ip link set eth0 up
	for i in $(seq 50); do [ "$(cat /sys/class/net/eth0/carrier 2>/dev/null)" = 1 ] && break; sleep 0.1; done
}
up
echo RESULT driver $(basename $(readlink /sys/class/net/eth0/device/driver))
echo RESULT ping_small $(ping -c 5 -i 0.1 10.0.2.2 | received)
echo RESULT ping_large $(ping -c 100 -i 0.02 -q -s 1400 10.0.2.2 | received)
ip link set eth0 down
up
echo RESULT ping_again $(ping -c 5 -i 0.1 10.0.2.2 | received)
echo RESULT echo ready
nc -l -p 7 -e cat
for f in rx_errors rx_dropped tx_errors tx_dropped rx_crc_errors; do echo RESULT $f $(cat /sys/class/net/eth0/statistics/$f); done
grep -E 'CPU0|eth0' /proc/interrupts
rmmod dwmac_generic
echo RESULT rmmod $?
echo RESULT warnings $(dmesg | grep -cE 'WARNING:|Oops|BUG:|nobody cared|timed out')
dmesg | grep -E 'stmmac|eth0|dwmac' | tail -40
`

// messages has the guest use the function's MSI as the platform device's
// interrupt: it writes the capability by hand. Address and data are those of
// QEMU's GICv2m, whose first interrupt is shared peripheral interrupt 48; 80 is
// its number in the whole controller.
const messages = `
config() { printf "$2" | dd of=/sys/bus/pci/devices/0000:00:01.0/config bs=1 seek=$(($1)) conv=notrunc 2>/dev/null; }
config 0x54 '\100\000\002\010'
config 0x58 '\000\000\000\000'
config 0x5c '\120\000'
config 0x04 '\006\004'
config 0x52 '\001\000'
`

// TestLinuxStmmac runs Linux's stmmac driver on the model.
func TestLinuxStmmac(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	debian, err := guest.Fetch(ctx)
	require.NoError(t, err)
	t.Run("5.10, INTx", func(t *testing.T) {
		linuxStmmac(t, debian, &dwmac4.Config{}, false, nil, "")
	})
	t.Run("4.10, 32-bit addresses", func(t *testing.T) {
		linuxStmmac(t, debian, &dwmac4.Config{Version: 0x41, AddressBits: 32}, false, nil, "")
	})
	t.Run("5.20, two queues, TSO, MSI", func(t *testing.T) {
		_, stats := linuxStmmac(t, debian, &dwmac4.Config{Version: 0x52, Queues: 2}, true, twoQueues(), messages)
		require.NotZero(t, stats.TSOFrames)
		require.NotZero(t, stats.RX[0])
		require.NotZero(t, stats.RX[1], "the broadcast")
	})
}

func clock(m *dwmac4.Model) guest.Node {
	return guest.Node{Name: "mac-clock", Props: []guest.Prop{
		guest.Strings("compatible", "fixed-clock"), guest.Cells("#clock-cells", 0),
		guest.Cells("clock-frequency", uint32(m.ClockHz())), guest.Cells("phandle", clockHandle),
	}}
}

// Handles of nodes, out of the way of QEMU's.
const (
	clockHandle   = 0x7001
	rxQueueHandle = 0x7002
	txQueueHandle = 0x7003
)

// node is the MAC behind the BAR of the device with this index.
func node(m *dwmac4.Model, device uint32, irq []uint32, more ...guest.Prop) guest.Node {
	bar := guest.BAR + device*guest.BARSize
	return guest.Node{Name: fmt.Sprintf("ethernet@%x", bar), Props: append([]guest.Prop{
		guest.Strings("compatible", m.Compatible()...),
		guest.Cells("reg", 0, bar, 0, guest.BARSize),
		guest.Cells("interrupts", irq...), guest.Strings("interrupt-names", "macirq"),
		guest.Cells("clocks", clockHandle, clockHandle), guest.Strings("clock-names", "stmmaceth", "pclk"),
		guest.Strings("phy-mode", "rgmii"), {Name: "dma-coherent"},
		{Name: "mac-address", Value: []byte{2, 0, 0, 0, 0, byte(device + 1)}},
	}, more...), Children: []guest.Node{{Name: "fixed-link", Props: []guest.Prop{
		guest.Cells("speed", 1000), {Name: "full-duplex"},
	}}}}
}

// twoQueues are the nodes that set up two queues each way: broadcasts and
// multicasts go to the second.
func twoQueues() []guest.Node {
	flag := func(name string) guest.Prop { return guest.Prop{Name: name} }
	return []guest.Node{
		{Name: "rx-queues", Props: []guest.Prop{
			guest.Cells("snps,rx-queues-to-use", 2), flag("snps,rx-sched-sp"), guest.Cells("phandle", rxQueueHandle),
		}, Children: []guest.Node{
			{Name: "queue0", Props: []guest.Prop{flag("snps,dcb-algorithm"), guest.Cells("snps,map-to-dma-channel", 0), guest.Cells("snps,priority", 0x0f)}},
			{Name: "queue1", Props: []guest.Prop{flag("snps,dcb-algorithm"), guest.Cells("snps,map-to-dma-channel", 1), guest.Cells("snps,priority", 0xf0),
				flag("snps,route-multi-broad")}},
		}},
		{Name: "tx-queues", Props: []guest.Prop{
			guest.Cells("snps,tx-queues-to-use", 2), flag("snps,tx-sched-wrr"), guest.Cells("phandle", txQueueHandle),
		}, Children: []guest.Node{
			{Name: "queue0", Props: []guest.Prop{guest.Cells("snps,weight", 0x10), flag("snps,dcb-algorithm"), guest.Cells("snps,priority", 0)}},
			{Name: "queue1", Props: []guest.Prop{guest.Cells("snps,weight", 0x11), flag("snps,dcb-algorithm"), guest.Cells("snps,priority", 1)}},
		}},
	}
}

// linuxStmmac boots a guest with one core, and checks what its driver can do.
func linuxStmmac(t *testing.T, debian *guest.Debian, config *dwmac4.Config, msi bool, queues []guest.Node, prelude string) (vfu.Stats, dwmac4.Stats) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	modules, err := debian.Modules(ctx, "dwmac-generic")
	require.NoError(t, err)
	busybox, err := os.ReadFile(debian.Busybox())
	require.NoError(t, err)

	model := dwmac4.New(*config)
	network, err := usernet.New(nil)
	require.NoError(t, err)
	wire := cable.Connect(model.Port(), network, nil)
	irq, vectors := guest.IntA(0), 0
	var more []guest.Prop
	if msi {
		irq, vectors = []uint32{0, 48, 1}, 1
	}
	if queues != nil {
		more = []guest.Prop{{Name: "snps,tso"}, guest.Cells("snps,mtl-rx-config", rxQueueHandle), guest.Cells("snps,mtl-tx-config", txQueueHandle)}
	}
	s, err := vfiouser.New(model, &vfiouser.Options{MSIVectors: vectors})
	require.NoError(t, err)
	dir := t.TempDir()
	socket := filepath.Join(dir, "mac0")
	l, err := vfiouser.Listen(socket)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.AcceptAndServe(ctx, l) }()

	cmd, err := debian.Command(ctx, &guest.Machine{Sockets: []string{socket}, Nodes: append(queues, clock(model), node(model, 0, irq, more...))},
		guest.NewInitrd(busybox, modules, prelude+script).Bytes(), dir)
	require.NoError(t, err)
	results := converse(ctx, t, cmd, func(name string) string {
		if name == "echo" {
			broadcast(ctx, t, network)
			return echo(ctx, network)
		}
		return ""
	})
	require.NoError(t, <-served)
	require.NoError(t, wire.Close())
	require.NoError(t, network.Close())
	t.Logf("%+v", s.Stats())
	t.Logf("%+v", model.Stats())
	require.Equal(t, map[string]string{
		"driver": "stmmaceth", "ping_small": "5", "ping_large": "100", "ping_again": "5", "echo": strconv.Itoa(echoBytes),
		"rx_errors": "0", "rx_dropped": "0", "tx_errors": "0", "tx_dropped": "0", "rx_crc_errors": "0", "rmmod": "0", "warnings": "0",
	}, results)
	for _, v := range model.Violations().List() {
		require.Contains(t, v, "speed or duplex changed while the MAC runs", "what Linux does at each link-up, and nothing else")
	}
	require.Zero(t, s.Stats().DMAFaults)
	require.Equal(t, msi, s.Stats().MSISent > 0)
	require.Equal(t, msi, s.Stats().INTxSent == 0)
	return s.Stats(), model.Stats()
}

// converse runs a guest and returns its results. What answer says to a result
// takes its place.
func converse(ctx context.Context, t *testing.T, cmd *exec.Cmd, answer func(name string) string) map[string]string {
	console, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	start := time.Now()
	require.NoError(t, cmd.Start())
	results := map[string]string{}
	form := regexp.MustCompile(`RESULT (\S+) (.*)`)
	lines := bufio.NewScanner(console)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		t.Logf("%6.2f %s", time.Since(start).Seconds(), line)
		if m := form.FindStringSubmatch(line); m != nil {
			results[m[1]] = m[2]
			if a := answer(m[1]); a != "" {
				results[m[1]] = a
			}
		}
	}
	require.NoError(t, cmd.Wait(), "%s %v", &errs, ctx.Err())
	return results
}

// broadcast has the gateway ask for the address of a station that is not there.
func broadcast(ctx context.Context, t *testing.T, network *usernet.Network) {
	c, err := network.DialContext(ctx, "udp", "10.0.2.77:9")
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("hello"))
	require.NoError(t, err)
}

const echoBytes = 256 << 10

// echo sends bytes to the guest's port 7 and says how many came back as they
// were.
func echo(ctx context.Context, network *usernet.Network) string {
	var c net.Conn
	var err error
	for { // the server is about to listen
		if c, err = network.DialContext(ctx, "tcp", ":7"); err == nil {
			break
		}
		if ctx.Err() != nil {
			return err.Error()
		}
		time.Sleep(50 * time.Millisecond)
	}
	defer c.Close()
	data := make([]byte, echoBytes)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	go func() {
		if _, err := c.Write(data); err == nil {
			_ = c.(interface{ CloseWrite() error }).CloseWrite() // the reader sees it
		}
	}()
	got, err := io.ReadAll(c)
	if err != nil {
		return err.Error()
	}
	if !bytes.Equal(got, data) {
		return fmt.Sprintf("%d bytes, not the same", len(got))
	}
	return strconv.Itoa(len(got))
}
