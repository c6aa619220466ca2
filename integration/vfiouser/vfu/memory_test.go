//go:build linux

package vfu

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const rw = dmaRead | dmaWrite

func TestDMA(t *testing.T) {
	c := session(t)
	fd, mem := ram(t, 16*pageSize)
	const base = 0x4000_0000
	c.ok(cmdDMAMap, mapPayload(base, 4*pageSize, 2*pageSize, rw), fd)
	copy(mem[2*pageSize:], "from the")
	require.NoError(t, c.copy(base, base+4*pageSize-copySize))
	require.Equal(t, "from the", string(mem[6*pageSize-copySize:6*pageSize]))

	// One byte beyond either end.
	require.ErrorContains(t, c.copy(base-1, base), "not mapped")
	require.ErrorContains(t, c.copy(base, base+4*pageSize-copySize+1), "not mapped to its end")
	require.ErrorContains(t, c.copy(^uint64(0)-3, base), "no such range")
	require.EqualValues(t, 3, c.srv.Stats().DMAFaults)

	// Neighbours in address and file are one; neighbours in address alone are not.
	c.ok(cmdDMAMap, mapPayload(base+4*pageSize, pageSize, 6*pageSize, rw), fd)
	require.NoError(t, c.copy(base, base+4*pageSize-4))
	require.Equal(t, "from the", string(mem[6*pageSize-4:6*pageSize+4]))
	c.ok(cmdDMAMap, mapPayload(base+5*pageSize, pageSize, 0, rw), fd)
	require.ErrorContains(t, c.copy(base, base+5*pageSize-4), "not contiguous")
	require.Equal(t, 1, c.srv.Stats().Files)

	// Rights.
	c.ok(cmdDMAMap, mapPayload(base+8*pageSize, pageSize, 8*pageSize, dmaRead), fd)
	c.ok(cmdDMAMap, mapPayload(base+9*pageSize, pageSize, 9*pageSize, dmaWrite), fd)
	require.NoError(t, c.copy(base+8*pageSize, base+9*pageSize))
	require.ErrorContains(t, c.copy(base, base+8*pageSize), "not allowed")
	require.ErrorContains(t, c.copy(base+9*pageSize, base), "not allowed")
	require.ErrorContains(t, c.copy(base, base+9*pageSize-4), "not allowed")

	// Memory that the client keeps to itself.
	c.ok(cmdDMAMap, mapPayload(0xf000_0000, pageSize, 0, dmaRead))
	require.ErrorContains(t, c.copy(0xf000_0000, base), "not shared")
	require.Equal(t, 6, c.srv.Stats().Maps)

	// Unmapping.
	c.fails(unix.EINVAL, cmdDMAUnmap, unmapPayload(base+pageSize, pageSize, 0))
	c.fails(unix.EINVAL, cmdDMAUnmap, unmapPayload(base, 2*pageSize, 0))
	c.fails(unix.EINVAL, cmdDMAUnmap, unmapPayload(base, 0, 0))
	c.fails(unix.EINVAL, cmdDMAUnmap, unmapPayload(base, ^uint64(0), 0))
	c.fails(unix.ENOTSUP, cmdDMAUnmap, unmapPayload(base, 4*pageSize, 1))
	c.fails(unix.EINVAL, cmdDMAUnmap, unmapPayload(base, 0, 2))
	require.Equal(t, 6, c.srv.Stats().Maps)
	require.Zero(t, c.dev.quiesced.Load())
	want := unmapPayload(base, 4*pageSize, 0)
	require.Equal(t, want, c.ok(cmdDMAUnmap, want))
	require.EqualValues(t, 1, c.dev.quiesced.Load())
	require.ErrorContains(t, c.copy(base, base+5*pageSize), "not mapped")
	c.ok(cmdDMAUnmap, unmapPayload(base, 6*pageSize, 0)) // two at once
	require.Equal(t, 3, c.srv.Stats().Maps)
	c.ok(cmdDMAUnmap, unmapPayload(0, 1<<63, 0))
	require.Zero(t, c.srv.Stats().Maps)
	c.ok(cmdDMAUnmap, unmapPayload(0, 1<<63, 0)) // none
	c.ok(cmdDMAMap, mapPayload(base, pageSize, 0, rw), fd)
	c.ok(cmdDMAUnmap, unmapPayload(0, 0, 2))
	require.Zero(t, c.srv.Stats().Maps)
}

func TestBadMaps(t *testing.T) {
	c := session(t)
	fd, _ := ram(t, 4*pageSize)
	c.ok(cmdDMAMap, mapPayload(0x10000, 2*pageSize, 0, rw), fd)
	top := ^uint64(0) &^ (pageSize - 1)
	for name, tc := range map[string]struct {
		payload []byte
		errno   unix.Errno
	}{
		"nothing":             {mapPayload(0, 0, 0, rw), unix.EINVAL},
		"unaligned address":   {mapPayload(1, pageSize, 0, rw), unix.EINVAL},
		"unaligned size":      {mapPayload(0, pageSize+1, 0, rw), unix.EINVAL},
		"unaligned offset":    {mapPayload(0, pageSize, 8, rw), unix.EINVAL},
		"unknown flag":        {mapPayload(0, pageSize, 0, 7), unix.EINVAL},
		"same":                {mapPayload(0x10000, 2*pageSize, 0, rw), unix.EEXIST},
		"over the start":      {mapPayload(0xf000, 2*pageSize, 0, rw), unix.EEXIST},
		"over the end":        {mapPayload(0x11000, 2*pageSize, 0, rw), unix.EEXIST},
		"over all":            {mapPayload(0xf000, 4*pageSize, 0, rw), unix.EEXIST},
		"beyond the file":     {mapPayload(0x20000, 5*pageSize, 0, rw), unix.EINVAL},
		"off the file":        {mapPayload(0x20000, pageSize, 4*pageSize, rw), unix.EINVAL},
		"far off the file":    {mapPayload(0x20000, pageSize, 1<<62, rw), unix.EINVAL},
		"address overflow":    {mapPayload(top, 2*pageSize, 0, rw), unix.EOVERFLOW},
		"offset overflow":     {mapPayload(0x20000, pageSize, 1<<63-pageSize, rw), unix.EOVERFLOW},
		"offset far overflow": {mapPayload(0x20000, pageSize, top, rw), unix.EOVERFLOW},
		"size overflow":       {mapPayload(0x20000, 1<<63, 0, rw), unix.EOVERFLOW},
		"size overflow 2":     {mapPayload(0x20000, top, top, rw), unix.EOVERFLOW},
	} {
		t.Run(name, func(t *testing.T) { c.fails(tc.errno, cmdDMAMap, tc.payload, fd) })
	}
	require.Equal(t, 1, c.srv.Stats().Maps)
	c.ok(cmdDMAMap, mapPayload(top, pageSize, 0, rw), fd)
	c.ok(cmdDMAMap, mapPayload(0xf000, pageSize, 0, rw), fd)
	c.ok(cmdDMAMap, mapPayload(0x12000, pageSize, 0, rw), fd)
}

// Descriptors that are not memory which cannot go away, and too many of them.
func TestBadDescriptors(t *testing.T) {
	before := openFDs(t)
	t.Run("session", func(t *testing.T) {
		c := session(t)
		fd, _ := ram(t, pageSize)
		var pipe [2]int
		require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
		defer unix.Close(pipe[0])
		defer unix.Close(pipe[1])
		unsealable, err := unix.MemfdCreate("unsealable", unix.MFD_CLOEXEC)
		require.NoError(t, err)
		defer unix.Close(unsealable)
		require.NoError(t, unix.Ftruncate(unsealable, pageSize))
		empty, err := unix.MemfdCreate("empty", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		require.NoError(t, err)
		defer unix.Close(empty)
		readOnly, err := unix.Open("/proc/self/fd/"+itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(readOnly)

		page := mapPayload(0, pageSize, 0, rw)
		c.fails(unix.EPERM, cmdDMAMap, page, pipe[0])
		c.fails(unix.EPERM, cmdDMAMap, page, unsealable)
		c.fails(unix.EINVAL, cmdDMAMap, page, empty)
		c.fails(unix.EINVAL, cmdDMAMap, page, fd, fd)
		c.fails(unix.EPERM, cmdDMAMap, page, readOnly) // cannot be sealed this way
		c.ok(cmdDMAMap, page, fd)
		c.fails(unix.EACCES, cmdDMAMap, mapPayload(0x1000, pageSize, 0, rw), readOnly)
		c.ok(cmdDMAMap, mapPayload(0x1000, pageSize, 0, dmaRead), readOnly)
		require.ErrorIs(t, unix.Ftruncate(fd, 0), unix.EPERM, "sealed by the server")

		many := make([]int, maxFDs+1)
		for i := range many {
			many[i] = fd
		}
		c.fails(unix.EINVAL, cmdGetInfo, words(16, 0, 0, 0), many...)
		c.ok(cmdGetInfo, words(16, 0, 0, 0), many[1:]...)
		c.fails(unix.EINVAL, cmdSetIRQs, irqPayload(irqDataEventFD|irqTrigger, 0, 0, 1), pipe[1])
		c.fails(unix.EINVAL, cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 0, 0, 1), eventfd(t))
		c.fails(unix.EINVAL, cmdSetIRQs, irqPayload(irqDataEventFD|irqTrigger, 1, 0, 2), eventfd(t))
	})
	require.Equal(t, before, openFDs(t))
}

func TestUnsealedFile(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "ram")
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(2*pageSize))
	c := dial(t, newFake(), &Options{AllowUnsealed: true})
	c.ok(cmdVersion, versionPayload("{}"))
	c.fails(unix.EINVAL, cmdDMAMap, mapPayload(0, 3*pageSize, 0, rw), int(f.Fd()))
	c.ok(cmdDMAMap, mapPayload(0, 2*pageSize, 0, rw), int(f.Fd()))
	require.NoError(t, c.copy(0, pageSize))
	// A file that has grown is mapped anew.
	require.NoError(t, f.Truncate(3*pageSize))
	c.ok(cmdDMAMap, mapPayload(0x10000, pageSize, 2*pageSize, rw), int(f.Fd()))
	require.NoError(t, c.copy(0, 0x10000))
	require.Equal(t, 2, c.srv.Stats().Files)
	require.NoError(t, c.leave())
}

func TestLimits(t *testing.T) {
	c := dial(t, newFake(), &Options{MaxMaps: 3, MaxFiles: 2, MaxMemory: 5 * pageSize})
	c.ok(cmdVersion, versionPayload("{}"))
	one, _ := ram(t, 4*pageSize)
	two, _ := ram(t, 2*pageSize)
	three, _ := ram(t, pageSize)
	four, _ := ram(t, pageSize)
	c.ok(cmdDMAMap, mapPayload(0, pageSize, 0, rw), one)
	c.fails(unix.ENOSPC, cmdDMAMap, mapPayload(0x1000, pageSize, 0, rw), two)
	c.ok(cmdDMAMap, mapPayload(0x1000, pageSize, 0, rw), three)
	c.fails(unix.ENOSPC, cmdDMAMap, mapPayload(0x2000, pageSize, 0, rw), four)
	c.ok(cmdDMAMap, mapPayload(0x2000, pageSize, 0, rw), one)
	c.fails(unix.ENOSPC, cmdDMAMap, mapPayload(0x3000, pageSize, 0, rw), one)
	c.ok(cmdDMAUnmap, unmapPayload(0, pageSize, 0))
	c.ok(cmdDMAMap, mapPayload(0x3000, pageSize, 0, rw), one)
	require.NoError(t, c.leave())
}

// Several maps are on their way before the first is looked at, one of them
// without a descriptor: each gets its own.
func TestMapsInFlight(t *testing.T) {
	c := session(t)
	const n = 8
	var mems [n][]byte
	var fds [n]int
	for i := range n {
		fds[i], mems[i] = ram(t, pageSize)
		copy(mems[i], bytes.Repeat([]byte{byte('a' + i)}, copySize))
	}
	c.dev.dma.Lock() // holds the server up in the first message
	c.send(cmdRegionWrite, flagNoReply, append(words(uint64(doorbell), 0, 16), words(uint64(0), uint64(0))...))
	for i := range n {
		c.send(cmdDMAMap, flagNoReply, mapPayload(uint64(2*i)<<12, pageSize, 0, rw), fds[i])
		c.send(cmdDMAMap, flagNoReply, mapPayload(uint64(2*i+1)<<12, pageSize, 0, rw))
	}
	c.dev.dma.Unlock()
	require.Equal(t, 4096, len(c.read(0, 0, 4096)))
	require.Equal(t, 2*n, c.srv.Stats().Maps)
	for i := range n {
		require.NoError(t, c.copy(uint64(2*i)<<12, uint64(2*i)<<12+copySize))
		require.Equal(t, bytes.Repeat([]byte{byte('a' + i)}, 2*copySize), mems[i][:2*copySize])
		require.ErrorContains(t, c.copy(uint64(2*i+1)<<12, 0), "not shared")
	}
}

// The device accesses memory all the time while it is taken away: nothing
// faults, and nothing is written after the client has been told.
func TestUnmapDuringAccess(t *testing.T) {
	c := session(t)
	fd, mem := ram(t, 2*pageSize)
	stop := make(chan struct{})
	var workers sync.WaitGroup
	workers.Go(func() {
		for i := uint64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			c.dev.dma.RLock()
			if b, err := c.host.Slice(0x10000, pageSize, true); err == nil {
				for j := 0; j < len(b); j += 64 {
					binary.NativeEndian.PutUint64(b[j:], i)
				}
			}
			c.dev.dma.RUnlock()
			runtime.Gosched()
		}
	})
	zero := make([]byte, pageSize)
	for range 200 {
		c.ok(cmdDMAMap, mapPayload(0x10000, pageSize, pageSize, rw), fd)
		c.ok(cmdDMAUnmap, unmapPayload(0x10000, pageSize, 0))
		clear(mem)
		c.read(0, 0, 4)
		require.Equal(t, zero, mem[pageSize:])
	}
	close(stop)
	workers.Wait()
}
