//go:build linux

package vfu

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		payload []byte
		errno   unix.Errno
	}{
		"no data":      {payload: []byte{0, 0, 0, 0}},
		"empty object": {payload: versionPayload(`{}`)},
		"capabilities": {payload: versionPayload(`{"capabilities":{"max_msg_fds":8,"twin_socket":{"supported":true},"new":[1]}}`)},
		"higher minor": {payload: words(9 << 16)},
		"major":        {payload: []byte{1, 0, 0, 0}, errno: unix.EINVAL},
		"short":        {payload: []byte{0, 0, 0}, errno: unix.EINVAL},
		"no NUL":       {payload: []byte("\x00\x00\x00\x00{}"), errno: unix.EINVAL},
		"no JSON":      {payload: versionPayload(`{`), errno: unix.EINVAL},
		"no object":    {payload: versionPayload(`{"capabilities":7}`), errno: unix.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, newFake(), nil)
			errno, p := c.call(cmdVersion, tc.payload)
			require.Equal(t, tc.errno, errno)
			if errno != 0 {
				require.ErrorContains(t, c.leave(), "version not agreed upon")
				return
			}
			require.Equal(t, []byte{0, 0, 0, 0}, p[:4])
			require.Zero(t, p[len(p)-1])
			var v struct {
				Capabilities map[string]int `json:"capabilities"`
			}
			require.NoError(t, json.Unmarshal(p[4:len(p)-1], &v))
			require.Equal(t, map[string]int{"max_msg_fds": 16, "max_data_xfer_size": 4096, "max_dma_maps": 65535, "pgsizes": 4096}, v.Capabilities)
			c.fails(unix.EINVAL, cmdVersion, tc.payload)
			require.NoError(t, c.leave())
		})
	}
}

func TestInfo(t *testing.T) {
	c := session(t)
	require.Equal(t, words(16, 3, 9, 5), c.ok(cmdGetInfo, words(16, 0, 0, 0)))
	region := func(i int) []byte { return c.ok(cmdGetRegionInfo, words(32, 0, i, 0, uint64(0), uint64(0))) }
	require.Equal(t, words(32, 3, 0, 0, uint64(4096), uint64(0)), region(0))
	require.Equal(t, words(32, 0, 1, 0, uint64(0), uint64(0)), region(1))
	require.Equal(t, words(32, 3, 2, 0, uint64(16), uint64(0)), region(2))
	require.Equal(t, words(32, 0, 6, 0, uint64(0), uint64(0)), region(6))
	require.Equal(t, words(32, 3, 7, 0, uint64(256), uint64(0)), region(7))
	require.Equal(t, words(32, 0, 8, 0, uint64(0), uint64(0)), region(8))
	irq := func(i int) []byte { return c.ok(cmdGetIRQInfo, words(16, 0, i, 0)) }
	require.Equal(t, words(16, 7, 0, 1), irq(0))
	require.Equal(t, words(16, 9, 1, 32), irq(1))
	require.Equal(t, words(16, 0, 2, 0), irq(2))
	require.Equal(t, words(16, 0, 4, 0), irq(4))
}

// What is wrong in a message but not in its framing is answered, and the session
// goes on.
func TestBadRequests(t *testing.T) {
	c := session(t)
	for name, tc := range map[string]struct {
		command uint16
		payload []byte
		errno   unix.Errno
	}{
		"info short":              {cmdGetInfo, words(16, 0, 0), unix.EINVAL},
		"info argsz":              {cmdGetInfo, words(15, 0, 0, 0), unix.EINVAL},
		"region info argsz":       {cmdGetRegionInfo, words(31, 0, 0, 0, uint64(0), uint64(0)), unix.EINVAL},
		"region info short":       {cmdGetRegionInfo, words(32, 0, 0), unix.EINVAL},
		"region info index":       {cmdGetRegionInfo, words(32, 0, 9, 0, uint64(0), uint64(0)), unix.EINVAL},
		"irq info index":          {cmdGetIRQInfo, words(16, 0, 5, 0), unix.EINVAL},
		"irq info short":          {cmdGetIRQInfo, nil, unix.EINVAL},
		"read short":              {cmdRegionRead, words(uint64(0), 0), unix.EINVAL},
		"read nothing":            {cmdRegionRead, words(uint64(0), 0, 0), unix.EINVAL},
		"read beyond":             {cmdRegionRead, words(uint64(4095), 0, 2), unix.EINVAL},
		"read far beyond":         {cmdRegionRead, words(^uint64(0), 0, 1), unix.EINVAL},
		"read too long":           {cmdRegionRead, words(uint64(0), 0, 4097), unix.EINVAL},
		"read no BAR":             {cmdRegionRead, words(uint64(0), 1, 4), unix.EINVAL},
		"read ROM":                {cmdRegionRead, words(uint64(0), 6, 4), unix.EINVAL},
		"read no region":          {cmdRegionRead, words(uint64(0), -1, 4), unix.EINVAL},
		"config beyond":           {cmdRegionRead, words(uint64(253), 7, 4), unix.EINVAL},
		"write less":              {cmdRegionWrite, append(words(uint64(0), 0, 4), 1, 2, 3), unix.EINVAL},
		"write more":              {cmdRegionWrite, append(words(uint64(0), 0, 4), 1, 2, 3, 4, 5), unix.EINVAL},
		"write short":             {cmdRegionWrite, words(0), unix.EINVAL},
		"write beyond":            {cmdRegionWrite, append(words(uint64(4094), 0, 4), 1, 2, 3, 4), unix.EINVAL},
		"map short":               {cmdDMAMap, words(32, 3, uint64(0), uint64(0)), unix.EINVAL},
		"unmap short":             {cmdDMAUnmap, words(24, 0), unix.EINVAL},
		"set irqs short":          {cmdSetIRQs, words(20, 0x24, 0, 0), unix.EINVAL},
		"region fds":              {6, make([]byte, 32), unix.ENOTSUP},
		"dma read":                {11, make([]byte, 16), unix.ENOTSUP},
		"multi":                   {15, make([]byte, 32), unix.ENOTSUP},
		"feature":                 {16, make([]byte, 32), unix.ENOTSUP},
		"unknown":                 {0xffff, nil, unix.ENOTSUP},
		"zero":                    {0, nil, unix.ENOTSUP},
		"largest":                 {0, make([]byte, maxMessage-headerLen), unix.ENOTSUP},
		"irq no action":           {cmdSetIRQs, irqPayload(irqDataNone, 0, 0, 1), unix.EINVAL},
		"irq no data type":        {cmdSetIRQs, irqPayload(irqTrigger, 0, 0, 1), unix.EINVAL},
		"irq two actions":         {cmdSetIRQs, irqPayload(irqDataNone|irqMask|irqUnmask, 0, 0, 1), unix.EINVAL},
		"irq two data types":      {cmdSetIRQs, irqPayload(irqDataNone|irqDataBool|irqTrigger, 0, 0, 1), unix.EINVAL},
		"irq unknown flag":        {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger|1<<6, 0, 0, 1), unix.EINVAL},
		"irq vector":              {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 0, 1, 1), unix.EINVAL},
		"irq vectors":             {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 1, 31, 2), unix.EINVAL},
		"irq overflow":            {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 1, 2, -1), unix.EINVAL},
		"irq start":               {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 1, -1, 2), unix.EINVAL},
		"irq bools missing":       {cmdSetIRQs, irqPayload(irqDataBool|irqTrigger, 1, 0, 3, 1, 1), unix.EINVAL},
		"irq msix":                {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 2, 0, 1), unix.EINVAL},
		"irq index":               {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 77, 0, 1), unix.EINVAL},
		"irq none":                {cmdSetIRQs, irqPayload(irqDataBool|irqTrigger, 0, 0, 0), unix.EINVAL},
		"irq disable at start":    {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 1, 3, 0), unix.EINVAL},
		"irq mask all":            {cmdSetIRQs, irqPayload(irqDataNone|irqMask, 0, 0, 0), unix.EINVAL},
		"irq mask by eventfd":     {cmdSetIRQs, irqPayload(irqDataEventFD|irqMask, 0, 0, 1), unix.ENOTSUP},
		"irq unmask by eventfd":   {cmdSetIRQs, irqPayload(irqDataEventFD|irqUnmask, 0, 0, 1), unix.ENOTSUP},
		"msi mask":                {cmdSetIRQs, irqPayload(irqDataNone|irqMask, 1, 0, 1), unix.ENOTSUP},
		"disable what is missing": {cmdSetIRQs, irqPayload(irqDataNone|irqTrigger, 2, 0, 0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			errno, _ := c.call(tc.command, tc.payload)
			require.Equal(t, tc.errno, errno, errno.Error())
		})
	}
}

func TestRegions(t *testing.T) {
	c := session(t)
	for n := 1; n <= 9; n++ {
		for _, off := range []uint64{0, 1, 3, 4096 - uint64(n)} {
			data := bytes.Repeat([]byte{byte(n), 0xa5}, 5)[:n]
			c.write(0, off, data...)
			require.Equal(t, data, c.read(0, off, n))
		}
	}
	require.Len(t, c.read(0, 0, 4096), 4096)
	require.Equal(t, make([]byte, 16), c.read(2, 0, 16))
}

// Posted writes are not answered, whether good or bad, and happen in order.
func TestPostedWrites(t *testing.T) {
	c := session(t)
	for i := range 100 {
		c.send(cmdRegionWrite, flagNoReply, append(words(uint64(8), 0, 1), byte(i)))
		c.send(cmdRegionWrite, flagNoReply, append(words(uint64(1<<40), 0, 1), byte(i)))
	}
	require.Equal(t, []byte{99}, c.read(0, 8, 1))
	require.EqualValues(t, 100, c.srv.Stats().Errors)
	require.EqualValues(t, 100, c.srv.Stats().Writes)
}

func TestReset(t *testing.T) {
	c := session(t)
	c.write(regionConfig, pciCommand, 0x06, 0x04)
	c.write(regionConfig, pciBAR0, 0, 0, 0, 0x10)
	c.ok(cmdReset, nil)
	require.EqualValues(t, 1, c.dev.resets.Load())
	require.Equal(t, []byte{0, 0}, c.read(regionConfig, pciCommand, 2))
	require.Equal(t, []byte{0, 0, 0, 0}, c.read(regionConfig, pciBAR0, 4))
}

func TestConfigSpace(t *testing.T) {
	c := session(t)
	all := c.read(regionConfig, 0, 256)
	require.Equal(t, []byte{0x34, 0x12, 0x78, 0x56, 0, 0, 0x10, 0, 7, 0, 0, 2}, all[:12])
	require.Equal(t, []byte{0xbc, 0x9a, 0xf0, 0xde}, all[0x2c:0x30])
	require.Equal(t, []byte{msiCap, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, all[0x34:0x40])
	require.Equal(t, []byte{5, 0, 0x8a, 0}, all[msiCap:msiCap+4])

	// Ones everywhere: what reads back is what can be written, and BAR sizes.
	c.write(regionConfig, 0, bytes.Repeat([]byte{0xff}, 256)...)
	want := bytes.Clone(all)
	copy(want[pciCommand:], []byte{0x47, 0x05})
	want[pciCacheLine], want[pciIntLine] = 0xff, 0xff
	copy(want[pciBAR0:], []byte{0x00, 0xf0, 0xff, 0xff})
	copy(want[pciBAR0+8:], []byte{0xf0, 0xff, 0xff, 0xff})
	copy(want[msiCap+2:], []byte{0xfb, 0, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	require.Equal(t, want, c.read(regionConfig, 0, 256))

	// The interrupt bit of the status register, however it is read.
	c.host.SetINTx(true)
	require.Equal(t, []byte{0x18}, c.read(regionConfig, pciStatus, 1))
	require.Equal(t, []byte{0x47, 0x05, 0x18, 0}, c.read(regionConfig, pciCommand, 4))
	require.Equal(t, []byte{0, 7}, c.read(regionConfig, pciStatus+1, 2))
	c.host.SetINTx(false)
	require.Equal(t, []byte{0x10}, c.read(regionConfig, pciStatus, 1))
}

func TestBadConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"BAR not a power of two": func(c *Config) { c.BARs[1] = 24 },
		"BAR too small":          func(c *Config) { c.BARs[1] = 8 },
		"BAR too large":          func(c *Config) { c.BARs[1] = 1 << 31 },
		"class":                  func(c *Config) { c.Class = 1 << 24 },
		"pin":                    func(c *Config) { c.InterruptPin = 5 },
		"MSI":                    func(c *Config) { c.MSIVectors = 3 },
		"MSI many":               func(c *Config) { c.MSIVectors = 64 },
		"MSI negative":           func(c *Config) { c.MSIVectors = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			dev := newFake()
			change(&dev.cfg)
			_, err := New(dev, nil)
			require.ErrorIs(t, err, ErrConfig)
		})
	}
}

// What breaks the framing ends the session.
func TestBrokenStream(t *testing.T) {
	version := encode(1, cmdVersion, 0, versionPayload("{}"))
	size := func(n uint32) []byte {
		b := encode(2, cmdGetInfo, 0, nil)
		wire.PutUint32(b[4:], n)
		return b
	}
	for name, tc := range map[string]struct {
		stream []byte
		err    string
	}{
		"size 0":              {append(version, size(0)...), "message of 0 bytes"},
		"size 15":             {append(version, size(15)...), "message of 15 bytes"},
		"size too large":      {append(version, size(maxMessage+1)...), "want 16 to 4128"},
		"size largest":        {append(version, size(1<<32-1)...), "message of 4294967295 bytes"},
		"a reply":             {append(version, encode(2, cmdGetInfo, flagReply, nil)...), "want a command"},
		"no version":          {encode(1, cmdGetInfo, 0, words(16, 0, 0, 0)), "before the version"},
		"cut in the header":   {append(version, size(16)[:5]...), "unexpected EOF"},
		"cut in the payload":  {append(version, size(17)...), "unexpected EOF"},
		"nothing":             {nil, ""},
		"only the version":    {version, ""},
		"half of the version": {version[:17], "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, newFake(), nil)
			_, err := c.c.Write(tc.stream)
			require.NoError(t, err)
			require.NoError(t, c.c.CloseWrite())
			if err := <-c.done; tc.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.err)
			}
			require.True(t, c.dev.detached.Load())
		})
	}
}

// A client that leaves at any byte leaves nothing behind.
func TestDisconnectAnywhere(t *testing.T) {
	fd, _ := ram(t, 8*pageSize)
	irq := eventfd(t)
	type part struct {
		b   []byte
		fds []int
	}
	conversation := []part{
		{b: encode(1, cmdVersion, 0, versionPayload("{}"))},
		{b: encode(2, cmdDMAMap, 0, mapPayload(0x10000, 4*pageSize, 0, 3)), fds: []int{fd}},
		{b: encode(3, cmdSetIRQs, 0, irqPayload(irqDataEventFD|irqTrigger, 0, 0, 1)), fds: []int{irq}},
		{b: encode(4, cmdRegionWrite, 0, append(words(uint64(doorbell), 0, 16), words(uint64(0x10000), uint64(0x11000))...))},
		{b: encode(5, cmdDMAUnmap, 0, unmapPayload(0, 0, 2))},
	}
	before := openFDs(t)
	cut := func(at int) {
		c := dial(t, newFake(), nil)
		for _, p := range conversation {
			b := p.b[:min(at, len(p.b))]
			at -= len(b)
			if len(b) == 0 {
				break
			}
			var oob []byte
			if p.fds != nil {
				oob = unix.UnixRights(p.fds...)
			}
			_, _, err := c.c.WriteMsgUnix(b, oob, nil)
			require.NoError(t, err)
		}
		err := c.leave()
		// Replies that nobody takes end the session too.
		t.Logf("%d: %v", at, err)
		require.Equal(t, before, openFDs(t))
	}
	total := 0
	for _, p := range conversation {
		total += len(p.b)
	}
	for at := 0; at <= total; at++ {
		cut(at)
	}
}

// A client that stops in the middle of a message, or takes no replies, is left
// alone after a while.
func TestStalledClient(t *testing.T) {
	t.Run("half a message", func(t *testing.T) {
		c := dial(t, newFake(), &Options{Timeout: 10 * time.Millisecond})
		_, err := c.c.Write(make([]byte, 3))
		require.NoError(t, err)
		require.ErrorContains(t, <-c.done, "i/o timeout")
	})
	t.Run("no reader", func(t *testing.T) {
		c := dial(t, newFake(), &Options{Timeout: 10 * time.Millisecond})
		c.send(cmdVersion, 0, versionPayload("{}"))
		b := encode(1, cmdRegionRead, 0, words(uint64(0), 0, 4096))
		var err error
		for err == nil {
			_, err = c.c.Write(b)
		}
		require.ErrorContains(t, <-c.done, "write reply")
	})
}

func TestContext(t *testing.T) {
	ours, theirs := socketpair(t)
	defer ours.Close()
	dev := newFake()
	s, err := New(dev, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, theirs) }()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.True(t, dev.detached.Load())

	_, again := socketpair(t)
	require.ErrorIs(t, s.Serve(context.Background(), again), ErrServed)
}
