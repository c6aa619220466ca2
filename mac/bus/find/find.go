// Package find lists the Ethernet MACs of this machine: what each is, which driver
// would drive it, how it could be reached, and what stands in the way.
//
// It reads sysfs and the device tree. It opens no device, and changes nothing.
package find

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devmem"
	"github.com/barewire/barewire/mac/bus/devtree"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/mac/bus/uio"
	"github.com/barewire/barewire/mac/bus/vfio"
)

// Names of buses, the safest first.
const (
	VFIO   = "vfio"
	UIO    = "uio"
	DevMem = "devmem"
)

// Device is one MAC.
type Device struct {
	// Name is what Open of a bus takes: a PCI address or the name of a platform device.
	Name string
	// PCI tells the one from the other.
	PCI bool
	// Compatible is what the device says it is, most specific first.
	Compatible []string
	// Driver is the name of the driver that knows it, "" when none does.
	Driver string
	// Kernel is the kernel's driver that has it now, "" when none has.
	Kernel string
	// Windows are the registers of a platform device.
	Windows []devtree.Window
	// Wiring is what the device tree says of address, link and PHY.
	Wiring mac.Wiring
	// Coherent says whether its DMA is, Why how that is known.
	Coherent bool
	Why      string
	// Ways are the buses by which it could be reached, the safest first.
	Ways []Way
}

// Way is one bus, and what stands in the way of using it.
type Way struct {
	Bus string // VFIO, UIO or DevMem
	// Err says what, and what to do about it. nil: nothing is known to.
	Err error
}

// Ready is the safest bus that nothing stands in the way of, "" when there is none.
func (d *Device) Ready() string {
	for _, w := range d.Ways {
		if w.Err == nil {
			return w.Bus
		}
	}
	return ""
}

// String describes the device in a line, and each of its ways in another.
func (d *Device) String() string {
	var s strings.Builder
	driver := d.Driver
	if driver == "" {
		driver = "no driver for it"
	}
	fmt.Fprintf(&s, "%s: %s (%s)", d.Name, driver, strings.Join(d.Compatible, ", "))
	for _, w := range d.Windows {
		fmt.Fprintf(&s, ", registers at %s", w)
	}
	if d.Wiring.Address.Usable() {
		fmt.Fprintf(&s, ", address %s", d.Wiring.Address)
	}
	if d.Wiring.PHYMode != "" {
		fmt.Fprintf(&s, ", %s", d.Wiring.PHYMode)
	}
	if d.Wiring.Link.Up {
		fmt.Fprintf(&s, ", fixed link %s", d.Wiring.Link)
	}
	for _, phy := range d.Wiring.PHYs {
		fmt.Fprintf(&s, ", PHY %d", phy)
	}
	if d.Kernel != "" {
		fmt.Fprintf(&s, ", kernel driver %s", d.Kernel)
	}
	coherent := "coherent"
	if !d.Coherent {
		coherent = "not coherent"
	}
	fmt.Fprintf(&s, "; DMA %s since %s", coherent, d.Why)
	for _, w := range d.Ways {
		says := "ready"
		if w.Err != nil {
			says = w.Err.Error()
		}
		fmt.Fprintf(&s, "\n  %s: %s", w.Bus, says)
	}
	return s.String()
}

// Options says where to look. The zero value, and a nil *Options, are right for this
// machine.
type Options struct {
	// Root is the directory that stands for /, "" being that.
	Root string
	// Arch is the CPU's architecture, as GOARCH. "": that of this program.
	Arch string
	// Memory is what buses without an IOMMU would be given.
	Memory memory.Options
}

// withDefaults is the options with what the zero value means filled in.
func (o *Options) withDefaults() *Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Arch == "" {
		full.Arch = runtime.GOARCH
	}
	return &full
}

// Devices lists the MACs that one of drivers knows, and others that are Ethernet for
// sure, by name. opts may be nil.
func Devices(drivers []mac.Driver, opts *Options) []Device {
	o := opts.withDefaults()
	r := sysfs.Root(o.Root)
	var all []Device
	for _, pci := range []bool{true, false} {
		dir := "/sys/bus/platform/devices"
		if pci {
			dir = "/sys/bus/pci/devices"
		}
		entries, _ := os.ReadDir(r.Path(dir))
		for _, e := range entries {
			if d, ok := o.look(r, filepath.Join(dir, e.Name()), pci, drivers); ok {
				all = append(all, d)
			}
		}
	}
	return all
}

// Named is the device of a name, as far as there is one. opts may be nil.
func Named(name string, drivers []mac.Driver, opts *Options) (Device, error) {
	o := opts.withDefaults()
	r := sysfs.Root(o.Root)
	dir, pci := sysfs.PlatformDevice(name), false
	if addr, ok := sysfs.PCIAddress(name); ok {
		dir, pci = sysfs.PCIDevice(addr), true
	}
	if name == "" || strings.Contains(name, "/") || !r.Exists(dir) {
		return Device{}, fmt.Errorf("find: no device %q; platform devices: %s; PCI devices: %s: %w", name,
			r.List("/sys/bus/platform/devices"), r.List("/sys/bus/pci/devices"), mac.ErrNoDevice)
	}
	d, _ := o.look(r, dir, pci, drivers)
	return d, nil
}

// look reads one device. ok is false when it is no MAC.
func (o *Options) look(r sysfs.Root, dir string, pci bool, drivers []mac.Driver) (d Device, ok bool) {
	d = Device{Name: filepath.Base(dir), PCI: pci, Compatible: r.Compatible(dir), Kernel: r.Target(dir, "driver")}
	node := devtree.Of(o.Root, dir)
	ethernet := node != nil && strings.HasPrefix(node.Name(), "ethernet@")
	if pci {
		d.Compatible = r.PCICompatible(d.Name)
		class, _ := r.Number(dir, "class")
		ethernet = ethernet || class>>8 == classEthernet
	}
	d.Driver = match(d.Compatible, drivers)
	if d.Driver == "" && !ethernet {
		return d, false
	}
	if node != nil {
		d.Wiring = node.Wiring()
		if !pci {
			d.Windows, _ = node.Windows() // what is wrong with them, devmem says
		}
	}
	d.Coherent, d.Why = r.Coherent(dir, o.Arch)
	d.Ways = append(d.Ways, Way{VFIO, vfio.Check(o.Root, d.Name)}, Way{UIO, uio.Check(o.Root, d.Name, &uio.Options{Memory: o.Memory})})
	if !pci {
		d.Ways = append(d.Ways, Way{DevMem, devmem.Check(o.Root, d.Name, &devmem.Options{Memory: o.Memory})})
	}
	return d, true
}

// classEthernet is the class and subclass of a PCI Ethernet controller (PCI Code and ID
// Assignment Specification, class 02h).
const classEthernet = 0x0200

// match is the name of the driver that knows the most specific name.
func match(names []string, drivers []mac.Driver) string {
	for _, name := range names {
		for _, d := range drivers {
			if slices.Contains(d.Compatible, name) {
				return d.Name
			}
		}
	}
	return ""
}
