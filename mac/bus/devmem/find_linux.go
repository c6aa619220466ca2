package devmem

import (
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devtree"
	"github.com/barewire/barewire/mac/bus/internal/hostmem"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
)

// What to do when /dev/mem cannot be opened.
const (
	noDevMem = "the kernel has no /dev/mem (CONFIG_DEVMEM): use package uio or vfio"
	denied   = "run as root (CAP_SYS_RAWIO)"
)

// Check says why Open would fail on the machine whose root directory is root, "" being
// this one, as far as that shows without mapping anything. opts may be nil.
func Check(root, dev string, opts *Options) error {
	o := opts.withDefaults()
	o.root = sysfs.Root(root)
	p, err := find(o, dev)
	if err != nil {
		return fmt.Errorf("devmem: %s: %w", dev, err)
	}
	m, err := o.makeMemory(p)
	if err == nil {
		err = m.Err()
	}
	if err == nil {
		err = o.root.Usable("/dev/mem", noDevMem, denied)
	}
	if err != nil {
		return fmt.Errorf("devmem: %s: %w", p.name, err)
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
	if full.PollPeriod == 0 {
		full.PollPeriod = time.Millisecond
	}
	return full
}

// makeMemory chooses the DMA memory of a device at p.
func (o *Options) makeMemory(p place) (*hostmem.Memory, error) {
	return hostmem.New(hostmem.Config{
		Name: "devmem: " + p.name, Root: o.root, Arch: o.goarch, Device: p.device, Node: p.node,
		Options: o.Memory, Hooks: o.hooks,
	})
}

// place is where a device is.
type place struct {
	name   string
	device string        // sysfs directory; "" when only its registers are known
	node   *devtree.Node // nil when it has none
	regs   []memory.Range
}

// find looks up the name of a platform device, or the place of its registers.
func find(o Options, dev string) (place, error) {
	p := place{name: dev, regs: o.Windows}
	if r, err := memory.ParseRange(dev); err == nil {
		if p.regs == nil {
			p.regs = []memory.Range{r}
		}
		return p, check(p)
	}
	if dev == "" || filepath.Base(dev) != dev || dev == "." || dev == ".." {
		return p, fmt.Errorf(`want a platform device like "1c30000.ethernet", or the place of its registers like "0xf0802000+0x2000": %w`, mac.ErrConfig)
	}
	if _, ok := sysfs.PCIAddress(dev); ok {
		return p, fmt.Errorf("it is a PCI device: use package vfio, or package uio: %w", mac.ErrConfig)
	}
	p.device = sysfs.PlatformDevice(dev)
	if !o.root.Exists(p.device) {
		return p, fmt.Errorf("no such platform device; there are: %s: %w", o.root.List(filepath.Dir(p.device)), mac.ErrNoDevice)
	}
	if d := o.root.Target(p.device, "driver"); d != "" {
		return p, fmt.Errorf("driver %s has it. As root: echo %s > %s/driver/unbind, and see to its clocks (package comment): %w", d, dev, p.device, mac.ErrNoDevice)
	}
	p.node = devtree.Of(string(o.root), p.device)
	if p.regs == nil && p.node != nil {
		windows, err := p.node.Windows()
		if err != nil {
			return p, err
		}
		for _, w := range windows {
			p.regs = append(p.regs, memory.Range(w))
		}
	}
	return p, check(p)
}

// check looks at the windows.
func check(p place) error {
	if len(p.regs) == 0 {
		return fmt.Errorf("nothing says where its registers are: give Options.Windows: %w", mac.ErrConfig)
	}
	for _, r := range p.regs {
		if r.Size == 0 || r.Addr > 1<<62 || r.Size > 1<<30 {
			return fmt.Errorf("register window %s: %w", r, mac.ErrConfig)
		}
	}
	return nil
}
