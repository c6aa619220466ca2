//go:build linux

package vfiouser

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/integration/vfiouser/vfu"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model is a device with four registers: a line (bit 0), a word of memory, an
// address to load it from, and one to store it to.
type model struct {
	mu     sync.Mutex
	regs   [4]uint32
	mem    sim.DMA
	irq    func(bool)
	window int
	log    []Access
	closed int
	fails  error
}

func (m *model) Compatible() []string { return []string{"test,model"} }
func (m *model) WindowSize() int      { return m.window }
func (m *model) ClockHz() int         { return 1e6 }
func (m *model) Port() sim.Port       { return nil }

func (m *model) Connect(mem sim.DMA, irq func(bool)) { m.mem, m.irq = mem, irq }

func (m *model) Close() error {
	m.closed++
	return m.fails
}

func (m *model) Read32(off uint32) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, Access{Off: off, Value: m.regs[off/4]})
	return m.regs[off/4]
}

func (m *model) Write32(off, v uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, Access{Write: true, Off: off, Value: v})
	old := m.regs[off/4]
	m.regs[off/4] = v
	switch off {
	case 0:
		if old&1 != v&1 {
			m.irq(v&1 != 0)
		}
	case 8:
		if b, err := m.mem.Slice(uint64(v), 4, false); err == nil {
			m.regs[1] = binary.LittleEndian.Uint32(b)
		}
	case 12:
		if b, err := m.mem.Slice(uint64(v), 4, true); err == nil {
			binary.LittleEndian.PutUint32(b, m.regs[1])
		}
	}
}

func TestAccessSizes(t *testing.T) {
	m := &model{window: 16}
	s, err := New(m, &Options{BARSize: 64})
	require.NoError(t, err)
	f := s.fn
	f.Attach(&vfu.Host{})
	write := func(off uint64, data ...byte) []Access {
		m.log = nil
		f.WriteBAR(0, off, data)
		return m.log
	}
	read := func(off uint64, n int) ([]byte, []Access) {
		m.log = nil
		p := make([]byte, n)
		f.ReadBAR(0, off, p)
		return p, m.log
	}
	require.Equal(t, []Access{{true, 4, 0x44332211}}, write(4, 0x11, 0x22, 0x33, 0x44))
	require.Equal(t, []Access{{false, 4, 0x44332211}, {true, 4, 0x4433ee11}}, write(5, 0xee))
	require.Equal(t, []Access{{false, 4, 0x4433ee11}, {true, 4, 0xbbaaee11}}, write(6, 0xaa, 0xbb))
	require.Equal(t, []Access{{true, 0, 0x04030200}, {true, 4, 0x08070605}}, write(0, 0, 2, 3, 4, 5, 6, 7, 8))
	require.Equal(t, []Access{{false, 0, 0x04030200}, {true, 0, 0xfe030200}, {false, 4, 0x08070605}, {true, 4, 0x080706ff}}, write(3, 0xfe, 0xff))

	b, log := read(0, 8)
	require.Equal(t, []byte{0, 2, 3, 0xfe, 0xff, 6, 7, 8}, b)
	require.Equal(t, []Access{{false, 0, 0xfe030200}, {false, 4, 0x080706ff}}, log)
	b, log = read(3, 2)
	require.Equal(t, []byte{0xfe, 0xff}, b)
	require.Len(t, log, 2)
	b, log = read(6, 1)
	require.Equal(t, []byte{7}, b)
	require.Len(t, log, 1)

	// Spare words, and an access over the edge.
	require.Empty(t, write(60, 1, 2, 3, 4))
	require.Empty(t, write(61, 9))
	require.EqualValues(t, 0x04030901, s.Spare(60))
	require.Len(t, write(12, 0, 0, 0, 0, 5, 6, 7, 8), 1)
	require.EqualValues(t, 0x08070605, s.Spare(16))
	require.Zero(t, s.Spare(12))
	require.Zero(t, s.Spare(64))
	b, _ = read(12, 8)
	require.Equal(t, []byte{0, 0, 0, 0, 5, 6, 7, 8}, b)
	f.Reset()
	require.Zero(t, s.Spare(60))
}

func TestNewRefuses(t *testing.T) {
	_, err := New(&model{window: 6}, nil)
	require.ErrorIs(t, err, mac.ErrConfig)
	_, err = New(&model{window: 128 << 10}, &Options{BARSize: 64 << 10})
	require.ErrorIs(t, err, mac.ErrConfig)
	_, err = New(&model{window: 16}, &Options{BARSize: 48})
	require.ErrorIs(t, err, vfu.ErrConfig)
	_, err = New(&model{window: 16}, &Options{MSIVectors: 5})
	require.ErrorIs(t, err, vfu.ErrConfig)
	for window, bar := range map[int]int{16: 64 << 10, 64 << 10: 64 << 10, 64<<10 + 4: 128 << 10} {
		s, err := New(&model{window: window}, nil)
		require.NoError(t, err)
		require.Equal(t, bar, s.fn.opts.BARSize)
	}
}

// One session over a socket with all that an operating system's driver does.
// lined is a model with two lines, bits 0 and 1 of register 0.
type lined struct {
	*model
	lines func(line int, level bool)
}

func (l *lined) Lines() int { return 2 }

func (l *lined) ConnectLines(mem sim.DMA, irq func(line int, level bool)) { l.lines = irq }

func (l *lined) Write32(off, v uint32) {
	if off == 0 {
		for i := range 2 {
			l.lines(i, v>>i&1 != 0)
		}
	}
}

func TestSeveralLines(t *testing.T) {
	dev := &lined{model: &model{window: 16}}
	s, err := New(dev, &Options{MSIVectors: 2})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "socket")
	l, err := Listen(path)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.AcceptAndServe(context.Background(), l) }()
	c := connect(t, path)
	fds := []int{newEventFD(t), newEventFD(t)}
	c.call(8, u32(20, 4|32, 1, 0, 2), fds...)
	got := func() [2]uint64 { return [2]uint64{taken(t, fds[0]), taken(t, fds[1])} }
	c.write(0, 1)
	require.Equal(t, [2]uint64{2, 0}, got(), "edge and write")
	c.write(4, 0)
	require.Equal(t, [2]uint64{1, 0}, got())
	c.write(0, 3)
	require.Positive(t, got()[1])
	c.write(0, 2)
	require.Zero(t, got()[0])
	c.write(0, 0)
	require.Equal(t, [2]uint64{}, got())
	require.NoError(t, c.c.Close())
	require.NoError(t, <-done)

	// With one message a model with several lines has one.
	s, err = New(dev, &Options{MSIVectors: 1})
	require.NoError(t, err)
	s.fn.Attach(&vfu.Host{})
	require.NotNil(t, dev.irq)
}

// windowed is a model with a second register window.
type windowed struct{ *model }

func (windowed) Windows() []sim.Window {
	return []sim.Window{{Size: 16}, {Offset: 0x8000, Size: 0x100}}
}

func TestSpareWordsAreAboveAllWindows(t *testing.T) {
	s, err := New(windowed{&model{window: 16}}, &Options{BARSize: 2 << 20})
	require.NoError(t, err)
	require.EqualValues(t, 0x8100, s.fn.bars[0].Size)
	s.fn.WriteBAR(0, 0x1f_fffc, []byte{1, 2, 3, 4})
	require.EqualValues(t, 0x04030201, s.Spare(0x1f_fffc))
	require.Zero(t, s.Spare(0x8000), "the model's")
}

func TestWindowBARs(t *testing.T) {
	m := &model{window: 16}
	s, err := New(wide{m}, &Options{WindowBARs: true})
	require.NoError(t, err)
	f := s.fn
	f.Attach(&vfu.Host{})
	require.Equal(t, [6]uint64{64 << 10, 4 << 10}, f.Config().BARs)
	f.WriteBAR(1, 0, []byte{4, 0, 0, 0})
	require.Equal(t, []Access{{true, 4, 4}}, m.log, "the model has one register space")
	m.log = nil
	word := []byte{1, 2, 3, 4}
	f.WriteBAR(1, 16, word)
	f.ReadBAR(1, 16, word)
	require.Equal(t, make([]byte, 4), word, "nothing is there")
	f.WriteBAR(0, 16, []byte{5})
	require.EqualValues(t, 5, s.Spare(16))
	require.Empty(t, m.log)
}

// wide is a model with a second window onto part of the first.
type wide struct{ *model }

func (wide) Windows() []sim.Window { return []sim.Window{{Size: 16}, {Offset: 4, Size: 8}} }

func TestSession(t *testing.T) {
	m := &model{window: 16, fails: errors.New("close failed")}
	var trace []Access
	resets := 0
	s, err := New(m, &Options{MSIVectors: 1, Trace: func(a Access) { trace = append(trace, a) }, Reset: func() { resets++ }})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "socket")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	l, err := Listen(path)
	require.NoError(t, err)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, st.Mode().Perm())
	done := make(chan error, 1)
	go func() { done <- s.AcceptAndServe(context.Background(), l) }()

	c := connect(t, path)
	fd, mem := guestRAM(t, 2*4096)
	intx, msi := newEventFD(t), newEventFD(t)
	copy(mem[4096:], []byte{1, 2, 3, 4})
	c.mapDMA(0x8000_0000, 2*4096, fd)
	c.setEventFD(0, intx)
	c.write(8, 0x8000_1000) // load
	c.write(12, 0x8000_0010)
	require.Equal(t, []byte{1, 2, 3, 4}, mem[16:20])
	require.EqualValues(t, 0x04030201, c.read(4))
	c.write(12, 0x9000_0000)
	require.EqualValues(t, 1, s.Stats().DMAFaults)

	c.write(0, 1)
	require.EqualValues(t, 1, taken(t, intx))
	c.write(4, 7)
	require.Zero(t, taken(t, intx))
	c.unmask()
	require.EqualValues(t, 1, taken(t, intx))
	c.write(0, 0)
	c.unmask()
	require.Zero(t, taken(t, intx))

	// MSI: at the edge, and after each write that leaves the line high.
	c.setEventFD(1, msi)
	c.write(4, 1)
	require.Zero(t, taken(t, msi))
	c.write(0, 3)
	require.EqualValues(t, 2, taken(t, msi), "edge and write")
	c.write(4, 1)
	require.EqualValues(t, 1, taken(t, msi))
	c.read(4)
	require.Zero(t, taken(t, msi))
	c.write(0x8000, 5) // not a register
	require.Zero(t, taken(t, msi))
	c.write(0, 0)
	c.write(4, 1)
	require.Zero(t, taken(t, msi))
	require.EqualValues(t, 5, s.Spare(0x8000))

	c.reset()
	require.Zero(t, s.Spare(0x8000))
	require.NoError(t, c.c.Close())
	require.ErrorIs(t, <-done, m.fails)
	require.Equal(t, 1, m.closed)
	require.Equal(t, 1, resets)
	require.Equal(t, Access{true, 8, 0x8000_1000}, trace[0])
	require.Equal(t, Access{true, 4, 1}, trace[len(trace)-1])
	require.NoFileExists(t, path)
}

func TestNobodyComes(t *testing.T) {
	m := &model{window: 16}
	s, err := New(m, nil)
	require.NoError(t, err)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, s.ListenAndServe(ctx, filepath.Join(dir, "socket")), context.Canceled)
	require.Equal(t, 1, m.closed)
	_, err = Listen(filepath.Join(dir, "none", "socket"))
	require.Error(t, err)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("keep"), 0o600))
	_, err = Listen(file)
	require.ErrorContains(t, err, "address already in use")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(b, []byte("keep")))
}

func TestMasterOnly(t *testing.T) {
	m := &model{window: 16}
	s, err := New(m, &Options{MasterOnly: true})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "socket")
	l, err := Listen(path)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.AcceptAndServe(context.Background(), l) }()
	c := connect(t, path)
	fd, mem := guestRAM(t, 4096)
	c.mapDMA(0, 4096, fd)
	store := func(v uint32) uint32 {
		c.write(4, v)
		c.write(12, 16)
		return binary.LittleEndian.Uint32(mem[16:])
	}
	require.Zero(t, store(1))
	c.command(1 << 2)
	require.EqualValues(t, 2, store(2))
	c.command(0)
	require.EqualValues(t, 2, store(3))
	c.command(1 << 2)
	require.EqualValues(t, 4, store(4))
	c.reset()
	require.EqualValues(t, 4, store(5))
	require.Zero(t, s.Stats().DMAFaults, "the bus has refused, not the memory")
	require.NoError(t, c.c.Close())
	require.NoError(t, <-done)
}
