//go:build linux

package find

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devtree"
	"github.com/barewire/barewire/mac/bus/internal/fakeroot"
	"github.com/barewire/barewire/mac/bus/memory"
)

var drivers = []mac.Driver{
	{Name: "dwmac4", Compatible: []string{"snps,dwmac-4.20a", "pci16c3,7102"}},
	{Name: "sun8i", Compatible: []string{"allwinner,sun8i-h3-emac"}},
}

const base = "/sys/firmware/devicetree/base"

// addPlatform adds a platform device with its node, as the kernel names both.
func addPlatform(r *fakeroot.Root, name, node, compatible string) {
	device := "/sys/devices/platform/soc/" + name
	r.Write(device+"/uevent", "")
	r.Link("/sys/bus/platform/devices/"+name, device)
	r.Write(base+"/soc/"+node+"/compatible", compatible)
	r.Cells(base+"/soc/"+node+"/reg", 0x1c30000, 0x10000)
	r.Link(device+"/of_node", base+"/soc/"+node)
}

func addPCI(r *fakeroot.Root, addr, vendor, device, class string) {
	dir := "/sys/devices/pci0000:00/" + addr
	r.Write(dir+"/vendor", vendor)
	r.Write(dir+"/device", device)
	r.Write(dir+"/class", class)
	r.Link("/sys/bus/pci/devices/"+addr, dir)
}

// bind gives a device a kernel driver.
func bind(r *fakeroot.Root, bus, name, driver string) {
	r.Write("/sys/bus/"+bus+"/drivers/"+driver+"/uevent", "")
	device := map[string]string{"pci": "/sys/devices/pci0000:00/", "platform": "/sys/devices/platform/soc/"}[bus]
	r.Link(device+name+"/driver", "/sys/bus/"+bus+"/drivers/"+driver)
}

// machine has two MACs of the SoC, one on PCI, and things that are none.
func machine(t *testing.T) *fakeroot.Root {
	r := fakeroot.New(t)
	for _, n := range []string{base, base + "/soc"} {
		r.Cells(n+"/#address-cells", 1)
		r.Cells(n+"/#size-cells", 1)
		r.Write(n+"/ranges", "")
	}
	addPlatform(r, "1c30000.ethernet", "ethernet@1c30000", "allwinner,sun8i-h3-emac\x00")
	addPlatform(r, "1c50000.ethernet", "ethernet@1c50000", "acme,unheard-of\x00")
	addPlatform(r, "1c28000.serial", "serial@1c28000", "snps,dw-apb-uart\x00")
	addPCI(r, "0000:00:01.0", "0x16c3", "0x7102", "0x020000")
	addPCI(r, "0000:00:02.0", "0x8086", "0x1539", "0x020000")
	addPCI(r, "0000:00:03.0", "0x8086", "0x1234", "0x010000")
	r.Write(base+"/soc/ethernet@1c30000/phy-mode", "mii\x00")
	r.Cells(base+"/soc/ethernet@1c30000/fixed-link/speed", 100)
	r.Write("/dev/mem", "")
	return r
}

func names(all []Device) (n []string) {
	for _, d := range all {
		n = append(n, d.Name)
	}
	return n
}

func TestDevices(t *testing.T) {
	r := machine(t)
	all := Devices(drivers, &Options{Root: r.Dir, Arch: "arm"})
	require.Equal(t, []string{"0000:00:01.0", "0000:00:02.0", "1c30000.ethernet", "1c50000.ethernet"}, names(all), "no serial port, no disk")

	d := all[2]
	require.Equal(t, "sun8i", d.Driver)
	require.Empty(t, d.Kernel)
	require.Equal(t, []devtree.Window{{Addr: 0x1c30000, Size: 0x10000}}, d.Windows)
	require.Equal(t, mac.Wiring{PHYMode: "mii", Link: mac.Link{Up: true, Speed: 100}}, d.Wiring)
	require.False(t, d.Coherent)
	require.Equal(t, []string{VFIO, UIO, DevMem}, []string{d.Ways[0].Bus, d.Ways[1].Bus, d.Ways[2].Bus})
	require.ErrorContains(t, d.Ways[0].Err, "there is no IOMMU for the device")
	require.ErrorContains(t, d.Ways[1].Err, "it has no driver, not uio_pdrv_genirq. As root: modprobe uio_pdrv_genirq")
	require.ErrorContains(t, d.Ways[2].Err, "there is no DMA memory. Choose")
	require.Empty(t, d.Ready())
	require.Equal(t, "1c30000.ethernet: sun8i (allwinner,sun8i-h3-emac), registers at 01c30000-01c3ffff, mii, fixed link up 100 Mb/s half duplex; "+
		"DMA not coherent since the device tree does not say dma-coherent", strings.Split(d.String(), "\n")[0])
	require.Len(t, strings.Split(d.String(), "\n"), 4)

	require.Equal(t, "dwmac4", all[0].Driver)
	require.Len(t, all[0].Ways, 2, "PCI has no /dev/mem")
	require.Empty(t, all[1].Driver)
	require.Contains(t, all[1].String(), "0000:00:02.0: no driver for it (pci8086,1539)")
	require.Equal(t, []string{"acme,unheard-of"}, all[3].Compatible)
}

// TestReady: each obstacle taken away, the next bus is the safest.
func TestReady(t *testing.T) {
	r := machine(t)
	o := &Options{Root: r.Dir, Arch: "arm", Memory: memory.Options{Reserved: memory.Range{Addr: 0x7c000000, Size: 1 << 20}}}
	soc := func() Device {
		d, err := Named("1c30000.ethernet", drivers, o)
		require.NoError(t, err)
		return d
	}
	bind(r, "platform", "1c30000.ethernet", "dwmac-sun8i")
	d := soc()
	require.Equal(t, "dwmac-sun8i", d.Kernel)
	require.Empty(t, d.Ready())
	require.ErrorContains(t, d.Ways[2].Err, "driver dwmac-sun8i has it. As root: echo 1c30000.ethernet > ")

	r.Remove("/sys/devices/platform/soc/1c30000.ethernet/driver")
	d = soc()
	require.Equal(t, DevMem, d.Ready())
	require.Contains(t, d.String(), "\n  devmem: ready")

	bind(r, "platform", "1c30000.ethernet", "uio_pdrv_genirq")
	r.Write("/sys/devices/platform/soc/1c30000.ethernet/uio/uio0/name", "")
	d = soc()
	require.ErrorContains(t, d.Ways[1].Err, "/dev/uio0 is missing: the device is there but its node is not")
	r.Write("/dev/uio0", "")
	require.Equal(t, UIO, ptr(soc()).Ready())

	pci := func() Device {
		d, err := Named("00:01.0", drivers, o)
		require.NoError(t, err)
		return d
	}
	r.Write("/sys/kernel/iommu_groups/7/type", "DMA")
	r.Link("/sys/devices/pci0000:00/0000:00:01.0/iommu_group", "/sys/kernel/iommu_groups/7")
	bind(r, "pci", "0000:00:01.0", "vfio-pci")
	d = pci()
	require.ErrorContains(t, d.Ways[0].Err, "the kernel has no VFIO containers")
	r.Write("/dev/vfio/vfio", "")
	d = pci()
	require.ErrorContains(t, d.Ways[0].Err, "/dev/vfio/7 is missing")
	r.Write("/dev/vfio/7", "")
	require.Equal(t, VFIO, ptr(pci()).Ready())
}

func ptr(d Device) *Device { return &d }

func TestUnknownName(t *testing.T) {
	r := machine(t)
	for _, name := range []string{"", "eth0", "../soc", "0000:00:09.0"} {
		_, err := Named(name, drivers, &Options{Root: r.Dir})
		require.ErrorIs(t, err, mac.ErrNoDevice, "%q", name)
		require.ErrorContains(t, err, "1c28000.serial 1c30000.ethernet")
	}
}

func TestThisMachine(t *testing.T) {
	for _, d := range Devices(drivers, nil) {
		require.NotEmpty(t, d.String())
		_, err := os.Stat("/sys/bus")
		require.NoError(t, err)
	}
}
