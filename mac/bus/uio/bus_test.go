//go:build linux

package uio

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
)

func (t *tree) open(dev string, o Options) *Bus {
	t.Helper()
	o.root = t.root()
	b, err := Open(dev, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func TestPCI(t *testing.T) {
	tr := newTree(t)
	tr.addPCI()
	for _, dev := range []string{addr, "00:01.0", "uio0", "/dev/uio0"} {
		tr.setCommand(sysfs.CommandMaster | sysfs.CommandNoINTx)
		b := tr.open(dev, Options{ClockHz: 125e6})
		require.Contains(t, []string{addr, "uio0"}, b.Name())
		require.Equal(t, []string{"pci16c3,7102"}, b.Compatible())
		require.Equal(t, 125000000, b.ClockHz())
		require.Equal(t, uint16(sysfs.CommandMemory|sysfs.CommandNoINTx), tr.command(), "memory decoding on, DMA off")

		w, err := b.Registers(0)
		require.NoError(t, err)
		w.Write32(0x110, 0x3051)
		require.Equal(t, uint32(0x3051), w.Read32(0x110))
		file, err := os.ReadFile(filepath.Join(tr.dir, pciReal, "resource0"))
		require.NoError(t, err)
		require.Equal(t, uint32(0x3051), binary.LittleEndian.Uint32(file[pageOffset+0x110:]), "BAR 0 begins inside of its page")
		again, err := b.Registers(0)
		require.NoError(t, err)
		require.Same(t, w, again)
		_, err = b.Registers(1)
		require.NoError(t, err, "BAR 2")
		for _, i := range []int{2, -1} {
			_, err = b.Registers(i)
			require.ErrorIs(t, err, mac.ErrNoDevice)
			require.ErrorContains(t, err, "2 memory BARs")
		}
		require.NoError(t, b.Close())
		require.NoError(t, b.Close())
		_, err = b.Registers(0)
		require.ErrorIs(t, err, os.ErrClosed)
		_, err = b.Interrupt(0)
		require.ErrorIs(t, err, os.ErrClosed)
	}
}

func TestPCIInterrupt(t *testing.T) {
	tr := newTree(t)
	tr.addPCI()
	b := tr.open(addr, Options{})
	kernel, err := os.OpenFile(filepath.Join(tr.dir, "dev/uio0"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer kernel.Close()
	fire := func(count uint32) {
		tr.setCommand(tr.command() | sysfs.CommandNoINTx) // as the kernel's handler does
		_, err := kernel.Write(binary.NativeEndian.AppendUint32(nil, count))
		require.NoError(t, err)
	}
	fire(1) // before anybody listens
	irq, err := b.Interrupt(0)
	require.NoError(t, err)
	require.Zero(t, tr.command()&sysfs.CommandNoINTx, "armed at open")
	require.NoError(t, irq.Wait())
	for _, count := range []uint32{2, 5, 5 + 1<<31, 0xffffffff, 0, 3} {
		fire(count)
		require.NoError(t, irq.Wait())
		require.NotZero(t, tr.command()&sysfs.CommandNoINTx)
		require.NoError(t, irq.Rearm())
		require.Equal(t, uint16(sysfs.CommandMemory), tr.command(), "rearmed, nothing else changed")
	}
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, mac.ErrConfig, "open once at a time")
	_, err = b.Interrupt(1)
	require.ErrorIs(t, err, mac.ErrNoDevice)
	require.NoError(t, irq.Close())
	require.NotZero(t, tr.command()&sysfs.CommandNoINTx, "masked at close")
	require.ErrorIs(t, irq.Wait(), os.ErrClosed)
	irq, err = b.Interrupt(0)
	require.NoError(t, err, "and open again")
	fire(4)
	require.NoError(t, irq.Wait())

	waiting, done := make(chan struct{}), make(chan error, 1)
	go func() {
		close(waiting)
		done <- irq.Wait()
	}()
	<-waiting
	require.NoError(t, b.Close())
	require.ErrorIs(t, <-done, os.ErrClosed, "closing the bus unblocks Wait")
}

func TestPCIGone(t *testing.T) {
	tr := newTree(t)
	tr.addPCI()
	o := Options{root: tr.root()}
	b, err := Open(addr, &o)
	require.NoError(t, err)
	irq, err := b.Interrupt(0)
	require.NoError(t, err)
	tr.setCommand(0xffff)
	require.ErrorIs(t, irq.Rearm(), mac.ErrNoDevice)
	require.ErrorContains(t, b.Close(), "the device is gone or powered off")
	_, err = Open(addr, &o)
	require.ErrorIs(t, err, mac.ErrNoDevice)
}

func TestPlatformRegisters(t *testing.T) {
	tr := newTree(t)
	tr.addPlatform()
	for _, dev := range []string{ethernet, "uio1", "/dev/uio1"} {
		b := tr.open(dev, Options{})
		require.Equal(t, []string{"snps,dwmac-4.20a", "generic-uio"}, b.Compatible())
		w0, err := b.Registers(0)
		require.NoError(t, err)
		w1, err := b.Registers(1)
		require.NoError(t, err)
		w0.Write32(0x3fc, 1)
		w1.Write32(0xffc, 2)
		file, err := os.ReadFile(filepath.Join(tr.dir, "dev/uio1"))
		require.NoError(t, err)
		require.Equal(t, uint32(1), binary.LittleEndian.Uint32(file[0x800+0x3fc:]), "map 0 has an offset")
		require.Equal(t, uint32(2), binary.LittleEndian.Uint32(file[os.Getpagesize()+0xffc:]), "map 1 is at one page")
		require.Panics(t, func() { w0.Read32(0x400) })
		_, err = b.Registers(2)
		require.ErrorIs(t, err, mac.ErrNoDevice)
		_, err = b.Interrupt(0)
		require.ErrorContains(t, err, "cannot be polled", "a regular file is no interrupt")
	}
	b := tr.open(ethernet, Options{Compatible: []string{"snps,dwmac-5.20"}})
	require.Equal(t, []string{"snps,dwmac-5.20"}, b.Compatible())
}

// genirq is the kernel's side of uio_pdrv_genirq over a socket pair: the line
// fires while it is enabled and its level is high, and disables itself.
type genirq struct {
	fd int

	mu      sync.Mutex
	enabled bool
	level   bool
	count   uint32
	fired   int
}

// set changes the level. mu is held.
func (g *genirq) set(level bool) {
	g.level = level
	if !level || !g.enabled {
		return
	}
	g.enabled = false
	g.count++
	g.fired++
	unix.Write(g.fd, binary.NativeEndian.AppendUint32(nil, g.count))
}

// serve obeys what is written to the UIO device.
func (g *genirq) serve() {
	var b [8]byte
	for {
		n, err := unix.Read(g.fd, b[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 4 {
			return
		}
		g.mu.Lock()
		g.enabled = binary.NativeEndian.Uint32(b[:]) != 0
		g.set(g.level)
		g.mu.Unlock()
	}
}

// TestNoLostWakeUp raises causes at any moment and counts that each is served.
func TestNoLostWakeUp(t *testing.T) {
	tr := newTree(t)
	tr.addPlatform()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(fds[0], true))
	g := &genirq{fd: fds[1], count: 0xffffff00} // the count wraps on the way
	b := tr.open(ethernet, Options{open: func(string) (int, error) { return fds[0], nil }})
	var wg sync.WaitGroup
	wg.Go(g.serve)
	irq, err := b.Interrupt(0)
	require.NoError(t, err)

	const causes = 5000
	var pending, served atomic.Int64
	wg.Go(func() {
		for range causes {
			g.mu.Lock()
			pending.Add(1)
			g.set(true)
			g.mu.Unlock()
		}
	})
	for served.Load() < causes {
		require.NoError(t, irq.Wait())
		g.mu.Lock() // look at the status register and clear it
		served.Add(pending.Swap(0))
		g.set(false)
		g.mu.Unlock()
		require.NoError(t, irq.Rearm())
	}
	require.NoError(t, b.Close())
	wg.Wait()
	require.False(t, g.enabled, "masked at close")
	require.Equal(t, uint32(0xffffff00)+uint32(g.fired), g.count)
	require.NoError(t, unix.Close(fds[1]))
}

func TestLevelStillHighFiresAgain(t *testing.T) {
	tr := newTree(t)
	tr.addPlatform()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(fds[0], true))
	g := &genirq{fd: fds[1], level: true} // a killed program has left it disabled, and high
	b := tr.open(ethernet, Options{open: func(string) (int, error) { return fds[0], nil }})
	var wg sync.WaitGroup
	wg.Go(g.serve)
	irq, err := b.Interrupt(0)
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, irq.Wait())
		require.NoError(t, irq.Rearm())
	}
	require.NoError(t, b.Close())
	wg.Wait()
	require.NoError(t, unix.Close(fds[1]))
}

func TestAlloc(t *testing.T) {
	tr := newTree(t)
	tr.addPCI()
	ask := mac.Alloc{Size: 4096, Align: 4096, AddressBits: 32}
	b := tr.open(addr, Options{})
	_, err := b.Alloc(ask)
	require.ErrorIs(t, err, mac.ErrConfig)
	require.ErrorContains(t, err, "uio: "+addr+": there is no DMA memory. Choose: package vfio, where there is an IOMMU")
	require.Contains(t, b.String(), "no DMA memory")
	require.Zero(t, tr.command()&sysfs.CommandMaster)

	b = tr.open(addr, Options{Memory: memory.Options{UnsafeHugePages: true}, goarch: "arm"})
	_, err = b.Alloc(ask)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, "DMA is not coherent, since the device tree does not say dma-coherent")

	tr.write("/dev/mem", strings.Repeat("\xff", 0x20000))
	b = tr.open(addr, Options{Memory: memory.Options{Reserved: memory.Range{Addr: 0x10000, Size: 0x10000}}})
	require.Equal(t, "uio "+addr+" (uio0): DMA memory from reserved memory at 0x10000+0x10000, uncached: frames are copied in aligned words; "+
		"INTx rearmed by the PCI command register, as uio_pci_generic masks it", b.String())
	require.Zero(t, tr.command()&sysfs.CommandMaster, "no DMA before there is memory for it")
	m, err := b.Alloc(ask)
	require.NoError(t, err)
	require.Equal(t, uint64(0x10000), m.DeviceAddr())
	require.NotZero(t, tr.command()&sysfs.CommandMaster)
	require.NoError(t, b.Close())
	require.Zero(t, tr.command()&sysfs.CommandMaster, "no DMA after Close")
	copy(m.Bytes(), "on loan")
	require.NoError(t, m.Release(), "memory outlives the bus")
}

// TestMemoryMap has DMA memory in a map of UIO, behind the registers.
func TestMemoryMap(t *testing.T) {
	tr := newTree(t)
	tr.addPlatform()
	m := platReal + "/uio/uio1/maps/map2"
	tr.write(m+"/addr", "0x7c000000\n")
	tr.write(m+"/size", "0x4000\n")
	tr.write(m+"/offset", "0x0\n")
	page := os.Getpagesize()
	tr.write("/dev/uio1", strings.Repeat("\xff", 2*page+0x4000))
	b := tr.open(ethernet, Options{MemoryMap: 2})
	require.Contains(t, b.String(), "DMA memory from map 2 of uio1 at 0x7c000000+0x4000, uncached")
	d, err := b.Alloc(mac.Alloc{Use: mac.Descriptors, Size: 64, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	require.Equal(t, uint64(0x7c000000), d.DeviceAddr())
	d.Bytes()[0] = 7
	file, err := os.ReadFile(tr.dir + "/dev/uio1")
	require.NoError(t, err)
	require.Equal(t, []byte{7, 0, 0}, file[2*page:2*page+3])
	_, err = b.Registers(2)
	require.ErrorIs(t, err, mac.ErrNoDevice)
	require.NoError(t, d.Release())
	require.NoError(t, b.Close())

	for n, text := range map[int]string{1: "within a page", 3: "there is no /sys/class/uio/uio1/maps/map3"} {
		_, err = Open(ethernet, &Options{MemoryMap: n, root: tr.root()})
		require.ErrorContains(t, err, text)
	}
}

func TestWiring(t *testing.T) {
	tr := newTree(t)
	tr.addPCI()
	tr.addPlatform()
	tr.write(treeNode+"/local-mac-address", "\x02\x00\x00\x00\x00\x07")
	tr.write(treeNode+"/clocks", "\x00\x00\x00\x01")
	tr.write("/sys/firmware/devicetree/base/osc/phandle", "\x00\x00\x00\x01")
	tr.write("/sys/firmware/devicetree/base/osc/clock-frequency", "\x01\x00\x00\x00")
	b := tr.open(ethernet, Options{})
	require.Equal(t, mac.Wiring{Address: mac.HardwareAddr{2, 0, 0, 0, 0, 7}}, b.Wiring())
	require.Equal(t, 1<<24, b.ClockHz())
	require.Equal(t, 5, tr.open(ethernet, Options{ClockHz: 5}).ClockHz())
	require.Zero(t, tr.open(addr, Options{}).Wiring(), "it has no node")
}

func TestOpenErrors(t *testing.T) {
	tr := newTree(t)
	tr.addPCI()
	tr.addPlatform()
	for name, driver := range map[string]string{"0000:00:02.0": "stmmaceth", "0000:00:03.0": ""} {
		real := "/sys/devices/pci0000:00/" + name
		tr.write(real+"/vendor", "0x16c3\n")
		tr.link("/sys/bus/pci/devices/"+name, real)
		if driver != "" {
			tr.write("/sys/bus/pci/drivers/"+driver+"/new_id", "")
			tr.link(real+"/driver", "/sys/bus/pci/drivers/"+driver)
		}
	}
	tr.write("/sys/devices/platform/1000.ethernet/uevent", "")
	tr.write("/sys/bus/platform/drivers/rk_gmac-dwmac/uevent", "")
	tr.link("/sys/devices/platform/1000.ethernet/driver", "/sys/bus/platform/drivers/rk_gmac-dwmac")
	tr.link("/sys/bus/platform/devices/1000.ethernet", "/sys/devices/platform/1000.ethernet")
	for _, c := range []struct {
		dev  string
		opts Options
		err  error
		text string
	}{
		{dev: "", err: mac.ErrConfig, text: `want "uio0", a PCI address like "0000:00:01.0" or a platform device`},
		{dev: "../x", err: mac.ErrConfig, text: `uio: open "../x": want`},
		{dev: "..", err: mac.ErrConfig, text: "want"},
		{dev: addr, opts: Options{ClockHz: -1}, err: mac.ErrConfig, text: "clock -1 Hz"},
		{dev: addr, opts: Options{Memory: memory.Options{HugePageSize: 3}}, err: mac.ErrConfig, text: "huge page size 3"},
		{dev: "uio7", err: mac.ErrNoDevice, text: "uio: open uio7: no such UIO device; it has: uio0 uio1. Bind the device to uio_pci_generic or uio_pdrv_genirq first: no device"},
		{dev: "0000:00:09.0", err: mac.ErrNoDevice, text: "no such pci device; there are: 0000:00:01.0 0000:00:02.0 0000:00:03.0"},
		{dev: "x.ethernet", err: mac.ErrNoDevice, text: "no such platform device; there are: 1000.ethernet ff700000.ethernet"},
		{dev: "0000:00:02.0", err: mac.ErrNoDevice, text: "uio: open 0000:00:02.0: it has driver stmmaceth, not uio_pci_generic. As root: modprobe uio_pci_generic; " +
			"echo uio_pci_generic > /sys/bus/pci/devices/0000:00:02.0/driver_override; echo 0000:00:02.0 > /sys/bus/pci/devices/0000:00:02.0/driver/unbind; " +
			"echo 0000:00:02.0 > /sys/bus/pci/drivers_probe: no device"},
		{dev: "0000:00:03.0", err: mac.ErrNoDevice, text: "it has no driver, not uio_pci_generic"},
		{dev: "1000.ethernet", err: mac.ErrNoDevice, text: "it has driver rk_gmac-dwmac, not uio_pdrv_genirq. As root: modprobe uio_pdrv_genirq; echo uio_pdrv_genirq > /sys/bus/platform/devices/1000.ethernet/driver_override"},
		{dev: addr, opts: Options{open: func(string) (int, error) { return -1, unix.EACCES }}, err: os.ErrPermission, text: "run as root or: chown $USER /dev/uio0"},
		{dev: addr, opts: Options{open: func(string) (int, error) { return -1, unix.ENOENT }}, err: os.ErrNotExist, text: "its node is not: run udev or mdev -s"},
	} {
		c.opts.root = tr.root()
		_, err := Open(c.dev, &c.opts)
		require.ErrorIs(t, err, c.err, c.dev)
		require.ErrorContains(t, err, c.text)
	}
	require.NoError(t, os.Remove(filepath.Join(tr.dir, pciReal, "config")))
	_, err := Open(addr, &Options{root: tr.root()})
	require.ErrorContains(t, err, "no PCI configuration space")
}

func TestOpenHere(t *testing.T) {
	_, err := Open("uio250", nil)
	require.ErrorIs(t, err, mac.ErrNoDevice)
}

// TestControlErrors has drivers that cannot rearm.
func TestControlErrors(t *testing.T) {
	b := &Bus{}
	require.ErrorIs(t, b.control(-1, true), unix.EBADF)
	require.NoError(t, explainControl(nil))
	require.ErrorIs(t, explainControl(unix.ENOSYS), mac.ErrUnsupported)
	require.ErrorContains(t, explainControl(unix.ENOSYS), "bind the device to uio_pdrv_genirq")
	require.ErrorIs(t, explainControl(unix.EIO), mac.ErrNoDevice)
}
