//go:build linux

package vfu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeDevice is BAR 0 of 4 KiB of memory and BAR 2 of 16 bytes. A write of 16
// bytes at doorbell makes it copy within guest memory: from, to.
type fakeDevice struct {
	cfg  Config
	host *Host
	bar  [4096]byte

	dma      sync.RWMutex // held for reading during an access
	resets   atomic.Int64
	quiesced atomic.Int64
	detached atomic.Bool
	lastErr  atomic.Pointer[error]
}

const (
	doorbell = 0x800
	copySize = 8
)

func newFake() *fakeDevice {
	return &fakeDevice{cfg: Config{
		Vendor: 0x1234, Device: 0x5678, SubsystemVendor: 0x9abc, Subsystem: 0xdef0, Class: 0x020000, Revision: 7,
		BARs: [numBARs]uint64{0: 4096, 2: 16}, InterruptPin: 1, MSIVectors: 32,
	}}
}

func (d *fakeDevice) Config() Config { return d.cfg }
func (d *fakeDevice) Attach(h *Host) { d.host = h }
func (d *fakeDevice) Reset()         { d.resets.Add(1) }
func (d *fakeDevice) Detach()        { d.detached.Store(true) }

func (d *fakeDevice) Quiesce() {
	d.quiesced.Add(1)
	d.dma.Lock()
	defer d.dma.Unlock()
}

func (d *fakeDevice) ReadBAR(bar int, off uint64, p []byte) {
	if bar == 0 {
		copy(p, d.bar[off:off+uint64(len(p))])
	}
}

func (d *fakeDevice) WriteBAR(bar int, off uint64, p []byte) {
	if bar != 0 {
		return
	}
	copy(d.bar[off:off+uint64(len(p))], p)
	if off == doorbell && len(p) == 16 {
		err := d.copy(wire.Uint64(p), wire.Uint64(p[8:]))
		d.lastErr.Store(&err)
		d.host.SetINTx(err == nil)
	}
}

func (d *fakeDevice) copy(from, to uint64) error {
	d.dma.RLock()
	defer d.dma.RUnlock()
	src, err := d.host.Slice(from, copySize, false)
	if err != nil {
		return err
	}
	dst, err := d.host.Slice(to, copySize, true)
	if err != nil {
		return err
	}
	copy(dst, src)
	return nil
}

// socketpair is two ends of a Unix socket.
func socketpair(t testing.TB) (a, b *net.UnixConn) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	conn := func(fd int) *net.UnixConn {
		f := os.NewFile(uintptr(fd), "socket")
		defer f.Close()
		c, err := net.FileConn(f)
		require.NoError(t, err)
		return c.(*net.UnixConn)
	}
	return conn(fds[0]), conn(fds[1])
}

// client is the test's end of a session.
type client struct {
	t    testing.TB
	host *Host
	c    *net.UnixConn
	dev  *fakeDevice
	srv  *Server
	done chan error
	id   uint16
}

// dial starts a session with dev, before the version.
func dial(t testing.TB, dev *fakeDevice, o *Options) *client {
	ours, theirs := socketpair(t)
	s, err := New(dev, o)
	require.NoError(t, err)
	c := &client{t: t, host: &s.host, c: ours, dev: dev, srv: s, done: make(chan error, 1)}
	go func() { c.done <- s.Serve(context.Background(), theirs) }()
	require.NoError(t, ours.SetDeadline(time.Now().Add(30*time.Second)))
	t.Cleanup(func() { ours.Close() })
	return c
}

// session is dial and the version.
func session(t testing.TB) *client {
	c := dial(t, newFake(), nil)
	c.ok(cmdVersion, versionPayload("{}"))
	t.Cleanup(func() { require.NoError(t, c.leave()) })
	return c
}

// leave ends the session and returns what Serve says.
func (c *client) leave() error {
	c.c.Close()
	err := <-c.done
	require.True(c.t, c.dev.detached.Load())
	require.Zero(c.t, c.srv.Stats().Maps)
	require.Zero(c.t, c.srv.Stats().Files)
	c.done <- err
	return err
}

func versionPayload(json string) []byte {
	return append([]byte{0, 0, 0, 0}, json+"\x00"...)
}

// encode is a request.
func encode(id, command uint16, flags uint32, payload []byte) []byte {
	b := make([]byte, headerLen, headerLen+len(payload))
	wire.PutUint16(b, id)
	wire.PutUint16(b[2:], command)
	wire.PutUint32(b[4:], uint32(headerLen+len(payload)))
	wire.PutUint32(b[8:], flags)
	return append(b, payload...)
}

// send sends a request without waiting for the reply.
func (c *client) send(command uint16, flags uint32, payload []byte, fds ...int) {
	c.id++
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_, _, err := c.c.WriteMsgUnix(encode(c.id, command, flags, payload), oob, nil)
	require.NoError(c.t, err)
}

// receive reads a reply.
func (c *client) receive() (h header, errno unix.Errno, payload []byte) {
	var b [headerLen]byte
	_, err := io.ReadFull(c.c, b[:])
	require.NoError(c.t, err)
	h = parseHeader(b[:])
	payload = make([]byte, h.size-headerLen)
	_, err = io.ReadFull(c.c, payload)
	require.NoError(c.t, err)
	errno = unix.Errno(wire.Uint32(b[12:]))
	require.EqualValues(c.t, flagReply, h.flags&flagTypeMask)
	require.Equal(c.t, errno != 0, h.flags&flagError != 0)
	if errno != 0 {
		require.Empty(c.t, payload)
	}
	return h, errno, payload
}

// call sends a request and waits for its reply.
func (c *client) call(command uint16, payload []byte, fds ...int) (unix.Errno, []byte) {
	c.t.Helper()
	c.send(command, 0, payload, fds...)
	h, errno, reply := c.receive()
	require.Equal(c.t, c.id, h.id)
	require.Equal(c.t, command, h.command)
	return errno, reply
}

// ok is a call that must succeed.
func (c *client) ok(command uint16, payload []byte, fds ...int) []byte {
	c.t.Helper()
	errno, reply := c.call(command, payload, fds...)
	require.Zero(c.t, errno, errno.Error())
	return reply
}

// fails is a call that must be answered with errno.
func (c *client) fails(want unix.Errno, command uint16, payload []byte, fds ...int) {
	c.t.Helper()
	errno, _ := c.call(command, payload, fds...)
	require.Equal(c.t, want, errno, "%v, want %v", errno.Error(), want.Error())
}

// words packs 32-bit and 64-bit numbers.
func words(v ...any) []byte {
	var b []byte
	for _, v := range v {
		switch v := v.(type) {
		case int:
			b = wire.AppendUint32(b, uint32(v))
		case uint64:
			b = wire.AppendUint64(b, v)
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	return b
}

func mapPayload(addr, size, off uint64, flags int) []byte {
	return words(dmaMapLen, flags, off, addr, size)
}

func unmapPayload(addr, size uint64, flags int) []byte {
	return words(dmaUnmapLen, flags, addr, size)
}

func irqPayload(flags, index, start, count int, data ...byte) []byte {
	return append(words(irqSetLen+len(data), flags, index, start, count), data...)
}

func (c *client) read(region int, off uint64, n int) []byte {
	c.t.Helper()
	return c.ok(cmdRegionRead, words(off, region, n))[regionLen:]
}

func (c *client) write(region int, off uint64, data ...byte) {
	c.t.Helper()
	c.ok(cmdRegionWrite, append(words(off, region, len(data)), data...))
}

// copy has the device copy within guest memory, and returns its error.
func (c *client) copy(from, to uint64) error {
	c.t.Helper()
	c.write(0, doorbell, words(from, to)...)
	return *c.dev.lastErr.Load()
}

// ram is a sealed memfd and the guest's view of it.
func ram(t testing.TB, size int) (fd int, mem []byte) {
	fd, err := unix.MemfdCreate("ram", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	require.NoError(t, unix.Ftruncate(fd, int64(size)))
	mem, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() {
		unix.Close(fd)
		require.NoError(t, unix.Munmap(mem))
	})
	return fd, mem
}

func eventfd(t testing.TB) int {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// events takes what has been signalled.
func events(t testing.TB, fd int) uint64 {
	var b [8]byte
	_, err := unix.Read(fd, b[:])
	if errors.Is(err, unix.EAGAIN) {
		return 0
	}
	require.NoError(t, err)
	return binary.NativeEndian.Uint64(b[:])
}

// openFDs is how many descriptors the process has.
func openFDs(t testing.TB) int {
	d, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(d)
}
