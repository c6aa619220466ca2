package vfio

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/device"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/irq"
	"github.com/barewire/barewire/mac/bus/internal/mmio"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/pagepool"
)

// Bus is a device on VFIO. Its methods may be called from any goroutine.
type Bus struct {
	identity
	place
	opts Options
	k    kernel

	// Descriptors; -1 before they are open.
	container, groupFD, device int

	config  *configSpace // of a PCI device; nil before it is open
	regions int          // of the device file
	memory  *memory      // nil before the IOMMU is set up
	pool    *dma.Pool

	windows device.Windows
	line    device.Interrupt

	mu     sync.Mutex // guards what follows and the PCI command register
	master bool       // PCI bus mastering is on
	closed bool
	err    error
}

type identity = device.Identity

var (
	_ mac.Bus     = (*Bus)(nil)
	_ mac.Wired   = (*Bus)(nil)
	_ mac.Advisor = (*Bus)(nil)
)

// Open opens a device that a VFIO driver has: the PCI device at dev ("0000:00:01.0"),
// or the platform device called dev as in /sys/bus/platform/devices
// ("ff700000.ethernet"). opts may be nil. It resets the device when the kernel can; bus
// mastering of a PCI device is off until the first Alloc.
//
// The error wraps mac.ErrNoDevice when there is no such device or another driver
// has it, and mac.ErrUnsupported when there is no IOMMU; it says what to do.
func Open(dev string, opts *Options) (*Bus, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	p, err := locate(dev)
	if err != nil {
		return nil, fmt.Errorf("vfio: open %q: %w", dev, err)
	}
	if o.ClockHz < 0 || o.MSI && !p.pci {
		return nil, fmt.Errorf("vfio: open %s: clock %d Hz, MSI %v: %w", dev, o.ClockHz, o.MSI, mac.ErrConfig)
	}
	if err := p.find(o.root); err != nil {
		return nil, fmt.Errorf("vfio: open %s: %w", p.name, err)
	}
	b := &Bus{
		identity: device.Identify(o.root, p.name, p.dir, o.Compatible, o.ClockHz),
		place:    p, opts: o, k: o.kernel,
		container: -1, groupFD: -1, device: -1,
	}
	if b.k == nil {
		b.k = linux{}
	}
	for _, step := range []func() error{b.openContainer, b.openGroup, b.openIOMMU, b.openDevice} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("vfio: open %s: %w", p.name, errors.Join(err, b.Close()))
		}
	}
	b.pool = dma.NewPool("vfio: "+p.name, b.memory)
	return b, nil
}

// String says in one line what the bus uses and why.
func (b *Bus) String() string {
	how := "INTx, masked when it fires and unmasked by Rearm"
	switch {
	case !b.pci:
		how = "interrupt 0 of the device, masked when it fires and unmasked by Rearm"
	case b.opts.MSI:
		how = "MSI, since Options.MSI is set"
	}
	return fmt.Sprintf("vfio %s (group %s): DMA memory from %s, kept to by the IOMMU, coherent since VFIO always maps it so; %s", b.name, b.group, b.memory, how)
}

// Registers implements mac.Bus. The windows are the memory BARs of a PCI device in
// order, or the regions of another. They stay until Close.
func (b *Bus) Registers(i int) (mac.Registers, error) {
	r, err := b.windows.Get(i, b.mapWindow)
	if err != nil {
		return nil, fmt.Errorf("vfio: %s: register window %d: %w", b.name, i, err)
	}
	return r, nil
}

func (b *Bus) mapWindow(i int) (*mmio.Window, error) {
	index, n, what := i, b.regions, "regions"
	if b.pci {
		bars, err := b.opts.root.BARs(b.name)
		if err != nil {
			return nil, err
		}
		n, what = len(bars), "memory BARs"
		if i >= 0 && i < n {
			index = bars[i].Index
		}
	}
	if i < 0 || i >= n {
		return nil, fmt.Errorf("the device has %d %s: %w", n, what, mac.ErrNoDevice)
	}
	r, err := deviceRegion(b.k, b.device, index)
	if err != nil {
		return nil, err
	}
	if r.size == 0 || r.flags&regionMappable == 0 {
		return nil, fmt.Errorf("region %d of %d bytes cannot be mapped (it shares a page with others, or is no memory): %w", index, r.size, mac.ErrUnsupported)
	}
	return b.k.Map(b.device, int64(r.offset), r.size)
}

// Alloc implements mac.Bus. The first call turns bus mastering of a PCI device on: the
// driver has reset the core by then.
//
// The memory is coherent on every architecture: VFIO asks the IOMMU for coherent
// mappings, since a program cannot maintain caches, and since Linux 6.0 refuses
// devices where it cannot have them.
func (b *Bus) Alloc(a mac.Alloc) (pagepool.Memory, error) {
	m, err := b.pool.Alloc(a)
	if err != nil {
		return nil, err
	}
	if err := b.startMaster(); err != nil {
		return nil, errors.Join(err, m.Release())
	}
	return m, nil
}

func (b *Bus) startMaster() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.master || !b.pci {
		return nil
	}
	if b.closed {
		return fmt.Errorf("vfio: %s: turn bus mastering on: %w", b.name, os.ErrClosed)
	}
	if _, err := sysfs.SetCommand(b.config, sysfs.CommandMaster, 0); err != nil {
		return fmt.Errorf("vfio: %s: turn bus mastering on: %w", b.name, err)
	}
	b.master = true
	return nil
}

// Interrupt implements mac.Bus. There is line 0 alone, and it is open once at a
// time.
func (b *Bus) Interrupt(i int) (mac.Interrupt, error) {
	l, err := b.line.Open(i, b.openLine)
	if err != nil {
		return nil, fmt.Errorf("vfio: %s: open interrupt: %w", b.name, err)
	}
	return l, nil
}

func (b *Bus) openLine() (device.Line, error) {
	index, name, other := irqINTx, "INTx", "set Options.MSI"
	switch {
	case !b.pci:
		index, name, other = 0, "interrupt", "its node in the device tree says none"
	case b.opts.MSI:
		index, name, other = irqMSI, "MSI", "leave Options.MSI off"
	}
	flags, count, err := deviceIRQ(b.k, b.device, index)
	if err != nil {
		if errors.Is(err, unix.EINVAL) && !b.pci {
			return nil, fmt.Errorf("the device has no %s: %s: %w", name, other, mac.ErrUnsupported)
		}
		return nil, err
	}
	rearm := func() error { return nil } // an edge, or a message
	if flags&irqAutomasked != 0 {
		rearm = func() error { return unmask(b.k, b.device, index) }
	}
	if count == 0 || flags&irqEventfd == 0 {
		return nil, fmt.Errorf("the device has no %s: %s: %w", name, other, mac.ErrUnsupported)
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "eventfd of "+name)
	if err := setTrigger(b.k, b.device, index, fd); err != nil {
		if errors.Is(err, unix.ENOSPC) {
			err = fmt.Errorf("%w: no %s vector is free: %s", err, name, other)
		}
		return nil, errors.Join(err, file.Close())
	}
	line, err := irq.New(irq.Config{
		Name: "vfio: " + b.name, File: file, Count: 8,
		Rearm: rearm,
		Mask:  func() error { return clearTrigger(b.k, b.device, index) },
	})
	if err != nil {
		return nil, errors.Join(err, clearTrigger(b.k, b.device, index))
	}
	return line, nil
}

// Close implements mac.Bus: interrupt, bus mastering, IOMMU mappings, files, in
// this order. Registers must not be used any more. Memory that is still out stays
// mapped for the CPU until it is released; the device cannot reach it any more.
func (b *Bus) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.err
	}
	b.closed = true
	errs := []error{b.line.Close()}
	if b.config != nil {
		_, err := sysfs.SetCommand(b.config, 0, sysfs.CommandMaster)
		errs = append(errs, err)
	}
	errs = append(errs, b.windows.Close()...)
	if b.pool != nil {
		b.pool.Close()
	}
	if b.memory != nil {
		errs = append(errs, b.memory.detach())
	}
	for _, fd := range []int{b.device, b.groupFD, b.container} {
		if fd >= 0 {
			errs = append(errs, b.k.Close(fd))
		}
	}
	if err := errors.Join(errs...); err != nil {
		b.err = fmt.Errorf("vfio: close %s: %w", b.name, err)
	}
	return b.err
}
