package uio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/devtree"
	"github.com/barewire/barewire/mac/bus/internal/device"
	"github.com/barewire/barewire/mac/bus/internal/hostmem"
	"github.com/barewire/barewire/mac/bus/internal/irq"
	"github.com/barewire/barewire/mac/bus/internal/mmio"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/mac/bus/memory"
	"github.com/barewire/barewire/pagepool"
)

// Bus is a device on Linux UIO. Its methods may be called from any goroutine.
type Bus struct {
	identity
	place
	opts   Options
	fd     int      // /dev/uioN, non-blocking; -1 before it is open
	config *os.File // PCI configuration space; nil for another kind of device
	memory *hostmem.Memory

	windows device.Windows
	line    device.Interrupt

	command sync.Mutex // guards the PCI command register; taken last

	mu     sync.Mutex // guards what follows
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

// Open opens a device that a UIO driver has. dev is "uio0" or "/dev/uio0", a PCI
// address ("0000:00:01.0"), or the name of a platform device as in
// /sys/bus/platform/devices ("ff700000.ethernet"). opts may be nil.
//
// PCI bus mastering is off until the first Alloc. The error wraps mac.ErrNoDevice
// when there is no such device or another driver has it, and says how to bind
// it.
func Open(dev string, opts *Options) (*Bus, error) {
	o := opts.withDefaults()
	if o.ClockHz < 0 || o.MemoryMap < 0 {
		return nil, fmt.Errorf("uio: open %s: clock %d Hz, memory in map %d: %w", dev, o.ClockHz, o.MemoryMap, mac.ErrConfig)
	}
	p, err := find(o.root, dev)
	if err != nil {
		return nil, err
	}
	b := &Bus{
		identity: device.Identify(o.root, p.name, p.device, o.Compatible, o.ClockHz),
		place:    p, opts: o, fd: -1,
	}
	if err := b.open(); err != nil {
		return nil, fmt.Errorf("uio: open %s: %w", dev, errors.Join(err, b.Close()))
	}
	return b, nil
}

// memoryConfig is where DMA memory of a device at p comes from, without a map of UIO.
func (o *Options) memoryConfig(p place, node *devtree.Node) hostmem.Config {
	return hostmem.Config{
		Name: "uio: " + p.name, Root: o.root, Arch: o.goarch, Device: p.device, Node: node,
		Options: o.Memory, Hooks: o.hooks,
	}
}

func (b *Bus) open() (err error) {
	c := b.opts.memoryConfig(b.place, b.Node())
	if n := b.opts.MemoryMap; n > 0 {
		if c.Window, err = b.memoryMap(n); err != nil {
			return fmt.Errorf("DMA memory in map %d: %w", n, err)
		}
	}
	if b.memory, err = hostmem.New(c); err != nil {
		return err
	}
	path := b.opts.root.Path("/dev", b.uio)
	open := b.opts.open
	if open == nil {
		open = openDevice
	}
	fd, err := open(path)
	if err != nil {
		return sysfs.Why(&os.PathError{Op: "open", Path: path, Err: err}, noNode, denied+b.uio)
	}
	b.fd = fd
	if b.pci == "" {
		return nil
	}
	config := b.opts.root.Path(b.device, "config")
	if b.config, err = os.OpenFile(config, os.O_RDWR, 0); err != nil {
		return sysfs.Why(err, "no PCI configuration space", "run as root")
	}
	// A device that a killed program has left running does no DMA from here on.
	return b.setCommand(sysfs.CommandMemory, sysfs.CommandMaster)
}

func (b *Bus) setCommand(set, clear uint16) error {
	b.command.Lock()
	defer b.command.Unlock()
	_, err := sysfs.SetCommand(b.config, set, clear)
	return err
}

func openDevice(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// String says in one line what the bus uses and why.
func (b *Bus) String() string {
	how := "UIO interrupt rearmed by " + platformDriver
	if b.pci != "" {
		how = "INTx rearmed by the PCI command register, as " + pciDriver + " masks it"
	}
	return fmt.Sprintf("uio %s (%s): %s; %s", b.name, b.uio, b.memory, how)
}

// Registers implements mac.Bus. The windows of a PCI device are its memory BARs
// in order; those of another are the maps of UIO. They stay until Close.
func (b *Bus) Registers(i int) (mac.Registers, error) {
	r, err := b.windows.Get(i, b.mapWindow)
	if err != nil {
		return nil, fmt.Errorf("uio: %s: register window %d: %w", b.name, i, err)
	}
	return r, nil
}

func (b *Bus) mapWindow(i int) (*mmio.Window, error) {
	if b.pci != "" {
		return b.mapBAR(i)
	}
	dir, size, offset, err := b.uioMap(i)
	if err != nil {
		return nil, err
	}
	if i == b.opts.MemoryMap && i > 0 {
		return nil, fmt.Errorf("%s is DMA memory (Options.MemoryMap): %w", dir, mac.ErrNoDevice)
	}
	// Map N is found at N pages (uio-howto, "mmap").
	return mmio.Map(b.fd, int64(i)*int64(os.Getpagesize()), offset, size)
}

// uioMap is what UIO says of its map i.
func (b *Bus) uioMap(i int) (dir string, size, offset uint64, err error) {
	root, dir := b.opts.root, fmt.Sprintf("/sys/class/uio/%s/maps/map%d", b.uio, i)
	if i < 0 || !root.Exists(dir) {
		return dir, 0, 0, fmt.Errorf("there is no %s: %w", dir, mac.ErrNoDevice)
	}
	if size, err = root.Number(dir, "size"); err != nil {
		return dir, 0, 0, err
	}
	offset, err = root.Number(dir, "offset")
	return dir, size, offset, err
}

// memoryMap is UIO's map i as DMA memory.
func (b *Bus) memoryMap(i int) (*hostmem.Window, error) {
	dir, size, offset, err := b.uioMap(i)
	if err != nil {
		return nil, err
	}
	addr, err := b.opts.root.Number(dir, "addr")
	if err != nil {
		return nil, err
	}
	if addr%uint64(os.Getpagesize()) != 0 || offset != 0 {
		return nil, fmt.Errorf("%s begins at %#x, within a page: %w", dir, addr, mac.ErrUnsupported)
	}
	return &hostmem.Window{
		What: fmt.Sprintf("map %d of %s", i, b.uio), Range: memory.Range{Addr: addr, Size: size},
		Offset: int64(i) * int64(os.Getpagesize()),
		File:   func() (int, error) { return unix.FcntlInt(uintptr(b.fd), unix.F_DUPFD_CLOEXEC, 0) },
	}, nil
}

func (b *Bus) mapBAR(i int) (*mmio.Window, error) {
	bars, err := b.opts.root.BARs(b.pci)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(bars) {
		return nil, fmt.Errorf("the device has %d memory BARs: %w", len(bars), mac.ErrNoDevice)
	}
	path := b.opts.root.Path(b.device, fmt.Sprintf("resource%d", bars[i].Index))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_SYNC, 0)
	if err != nil {
		return nil, sysfs.Why(err, "the kernel gives no access to this BAR", "run as root")
	}
	defer f.Close()
	return mmio.Map(int(f.Fd()), 0, bars[i].Start%uint64(os.Getpagesize()), bars[i].Size)
}

// Alloc implements mac.Bus. It fails with an error that wraps mac.ErrConfig when
// there is no DMA memory, and with one that wraps mac.ErrUnsupported where the kind
// that Options name cannot be kept coherent. The first call turns PCI bus mastering on:
// the driver has reset the core by then.
func (b *Bus) Alloc(a mac.Alloc) (pagepool.Memory, error) {
	m, err := b.memory.Alloc(a)
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
	if b.config == nil || b.master {
		return nil
	}
	if err := b.setCommand(sysfs.CommandMaster, 0); err != nil {
		return fmt.Errorf("uio: %s: turn bus mastering on: %w", b.name, err)
	}
	b.master = true
	return nil
}

// Interrupt implements mac.Bus. UIO has line 0 alone, and it is open once at a
// time.
func (b *Bus) Interrupt(i int) (mac.Interrupt, error) {
	l, err := b.line.Open(i, b.openLine)
	if err != nil {
		return nil, fmt.Errorf("uio: %s: open interrupt: %w", b.name, err)
	}
	return l, nil
}

func (b *Bus) openLine() (device.Line, error) {
	// A second descriptor of the same opening, so that closing the line neither
	// ends bus mastering nor forgets the count of interrupts.
	fd, err := unix.FcntlInt(uintptr(b.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	line, err := irq.New(irq.Config{
		Name: "uio: " + b.name, File: os.NewFile(uintptr(fd), "/dev/"+b.uio), Count: 4,
		Rearm: func() error { return b.control(fd, true) },
		Mask:  func() error { return b.control(fd, false) },
	})
	if err != nil {
		return nil, err
	}
	return line, nil
}

// control lets the line fire, or not.
//
// uio_pdrv_genirq disables the line at the interrupt controller when it fires
// and takes a 1 or 0 written to the device. uio_pci_generic sets the Interrupt
// Disable bit of the PCI command register instead and takes nothing: clearing
// the bit is up to this side. Both are levels, so one that is still high fires
// at once.
func (b *Bus) control(fd int, on bool) error {
	if b.config != nil {
		if on {
			return b.setCommand(0, sysfs.CommandNoINTx)
		}
		return b.setCommand(sysfs.CommandNoINTx, 0)
	}
	var word [4]byte
	if on {
		binary.NativeEndian.PutUint32(word[:], 1)
	}
	for {
		if _, err := unix.Write(fd, word[:]); !errors.Is(err, unix.EINTR) {
			return explainControl(err)
		}
	}
}

func explainControl(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("its UIO driver has no interrupt control: bind the device to %s: %w", platformDriver, mac.ErrUnsupported)
	case errors.Is(err, unix.EIO):
		return fmt.Errorf("the device has no interrupt: %w: %w", err, mac.ErrNoDevice)
	}
	return err
}

// Close implements mac.Bus. It ends bus mastering of a PCI device; nothing but
// the driver can stop the DMA of another. Registers must not be used any more.
// Memory that is still out stays mapped.
func (b *Bus) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.err
	}
	b.closed = true
	errs := []error{b.line.Close()}
	if b.config != nil {
		errs = append(errs, b.setCommand(0, sysfs.CommandMaster), b.config.Close())
	}
	errs = append(errs, b.windows.Close()...)
	if b.memory != nil {
		b.memory.Close()
	}
	if b.fd >= 0 {
		errs = append(errs, unix.Close(b.fd))
	}
	if err := errors.Join(errs...); err != nil {
		b.err = fmt.Errorf("uio: close %s: %w", b.name, err)
	}
	return b.err
}
