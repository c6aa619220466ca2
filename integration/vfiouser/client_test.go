//go:build linux

package vfiouser

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// client is as much of a vfio-user client as the tests need.
type client struct {
	t *testing.T
	c *net.UnixConn
}

func connect(t *testing.T, path string) *client {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	cl := &client{t, c}
	cl.call(1, u32(0))
	return cl
}

func u32(v ...uint32) (b []byte) {
	for _, v := range v {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

func u64(v ...uint64) (b []byte) {
	for _, v := range v {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// call sends command and returns the reply's payload.
func (c *client) call(command uint32, payload []byte, fds ...int) []byte {
	c.t.Helper()
	_, _, err := c.c.WriteMsgUnix(append(u32(command<<16, uint32(16+len(payload)), 0, 0), payload...), unix.UnixRights(fds...), nil)
	require.NoError(c.t, err)
	var h [16]byte
	_, err = io.ReadFull(c.c, h[:])
	require.NoError(c.t, err)
	require.Zero(c.t, binary.NativeEndian.Uint32(h[12:]), "errno")
	reply := make([]byte, binary.NativeEndian.Uint32(h[4:])-16)
	_, err = io.ReadFull(c.c, reply)
	require.NoError(c.t, err)
	return reply
}

func (c *client) mapDMA(addr, size uint64, fd int) {
	c.t.Helper()
	c.call(2, append(u32(32, 3), u64(0, addr, size)...), fd)
}

// setEventFD listens to vector 0 of an interrupt index.
func (c *client) setEventFD(index uint32, fd int) {
	c.t.Helper()
	c.call(8, u32(20, 4|32, index, 0, 1), fd)
}

func (c *client) unmask() {
	c.t.Helper()
	c.call(8, u32(20, 1|16, 0, 0, 1))
}

func (c *client) read(off uint64) uint32 {
	c.t.Helper()
	return binary.LittleEndian.Uint32(c.call(9, append(u64(off), u32(0, 4)...))[16:])
}

func (c *client) write(off uint64, v uint32) {
	c.t.Helper()
	c.call(10, binary.LittleEndian.AppendUint32(append(u64(off), u32(0, 4)...), v))
}

// command writes the PCI command register: region 7 is configuration space.
func (c *client) command(v uint16) {
	c.t.Helper()
	c.call(10, binary.LittleEndian.AppendUint16(append(u64(4), u32(7, 2)...), v))
}

func (c *client) reset() {
	c.t.Helper()
	c.call(13, nil)
}

func guestRAM(t *testing.T, size int) (int, []byte) {
	fd, err := unix.MemfdCreate("ram", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	require.NoError(t, unix.Ftruncate(fd, int64(size)))
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() {
		unix.Close(fd)
		require.NoError(t, unix.Munmap(mem))
	})
	return fd, mem
}

func newEventFD(t *testing.T) int {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// taken is how often fd has been signalled since the last call.
func taken(t *testing.T, fd int) uint64 {
	var b [8]byte
	_, err := unix.Read(fd, b[:])
	if errors.Is(err, unix.EAGAIN) {
		return 0
	}
	require.NoError(t, err)
	return binary.NativeEndian.Uint64(b[:])
}
