package devmem

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/bus/internal/device"
	"github.com/barewire/barewire/mac/bus/internal/hostmem"
	"github.com/barewire/barewire/mac/bus/internal/irq"
	"github.com/barewire/barewire/mac/bus/internal/mmio"
	"github.com/barewire/barewire/mac/bus/internal/sysfs"
	"github.com/barewire/barewire/pagepool"
)

// backstop is the longest time without a look at a device whose edges are seen.
const backstop = 5 * time.Millisecond

// Bus is a device on /dev/mem. Its methods may be called from any goroutine.
type Bus struct {
	identity
	place
	opts   Options
	fd     int // /dev/mem, which holds the lock; -1 before it is open
	memory *hostmem.Memory

	windows device.Windows
	line    device.Interrupt

	mu     sync.Mutex // guards what follows
	closed bool
	err    error
}

type identity = device.Identity

var (
	_ mac.Bus     = (*Bus)(nil)
	_ mac.Wired   = (*Bus)(nil)
	_ mac.Advisor = (*Bus)(nil)
)

// Open opens a device that no driver has. dev is the name of a platform device as in
// /sys/bus/platform/devices ("1c30000.ethernet"), or the place of its registers
// ("0xf0802000+0x2000"). opts may be nil.
//
// The error wraps mac.ErrNoDevice when there is no such device or a driver has it, and
// os.ErrPermission when the kernel does not allow it; it says what to do.
func Open(dev string, opts *Options) (*Bus, error) {
	o := opts.withDefaults()
	if o.ClockHz < 0 || o.PollPeriod < 0 {
		return nil, fmt.Errorf("devmem: open %s: clock %d Hz, poll period %v: %w", dev, o.ClockHz, o.PollPeriod, mac.ErrConfig)
	}
	p, err := find(o, dev)
	if err != nil {
		return nil, fmt.Errorf("devmem: open %s: %w", dev, err)
	}
	b := &Bus{place: p, opts: o, fd: -1, identity: device.Identify(o.root, p.name, p.device, o.Compatible, o.ClockHz)}
	if err := b.open(); err != nil {
		return nil, fmt.Errorf("devmem: open %s: %w", dev, errors.Join(err, b.Close()))
	}
	return b, nil
}

func (b *Bus) open() (err error) {
	if b.memory, err = b.opts.makeMemory(b.place); err != nil {
		return err
	}
	path := b.opts.root.Path("/dev/mem")
	b.fd, err = b.opts.hooks.OpenFile(path, true)
	if err != nil {
		return sysfs.Why(&os.PathError{Op: "open", Path: path, Err: err}, noDevMem, denied)
	}
	return b.lock()
}

// lock keeps a second program of this kind from the registers, until this one dies.
func (b *Bus) lock() error {
	for _, w := range b.regs {
		l := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(w.Addr), Len: int64(w.Size)}
		if err := unix.FcntlFlock(uintptr(b.fd), unix.F_OFD_SETLK, &l); err != nil {
			if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
				return fmt.Errorf("another program has its registers at %s: %w", w, err)
			}
			return fmt.Errorf("lock registers at %s: %w", w, err)
		}
	}
	return nil
}

// String says in one line what the bus uses and why.
func (b *Bus) String() string {
	how := fmt.Sprintf("no interrupt, since the kernel passes none on: polled every %v", b.opts.PollPeriod)
	if b.opts.InputEvent != "" {
		how = fmt.Sprintf("edges of its line from %s, and a look every %v", b.opts.InputEvent, backstop)
	}
	return fmt.Sprintf("devmem %s: registers at %s; %s; %s", b.name, b.regs[0], b.memory, how)
}

// Registers implements mac.Bus. The windows are those of the device tree in order.
// They stay until Close.
func (b *Bus) Registers(i int) (mac.Registers, error) {
	r, err := b.windows.Get(i, b.mapWindow)
	if err != nil {
		return nil, fmt.Errorf("devmem: %s: register window %d: %w", b.name, i, err)
	}
	return r, nil
}

func (b *Bus) mapWindow(i int) (*mmio.Window, error) {
	if i < 0 || i >= len(b.regs) {
		return nil, fmt.Errorf("the device has %d: %w", len(b.regs), mac.ErrNoDevice)
	}
	r := b.regs[i]
	lead := r.Addr % uint64(os.Getpagesize())
	w, err := mmio.Map(b.fd, int64(r.Addr-lead), lead, r.Size)
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("at %s: %w. Or a driver has these registers (see /proc/iomem): unbind it, or boot with iomem=relaxed", r, err)
	}
	return w, err
}

// Alloc implements mac.Bus.
func (b *Bus) Alloc(a mac.Alloc) (pagepool.Memory, error) { return b.memory.Alloc(a) }

// Interrupt implements mac.Bus. There is line 0 alone, and it is open once at a time.
func (b *Bus) Interrupt(i int) (mac.Interrupt, error) {
	l, err := b.line.Open(i, b.openLine)
	if err != nil {
		return nil, fmt.Errorf("devmem: %s: open interrupt: %w", b.name, err)
	}
	return l, nil
}

func (b *Bus) openLine() (device.Line, error) {
	if b.opts.InputEvent == "" {
		return irq.NewTimer("devmem: "+b.name, b.opts.PollPeriod), nil
	}
	open := b.opts.input
	if open == nil {
		open = openInput
	}
	fd, err := open(b.opts.InputEvent)
	if err != nil {
		return nil, sysfs.Why(err, "is the line a key of gpio-keys in the device tree, and are gpio_keys and evdev loaded? see /proc/bus/input/devices", "run as root or: chown $USER "+b.opts.InputEvent)
	}
	nothing := func() error { return nil } // gpio-keys masks nothing
	l, err := irq.New(irq.Config{
		Name: "devmem: " + b.name, File: os.NewFile(uintptr(fd), b.opts.InputEvent), Count: inputEvents,
		Rearm: nothing, Mask: nothing, Edges: true, Backstop: backstop,
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// inputEvents is room for some input events, whole ones on 32-bit and on 64-bit
// kernels (16 and 24 bytes).
const inputEvents = 48 * 16

// openInput opens an input device, and keeps its keys from everybody else: a console
// would take them for typing.
func openInput(path string) (int, error) {
	const grab = 0x40044590 // EVIOCGRAB (include/uapi/linux/input.h)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.IoctlSetInt(fd, grab, 1); err != nil {
		return -1, errors.Join(&os.PathError{Op: "grab", Path: path, Err: err}, unix.Close(fd))
	}
	return fd, nil
}

// Close implements mac.Bus. Nothing but the driver can stop the device's DMA.
// Registers must not be used any more. Memory that is still out stays mapped.
func (b *Bus) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.err
	}
	b.closed = true
	errs := append([]error{b.line.Close()}, b.windows.Close()...)
	if b.memory != nil {
		b.memory.Close()
	}
	if b.fd >= 0 {
		errs = append(errs, unix.Close(b.fd))
	}
	if err := errors.Join(errs...); err != nil {
		b.err = fmt.Errorf("devmem: close %s: %w", b.name, err)
	}
	return b.err
}
