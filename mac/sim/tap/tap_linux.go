package tap

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/barewire/barewire/mac/sim"
)

const (
	tunPath = "/dev/net/tun"
	// closeWait is how long Close waits for the transmit function to return.
	closeWait = 2 * time.Second
)

var _ sim.Port = (*TAP)(nil)

// TAP is a port on a TAP device. A goroutine reads what the kernel sends; Deliver
// writes. Its methods may be called from any goroutine.
type TAP struct {
	file     *os.File
	name     string
	mtu      int
	transmit atomic.Pointer[func([]byte)]
	counters counters

	closing  atomic.Bool
	close    sync.Once
	closeErr error
	done     chan struct{} // closed when the reader has ended
	err      error         // why it ended; read after done
}

// Open opens the TAP device with the given name and makes it when there is none.
// An empty name lets the kernel pick one (tap0, tap1, ...). nil options are the
// defaults. The device is in the network namespace of the calling thread.
//
// Errors wrap ErrNoTun, ErrNoDevice, ErrName, ErrBusy, ErrKind or the system's
// error (fs.ErrPermission) and say what to do.
func Open(name string, o *Options) (*TAP, error) {
	if o == nil {
		o = &Options{}
	}
	if err := check(name, o); err != nil {
		return nil, err
	}
	fd, err := unix.Open(tunPath, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, explainOpen(err)
	}
	t := &TAP{done: make(chan struct{})}
	if err := t.attach(fd, name, o); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	// The file joins the netpoller here, now that there is a device to poll.
	t.file = os.NewFile(uintptr(fd), tunPath)
	go t.read()
	return t, nil
}

func check(name string, o *Options) error {
	switch {
	case len(name) >= unix.IFNAMSIZ:
		return fmt.Errorf("tap: open %q: the name has %d bytes, Linux allows %d: %w", name, len(name), unix.IFNAMSIZ-1, ErrName)
	case name == "." || name == ".." || strings.ContainsAny(name, "/:% \t\n\x00"):
		return fmt.Errorf("tap: open %q: use letters, digits, '-', '_' and '.': %w", name, ErrName)
	case o.Existing && name == "":
		return fmt.Errorf("tap: open: Options.Existing needs a name: %w", ErrName)
	case o.MTU != 0 && (o.MTU < 68 || o.MTU > 65535-headerLen):
		return fmt.Errorf("tap: open %q: MTU %d is not within 68 to %d", name, o.MTU, 65535-headerLen)
	}
	if o.Existing {
		if _, err := net.InterfaceByName(name); err != nil {
			return fmt.Errorf("tap: open %q: make it first: ip tuntap add dev %s mode tap user $USER: %w", name, name, ErrNoDevice)
		}
	}
	return nil
}

func explainOpen(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("tap: open %s: load the driver: modprobe tun (in a container, pass the device in: --device %s): %w: %w", tunPath, tunPath, ErrNoTun, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("tap: open %s: run as root, or give your user read and write access to it: %w", tunPath, err)
	}
	return fmt.Errorf("tap: open %s: %w", tunPath, err)
}

func explainAttach(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		if name == "" {
			name = "NAME"
		}
		return fmt.Errorf("tap: open %q: run as root (CAP_NET_ADMIN), or make the device for your user: ip tuntap add dev %s mode tap user $USER: %w", name, name, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("tap: open %q: another process holds it: stop that one (ip -d tuntap show), or use another name: %w: %w", name, ErrBusy, err)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("tap: open %q: a device of this name exists and is no TAP device with one queue (ip -d link show %s): use another name: %w: %w", name, name, ErrKind, err)
	}
	return fmt.Errorf("tap: open %q: %w", name, err)
}

// attach makes or takes the device and sets it up.
func (t *TAP) attach(fd int, name string, o *Options) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return fmt.Errorf("tap: open %q: %w", name, err)
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return explainAttach(name, err)
	}
	t.name = request.Name()
	if o.Persistent {
		if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
			return fmt.Errorf("tap: keep %s: %w", t.name, err)
		}
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("tap: set up %s: %w", t.name, err)
	}
	defer unix.Close(socket)
	return t.setUp(socket, o)
}

func (t *TAP) setUp(socket int, o *Options) error {
	request, err := unix.NewIfreq(t.name)
	if err != nil {
		return fmt.Errorf("tap: set up %s: %w", t.name, err)
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFMTU, request); err != nil {
		return fmt.Errorf("tap: read the MTU of %s: %w", t.name, err)
	}
	t.mtu = int(request.Uint32())
	if o.MTU != 0 && o.MTU != t.mtu {
		request.SetUint32(uint32(o.MTU))
		if err := unix.IoctlIfreq(socket, unix.SIOCSIFMTU, request); err != nil {
			return fmt.Errorf("tap: set the MTU of %s to %d: run as root, or: ip link set %s mtu %d: %w", t.name, o.MTU, t.name, o.MTU, err)
		}
		t.mtu = o.MTU
	}
	if o.KeepDown {
		return nil
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return fmt.Errorf("tap: read the flags of %s: %w", t.name, err)
	}
	flags := request.Uint16()
	if flags&unix.IFF_UP != 0 {
		return nil
	}
	request.SetUint16(flags | unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("tap: bring %s up: run as root, or: ip link set %s up: %w", t.name, t.name, err)
	}
	return nil
}

// read hands the kernel's frames to the wire until the device is closed or gone.
func (t *TAP) read() {
	defer close(t.done)
	buf := make([]byte, 65535+tagLen)
	for {
		n, err := t.file.Read(buf)
		if err != nil {
			if !t.closing.Load() {
				t.err = fmt.Errorf("tap: read %s: the device is gone, open it again: %w", t.name, err)
			}
			return
		}
		t.fromKernel(buf, n)
	}
}

func (t *TAP) fromKernel(buf []byte, n int) {
	t.counters.rxFrames.Add(1)
	t.counters.rxBytes.Add(uint64(n))
	if n < minFrame {
		t.counters.rxPadded.Add(1)
		clear(buf[n:minFrame])
		n = minFrame
	}
	transmit := t.transmit.Load()
	if transmit == nil {
		t.counters.rxUnplugged.Add(1)
		return
	}
	(*transmit)(buf[:n])
}

// OnTransmit implements sim.Port.
func (t *TAP) OnTransmit(f func(frame []byte)) {
	if f == nil {
		t.transmit.Store(nil)
		return
	}
	t.transmit.Store(&f)
}

// Deliver implements sim.Port: it sends frame to the kernel. It returns at once
// after Close.
func (t *TAP) Deliver(frame []byte) {
	switch {
	case len(frame) < headerLen:
		t.counters.txShort.Add(1)
		return
	case len(frame) > t.mtu+headerLen+tagLen:
		t.counters.txTooLong.Add(1)
		return
	}
	if _, err := t.file.Write(frame); err != nil {
		t.counters.txErrors.Add(1)
		return
	}
	t.counters.txFrames.Add(1)
	t.counters.txBytes.Add(uint64(len(frame)))
}

// Name is the device's name, as the kernel knows it.
func (t *TAP) Name() string { return t.name }

// MTU is the device's MTU at Open, in bytes without the Ethernet header.
func (t *TAP) MTU() int { return t.mtu }

// Stats returns the counts since Open.
func (t *TAP) Stats() Stats { return t.counters.stats() }

// Done is closed when no more frames come from the kernel: after Close, or when
// the device has been removed.
func (t *TAP) Done() <-chan struct{} { return t.done }

// Err tells, once Done is closed, why the device was lost; nil after Close.
func (t *TAP) Err() error {
	select {
	case <-t.done:
		return t.err
	default:
		return nil
	}
}

// Close ends the reader and closes the device, which removes it unless it is
// persistent. It may be called more than once. When the wire holds the last frame
// for more than two seconds, Close returns an error and leaves the reader to end
// as soon as the wire lets go.
func (t *TAP) Close() error {
	t.close.Do(func() {
		t.closing.Store(true)
		if err := t.file.Close(); err != nil {
			t.closeErr = fmt.Errorf("tap: close %s: %w", t.name, err)
		}
		timeout := time.NewTimer(closeWait)
		defer timeout.Stop()
		select {
		case <-t.done:
		case <-timeout.C:
			t.closeErr = errors.Join(t.closeErr, fmt.Errorf("tap: close %s: the wire has not taken a frame in %v: close the cable first", t.name, closeWait))
		}
	})
	return t.closeErr
}
