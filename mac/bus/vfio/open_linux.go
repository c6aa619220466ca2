package vfio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
)

// place is where the kernel keeps a device.
type place struct {
	name string // as sysfs and VFIO have it: PCI address or platform device
	dir  string // in sysfs
	pci  bool
	// driver is the one that must have it, bus the bus of both in sysfs.
	driver, bus string
	group       string // number of the IOMMU group
}

// locate reads the name of a device.
func locate(dev string) (place, error) {
	if addr, ok := sysfs.PCIAddress(dev); ok {
		return place{name: addr, dir: sysfs.PCIDevice(addr), pci: true, driver: "vfio-pci", bus: "pci"}, nil
	}
	if dev == "" || filepath.Base(dev) != dev || dev == "." || dev == ".." {
		return place{}, fmt.Errorf(`want a PCI address like "0000:00:01.0" or a platform device like "ff700000.ethernet": %w`, mac.ErrConfig)
	}
	return place{name: dev, dir: sysfs.PlatformDevice(dev), driver: "vfio-platform", bus: "platform"}, nil
}

// find finds the IOMMU group of a device that its VFIO driver, or a variant of it, has.
func (p *place) find(r sysfs.Root) error {
	if !r.Exists(p.dir) {
		return fmt.Errorf("no such %s device; there are: %s: %w", p.bus, r.List("/sys/bus/"+p.bus+"/devices"), mac.ErrNoDevice)
	}
	p.group = r.Target(p.dir, "iommu_group")
	if p.group == "" {
		return fmt.Errorf("there is no IOMMU for the device. Turn it on in the firmware and kernel (x86: intel_iommu=on), or use package uio, knowing what is unsafe about it: %w", mac.ErrUnsupported)
	}
	if has := r.Target(p.dir, "driver"); !vfioDriver(has) {
		unbind, module := "", p.driver
		if has == "" {
			has = "none"
		} else {
			unbind = fmt.Sprintf("echo %s > %s/driver/unbind; ", p.name, p.dir)
		}
		if !p.pci {
			module += " reset_required=0" // the kernel knows how to reset very few
		}
		return fmt.Errorf("its driver is %s, not %s. As root: modprobe %s; echo %s > %s/driver_override; %secho %s > /sys/bus/%s/drivers_probe: %w",
			has, p.driver, module, p.driver, p.dir, unbind, p.name, p.bus, mac.ErrNoDevice)
	}
	if r.Exists("/dev/vfio/noiommu-" + p.group) {
		return fmt.Errorf("the kernel runs VFIO without IOMMU (enable_unsafe_noiommu_mode), which keeps the device from nothing: turn the IOMMU on, or use package uio, knowing what is unsafe about it: %w", mac.ErrUnsupported)
	}
	return nil
}

// Check says why Open would fail on the machine whose root directory is root, "" being
// this one, as far as that shows without opening anything of the device.
func Check(root, dev string) error {
	p, err := locate(dev)
	if err != nil {
		return fmt.Errorf("vfio: %q: %w", dev, err)
	}
	r := sysfs.Root(root)
	if err := p.find(r); err != nil {
		return fmt.Errorf("vfio: %s: %w", p.name, err)
	}
	if err := r.Usable("/dev/vfio/vfio", noContainer, deniedContainer); err != nil {
		return fmt.Errorf("vfio: %s: %w", p.name, err)
	}
	if group := "/dev/vfio/" + p.group; !r.Exists(group) {
		return fmt.Errorf("vfio: %s: %s is missing: %s: %w", p.name, group, noGroup, mac.ErrNoDevice)
	}
	return nil
}

// What to do about files that cannot be opened.
const (
	noContainer     = "the kernel has no VFIO containers: modprobe vfio-pci (CONFIG_VFIO_CONTAINER, or CONFIG_IOMMUFD_VFIO_CONTAINER and a link to /dev/iommu)"
	deniedContainer = "as root: chmod 666 /dev/vfio/vfio"
	noGroup         = "modprobe vfio-pci, run udev or mdev -s"
)

// vfioDriver knows the VFIO drivers and variants of them (mlx5-vfio-pci and others).
func vfioDriver(name string) bool {
	return name == "vfio-pci" || name == "vfio-platform" || strings.HasSuffix(name, "-vfio-pci") || strings.HasSuffix(name, "_vfio_pci")
}

func (b *Bus) openFile(path, missing, denied string) (int, error) {
	fd, err := b.k.Open(b.opts.root.Path(path))
	if err != nil {
		if errors.Is(err, unix.EBUSY) {
			return -1, fmt.Errorf("open %s: another program has the device: %w", path, err)
		}
		return -1, sysfs.Why(&os.PathError{Op: "open", Path: path, Err: err}, missing, denied)
	}
	return fd, nil
}

func (b *Bus) openContainer() error {
	fd, err := b.openFile("/dev/vfio/vfio", noContainer, deniedContainer)
	if err != nil {
		return err
	}
	b.container = fd
	version, err := ask(b.k, fd, "VFIO_GET_API_VERSION", getAPIVersion, 0)
	if err != nil {
		return err
	}
	if version != apiVersion {
		return fmt.Errorf("VFIO API version %d, want %d: %w", version, apiVersion, mac.ErrUnsupported)
	}
	return nil
}

func (b *Bus) openGroup() error {
	path := "/dev/vfio/" + b.group
	fd, err := b.openFile(path, "the group has no file: "+noGroup, "as root: chown $USER "+path)
	if err != nil {
		return err
	}
	b.groupFD = fd
	flags, err := groupStatus(b.k, fd)
	if err != nil {
		return err
	}
	if flags&groupViable == 0 {
		return fmt.Errorf("IOMMU group %s is not viable: all of its devices must go to %s or have no driver, since the IOMMU cannot tell them apart. In the way: %s: %w",
			b.group, b.driver, others(b.opts.root, b.group), mac.ErrUnsupported)
	}
	return nil
}

// others names the devices of a group that another driver has.
func others(r sysfs.Root, group string) string {
	entries, _ := os.ReadDir(r.Path("/sys/kernel/iommu_groups", group, "devices"))
	var names []string
	for _, e := range entries {
		if d := r.Target("/sys/kernel/iommu_groups", group, "devices", e.Name(), "driver"); d != "" && d != "pcieport" && d != "pci-stub" && !vfioDriver(d) {
			names = append(names, e.Name()+" ("+d+")")
		}
	}
	if names == nil {
		return "unknown"
	}
	return strings.Join(names, " ")
}

func (b *Bus) openIOMMU() error {
	kind := 0
	for _, t := range []int{type1v2, type1} {
		n, err := ask(b.k, b.container, "VFIO_CHECK_EXTENSION", checkExtension, t)
		if err != nil {
			return err
		}
		if n > 0 {
			kind = t
			break
		}
	}
	if kind == 0 {
		return fmt.Errorf("the kernel has no type 1 IOMMU for VFIO: modprobe vfio_iommu_type1: %w", mac.ErrUnsupported)
	}
	if err := setContainer(b.k, b.groupFD, b.container); err != nil {
		return err
	}
	if _, err := ask(b.k, b.container, "VFIO_SET_IOMMU", setIOMMU, kind); err != nil {
		if errors.Is(err, unix.EPERM) {
			return fmt.Errorf("%w: the IOMMU does not isolate interrupts. Where all of the machine is trusted, as in a guest: echo 1 > /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", err)
		}
		return err
	}
	var err error
	b.memory, err = newMemory(b.k, b.container)
	return err
}

func (b *Bus) openDevice() error {
	fd, err := openDevice(b.k, b.groupFD, b.name)
	if err != nil {
		return err
	}
	b.device = fd
	flags, regions, _, err := deviceInfo(b.k, fd)
	if err != nil {
		return err
	}
	want := uint32(deviceIsPCI)
	if !b.pci {
		want = deviceIsPlatform
	}
	if flags&want == 0 {
		return fmt.Errorf("VFIO device flags %#x: no %s device: %w", flags, b.bus, mac.ErrUnsupported)
	}
	b.regions = int(min(regions, 64))
	if b.pci {
		if err := b.openConfig(); err != nil {
			return err
		}
	}
	if flags&deviceCanReset != 0 {
		if _, err := ask(b.k, fd, "VFIO_DEVICE_RESET", deviceReset, 0); err != nil {
			return err
		}
	}
	if b.pci {
		_, err = sysfs.SetCommand(b.config, sysfs.CommandMemory, sysfs.CommandMaster)
	}
	return err
}

// openConfig opens the configuration space of a PCI device. Whatever state that is in,
// it does no DMA before Alloc.
func (b *Bus) openConfig() error {
	r, err := deviceRegion(b.k, b.device, regionConfig)
	if err != nil {
		return err
	}
	config := &configSpace{k: b.k, device: b.device, region: r}
	if _, err := sysfs.SetCommand(config, 0, sysfs.CommandMaster); err != nil {
		return err
	}
	b.config = config
	return nil
}
