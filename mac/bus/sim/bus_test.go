package sim

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// device is a model with one register of memory and a line under the test's
// hand.
type device struct {
	mu     sync.Mutex
	reg    map[uint32]uint32
	irq    func(bool)
	mem    sim.DMA
	closed int
}

func (d *device) Read32(off uint32) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reg[off]
}

func (d *device) Write32(off, v uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reg[off] = v
}

func (d *device) Compatible() []string                { return []string{"test,device"} }
func (d *device) WindowSize() int                     { return 64 }
func (d *device) ClockHz() int                        { return 1000 }
func (d *device) Connect(mem sim.DMA, irq func(bool)) { d.mem, d.irq = mem, irq }
func (d *device) Port() sim.Port                      { return nil }
func (d *device) Close() error                        { d.closed++; return nil }
func (d *device) RegisterName(off uint32) string      { return map[uint32]string{0: "A", 4: "TAIL"}[off] }
func (d *device) Doorbell(off uint32) bool            { return off == 4 }

func newBus(t *testing.T, opts *Options) (*Bus, *device) {
	d := &device{reg: map[uint32]uint32{}}
	b := New(d, opts)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b, d
}

func TestBus(t *testing.T) {
	b, d := newBus(t, nil)
	require.Equal(t, "sim0", b.Name())
	require.Equal(t, []string{"test,device"}, b.Compatible())
	require.Equal(t, 1000, b.ClockHz())
	require.Same(t, d, b.Model())
	_, err := b.Registers(1)
	require.ErrorIs(t, err, mac.ErrNoDevice)
	_, err = b.Interrupt(1)
	require.ErrorIs(t, err, mac.ErrNoDevice)
	_, err = b.Alloc(mac.Alloc{})
	require.ErrorIs(t, err, mac.ErrConfig)
	m, err := b.Alloc(mac.Alloc{Size: 100, AddressBits: 32})
	require.NoError(t, err)
	p, err := d.mem.Slice(m.DeviceAddr(), 100, true)
	require.NoError(t, err)
	p[0] = 9
	require.EqualValues(t, 9, m.Bytes()[0])
	require.Equal(t, 1, b.Space().Live())
	require.NoError(t, m.Release())
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	require.Equal(t, 1, d.closed)
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, os.ErrClosed)
	named, _ := newBus(t, &Options{Name: "eth7"})
	require.Equal(t, "eth7", named.Name())
}

func TestRegistersAreCounted(t *testing.T) {
	b, _ := newBus(t, nil)
	r, err := b.Registers(0)
	require.NoError(t, err)
	b.Trace().Log(10)
	r.Write32(0, 5)
	r.Write32(4, 6)
	require.EqualValues(t, 5, r.Read32(0))
	require.Equal(t, sim.Counts{RegisterReads: 1, RegisterWrites: 2, Doorbells: 1}, b.Trace().Counts())
	require.Equal(t, "write A 0x5\nwrite TAIL 0x6\ndoorbell TAIL 0x6\nread A 0x5\n", b.Trace().String())
}

// fired reports whether Wait would return at once.
func fired(i mac.Interrupt) bool { return len(i.(*interrupt).fired) > 0 }

func TestInterruptIsLevelTriggered(t *testing.T) {
	b, d := newBus(t, nil)
	d.irq(true) // before anybody listens
	i, err := b.Interrupt(0)
	require.NoError(t, err)
	_, err = b.Interrupt(0)
	require.ErrorIs(t, err, mac.ErrConfig, "open twice")
	require.NoError(t, i.Wait())
	require.False(t, fired(i), "once")
	d.irq(false)
	d.irq(true)
	require.False(t, fired(i), "masked until Rearm")
	require.NoError(t, i.Rearm())
	require.NoError(t, i.Wait(), "the level is still high")
	require.NoError(t, i.Rearm())
	require.NoError(t, i.Wait())
	d.irq(false)
	require.NoError(t, i.Rearm())
	require.False(t, fired(i))
	d.irq(true)
	d.irq(false)
	require.NoError(t, i.Wait(), "a pulse while armed is kept")
	require.EqualValues(t, 3, b.Trace().Counts().Interrupts)
	require.NoError(t, i.Close())
	require.NoError(t, i.Close())
	require.ErrorIs(t, i.Wait(), os.ErrClosed)
	require.ErrorIs(t, i.Rearm(), os.ErrClosed)
	d.irq(true)
	again, err := b.Interrupt(0)
	require.NoError(t, err)
	require.NoError(t, again.Wait())
}

func TestCloseUnblocksWait(t *testing.T) {
	for _, c := range []struct {
		name  string
		close func(b *Bus, i mac.Interrupt) error
	}{
		{"interrupt", func(_ *Bus, i mac.Interrupt) error { return i.Close() }},
		{"bus", func(b *Bus, _ mac.Interrupt) error { return b.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := newBus(t, nil)
			i, err := b.Interrupt(0)
			require.NoError(t, err)
			done := make(chan error)
			go func() { done <- i.Wait() }()
			require.NoError(t, c.close(b, i))
			select {
			case err := <-done:
				require.ErrorIs(t, err, os.ErrClosed)
			case <-time.After(10 * time.Second):
				t.Fatal("Wait did not return")
			}
		})
	}
}

// No edge is lost between a driver that acknowledges and rearms and a device
// that raises at any time.
func TestInterruptRace(t *testing.T) {
	b, d := newBus(t, nil)
	i, err := b.Interrupt(0)
	require.NoError(t, err)
	const events = 2000
	var mu sync.Mutex
	pending, seen := 0, 0
	go func() {
		for range events {
			mu.Lock()
			pending++
			d.irq(true)
			mu.Unlock()
		}
	}()
	for seen < events {
		require.NoError(t, i.Wait())
		mu.Lock()
		seen += pending
		pending = 0
		d.irq(false)
		mu.Unlock()
		require.NoError(t, i.Rearm())
	}
	require.Equal(t, events, seen)
}

// windowed has a second register window.
type windowed struct{ *device }

func (windowed) Windows() []sim.Window { return []sim.Window{{Size: 64}, {Offset: 0x100, Size: 16}} }

func TestWindows(t *testing.T) {
	d := windowed{&device{reg: map[uint32]uint32{}}}
	b := New(d, nil)
	defer b.Close()
	glue, err := b.Registers(1)
	require.NoError(t, err)
	glue.Write32(8, 7)
	require.EqualValues(t, 7, d.Read32(0x108), "window 1 is a part of the model's register space")
	require.EqualValues(t, 7, glue.Read32(8))
	for _, i := range []int{-1, 2} {
		_, err = b.Registers(i)
		require.ErrorIs(t, err, mac.ErrNoDevice)
	}
}
