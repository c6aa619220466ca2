//go:build linux

package devmem

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/fakeroot"
	"github.com/barewire/barewire/mac/bus/internal/hostmem"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ethernet = "9000.ethernet"
	inSysfs  = "/sys/devices/platform/soc/" + ethernet
	base     = "/sys/firmware/devicetree/base"
	node     = base + "/soc/ethernet@9000"
)

// machine has a MAC with two register windows at 0x9000 and 0xa800 and 64 KiB set
// aside at 0x10000, in a /dev/mem of 128 KiB.
func machine(t *testing.T) *fakeroot.Root {
	r := fakeroot.New(t)
	r.Write("/dev/mem", strings.Repeat("\xff", 0x20000))
	r.Write(inSysfs+"/uevent", "")
	r.Link("/sys/bus/platform/devices/"+ethernet, inSysfs)
	r.Link(inSysfs+"/of_node", node)
	for _, n := range []string{base, base + "/soc", base + "/reserved-memory"} {
		r.Cells(n+"/#address-cells", 1)
		r.Cells(n+"/#size-cells", 1)
		r.Write(n+"/ranges", "")
	}
	r.Write(node+"/compatible", "allwinner,sun8i-h3-emac\x00")
	r.Cells(node+"/reg", 0x9000, 0x1000, 0xa800, 0x100)
	r.Cells(node+"/memory-region", 5)
	r.Write(node+"/local-mac-address", "\x02\x00\x00\x00\x00\x07")
	r.Cells(node+"/clocks", 6)
	r.Cells(base+"/osc/phandle", 6)
	r.Cells(base+"/osc/clock-frequency", 24000000)
	r.Cells(base+"/reserved-memory/dma@10000/reg", 0x10000, 0x10000)
	r.Cells(base+"/reserved-memory/dma@10000/phandle", 5)
	r.Write(base+"/reserved-memory/dma@10000/no-map", "")
	return r
}

func open(r *fakeroot.Root, dev string, o Options) (*Bus, error) {
	o.root, o.goarch = sysfs.Root(r.Dir), "arm"
	return Open(dev, &o)
}

func must(r *fakeroot.Root, dev string, o Options) *Bus {
	b, err := open(r, dev, o)
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, b.Close()) })
	return b
}

func TestDevice(t *testing.T) {
	r := machine(t)
	b := must(r, ethernet, Options{})
	require.Equal(t, ethernet, b.Name())
	require.Equal(t, []string{"allwinner,sun8i-h3-emac"}, b.Compatible())
	require.Equal(t, 24000000, b.ClockHz())
	require.Equal(t, mac.Wiring{Address: mac.HardwareAddr{2, 0, 0, 0, 0, 7}}, b.Wiring())
	require.Equal(t, "devmem 9000.ethernet: registers at 0x9000+0x1000; DMA memory from memory-region of the device tree at 0x10000+0x10000, "+
		"uncached: frames are copied in aligned words; no interrupt, since the kernel passes none on: polled every 1ms", b.String())

	regs, err := b.Registers(0)
	require.NoError(t, err)
	regs.Write32(0x24, 0x04030201)
	require.Equal(t, "\x01\x02\x03\x04", r.Read("/dev/mem")[0x9024:0x9028])
	again, err := b.Registers(0)
	require.NoError(t, err)
	require.Same(t, regs, again)
	second, err := b.Registers(1)
	require.NoError(t, err)
	second.Write32(0xfc, 0)
	require.Equal(t, "\x00\x00\x00\x00\xff", r.Read("/dev/mem")[0xa8fc:0xa901], "a window within a page")
	require.Panics(t, func() { second.Read32(0x100) })
	for _, i := range []int{-1, 2} {
		_, err = b.Registers(i)
		require.ErrorIs(t, err, mac.ErrNoDevice)
	}
	m, err := b.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 64, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	require.EqualValues(t, 0x10000, m.DeviceAddr())
	require.NoError(t, b.Close())
	require.NoError(t, m.Release(), "memory outlives the bus")
	_, err = b.Registers(0)
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, b.Close())
}

func TestRawAddress(t *testing.T) {
	b := must(machine(t), "0x9000+0x1000", Options{Compatible: []string{"snps,dwmac"}, ClockHz: 7, Memory: memory.Options{Reserved: memory.Range{Addr: 0x18000, Size: 0x8000}}})
	require.Equal(t, []string{"snps,dwmac"}, b.Compatible())
	require.Zero(t, b.Wiring())
	require.Equal(t, 7, b.ClockHz())
	_, err := b.Registers(0)
	require.NoError(t, err)
	m, err := b.Alloc(mac.Alloc{Use: mac.RXBuffers, Size: 64, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	require.EqualValues(t, 0x18000, m.DeviceAddr())
	require.NoError(t, m.Release())
}

func TestOneProgramAtATime(t *testing.T) {
	r := machine(t)
	b := must(r, ethernet, Options{})
	_, err := open(r, "0xa880+0x10", Options{})
	require.NoError(t, b.Close())
	require.ErrorContains(t, err, "another program has its registers at 0xa880+0x10")
	must(r, "0xa880+0x10", Options{})
}

func TestPolling(t *testing.T) {
	b := must(machine(t), ethernet, Options{PollPeriod: time.Microsecond})
	l, err := b.Interrupt(0)
	require.NoError(t, err)
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, mac.ErrConfig)
	_, err = b.Interrupt(1)
	require.ErrorIs(t, err, mac.ErrNoDevice)
	require.NoError(t, l.Wait())
	require.NoError(t, l.Rearm())
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Wait(), os.ErrClosed)
	_, err = b.Interrupt(0)
	require.NoError(t, err, "again after Close")
	require.Contains(t, b.String(), "polled every 1µs")
}

func TestInputEvent(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fds[1])
	b := must(machine(t), ethernet, Options{InputEvent: "/dev/input/event0", input: func(path string) (int, error) {
		require.Equal(t, "/dev/input/event0", path)
		return fds[0], nil
	}})
	require.Contains(t, b.String(), "edges of its line from /dev/input/event0, and a look every 5ms")
	l, err := b.Interrupt(0)
	require.NoError(t, err)
	_, err = unix.Write(fds[1], make([]byte, 4*24))
	require.NoError(t, err)
	for range 3 { // the edge, another look, the backstop
		require.NoError(t, l.Wait())
		require.NoError(t, l.Rearm())
	}
	require.NoError(t, b.Close(), "closes the line")
	require.ErrorIs(t, l.Wait(), os.ErrClosed)

	b = must(machine(t), ethernet, Options{InputEvent: t.TempDir() + "/event9"})
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "is the line a key of gpio-keys in the device tree")
	file := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	b = must(machine(t), ethernet, Options{InputEvent: file})
	_, err = b.Interrupt(0)
	require.ErrorContains(t, err, "grab "+file)
}

// TestWrongUse: each error says what to do next.
func TestWrongUse(t *testing.T) {
	for _, c := range []struct {
		name, dev string
		opts      Options
		spoil     func(r *fakeroot.Root)
		err       error
		text      string
	}{
		{name: "unknown", dev: "1.ethernet", err: mac.ErrNoDevice, text: "no such platform device; there are: " + ethernet},
		{name: "nothing", dev: "", err: mac.ErrConfig, text: `want a platform device like "1c30000.ethernet"`},
		{name: "a path", dev: "../mem", err: mac.ErrConfig, text: "want a platform device"},
		{name: "PCI", dev: "0000:00:01.0", err: mac.ErrConfig, text: "use package vfio"},
		{name: "bound", dev: ethernet, err: mac.ErrNoDevice, text: "driver dwmac-sun8i has it. As root: echo 9000.ethernet > /sys/bus/platform/devices/9000.ethernet/driver/unbind",
			spoil: func(r *fakeroot.Root) {
				r.Write("/sys/bus/platform/drivers/dwmac-sun8i/uevent", "")
				r.Link(inSysfs+"/driver", "/sys/bus/platform/drivers/dwmac-sun8i")
			}},
		{name: "no registers", dev: ethernet, err: mac.ErrConfig, text: "give Options.Windows", spoil: func(r *fakeroot.Root) { r.Remove(inSysfs + "/of_node") }},
		{name: "empty window", dev: ethernet, opts: Options{Windows: []memory.Range{{Addr: 4096}}}, err: mac.ErrConfig, text: "register window 0x1000+0x0"},
		{name: "huge window", dev: "0x0+2G", err: mac.ErrConfig, text: "register window"},
		{name: "negative period", dev: ethernet, opts: Options{PollPeriod: -1}, err: mac.ErrConfig, text: "poll period -1ns"},
		{name: "memory of two kinds", dev: ethernet, opts: Options{Memory: memory.Options{UDMABuf: "a", UnsafeHugePages: true}}, err: mac.ErrConfig, text: "choose one"},
		{name: "no /dev/mem", dev: ethernet, err: os.ErrNotExist, text: "CONFIG_DEVMEM", spoil: func(r *fakeroot.Root) { r.Remove("/dev/mem") }},
	} {
		r := machine(t)
		if c.spoil != nil {
			c.spoil(r)
		}
		_, err := open(r, c.dev, c.opts)
		require.ErrorIs(t, err, c.err, c.name)
		require.ErrorContains(t, err, "devmem: open "+c.dev, c.name)
		require.ErrorContains(t, err, c.text, c.name)
	}
}

func TestNotAllowed(t *testing.T) {
	refuse := hostmem.Hooks{Open: func(string, bool) (int, error) { return -1, unix.EACCES }}
	_, err := open(machine(t), ethernet, Options{hooks: refuse})
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, "run as root (CAP_SYS_RAWIO)")
}

// TestClockOff: what a core says of a device that does not answer, or does not leave
// reset, comes with what to do about it.
func TestClockOff(t *testing.T) {
	for _, cause := range []error{mac.ErrNoDevice, mac.ErrReset} {
		b, err := open(machine(t), ethernet, Options{})
		require.NoError(t, err)
		_, err = mac.Open(context.Background(), b, nil, mac.Driver{Name: "test", New: func(mac.Bus) (mac.Core, error) { return nil, cause }})
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "its clock may be off: nobody holds the clocks and resets of 9000.ethernet")
		require.ErrorContains(t, err, "clk_ignore_unused")
		require.NoError(t, b.Close(), "the second time")
		require.Empty(t, b.Advice(mac.ErrConfig))
	}
}
