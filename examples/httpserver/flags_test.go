package main

import (
	"bytes"
	"flag"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/find"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/mac/cores"
	"github.com/barewire/barewire/mac/phy"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// A wrong command line is exit code 2 and one line that says what is allowed.
func TestWrongFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"-addr x", "such as 127.0.0.1:8080"},
		{"-addr 127.0.0.1", "such as 127.0.0.1:8080"},
		{"-addr 127.0.0.1:65536", "port from 0 to 65535"},
		{"-addr :-1", "port from 0 to 65535"},
		{"-addr example.com:80", "need an IP address"},
		{"-addr", "flag needs an argument: -addr"},
		{"-tap=", "-tap: need a name"},
		{"-tap a/b", "use letters, digits"},
		{"-tap a234567890123456", "the name has 16 bytes"},
		{"-tap bw0 -ip 192.0.2.2", "address with its prefix length"},
		{"-tap bw0 -ip 192.0.2.2/33", "address with its prefix length"},
		{"-tap bw0 -ip 0.0.0.0/0", "address with its prefix length"},
		{"-tap bw0 -ip 224.0.0.1/4", "address with its prefix length"},
		{"-tap bw0 -ip 192.0.2.2/24,", "address with its prefix length"},
		{"-ip 192.0.2.2/24", "-ip needs -tap"},
		{"-gw 192.0.2.1", "-gw needs -tap"},
		{"-tap bw0 -gw x", "need an IP address, such as 192.0.2.1"},
		{"-tap bw0 -gw 198.51.100.1", "inside of a prefix of -ip 192.0.2.2/24,fd00:2::2/64"},
		{"-tap bw0 -gw 192.0.2.2", "another station's address"},
		{"-tap bw0 -gw 192.0.2.1,192.0.2.3", "at most one for IPv4"},
		{"-tap bw0 -addr 198.51.100.1:80", "one of the stack's addresses (-ip 192.0.2.2/24,fd00:2::2/64), or :80"},
		{"-core e1000", "need one of " + strings.Join(cores.Names(), ", ")},
		{"-core=", "need one of dwmac"},
		{"-bus pci", "need sim, auto, vfio, uio or devmem"},
		{"-bus uio -dev=", "-dev: need a name"},
		{"-bus auto -udmabuf=", "-udmabuf: need a name"},
		{"-bus devmem -irq-input=", "-irq-input: need a name"},
		{"-bus devmem -reserved 0x7c000000", "need address and size in bytes, such as 0x7c000000+16M"},
		{"-bus uio -irq-input /dev/input/event0", "-irq-input needs -bus devmem or auto"},
		{"-bus vfio -dev 1:00.0 -unsafe-hugepages", "need -bus auto, uio or devmem"},
		{"-bus vfio -dev 1:00.0 -reserved 0x7c000000+16M", "need -bus auto, uio or devmem"},
		{"-bus vfio -dev 0000:01:00.0 -tap bw0", "-tap needs -bus sim"},
		{"-bus vfio -dev 0000:01:00.0 -pcap f", "-pcap needs -bus sim"},
		{"-bus vfio -dev 0000:01:00.0 -link 300", "need auto, phy, phy:0 to phy:31, or a fixed 10, 100, 1000 or 2500"},
		{"-bus vfio -dev 0000:01:00.0 -link phy:32", "need auto, phy, phy:0 to phy:31"},
		{"-bus vfio -dev 0000:01:00.0 -link phy:", "need auto, phy, phy:0 to phy:31"},
		{"-bus vfio -dev 0000:01:00.0 -clock -1", "need 0 to 1000000000"},
		{"-bus vfio -dev 0000:01:00.0 -addr 198.51.100.1:80", "one of the stack's addresses"},
		{"-dev uio0", "-dev needs -bus auto, vfio, uio or devmem"},
		{"-link 1000", "-link needs -bus auto, vfio, uio or devmem"},
		{"-clock 1", "-clock needs -bus auto, vfio, uio or devmem"},
		{"-unsafe-hugepages", "-unsafe-hugepages needs -bus auto, vfio, uio or devmem"},
		{"-reserved 0x7c000000+16M", "-reserved needs -bus auto, vfio, uio or devmem"},
		{"-udmabuf udmabuf0", "-udmabuf needs -bus auto, vfio, uio or devmem"},
		{"-irq-input /dev/input/event0", "-irq-input needs -bus auto, vfio, uio or devmem"},
		{"-pcap=", "-pcap: need a name"},
		{"-mtu 1279", "need 1280 to 9000"},
		{"-mtu 9001", "need 1280 to 9000"},
		{"-mtu x", "need 1280 to 9000"},
		{"-queues 0", "need 1 to 8"},
		{"-queues 9", "need 1 to 8"},
		{"-rx-usecs -1", "need 0 to 100000"},
		{"-rx-usecs 100001", "need 0 to 100000"},
		{"-rx-frames 1025", "need 0 to 1024"},
		{"-tx-usecs 1e3", "need 0 to 100000"},
		{"-tx-frames -1", "need 0 to 1024"},
		{"-copybreak 0", "need 1 to 65536 bytes, auto, never or always"},
		{"-copybreak none", "need 1 to 65536 bytes, auto, never or always"},
		{"-grace 5", "need a time from 0s to 1h"},
		{"-grace -1s", "need a time from 0s to 1h"},
		{"-grace 2h", "need a time from 0s to 1h"},
		{"-v=perhaps", "-v"},
		{"-nope", "not defined: -nope"},
		{"serve", "there are flags only"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, 2, run(t.Context(), strings.Fields(c.args), &stdout, &stderr))
			require.Empty(t, stdout.String())
			require.Contains(t, stderr.String(), c.says)
			require.True(t, strings.HasPrefix(stderr.String(), "httpserver: "))
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		})
	}
}

func TestFlags(t *testing.T) {
	def := options{addr: netip.MustParseAddrPort("127.0.0.1:8080"), bus: busSim, mtu: 1500, queues: 1, coalesce: ring.DefaultCoalesce(), grace: 5 * time.Second}
	tap := def
	tap.tap, tap.addr = "bw0", netip.AddrPortFrom(netip.Addr{}, 8080)
	tap.ips = []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24"), netip.MustParsePrefix("fd00:2::2/64")}
	for args, want := range map[string]func(o *options){
		"":                    func(o *options) {},
		"-addr [::1]:0":       func(o *options) { o.addr = netip.MustParseAddrPort("[::1]:0") },
		"-addr :90":           func(o *options) { o.addr = netip.MustParseAddrPort("0.0.0.0:90") },
		"-addr localhost:90":  func(o *options) { o.addr = netip.MustParseAddrPort("127.0.0.1:90") },
		"-pcap f":             func(o *options) { o.pcap = "f" },
		"-mtu 9000 -queues 8": func(o *options) { o.mtu, o.queues = 9000, 8 },
		"-rx-usecs 0 -v":      func(o *options) { o.coalesce.RXUsecs, o.verbose = 0, true },
		"-rx-frames 7":        func(o *options) { o.coalesce.RXFrames = 7 },
		"-tx-usecs 8":         func(o *options) { o.coalesce.TXUsecs = 8 },
		"-tx-frames 9":        func(o *options) { o.coalesce.TXFrames = 9 },
		"-copybreak auto":     func(o *options) { o.copyBreak = pagepool.CopyBreakAuto },
		"-copybreak never":    func(o *options) { o.copyBreak = pagepool.LendAlways },
		"-copybreak always":   func(o *options) { o.copyBreak = pagepool.CopyAlways },
		"-grace 1m":           func(o *options) { o.grace = time.Minute },
		"-bus vfio -dev 0000:01:00.0 -link 1000 -clock 125000000": func(o *options) {
			*o = tap
			o.tap, o.bus, o.dev, o.link, o.clock = "", find.VFIO, "0000:01:00.0", linkFlag{speed: 1000}, 125_000_000
		},
		"-bus vfio -dev 0000:01:00.0 -link phy": func(o *options) {
			*o = tap
			o.tap, o.bus, o.dev, o.link = "", find.VFIO, "0000:01:00.0", linkFlag{phy: true, address: phy.Scan}
		},
		"-bus vfio -dev 0000:01:00.0 -link phy:0": func(o *options) {
			*o = tap
			o.tap, o.bus, o.dev, o.link = "", find.VFIO, "0000:01:00.0", linkFlag{phy: true}
		},
		"-bus vfio -dev 0000:01:00.0 -link 10 -link auto": func(o *options) {
			*o = tap
			o.tap, o.bus, o.dev = "", find.VFIO, "0000:01:00.0"
		},
		"-bus uio -dev uio0 -unsafe-hugepages -ip 10.0.2.15/24 -gw 10.0.2.2 -addr :80": func(o *options) {
			o.addr = netip.AddrPortFrom(netip.Addr{}, 80)
			o.bus, o.dev, o.memory.UnsafeHugePages = find.UIO, "uio0", true
			o.ips, o.gateways = []netip.Prefix{netip.MustParsePrefix("10.0.2.15/24")}, []netip.Addr{netip.MustParseAddr("10.0.2.2")}
		},
		"-bus devmem -dev 1c30000.ethernet -reserved 0x7c000000+16M -irq-input /dev/input/event0": func(o *options) {
			*o = tap
			o.tap, o.bus, o.dev, o.irqInput = "", find.DevMem, "1c30000.ethernet", "/dev/input/event0"
			o.memory.Reserved = memory.Range{Addr: 0x7c00_0000, Size: 16 << 20}
		},
		"-bus auto -udmabuf udmabuf0": func(o *options) {
			*o = tap
			o.tap, o.bus, o.memory.UDMABuf = "", busAuto, "udmabuf0"
		},
		"-core dwmac4":       func(o *options) { o.core = "dwmac4" },
		"-copybreak 256":     func(o *options) { o.copyBreak = 256 },
		"-tap bw0":           func(o *options) { *o = tap },
		"-tap bw0 -addr :81": func(o *options) { *o = tap; o.addr = netip.AddrPortFrom(netip.Addr{}, 81) },
		"-tap bw0 -gw 192.0.2.1,fd00:2::1": func(o *options) {
			*o = tap
			o.gateways = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("fd00:2::1")}
		},
		"-tap bw0 -ip 10.1.1.1/8 -ip fd01::1/64 -addr [fd01::1]:80": func(o *options) {
			*o = tap
			o.ips = []netip.Prefix{netip.MustParsePrefix("10.1.1.1/8"), netip.MustParsePrefix("fd01::1/64")}
			o.addr = netip.MustParseAddrPort("[fd01::1]:80")
		},
	} {
		o, err := parseFlags(strings.Fields(args))
		require.NoError(t, err, args)
		expected := def
		want(&expected)
		require.Equal(t, expected, *o, args)
	}
}

// The help has one example for each flag, and the examples are right.
func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-h"}, &stdout, &stderr))
	require.Empty(t, stderr.String())
	examples := make(map[string]int)
	for line := range strings.Lines(stdout.String()) {
		if example, ok := strings.CutPrefix(strings.TrimSpace(line), "example: httpserver "); ok {
			fields := strings.Fields(example)
			_, err := parseFlags(fields)
			require.NoError(t, err, example)
			for _, f := range fields {
				examples[strings.TrimPrefix(f, "-")]++
			}
		}
	}
	newFlags(new(options)).VisitAll(func(f *flag.Flag) {
		require.Contains(t, stdout.String(), "  -"+f.Name)
		require.NotZero(t, examples[f.Name], f.Name)
	})
}

// What else goes wrong is exit code 1 and one line that says what to do.
func TestFailures(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"port in use":    {[]string{"-addr", taken.Addr().String()}, []string{"in use", "use another host port", "-addr"}},
		"no own address": {[]string{"-addr", "192.0.2.99:0"}, []string{"-addr 192.0.2.99:0"}},
		"no device":      {[]string{"-addr", ":80", "-bus", "vfio", "-dev", "ffff:ff:1f.7"}, []string{"-dev ffff:ff:1f.7", "vfio"}},
		"unknown device": {[]string{"-addr", ":80", "-bus", "auto", "-dev", "nosuch"}, []string{`-dev nosuch: auto: find: no device "nosuch"; platform devices:`}},
		"no such folder": {[]string{"-addr", "127.0.0.1:0", "-pcap", filepath.Join(file, "x")}, []string{"-pcap"}},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, 1, run(t.Context(), c.args, &stdout, &stderr))
			for _, says := range c.says {
				require.Contains(t, stderr.String(), says)
			}
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			require.Empty(t, stdout.String())
		})
	}
}

// TestLinkFlag: what is said is what the device is given.
func TestLinkFlag(t *testing.T) {
	for _, text := range []string{"auto", "phy", "phy:0", "phy:31", "2500"} {
		var f linkFlag
		require.NoError(t, f.Set(text))
		require.Equal(t, text, f.String())
		var c mac.Config
		f.configure(&c)
		require.Equal(t, text == "2500", c.Link.Up)
		require.Equal(t, text != "2500", c.PHY != nil)
		require.Equal(t, text == "auto", c.PHYFallback)
	}
	_, err := anyPHY(t.Context(), nil, mac.Wiring{})
	require.ErrorContains(t, err, "no MDIO bus")
	require.ErrorContains(t, err, "such as -link phy:1")
}
