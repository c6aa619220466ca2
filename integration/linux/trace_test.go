//go:build linux

package linux

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/integration/vfiouser"
	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	driver "github.com/barewire/barewire/mac/dwmac4"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// phases are what each driver is made to do.
var phases = []string{"probe", "up", "transmit one frame", "receive one frame"}

// recorded is a model for a bus in this process: vfiouser is not there to see the
// accesses.
type recorded struct {
	*dwmac4.Model
	*watch
}

func (r recorded) Read32(off uint32) uint32 {
	v := r.Model.Read32(off)
	r.trace(vfiouser.Access{Off: off, Value: v})
	return v
}

func (r recorded) Write32(off, v uint32) {
	r.trace(vfiouser.Access{Write: true, Off: off, Value: v})
	r.Model.Write32(off, v)
}

// TestTrace prints what Linux's driver and Barewire's do with the registers of
// the same core, side by side. It runs with -trace alone.
func TestTrace(t *testing.T) {
	if !*boots || !*tracing {
		t.Skip("prints register traces: make integration-linux ARGS=-trace")
	}
	linux, ours := traceLinux(t), traceBarewire(t)
	for i, name := range phases {
		fmt.Printf("\n%-64s Barewire: %s\n", "Linux: "+name, name)
		for row := range max(len(linux[i]), len(ours[i])) {
			line := func(lines []string) string {
				if row < len(lines) {
					return lines[row]
				}
				return ""
			}
			fmt.Println(strings.TrimRight(fmt.Sprintf("%-64s %s", line(linux[i]), line(ours[i])), " "))
		}
	}
	fmt.Println()
}

// take returns, one a line, the accesses since the last mark when there are no
// more. Accesses that go on with the same value, at the same register or at the
// next, share a line; counters, which are read now and then, are left out.
func (w *watch) take(named sim.Described) (lines []string) {
	for n := -1; n != len(w.since()); time.Sleep(300 * time.Millisecond) {
		n = len(w.since())
	}
	all := slices.DeleteFunc(w.since(), func(a vfiouser.Access) bool { return !a.Write && a.Off >= firstCounter && a.Off <= lastCounter })
	w.mark()
	for i := 0; i < len(all); {
		first, n := all[i], 1
		for i+n < len(all) {
			a, before := all[i+n], all[i+n-1]
			if a.Write != first.Write || a.Value != first.Value || a.Off != before.Off && a.Off != before.Off+4 {
				break
			}
			n++
		}
		last := all[i+n-1].Off
		line := nameOf(named, first.Off)
		if last != first.Off {
			line += " to " + nameOf(named, last)
		} else if n > 1 {
			line += fmt.Sprintf(" %d times", n)
		}
		if first.Write {
			line = "write " + line
		} else {
			line = "read  " + line
		}
		lines = append(lines, fmt.Sprintf("%s %#x", line, first.Value))
		i += n
	}
	return lines
}

// The MMC counters.
const firstCounter, lastCounter = 0x714, 0x8ff

func nameOf(named sim.Described, off uint32) string {
	if name := named.RegisterName(off); name != "" {
		return name
	}
	return fmt.Sprintf("%#06x", off)
}

// frameTo is a frame that nobody has a use for, to 02:00:00:00:00:last.
func frameTo(last byte) []byte {
	f := make([]byte, 60)
	copy(f, []byte{2, 0, 0, 0, 0, last, 2, 0, 0, 0, 0, 1, 0x88, 0xb5})
	return f
}

func traceLinux(t *testing.T) (out [][]string) {
	m := &machine{setup: setup{title: "trace", cores: []core{dwmac4Core(dwmac4.Config{})}}, t: t, served: make(chan error, 1)}
	m.boot(t, t)
	d := m.devices[0]
	p := d.model.(*probe)
	for _, script := range []string{
		"insert; echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6",
		"ip addr add 192.0.2.10/24 dev eth0; ip link set eth0 up; carrier eth0",
		"arping -c 1 -w 1 -I eth0 192.0.2.77 > /dev/null; true",
	} {
		d.mark()
		m.run(t, script)
		out = append(out, d.take(p))
	}
	p.Deliver(frameTo(10))
	return append(out, d.take(p))
}

func traceBarewire(t *testing.T) (out [][]string) {
	p := recorded{dwmac4.New(dwmac4.Config{}), &watch{}}
	bus := bussim.New(p, nil)
	dev, err := driver.Open(t.Context(), bus, &mac.Config{
		Address: mac.HardwareAddr{2, 0, 0, 0, 0, 10}, Link: mac.Link{Up: true, Speed: 1000, FullDuplex: true},
	})
	require.NoError(t, err)
	out = append(out, p.take(p))
	ep, err := endpoint.New(dev, nil)
	require.NoError(t, err)
	host, err := netstack.New(ep, &netstack.Options{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}})
	require.NoError(t, err)
	defer func() { require.NoError(t, host.Close()) }()
	out = append(out, p.take(p))
	c, err := host.DialContext(t.Context(), "udp", "192.0.2.77:9")
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("x")) // makes an ARP request
	require.NoError(t, err)
	out = append(out, p.take(p))
	p.Deliver(frameTo(10))
	return append(out, p.take(p))
}
