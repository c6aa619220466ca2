//go:build linux

package vfio

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

func (f *fake) openBus(o Options) *Bus {
	f.t.Helper()
	o.root, o.kernel = sysfs.Root(f.dir), f
	b, err := Open(addr, &o)
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		require.NoError(f.t, b.Close())
		require.Empty(f.t, f.open, "all files are closed")
		require.Empty(f.t, f.dma, "the device reaches nothing")
	})
	return b
}

func TestOpenAndClose(t *testing.T) {
	f := newFake(t)
	b := f.openBus(Options{ClockHz: 5e7})
	require.Equal(t, []string{
		"iommu type 3",
		"command 0x400", // a device that a crash left running does no DMA
		"reset, command 0x400",
		"command 0x402",
	}, f.takeSteps())
	require.Equal(t, addr, b.Name())
	require.Equal(t, []string{"pci16c3,7102"}, b.Compatible())
	require.Equal(t, 50000000, b.ClockHz())

	regs, err := b.Registers(0)
	require.NoError(t, err)
	regs.Write32(0x110, 0x3051)
	require.Equal(t, byte(0x51), f.bar[0x110])
	for _, i := range []int{1, -1} {
		_, err = b.Registers(i)
		require.ErrorIs(t, err, mac.ErrNoDevice)
	}

	require.Contains(t, b.String(), "DMA memory from huge pages when there are free ones, locked normal pages otherwise, kept to by the IOMMU")
	m, err := b.Alloc(mac.Alloc{Size: 100, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	require.NotZero(t, f.command()&sysfs.CommandMaster)
	kept, err := b.Alloc(mac.Alloc{Size: 3 << 20, Align: 4096, AddressBits: 32})
	require.NoError(t, err)
	irq, err := b.Interrupt(0)
	require.NoError(t, err)
	require.NoError(t, m.Release())
	require.Equal(t, []string{"command 0x406", "unmap 0x200000"}, f.takeSteps())

	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	require.Equal(t, []string{
		"irq 0 off", "command 0x402", "unmap 0x400000", "close device", "close group", "close container",
	}, f.takeSteps())
	copy(kept.Bytes(), "on loan")
	require.NoError(t, kept.Release(), "memory outlives the bus")
	require.Empty(t, f.takeSteps())
	require.ErrorIs(t, irq.Wait(), os.ErrClosed)
	_, err = b.Alloc(mac.Alloc{Size: 100, AddressBits: 32})
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = b.Registers(0)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestDeviceWithoutReset(t *testing.T) {
	f := newFake(t)
	f.flags = 2
	f.openBus(Options{Compatible: []string{"snps,dwmac-5.20"}})
	require.Equal(t, []string{"iommu type 3", "command 0x400", "command 0x402"}, f.takeSteps())
}

func TestMemory(t *testing.T) {
	f := newFake(t)
	b := f.openBus(Options{})
	var all []interface{ Release() error }
	// Each piece is where the IOMMU shows it, and keeps the rules.
	for _, a := range []mac.Alloc{
		{Use: mac.Descriptors, Size: 16, Align: 64, AddressBits: 32},
		{Use: mac.Descriptors, Size: 512 * 16, Align: 4096, AddressBits: 32},
		{Use: mac.Buffers, Size: 2 << 20, Align: 4096, AddressBits: 40},
		{Use: mac.Buffers, Size: 5<<20 + 1, Align: 4096, AddressBits: 36},
		{Use: mac.Buffers, Size: 1, Align: 8 << 20, AddressBits: 32},
	} {
		m, err := b.Alloc(a)
		require.NoError(t, err, "%+v", a)
		require.Equal(t, make([]byte, a.Size), m.Bytes())
		require.Zero(t, m.DeviceAddr()%uint64(a.Align))
		require.Zero(t, dma.Address(m.Bytes())%uint64(a.Align))
		found := false
		for iova, x := range f.dma {
			if m.DeviceAddr() >= iova && m.DeviceAddr()+uint64(a.Size) <= iova+x[1] {
				found = true
				require.Equal(t, dma.Address(m.Bytes()), x[0]+m.DeviceAddr()-iova)
			}
		}
		require.True(t, found)
		all = append(all, m)
	}
	require.Len(t, f.dma, 4, "small pieces share a mapping")
	for _, m := range all {
		require.NoError(t, m.Release())
	}
	require.Empty(t, f.dma)
}

func TestAddressRanges(t *testing.T) {
	junk := make([]byte, 24)
	junk[0] = 2
	for _, c := range []struct {
		name   string
		ranges [][2]uint64
		junk   []byte
		bits   int
		addr   uint64 // 0: none
	}{
		{"from the bottom", [][2]uint64{{0, 1<<48 - 1}}, nil, 32, granule},
		{"all there is", [][2]uint64{{0, ^uint64(0)}}, nil, 32, granule},
		{"behind another capability", [][2]uint64{{0x8000_0000, 0x8fff_ffff}}, junk, 32, 0x8000_0000},
		{"range too small", [][2]uint64{{0, 0x2f_ffff}, {0x4000_0000, 0x4020_0000}}, nil, 32, 0x4000_0000},
		{"aligned up", [][2]uint64{{0x4010_0000, 0x4fff_ffff}}, nil, 32, 0x4020_0000},
		{"above the device", [][2]uint64{{1 << 32, 1<<48 - 1}}, nil, 32, 0},
		{"high for a wide device", [][2]uint64{{1 << 32, 1<<48 - 1}}, nil, 40, 1 << 32},
		{"an old kernel that does not say", nil, nil, 32, defaultLow},
		{"nothing", [][2]uint64{}, nil, 32, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.ranges, f.junk = c.ranges, c.junk
			b := f.openBus(Options{})
			m, err := b.Alloc(mac.Alloc{Size: 1 << 20, Align: 4096, AddressBits: c.bits})
			if c.addr == 0 {
				require.ErrorIs(t, err, mac.ErrUnsupported)
				require.ErrorContains(t, err, "no 2097152 bytes of free IOVA below")
				require.Zero(t, f.command()&sysfs.CommandMaster)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.addr, m.DeviceAddr())
			require.NoError(t, m.Release())
			again, err := b.Alloc(mac.Alloc{Size: 1 << 20, Align: 4096, AddressBits: c.bits})
			require.NoError(t, err)
			require.Equal(t, c.addr, again.DeviceAddr(), "the address is free again")
			require.NoError(t, again.Release())
		})
	}
}

func TestMapErrors(t *testing.T) {
	f := newFake(t)
	b := f.openBus(Options{})
	for err, text := range map[error]string{
		unix.ENOMEM: "cannot lock 2097152 bytes: raise the limit (ulimit -l unlimited",
		unix.ENOSPC: "the IOMMU is out of entries for 2097152 bytes: give it huge pages",
		unix.EINVAL: "IOVA 0x200000: the IOMMU reserves it",
		unix.EFAULT: "VFIO_IOMMU_MAP_DMA: bad address",
	} {
		f.mapError = err
		_, got := b.Alloc(mac.Alloc{Size: 1, AddressBits: 32})
		require.ErrorIs(t, got, err)
		require.ErrorContains(t, got, text)
	}
	f.mapError = nil
	m, err := b.Alloc(mac.Alloc{Size: 1, AddressBits: 32})
	require.NoError(t, err)
	require.Equal(t, uint64(0x200000), m.DeviceAddr(), "failures leave no hole")
	require.NoError(t, m.Release())
}

func TestUnmapFails(t *testing.T) {
	f := newFake(t)
	b := f.openBus(Options{})
	m, err := b.Alloc(mac.Alloc{Size: 1, AddressBits: 32})
	require.NoError(t, err)
	kept := f.dma
	f.dma = map[uint64][2]uint64{}
	require.ErrorContains(t, m.Release(), "VFIO_IOMMU_UNMAP_DMA: 0 of 2097152 bytes at 0x200000 were mapped")
	f.dma = kept
	m, err = b.Alloc(mac.Alloc{Size: 1, AddressBits: 32})
	require.NoError(t, err)
	require.Equal(t, uint64(0x400000), m.DeviceAddr(), "an address that may still be mapped is not used again")
	require.NoError(t, m.Release())
}

// TestNoLostWakeUp raises causes at any moment and counts that each is served.
func TestNoLostWakeUp(t *testing.T) {
	f := newFake(t)
	f.level = true // and was high when the program began
	b := f.openBus(Options{})
	irq, err := b.Interrupt(0)
	require.NoError(t, err)
	require.NoError(t, irq.Wait())
	const causes = 5000
	var pending, served atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for range causes {
			f.mu.Lock()
			pending.Add(1)
			f.setLevel(true)
			f.mu.Unlock()
		}
	})
	require.NoError(t, irq.Rearm())
	for served.Load() < causes {
		require.NoError(t, irq.Wait())
		f.mu.Lock()
		served.Add(pending.Swap(0))
		f.setLevel(false)
		f.mu.Unlock()
		require.NoError(t, irq.Rearm())
	}
	wg.Wait()
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, mac.ErrConfig)
	_, err = b.Interrupt(1)
	require.ErrorIs(t, err, mac.ErrNoDevice)
	require.NoError(t, irq.Close())
	require.Zero(t, f.trigger[0])
	irq, err = b.Interrupt(0)
	require.NoError(t, err, "open again")
	require.NotZero(t, f.trigger[0])

	done := make(chan error, 1)
	go func() { done <- irq.Wait() }()
	require.NoError(t, b.Close())
	require.ErrorIs(t, <-done, os.ErrClosed)
}

func TestMSI(t *testing.T) {
	f := newFake(t)
	b := f.openBus(Options{MSI: true})
	require.Contains(t, b.String(), "MSI, since Options.MSI is set")
	irq, err := b.Interrupt(0)
	require.NoError(t, err)
	require.Zero(t, f.trigger[0])
	f.mu.Lock()
	f.signal(1)
	f.signal(1)
	f.mu.Unlock()
	require.NoError(t, irq.Wait(), "two messages, one look")
	require.NoError(t, irq.Rearm())
	f.mu.Lock()
	f.signal(1)
	f.mu.Unlock()
	require.NoError(t, irq.Wait())
	f.takeSteps()
	require.NoError(t, irq.Close())
	require.Equal(t, []string{"irq 1 off"}, f.takeSteps())
}

func TestNoInterrupt(t *testing.T) {
	f := newFake(t)
	f.irqCount = [2]uint32{0, 0}
	_, err := f.openBus(Options{}).Interrupt(0)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, "the device has no INTx: set Options.MSI")
	f = newFake(t)
	f.irqCount = [2]uint32{0, 0}
	_, err = f.openBus(Options{MSI: true}).Interrupt(0)
	require.ErrorContains(t, err, "the device has no MSI: leave Options.MSI off")
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		dev  string
		set  func(f *fake)
		err  error
		text string
	}{
		{name: "no address", dev: "../uio0", err: mac.ErrConfig, text: `want a PCI address like "0000:00:01.0"`},
		{name: "no device", dev: "0000:00:09.0", err: mac.ErrNoDevice, text: "vfio: open 0000:00:09.0: no such pci device"},
		{name: "no IOMMU", set: func(f *fake) { f.remove(pciReal + "/iommu_group") }, err: mac.ErrUnsupported, text: "there is no IOMMU for the device. Turn it on in the firmware and kernel (x86: intel_iommu=on), or use package uio"},
		{name: "no-IOMMU mode", set: func(f *fake) { f.write("/dev/vfio/noiommu-7", "") }, err: mac.ErrUnsupported, text: "enable_unsafe_noiommu_mode"},
		{name: "another driver", set: func(f *fake) {
			f.remove(pciReal + "/driver")
			f.write("/sys/bus/pci/drivers/dwmac-intel/new_id", "")
			f.link(pciReal+"/driver", "/sys/bus/pci/drivers/dwmac-intel")
		}, err: mac.ErrNoDevice, text: "vfio: open 0000:00:01.0: its driver is dwmac-intel, not vfio-pci. As root: modprobe vfio-pci; echo vfio-pci > /sys/bus/pci/devices/0000:00:01.0/driver_override; " +
			"echo 0000:00:01.0 > /sys/bus/pci/devices/0000:00:01.0/driver/unbind; echo 0000:00:01.0 > /sys/bus/pci/drivers_probe: no device"},
		{name: "no driver", set: func(f *fake) { f.remove(pciReal + "/driver") }, err: mac.ErrNoDevice, text: "its driver is none, not vfio-pci. As root: modprobe vfio-pci; echo vfio-pci > /sys/bus/pci/devices/0000:00:01.0/driver_override; echo 0000:00:01.0 > /sys/bus/pci/drivers_probe"},
		{name: "no containers", set: func(f *fake) { f.openError["/dev/vfio/vfio"] = unix.ENOENT }, err: os.ErrNotExist, text: "modprobe vfio-pci (CONFIG_VFIO_CONTAINER"},
		{name: "container denied", set: func(f *fake) { f.openError["/dev/vfio/vfio"] = unix.EACCES }, err: os.ErrPermission, text: "chmod 666 /dev/vfio/vfio"},
		{name: "group denied", set: func(f *fake) { f.openError["/dev/vfio/7"] = unix.EACCES }, err: os.ErrPermission, text: "as root: chown $USER /dev/vfio/7"},
		{name: "no group file", set: func(f *fake) { f.openError["/dev/vfio/7"] = unix.ENOENT }, err: os.ErrNotExist, text: "the group has no file"},
		{name: "group busy", set: func(f *fake) { f.openError["/dev/vfio/7"] = unix.EBUSY }, err: unix.EBUSY, text: "another program has the device"},
		{name: "version", set: func(f *fake) { f.version = 1 }, err: mac.ErrUnsupported, text: "VFIO API version 1, want 0"},
		{name: "not viable", set: func(f *fake) {
			f.viable = false
			f.write("/sys/bus/pci/drivers/e1000e/new_id", "")
			f.write("/sys/devices/pci0000:00/0000:00:02.0/vendor", "0x8086")
			f.link("/sys/devices/pci0000:00/0000:00:02.0/driver", "/sys/bus/pci/drivers/e1000e")
			f.link("/sys/bus/pci/devices/0000:00:02.0", "/sys/devices/pci0000:00/0000:00:02.0")
			f.link("/sys/kernel/iommu_groups/7/devices/0000:00:02.0", "/sys/devices/pci0000:00/0000:00:02.0")
		}, err: mac.ErrUnsupported, text: "IOMMU group 7 is not viable: all of its devices must go to vfio-pci or have no driver, since the IOMMU cannot tell them apart. In the way: 0000:00:02.0 (e1000e)"},
		{name: "no type 1", set: func(f *fake) { f.types = nil }, err: mac.ErrUnsupported, text: "modprobe vfio_iommu_type1"},
		{name: "interrupts not isolated", set: func(f *fake) { f.setError = unix.EPERM }, err: unix.EPERM, text: "allow_unsafe_interrupts"},
		{name: "no PCI device", set: func(f *fake) { f.flags = 1 << 2 }, err: mac.ErrUnsupported, text: "no pci device"},
		{name: "reset fails", set: func(f *fake) { f.resetError = unix.EAGAIN }, err: unix.EAGAIN, text: "VFIO_DEVICE_RESET"},
		{name: "device gone", set: func(f *fake) { f.config[4], f.config[5] = 0xff, 0xff }, err: mac.ErrNoDevice, text: "gone or powered off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			if c.set != nil {
				c.set(f)
			}
			if c.dev == "" {
				c.dev = addr
			}
			o := f.options()
			_, err := Open(c.dev, &o)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.text)
			require.Empty(t, f.open, "a failed Open leaves nothing open")
		})
	}
}

func (f *fake) remove(path string) {
	require.NoError(f.t, os.Remove(string(sysfs.Root(f.dir).Path(path))))
}

func TestType1Only(t *testing.T) {
	f := newFake(t)
	f.types = map[int]bool{1: true}
	f.openBus(Options{})
	require.Contains(t, f.takeSteps(), "iommu type 1")
}

func TestOpenHere(t *testing.T) {
	_, err := Open("ffff:ff:1f.7", nil)
	require.ErrorIs(t, err, mac.ErrNoDevice)
	_, err = linux{}.Ioctl(-1, groupGetStatus, words(0))
	require.ErrorIs(t, err, unix.EBADF)
	_, err = linux{}.IoctlInt(-1, getAPIVersion, 0)
	require.ErrorIs(t, err, unix.EBADF)
	_, err = linux{}.Open("/nonexistent")
	require.True(t, errors.Is(err, os.ErrNotExist))
}
