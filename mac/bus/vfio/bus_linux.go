package vfio

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/dma"
	"github.com/barewire/barewire/mac/bus/internal/irq"
	"github.com/barewire/barewire/mac/bus/internal/mmio"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/pagepool"
)

// Bus is a PCI device on VFIO. Its methods may be called from any goroutine.
type Bus struct {
	addr       string // PCI address
	group      string // number of the IOMMU group
	opts       Options
	k          kernel
	compatible []string

	// Descriptors; -1 before they are open.
	container, groupFD, device int

	config *configSpace // nil before the device is open
	memory *memory      // nil before the IOMMU is set up
	pool   *dma.Pool

	mu      sync.Mutex // guards what follows and the PCI command register
	windows map[int]*mmio.Window
	line    *irq.Line
	master  bool // PCI bus mastering is on
	closed  bool
	err     error
}

var _ mac.Bus = (*Bus)(nil)

// Open opens the PCI device at dev ("0000:00:01.0"), which vfio-pci has. opts may
// be nil. It resets the device when the device can be reset; bus mastering is off
// until the first Alloc.
//
// The error wraps mac.ErrNoDevice when there is no such device or another driver
// has it, and mac.ErrUnsupported when there is no IOMMU; it says what to do.
func Open(dev string, opts *Options) (*Bus, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	addr, ok := sysfs.PCIAddress(dev)
	if !ok || o.ClockHz < 0 {
		return nil, fmt.Errorf(`vfio: open %q, clock %d Hz: want a PCI address like "0000:00:01.0": %w`, dev, o.ClockHz, mac.ErrConfig)
	}
	group, err := find(o.root, addr)
	if err != nil {
		return nil, fmt.Errorf("vfio: open %s: %w", addr, err)
	}
	b := &Bus{
		addr: addr, group: group, opts: o, k: o.kernel, compatible: o.Compatible,
		container: -1, groupFD: -1, device: -1,
		windows: map[int]*mmio.Window{},
	}
	if b.k == nil {
		b.k = linux{}
	}
	if b.compatible == nil {
		b.compatible = o.root.PCICompatible(addr)
	}
	for _, step := range []func() error{b.openContainer, b.openGroup, b.openIOMMU, b.openDevice} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("vfio: open %s: %w", addr, errors.Join(err, b.Close()))
		}
	}
	b.pool = dma.NewPool("vfio: "+addr, b.memory)
	return b, nil
}

// Name implements mac.Bus.
func (b *Bus) Name() string { return b.addr }

// Compatible implements mac.Bus. The last name is pciVVVV,DDDD.
func (b *Bus) Compatible() []string { return b.compatible }

// ClockHz implements mac.Bus.
func (b *Bus) ClockHz() int { return b.opts.ClockHz }

// String says in one line what the bus uses and why.
func (b *Bus) String() string {
	how := "INTx, masked when it fires and unmasked by Rearm"
	if b.opts.MSI {
		how = "MSI, since Options.MSI is set"
	}
	return fmt.Sprintf("vfio %s (group %s): DMA memory from %s, kept to by the IOMMU, coherent since VFIO always maps it so; %s", b.addr, b.group, b.memory, how)
}

// Registers implements mac.Bus. The windows are the memory BARs in order. They
// stay until Close.
func (b *Bus) Registers(i int) (mac.Registers, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("vfio: %s: map registers: %w", b.addr, os.ErrClosed)
	}
	if w := b.windows[i]; w != nil {
		return w, nil
	}
	w, err := b.mapBAR(i)
	if err != nil {
		return nil, fmt.Errorf("vfio: %s: register window %d: %w", b.addr, i, err)
	}
	b.windows[i] = w
	return w, nil
}

func (b *Bus) mapBAR(i int) (*mmio.Window, error) {
	bars, err := b.opts.root.BARs(b.addr)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(bars) {
		return nil, fmt.Errorf("the device has %d memory BARs: %w", len(bars), mac.ErrNoDevice)
	}
	r, err := deviceRegion(b.k, b.device, bars[i].Index)
	if err != nil {
		return nil, err
	}
	if r.size == 0 || r.flags&regionMappable == 0 {
		return nil, fmt.Errorf("BAR %d of %d bytes cannot be mapped (smaller than a page and shared, or no memory): %w", bars[i].Index, r.size, mac.ErrUnsupported)
	}
	return b.k.Map(b.device, int64(r.offset), r.size)
}

// Alloc implements mac.Bus. The first call turns PCI bus mastering on: the driver
// has reset the core by then.
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
	if b.master {
		return nil
	}
	if b.closed {
		return fmt.Errorf("vfio: %s: turn bus mastering on: %w", b.addr, os.ErrClosed)
	}
	if _, err := sysfs.SetCommand(b.config, sysfs.CommandMaster, 0); err != nil {
		return fmt.Errorf("vfio: %s: turn bus mastering on: %w", b.addr, err)
	}
	b.master = true
	return nil
}

// Interrupt implements mac.Bus. There is line 0 alone, and it is open once at a
// time.
func (b *Bus) Interrupt(i int) (mac.Interrupt, error) {
	if i != 0 {
		return nil, fmt.Errorf("vfio: %s: no interrupt line %d: %w", b.addr, i, mac.ErrNoDevice)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("vfio: %s: open interrupt: %w", b.addr, os.ErrClosed)
	}
	if b.line != nil && !b.line.Closed() {
		return nil, fmt.Errorf("vfio: %s: open interrupt: close the one that is open first: %w", b.addr, mac.ErrConfig)
	}
	line, err := b.openLine()
	if err != nil {
		return nil, fmt.Errorf("vfio: %s: open interrupt: %w", b.addr, err)
	}
	b.line = line
	return line, nil
}

func (b *Bus) openLine() (*irq.Line, error) {
	index, name, other := irqINTx, "INTx", "set Options.MSI"
	rearm := func() error { return unmask(b.k, b.device) }
	if b.opts.MSI {
		index, name, other = irqMSI, "MSI", "leave Options.MSI off"
		rearm = func() error { return nil }
	}
	flags, count, err := deviceIRQ(b.k, b.device, index)
	if err != nil {
		return nil, err
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
		Name: "vfio: " + b.addr, File: file, Count: 8,
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
	var errs []error
	if b.line != nil {
		errs = append(errs, b.line.Close())
	}
	if b.config != nil {
		_, err := sysfs.SetCommand(b.config, 0, sysfs.CommandMaster)
		errs = append(errs, err)
	}
	for _, w := range b.windows {
		errs = append(errs, w.Unmap())
	}
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
		b.err = fmt.Errorf("vfio: close %s: %w", b.addr, err)
	}
	return b.err
}
