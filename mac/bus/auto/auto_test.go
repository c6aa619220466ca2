//go:build linux

package auto

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/find"
	"github.com/barewire/barewire/mac/bus/internal/fakeroot"
	"github.com/barewire/barewire/mac/bus/memory"
)

var drivers = []mac.Driver{{Name: "sun8i", Compatible: []string{"allwinner,sun8i-h3-emac", "pci16c3,7102"}}}

// machine has a platform device and a PCI device, both without a kernel driver.
func machine(t *testing.T) *fakeroot.Root {
	r := fakeroot.New(t)
	const soc, node = "/sys/devices/platform/1c30000.ethernet", "/sys/firmware/devicetree/base/ethernet@1c30000"
	r.Write(soc+"/uevent", "")
	r.Link("/sys/bus/platform/devices/1c30000.ethernet", soc)
	r.Write(node+"/compatible", "allwinner,sun8i-h3-emac\x00")
	r.Cells(node+"/reg", 0, 0x1c30000, 0x10000)
	r.Link(soc+"/of_node", node)
	const pci = "/sys/devices/pci0000:00/0000:00:01.0"
	r.Write(pci+"/vendor", "0x16c3")
	r.Write(pci+"/device", "0x7102")
	r.Write(pci+"/class", "0x020000")
	r.Link("/sys/bus/pci/devices/0000:00:01.0", pci)
	r.Write("/dev/mem", "")
	return r
}

var reserved = memory.Options{Reserved: memory.Range{Addr: 0x7c000000, Size: 1 << 20}}

func TestPick(t *testing.T) {
	bindVFIO := func(r *fakeroot.Root) {
		const pci = "/sys/devices/pci0000:00/0000:00:01.0"
		r.Write("/sys/bus/pci/drivers/vfio-pci/new_id", "")
		r.Link(pci+"/driver", "/sys/bus/pci/drivers/vfio-pci")
		r.Write("/sys/kernel/iommu_groups/7/type", "identity")
		r.Link(pci+"/iommu_group", "/sys/kernel/iommu_groups/7")
		r.Write("/dev/vfio/vfio", "")
		r.Write("/dev/vfio/7", "")
	}
	for _, c := range []struct {
		name, dev string
		opts      Options
		set       func(r *fakeroot.Root)
		bus, is   string
		err       error
		text      string
	}{
		{name: "the only one", dev: "auto", opts: Options{Drivers: drivers, Memory: reserved}, bus: find.DevMem, is: "1c30000.ethernet"},
		{name: "the only one, on PCI", opts: Options{Drivers: drivers}, set: bindVFIO, bus: find.VFIO, is: "0000:00:01.0"},
		{name: "several", opts: Options{Drivers: drivers, Memory: reserved}, set: bindVFIO, err: mac.ErrConfig, text: "name one: 0000:00:01.0, 1c30000.ethernet"},
		{name: "one of several by bus", opts: Options{Bus: find.DevMem, Drivers: drivers, Memory: reserved}, set: bindVFIO, bus: find.DevMem, is: "1c30000.ethernet"},
		{name: "none can be reached", opts: Options{Drivers: drivers}, err: mac.ErrConfig, text: "vfio: 1c30000.ethernet: there is no IOMMU"},
		{name: "none by this bus", opts: Options{Bus: find.UIO, Drivers: drivers, Memory: reserved}, err: mac.ErrNoDevice, text: "no device can be reached:\nuio: open 0000:00:01.0: it has no driver"},
		{name: "no driver for any", opts: Options{Memory: reserved}, err: mac.ErrNoDevice, text: "Ethernet devices: 0000:00:01.0 (pci16c3,7102); 1c30000.ethernet (allwinner,sun8i-h3-emac)"},
		{name: "named", dev: "1c30000.ethernet", opts: Options{Memory: reserved}, bus: find.DevMem, is: "1c30000.ethernet"},
		{name: "named by PCI address", dev: "00:01.0", set: bindVFIO, bus: find.VFIO, is: "0000:00:01.0"},
		{name: "named, not to be reached", dev: "1c30000.ethernet", err: mac.ErrConfig, text: "1c30000.ethernet cannot be reached:\nvfio: "},
		{name: "unknown", dev: "eth0", err: mac.ErrNoDevice, text: `no device "eth0"`},
		{name: "registers", dev: "0xf0802000+0x2000", bus: find.DevMem, is: "0xf0802000+0x2000"},
		{name: "UIO", dev: "/dev/uio0", bus: find.UIO, is: "/dev/uio0"},
		{name: "bus and name", dev: "x", opts: Options{Bus: find.VFIO}, bus: find.VFIO, is: "x"},
		{name: "unknown bus", opts: Options{Bus: "usb"}, err: mac.ErrConfig, text: `bus "usb": want vfio, uio or devmem`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := machine(t)
			if c.set != nil {
				c.set(r)
			}
			bus, is, err := c.opts.pick(c.dev, r.Dir)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				require.ErrorContains(t, err, c.text)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{c.bus, c.is}, []string{bus, is})
		})
	}
}

// TestOpen: the choice is what is opened.
func TestOpen(t *testing.T) {
	for bus, text := range map[string]string{find.VFIO: "vfio: open no.such: no such platform device", find.UIO: "uio: open no.such: no such platform device", find.DevMem: "devmem: open no.such: no such platform device"} {
		b, err := Open("no.such", &Options{Bus: bus})
		require.ErrorIs(t, err, mac.ErrNoDevice)
		require.ErrorContains(t, err, text)
		require.Nil(t, b)
	}
	_, err := Open("no.such", nil)
	require.ErrorIs(t, err, mac.ErrNoDevice)
}
