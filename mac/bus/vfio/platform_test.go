//go:build linux

package vfio

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

const (
	ethernet     = "ff700000.ethernet"
	platformReal = "/sys/devices/platform/" + ethernet
	treeNode     = "/sys/firmware/devicetree/base/ethernet@ff700000"
)

// newPlatform is a fake kernel with a platform device instead of the PCI one. Its
// answers are those of drivers/vfio/platform/vfio_platform_common.c.
func newPlatform(t *testing.T) *fake {
	f := newFake(t)
	f.platform, f.flags, f.irqCount = true, 1<<2, [2]uint32{1, 0}
	f.write(platformReal+"/uevent", "")
	f.write("/sys/bus/platform/drivers/vfio-platform/uevent", "")
	f.link(platformReal+"/driver", "/sys/bus/platform/drivers/vfio-platform")
	f.link(platformReal+"/iommu_group", "/sys/kernel/iommu_groups/7")
	f.link("/sys/bus/platform/devices/"+ethernet, platformReal)
	f.write(treeNode+"/compatible", "snps,dwmac-4.20a\x00")
	f.write(treeNode+"/mac-address", "\x02\x00\x00\x00\x00\x07")
	f.link(platformReal+"/of_node", treeNode)
	return f
}

func (f *fake) openPlatform() (*Bus, error) {
	return Open(ethernet, &Options{root: sysfs.Root(f.dir), kernel: f})
}

func TestPlatformDevice(t *testing.T) {
	f := newPlatform(t)
	b, err := f.openPlatform()
	require.NoError(t, err)
	require.Equal(t, []string{"iommu type 3"}, f.takeSteps(), "no configuration space, and no reset that the kernel knows")
	require.Equal(t, ethernet, b.Name())
	require.Equal(t, []string{"snps,dwmac-4.20a"}, b.Compatible())
	require.Equal(t, mac.Wiring{Address: mac.HardwareAddr{2, 0, 0, 0, 0, 7}}, b.Wiring())
	require.Contains(t, b.String(), "vfio ff700000.ethernet (group 7): DMA memory from huge pages")
	require.Contains(t, b.String(), "interrupt 0 of the device, masked when it fires")

	regs, err := b.Registers(0)
	require.NoError(t, err)
	regs.Write32(0x110, 0x3051)
	require.Equal(t, byte(0x51), f.bar[0x110])
	_, err = b.Registers(1)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, "region 1 of 256 bytes cannot be mapped")
	_, err = b.Registers(2)
	require.ErrorIs(t, err, mac.ErrNoDevice)

	m, err := b.Alloc(mac.Alloc{Size: 100, Align: 64, AddressBits: 32})
	require.NoError(t, err)
	require.Len(t, f.dma, 1)

	l, err := b.Interrupt(0)
	require.NoError(t, err)
	f.mu.Lock()
	f.setLevel(true)
	f.mu.Unlock()
	require.NoError(t, l.Wait())
	require.NoError(t, l.Rearm(), "the level is still high, so it fires again")
	require.NoError(t, l.Wait())
	require.NoError(t, b.Close())
	require.NoError(t, m.Release())
	require.Empty(t, f.open)
	require.Empty(t, f.dma)
}

func TestPlatformWrongUse(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(f *fake)
		err   error
		text  string
	}{
		{"no driver", func(f *fake) { f.remove(platformReal + "/driver") }, mac.ErrNoDevice,
			"its driver is none, not vfio-platform. As root: modprobe vfio-platform reset_required=0; echo vfio-platform > /sys/bus/platform/devices/ff700000.ethernet/driver_override; echo ff700000.ethernet > /sys/bus/platform/drivers_probe"},
		{"no IOMMU", func(f *fake) { f.remove(platformReal + "/iommu_group") }, mac.ErrUnsupported, "there is no IOMMU for the device"},
		{"unknown", func(f *fake) { f.remove("/sys/bus/platform/devices/" + ethernet) }, mac.ErrNoDevice, "no such platform device; there are: none"},
		{"a PCI device of that name", func(f *fake) { f.flags = 2 }, mac.ErrUnsupported, "no platform device"},
	} {
		f := newPlatform(t)
		c.spoil(f)
		_, err := f.openPlatform()
		require.ErrorIs(t, err, c.err, c.name)
		require.ErrorContains(t, err, c.text, c.name)
		require.Empty(t, f.open, c.name)
	}
	f := newPlatform(t)
	f.irqCount[0] = 0
	b, err := f.openPlatform()
	require.NoError(t, err)
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, "its node in the device tree says none")
	require.NoError(t, b.Close())
	_, err = Open(ethernet, &Options{MSI: true})
	require.ErrorIs(t, err, mac.ErrConfig, "it has no messages")
}
