package uio

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devtree"
	"github.com/barewire/barewire/mac/bus/internal/hostmem"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

const (
	pciDriver      = "uio_pci_generic"
	platformDriver = "uio_pdrv_genirq"
)

// What to do about a file that cannot be opened; the name of the device follows.
const (
	noNode = "the device is there but its node is not: run udev or mdev -s"
	denied = "run as root or: chown $USER /dev/"
)

// Check says why Open would fail on the machine whose root directory is root, "" being
// this one, as far as that shows without opening anything of the device. opts may be
// nil.
func Check(root, dev string, opts *Options) error {
	o := opts.withDefaults()
	o.root = sysfs.Root(root)
	p, err := find(o.root, dev)
	if err != nil {
		return err
	}
	// Closing the device's own file would end the DMA of whoever uses it.
	if !o.root.Exists("/dev", p.uio) {
		return fmt.Errorf("uio: %s: /dev/%s is missing: %s: %w", p.name, p.uio, noNode, mac.ErrNoDevice)
	}
	m, err := hostmem.New(o.memoryConfig(p, devtree.Of(root, p.device)))
	if err == nil && o.MemoryMap == 0 {
		err = m.Err()
	}
	if err != nil {
		return fmt.Errorf("uio: %s: %w", p.name, err)
	}
	return nil
}

// withDefaults is the options with what the zero value means filled in.
func (o *Options) withDefaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.goarch == "" {
		full.goarch = runtime.GOARCH
	}
	return full
}

// place is where the kernel keeps a device.
type place struct {
	name   string // as the user gave it, in full form
	uio    string // "uio0"
	device string // sysfs directory
	pci    string // PCI address; "" for another kind of device
}

// find looks up "uio0", "/dev/uio0", a PCI address or the name of a platform
// device.
func find(r sysfs.Root, dev string) (place, error) {
	if name := strings.TrimPrefix(dev, "/dev/"); strings.HasPrefix(name, "uio") && filepath.Base(name) == name {
		return findUIO(r, name)
	}
	if addr, ok := sysfs.PCIAddress(dev); ok {
		return findBound(r, dev, place{name: addr, device: sysfs.PCIDevice(addr), pci: addr}, "pci", pciDriver)
	}
	if dev == "" || filepath.Base(dev) != dev || dev == "." || dev == ".." {
		return place{}, fmt.Errorf(`uio: open %q: want "uio0", a PCI address like "0000:00:01.0" or a platform device like "ff700000.ethernet": %w`, dev, mac.ErrConfig)
	}
	return findBound(r, dev, place{name: dev, device: sysfs.PlatformDevice(dev)}, "platform", platformDriver)
}

func findUIO(r sysfs.Root, name string) (place, error) {
	p := place{name: name, uio: name, device: "/sys/class/uio/" + name + "/device"}
	if !r.Exists("/sys/class/uio", name) {
		return p, fmt.Errorf("uio: open %s: no such UIO device; it has: %s. Bind the device to %s or %s first: %w",
			name, r.List("/sys/class/uio"), pciDriver, platformDriver, mac.ErrNoDevice)
	}
	if r.Target(p.device, "subsystem") == "pci" {
		addr, ok := sysfs.PCIAddress(r.Target(p.device))
		if !ok {
			return p, fmt.Errorf("uio: open %s: cannot tell which PCI device it is: %w", name, mac.ErrNoDevice)
		}
		p.pci, p.device = addr, sysfs.PCIDevice(addr)
	}
	return p, nil
}

func findBound(r sysfs.Root, dev string, p place, bus, driver string) (place, error) {
	if !r.Exists(p.device) {
		return p, fmt.Errorf("uio: open %s: no such %s device; there are: %s: %w", dev, bus, r.List("/sys/bus/"+bus+"/devices"), mac.ErrNoDevice)
	}
	uio, err := r.Only("uio", p.device, "uio")
	if err == nil {
		p.uio = uio
		return p, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("uio: open %s: %w", dev, err)
	}
	bind := fmt.Sprintf("echo %s > /sys/bus/%s/drivers_probe", p.name, bus)
	has := "no driver"
	if d := r.Target(p.device, "driver"); d != "" {
		has = "driver " + d
		bind = fmt.Sprintf("echo %s > %s/driver/unbind; %s", p.name, p.device, bind)
	}
	return p, fmt.Errorf("uio: open %s: it has %s, not %s. As root: modprobe %s; echo %s > %s/driver_override; %s: %w",
		dev, has, driver, driver, driver, p.device, bind, mac.ErrNoDevice)
}
