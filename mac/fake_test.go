package mac

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errTest = errors.New("injected")

// fakeCore is a core without hardware: it notes what it is told and fails on
// request.
type fakeCore struct {
	info Info

	mu      sync.Mutex
	calls   []string
	fail    map[string][]error // errors for the next calls of a method
	link    Link
	noLink  bool
	pending Events
	mdio    MDIO
	count   Counters // for the next call of Counters
	hook    func(call string)

	setup    Setup
	filter   Filter
	address  HardwareAddr
	mtu      int
	watchdog map[int]int
	rx       []*fakeRX
	tx       []*fakeTX
}

var gigabit = Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true}

func newFakeCore() *fakeCore {
	return &fakeCore{
		info: Info{
			Core: "fake", Version: "1.0", Address: HardwareAddr{2, 0, 0, 0, 0, 1},
			RXQueues: 2, TXQueues: 2, RXChecksum: true, TXChecksum: true, AddressBits: 32, MaxMTU: 9000, Watchdog: true,
			Ring: RingLimits{DescriptorSize: 16, Align: 16, MinSlots: 4, MaxSlots: 1024, BufferAlign: 64, MaxBuffer: 16320, MaxPiece: 16320},
		},
		fail: map[string][]error{}, link: gigabit, watchdog: map[int]int{},
	}
}

// call notes a call and returns the error it is to fail with.
func (c *fakeCore) call(name string) error {
	c.mu.Lock()
	c.calls = append(c.calls, name)
	var err error
	if e := c.fail[name]; len(e) > 0 {
		err, c.fail[name] = e[0], e[1:]
	}
	hook := c.hook
	c.mu.Unlock()
	if hook != nil {
		hook(name)
	}
	return err
}

// failNext has the next n calls of a method fail.
func (c *fakeCore) failNext(name string, n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail[name] = slices.Repeat([]error{err}, n)
}

// log returns the calls since the last log, Counters left out.
func (c *fakeCore) log() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := slices.DeleteFunc(c.calls, func(s string) bool { return s == "Counters" })
	c.calls = nil
	return l
}

// locked runs f with what the device's goroutines may use, too.
func (c *fakeCore) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *fakeCore) setLink(l Link) { c.locked(func() { c.link = l }) }

func (c *fakeCore) Info() Info                  { return c.info }
func (c *fakeCore) Reset(context.Context) error { return c.call("Reset") }
func (c *fakeCore) Start() error                { return c.call("Start") }
func (c *fakeCore) Stop() error                 { return c.call("Stop") }
func (c *fakeCore) SetLink(l Link) error        { return c.call("SetLink " + l.String()) }
func (c *fakeCore) Ack(q int)                   {}
func (c *fakeCore) Unmask(q int)                {}
func (c *fakeCore) UnmaskTX(q int)              { c.call(fmt.Sprint("UnmaskTX ", q)) }
func (c *fakeCore) MDIO() MDIO                  { return c.mdio }

func (c *fakeCore) Configure(s Setup) error {
	c.locked(func() { c.setup = s })
	return c.call("Configure")
}

// countingCore counts frames itself.
type countingCore struct {
	*fakeCore
	frames map[int]int
	err    error
}

func (c *countingCore) SetRXFrames(q, n int) error {
	if c.err == nil {
		c.frames[q] = n
	}
	return c.err
}

func (c *fakeCore) NewRX(q int, _ pagepool.Memory, slots, _ int) (ring.RXCodec, error) {
	r := &fakeRX{core: c, slots: slots}
	c.rx = append(c.rx, r)
	return r, c.call("NewRX")
}

func (c *fakeCore) NewTX(q int, _ pagepool.Memory, slots int) (ring.TXCodec, error) {
	r := &fakeTX{core: c, slots: slots}
	c.tx = append(c.tx, r)
	return r, c.call("NewTX")
}

func (c *fakeCore) Link() (Link, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link, !c.noLink
}

func (c *fakeCore) SetAddress(a HardwareAddr) error {
	c.locked(func() { c.address = a })
	return c.call("SetAddress")
}

func (c *fakeCore) SetFilter(f Filter) error {
	err := c.call("SetFilter")
	if err == nil {
		c.locked(func() { c.filter = f })
	}
	return err
}

func (c *fakeCore) SetMTU(mtu int) error {
	c.locked(func() { c.mtu = mtu })
	return c.call("SetMTU")
}

// SetWatchdog rounds down to multiples of 7 microseconds less one, so that what
// is programmed twice differs from what is programmed once.
func (c *fakeCore) SetWatchdog(q, usecs int) (int, error) {
	c.locked(func() { c.watchdog[q] = usecs })
	return usecs/7*7 - 1, c.call("SetWatchdog")
}

func (c *fakeCore) Interrupt() Events {
	c.mu.Lock()
	defer c.mu.Unlock()
	ev := c.pending
	c.pending = Events{}
	return ev
}

func (c *fakeCore) Counters(sum *Counters) {
	c.call("Counters")
	c.mu.Lock()
	defer c.mu.Unlock()
	sum.RXMissed += c.count.RXMissed
	sum.RXOverflow += c.count.RXOverflow
	sum.TXUnderflow += c.count.TXUnderflow
	sum.TXCarrier += c.count.TXCarrier
	sum.TXLate += c.count.TXLate
	sum.TXExcessive += c.count.TXExcessive
	sum.TXCollisions += c.count.TXCollisions
	c.count = Counters{}
}

// fakeRX is a receive ring whose frames come from the test.
type fakeRX struct {
	core  *fakeCore
	slots int
	kicks int
	done  []ring.Completion
}

func (r *fakeRX) Post(int, []ring.Buffer) {}
func (r *fakeRX) Kick(int)                { r.kicks++ }
func (r *fakeRX) Reset()                  { r.done = nil; r.core.call("rx.Reset") }

func (r *fakeRX) Harvest(_ int, out []ring.Completion) int {
	n := copy(out, r.done)
	r.done = r.done[n:]
	return n
}

// fakeTX is a transmit ring that sends when the test says so. It is used with the
// lock of the queue.
type fakeTX struct {
	core  *fakeCore
	slots int
	kicks int
	sent  int // slots sent and not reaped
	look  func()
}

func (r *fakeTX) Kick(int) { r.kicks++ }
func (r *fakeTX) Reset()   { r.sent = 0; r.core.call("tx.Reset") }

func (r *fakeTX) Fill(_ int, frames []ring.TXFrame) {
	for i := range frames {
		frames[i].Slots = 1
	}
}

func (r *fakeTX) Done(from, mark, _ int) int {
	if r.look != nil {
		r.look()
	}
	n := (mark-from+r.slots)%r.slots + 1
	if n > r.sent {
		return 0
	}
	r.sent -= n
	return n
}

// fakeBus keeps account of memory and the interrupt line.
type fakeBus struct {
	core   *fakeCore
	memory []*fakeMemory
	irq    *fakeIRQ
	failAt int // number of the Alloc that fails, from 1
	noIRQ  error
	closed int
	wiring Wiring
}

func (b *fakeBus) Wiring() Wiring { return b.wiring }

type fakeMemory struct {
	pagepool.Memory
	bus      *fakeBus
	alloc    Alloc
	released int
}

func (m *fakeMemory) Release() error {
	m.released++
	m.bus.core.call("Release")
	return nil
}

func (b *fakeBus) Name() string                     { return "bus0" }
func (b *fakeBus) Compatible() []string             { return nil }
func (b *fakeBus) Registers(int) (Registers, error) { return nil, ErrNoDevice }
func (b *fakeBus) ClockHz() int                     { return 0 }

func (b *fakeBus) Alloc(a Alloc) (pagepool.Memory, error) {
	if len(b.memory)+1 == b.failAt {
		return nil, errTest
	}
	m := &fakeMemory{Memory: pagepool.NewHeap(a.Size, uint64(len(b.memory)+1)<<24), bus: b, alloc: a}
	b.memory = append(b.memory, m)
	return m, nil
}

func (b *fakeBus) Interrupt(int) (Interrupt, error) {
	if b.noIRQ != nil {
		return nil, b.noIRQ
	}
	b.irq = &fakeIRQ{core: b.core, fire: make(chan struct{}, 1), gone: make(chan struct{})}
	return b.irq, nil
}

func (b *fakeBus) Close() error {
	b.closed++
	return b.core.call("bus.Close")
}

// released reports whether all memory but that of the pools listed was released
// exactly once.
func (b *fakeBus) released(kept ...*fakeMemory) error {
	for i, m := range b.memory {
		want := 1
		if slices.Contains(kept, m) {
			want = 0
		}
		if m.released != want {
			return fmt.Errorf("memory %d (%+v) was released %d times, want %d", i, m.alloc, m.released, want)
		}
	}
	return nil
}

type fakeIRQ struct {
	core *fakeCore
	fire chan struct{}
	gone chan struct{}
	once sync.Once
}

func (i *fakeIRQ) Wait() error {
	select {
	case <-i.fire:
		return nil
	case <-i.gone:
		return fmt.Errorf("fake: wait: %w", os.ErrClosed)
	}
}

func (i *fakeIRQ) Rearm() error { return nil }

func (i *fakeIRQ) Close() error {
	i.once.Do(func() { close(i.gone) })
	return i.core.call("irq.Close")
}

// rig is a device on the fakes.
type rig struct {
	*Device
	t    *testing.T
	core *fakeCore
	bus  *fakeBus
	logs *logLines
}

// logLines counts lines logged.
type logLines struct {
	mu sync.Mutex
	n  int
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += bytes.Count(b, []byte("\n"))
	return len(b), nil
}

// listener notes what it hears of the link.
type listener struct {
	mu    sync.Mutex
	links []Link
}

func (l *listener) hear(link Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.links = append(l.links, link)
}

func (l *listener) heard() []Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.links)
}

// small is a configuration that is quick to set up.
func small() *Config {
	return &Config{RXRing: 8, TXRing: 8, PageSize: 2048, Pages: 16, CopyBreak: pagepool.LendAlways}
}

func newRig(t *testing.T, cfg *Config, prepare ...func(*fakeCore, *fakeBus)) *rig {
	t.Helper()
	r, err := tryRig(t, cfg, prepare...)
	require.NoError(t, err)
	r.core.log()
	return r
}

func tryRig(t *testing.T, cfg *Config, prepare ...func(*fakeCore, *fakeBus)) (*rig, error) {
	core := newFakeCore()
	bus := &fakeBus{core: core}
	for _, p := range prepare {
		p(core, bus)
	}
	logs := &logLines{}
	if cfg != nil {
		cfg.Logger = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	d, err := NewDevice(context.Background(), bus, core, cfg)
	return &rig{Device: d, t: t, core: core, bus: bus, logs: logs}, err
}

// interrupt has the device interrupt with ev.
func (r *rig) interrupt(ev Events) {
	r.core.locked(func() { r.core.pending = ev })
	r.bus.irq.fire <- struct{}{}
}

// send puts n frames into the transmit ring of queue 0.
func (r *rig) send(n int) {
	r.t.Helper()
	q := r.Queues()[0]
	tx := q.LockTX()
	require.NotNil(r.t, tx)
	for range n {
		require.NotNil(r.t, tx.Reserve(60))
		tx.Commit(ring.TXFrame{})
	}
	q.FlushTX()
	q.UnlockTX()
}

// sent says that the device has sent n frames of queue 0.
func (r *rig) sent(n int) {
	r.Queues()[0].tx.Lock()
	defer r.Queues()[0].tx.Unlock()
	r.core.tx[0].sent += n
}

// canSend reports whether queue 0 takes frames.
func (r *rig) canSend() bool {
	q := r.Queues()[0]
	if q.LockTX() == nil {
		return false
	}
	q.UnlockTX()
	return true
}

// warnings is how many lines were logged that say something is wrong.
func (r *rig) warnings() int {
	r.logs.mu.Lock()
	defer r.logs.mu.Unlock()
	return r.logs.n
}
