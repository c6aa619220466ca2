//go:build linux

package irq

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a line over one end of a socket pair; fire is the kernel's end.
type rig struct {
	*Line
	fd           int
	rearms, mask int
}

func newRig(t *testing.T) *rig {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	r := &rig{fd: fds[1]}
	r.Line, err = New(Config{
		Name: "test", File: os.NewFile(uintptr(fds[0]), "line"), Count: 4,
		Rearm: func() error { r.rearms++; return nil },
		Mask:  func() error { r.mask++; return nil },
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.Close())
		unix.Close(r.fd)
	})
	return r
}

func (r *rig) fire(t *testing.T, count uint32) {
	_, err := unix.Write(r.fd, binary.NativeEndian.AppendUint32(nil, count))
	require.NoError(t, err)
}

func TestCounts(t *testing.T) {
	r := newRig(t)
	require.Equal(t, 1, r.rearms, "open arms the line")
	// By 1, by 3, by 2^31, over the end, to 0, and the same again.
	for _, count := range []uint32{1, 2, 5, 5 + 1<<31, 0xffffffff, 0, 1, 1} {
		r.fire(t, count)
		require.NoError(t, r.Wait(), "%#x", count)
		require.NoError(t, r.Rearm())
	}
	require.Equal(t, 9, r.rearms)
}

func TestFiredBeforeWait(t *testing.T) {
	r := newRig(t)
	r.fire(t, 1)
	require.NoError(t, r.Rearm(), "an interrupt between open and the first Wait survives a Rearm")
	require.NoError(t, r.Wait())
}

func TestOddReads(t *testing.T) {
	r := newRig(t)
	type result struct {
		n   int
		err error
	}
	var script []result
	r.read = func(b []byte) (int, error) {
		s := script[0]
		script = script[1:]
		return s.n, s.err
	}
	script = []result{{0, unix.EINTR}, {-1, &os.PathError{Op: "read", Path: "x", Err: syscall.EINTR}}, {4, nil}}
	require.NoError(t, r.Wait(), "EINTR is retried")
	require.Empty(t, script)
	script = []result{{2, nil}}
	require.NoError(t, r.Wait(), "a short read is an interrupt")
	script = []result{{0, nil}}
	require.ErrorIs(t, r.Wait(), io.ErrUnexpectedEOF)
	script = []result{{0, io.EOF}}
	require.ErrorIs(t, r.Wait(), io.EOF)
	script = []result{{0, unix.EIO}}
	require.ErrorContains(t, r.Wait(), "the device has no interrupt, or has been removed")
}

func TestCloseUnblocks(t *testing.T) {
	for range 50 {
		r := newRig(t)
		var wg sync.WaitGroup
		waiting := make(chan struct{})
		var err error
		wg.Go(func() {
			close(waiting)
			err = r.Wait()
		})
		<-waiting
		require.NoError(t, r.Close())
		wg.Wait()
		require.ErrorIs(t, err, os.ErrClosed)
		require.ErrorIs(t, r.Rearm(), os.ErrClosed)
		require.ErrorIs(t, r.Wait(), os.ErrClosed)
		require.NoError(t, r.Close())
		require.Equal(t, 1, r.mask, "masked once")
		require.Equal(t, 1, r.rearms, "not armed after Close")
		require.True(t, r.Closed())
	}
}

func TestCloseDropsPendingInterrupt(t *testing.T) {
	r := newRig(t)
	r.fire(t, 1)
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Wait(), os.ErrClosed)
}

func TestOpenFails(t *testing.T) {
	null := func() error { return nil }
	regular, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	_, err = New(Config{Name: "test", File: regular, Count: 4, Rearm: null, Mask: null})
	require.ErrorIs(t, err, os.ErrNoDeadline)
	require.ErrorContains(t, err, "cannot be polled")
	require.ErrorIs(t, regular.Close(), os.ErrClosed)

	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	require.NoError(t, err)
	file, broken := os.NewFile(uintptr(fd), "eventfd"), errors.New("broken")
	_, err = New(Config{Name: "test", File: file, Count: 8, Rearm: func() error { return broken }, Mask: null})
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, file.Close(), os.ErrClosed)
}

func TestErrorsOfControl(t *testing.T) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	require.NoError(t, err)
	var broken error
	control := func() error { return broken }
	l, err := New(Config{Name: "test", File: os.NewFile(uintptr(fd), "eventfd"), Count: 8, Rearm: control, Mask: control})
	require.NoError(t, err)
	broken = errors.New("broken")
	require.ErrorContains(t, l.Rearm(), "test: rearm interrupt: broken")
	require.ErrorContains(t, l.Close(), "test: mask interrupt: broken")
	require.ErrorIs(t, l.Close(), broken, "the same again")
}

func TestWaitDoesNotAllocate(t *testing.T) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	require.NoError(t, err)
	null := func() error { return nil }
	l, err := New(Config{Name: "test", File: os.NewFile(uintptr(fd), "eventfd"), Count: 8, Rearm: null, Mask: null})
	require.NoError(t, err)
	one := binary.NativeEndian.AppendUint64(nil, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		unix.Write(fd, one)
		l.Wait()
		l.Rearm()
	}))
	require.NoError(t, l.Close())
}

// An edge is followed by another look, and when there is none by one after a while.
func TestEdges(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fds[1])
	nothing := func() error { return nil }
	l, err := New(Config{
		Name: "test", File: os.NewFile(uintptr(fds[0]), "line"), Count: 384, Rearm: nothing, Mask: nothing,
		Edges: true, Backstop: time.Millisecond,
	})
	require.NoError(t, err)
	reads := 0
	l.read = func(b []byte) (int, error) { reads++; return l.file.Read(b) }
	_, err = unix.Write(fds[1], make([]byte, 96)) // an edge: key down, key up
	require.NoError(t, err)
	require.NoError(t, l.Wait())
	require.NoError(t, l.Rearm())
	require.NoError(t, l.Wait(), "once more")
	require.Equal(t, 1, reads, "without waiting")
	require.NoError(t, l.Rearm())
	require.NoError(t, l.Wait(), "the backstop")
	require.NoError(t, l.Wait(), "which is not followed by another look")
	require.Equal(t, 3, reads)
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Wait(), os.ErrClosed)
}
