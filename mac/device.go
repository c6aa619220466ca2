package mac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Device is an Ethernet MAC as its users hold it: queues, filter, link,
// counters, and the recovery of all of them. Its methods may be called from any
// goroutine; those of its queues have owners.
type Device struct {
	bus  Bus
	core Core
	info Info
	cfg  Config

	queues []*Queue
	memory []pagepool.Memory // descriptors and arenas; pools own theirs
	irq    Interrupt
	mdio   mdioGate
	phy    PHY // nil: none is followed

	mtu      atomic.Int32
	coalesce atomic.Pointer[ring.Coalesce]
	accept   atomic.Pointer[acceptance]
	linkNow  atomic.Pointer[Link]

	// events wakes the monitor: something to repair or the link to be read.
	events chan struct{}
	quit   chan struct{}
	wg     sync.WaitGroup
	fatal  atomic.Uint32 // queues that reported a fatal error
	halted atomic.Uint32 // queues whose transmit DMA stopped

	// transition serialises Start, recovery and Close: whoever takes the receive
	// sides from their owners holds it. It comes before mu. Nobody takes it who
	// may be called with a lock of the stack: its holder may wait for a poll
	// goroutine that waits for that lock.
	transition sync.Mutex
	closing    sync.Once
	closeErr   error // set in closing

	// mu serialises what programs the core, but for the interrupt path. It is
	// held for a few register accesses at a time, or for a reset, and never while
	// waiting for a poll goroutine. It comes before the lock of a transmit ring.
	mu       sync.Mutex
	state    deviceState
	filter   filterState
	watchdog int // rx-usecs as it was asked for; Coalesce has the actual one
	counters Counters
	recovers Recoveries
	link     linkState
}

type deviceState uint8

const (
	opened    deviceState = iota
	running               // frames move, whenever the link is up
	repairing             // the core is being reset, or the last reset failed
	closed
)

// acceptance is what the software check of destination addresses needs.
type acceptance struct {
	own     HardwareAddr
	unicast []HardwareAddr
	all     bool
}

// Recoveries counts repairs, by cause.
type Recoveries struct {
	FatalBusError uint64 `json:"fatal_bus_error"`
	TXStopped     uint64 `json:"tx_stopped"`
	TXTimeout     uint64 `json:"tx_timeout"`
	Failed        uint64 `json:"failed"`
}

// NewDevice resets and programs core, which was made on bus, and allocates its
// rings. Nothing moves before Start. cfg may be nil. On failure the bus is
// closed.
//
// The core is stopped and reset before any memory is taken for it: whatever
// state a crash has left it in, it does no DMA when NewDevice touches memory.
func NewDevice(ctx context.Context, bus Bus, core Core, cfg *Config) (*Device, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	info := core.Info()
	full, err := cfg.withDefaults(info, bus)
	if err != nil {
		return nil, errors.Join(err, bus.Close())
	}
	d := &Device{
		bus: bus, core: core, info: info, cfg: full,
		events: make(chan struct{}, 1),
		quit:   make(chan struct{}),
		mdio:   mdioGate{bus: core.MDIO()},
		filter: filterState{multicast: groups{}, unicast: groups{}},
	}
	c := *full.Coalesce
	d.coalesce.Store(&c)
	d.accept.Store(&acceptance{own: full.Address})
	d.linkNow.Store(&Link{})
	d.mtu.Store(int32(full.MTU))
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("mac: %s: %w", full.Name, err), d.free())
	}
	if s, ok := bus.(fmt.Stringer); ok {
		full.Logger.Info("bus", "device", full.Name, "uses", s.String())
	}
	full.Logger.Info("device open", "device", full.Name, "core", info.Core, "version", info.Version,
		"address", full.Address, "mtu", full.MTU, "queues", full.Queues,
		"rings", fmt.Sprintf("rx %d tx %d", full.RXRing, full.TXRing), "pages", fmt.Sprintf("%d x %d", full.Pages, full.PageSize))
	return d, nil
}

func (d *Device) open(ctx context.Context) error {
	if err := d.openReset(ctx); err != nil {
		return err
	}
	for i := range d.cfg.Queues {
		q := newQueue(d, i)
		d.queues = append(d.queues, q)
		if err := d.openQueue(q); err != nil {
			return fmt.Errorf("queue %d: %w", i, err)
		}
	}
	if err := d.program(); err != nil {
		return err
	}
	if err := d.applyCoalesce(*d.coalesce.Load()); err != nil {
		return err
	}
	irq, err := d.bus.Interrupt(0)
	if err != nil {
		return fmt.Errorf("open interrupt: %w", err)
	}
	d.irq = irq
	return d.openLink(ctx)
}

// bufferSize is what of a page the device may fill.
func (d *Device) bufferSize() int {
	size := d.cfg.PageSize
	if m := d.info.Ring.MaxBuffer; m > 0 {
		size = min(size, m)
	}
	a := max(1, d.info.Ring.BufferAlign)
	return size / a * a
}

func (d *Device) openQueue(q *Queue) error {
	l, c := d.info.Ring, &d.cfg
	rxDesc, err := d.alloc(Descriptors, l.RXBytes(c.RXRing), max(l.Align, 64))
	if err != nil {
		return fmt.Errorf("allocate receive ring: %w", err)
	}
	txDesc, err := d.alloc(Descriptors, l.TXBytes(c.TXRing), max(l.Align, 64))
	if err != nil {
		return fmt.Errorf("allocate transmit ring: %w", err)
	}
	arena, err := d.alloc(TXBuffers, c.Arena, 64)
	if err != nil {
		return fmt.Errorf("allocate transmit arena: %w", err)
	}
	pages, err := d.bus.Alloc(Alloc{Use: RXBuffers, Size: c.Pages * c.PageSize, Align: 4096, AddressBits: d.info.AddressBits})
	if err != nil {
		return fmt.Errorf("allocate receive pages: %w", err)
	}
	q.Pool, err = pagepool.New(pages, pagepool.Config{
		PageSize: c.PageSize, Pages: c.Pages, MaxLent: c.MaxLent, CopyBreak: c.CopyBreak, Poison: c.Poison,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("make page pool: %w", err), pages.Release())
	}
	if err := q.Pool.CanLend(); err != nil && q.index == 0 {
		c.Logger.Warn("received pages are copied", "device", c.Name, "reason", err)
	}
	rx, err := d.core.NewRX(q.index, rxDesc, c.RXRing, d.bufferSize())
	if err != nil {
		return fmt.Errorf("receive ring: %w", err)
	}
	tx, err := d.core.NewTX(q.index, txDesc, c.TXRing)
	if err != nil {
		return fmt.Errorf("transmit ring: %w", err)
	}
	q.RX, err = ring.NewRX(ring.RXConfig{
		Codec: rx, Pool: q.Pool, Slots: c.RXRing, Reserve: l.Reserve,
		BufferSize: d.bufferSize(), MaxFrame: c.maxFrame(), TotalLength: l.TotalLength,
		Skip: l.Skip, Pooled: l.Pooled,
	})
	if err != nil {
		return err
	}
	q.tx.ring, err = ring.NewTX(ring.TXConfig{
		Codec: tx, Arena: arena, Slots: c.TXRing, Reserve: l.Reserve,
		MaxPiece: l.MaxPiece, MinFrame: l.MinFrame, ContextSlots: l.ContextSlots, MarkFrames: c.Coalesce.TXFrames,
	})
	q.tx.down = true
	q.maxFrame.Store(int32(c.maxFrame()))
	return err
}

func (d *Device) alloc(use Use, size, align int) (pagepool.Memory, error) {
	m, err := d.bus.Alloc(Alloc{Use: use, Size: size, Align: align, AddressBits: d.info.AddressBits})
	if err == nil {
		d.memory = append(d.memory, m)
	}
	return m, err
}

// program writes everything but rings and link to a core that was just reset.
func (d *Device) program() error {
	err := d.core.Configure(Setup{
		RXQueues: d.cfg.Queues, TXQueues: d.cfg.Queues,
		MTU: d.cfg.MTU, MaxFrame: d.cfg.MaxFrame, Address: d.cfg.Address, BufferSize: d.bufferSize(),
		RXChecksum: d.RXChecksum(), TXChecksum: d.TXChecksum(),
	})
	if err != nil {
		return fmt.Errorf("configure %s: %w", d.info.Core, err)
	}
	if err := d.core.SetFilter(d.filter.filter()); err != nil {
		return fmt.Errorf("program filter: %w", err)
	}
	return nil
}

// Name is the device's name, Info what is known of its core, Config what it was
// set up with, defaults filled in.
func (d *Device) Name() string { return d.cfg.Name }

// Info describes the core.
func (d *Device) Info() Info { return d.info }

// Config is the configuration in force, defaults filled in.
func (d *Device) Config() Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, coalesce := d.cfg, d.Coalesce()
	c.Coalesce = &coalesce
	return c
}

// Queues are the device's queues. The slice is not to be changed.
func (d *Device) Queues() []*Queue { return d.queues }

// RXChecksum and TXChecksum report whether the core's checksum engines are on.
func (d *Device) RXChecksum() bool { return d.info.RXChecksum && !d.cfg.NoRXChecksum }

// TXChecksum reports whether the core inserts checksums.
func (d *Device) TXChecksum() bool { return d.info.TXChecksum && !d.cfg.NoTXChecksum }

// largestMTU is what SetMTU takes: what fits the arena, and the engines and pages
// that the device was opened with.
func (d *Device) largestMTU() int {
	n := min(d.info.MaxMTU, d.queues[0].tx.ring.MaxFrame()-headerRoom)
	if m := d.info.ChecksumMTU; m > 0 && d.TXChecksum() {
		n = min(n, m)
	}
	if d.info.Ring.OneBuffer {
		n = min(n, d.bufferSize()-headerRoom-fcs-d.info.Ring.Skip)
	}
	return n
}

// Address is the station address.
func (d *Device) Address() HardwareAddr { return d.accept.Load().own }

// SetAddress changes the station address.
func (d *Device) SetAddress(a HardwareAddr) error {
	if !a.Usable() {
		return fmt.Errorf("mac: %s: address %s: neither zero nor a group can be a station: %w", d.cfg.Name, a, ErrConfig)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == closed {
		return fmt.Errorf("mac: %s: set address: %w", d.cfg.Name, ErrClosed)
	}
	if err := d.core.SetAddress(a); err != nil {
		return fmt.Errorf("mac: %s: set address: %w", d.cfg.Name, err)
	}
	d.cfg.Address = a
	d.storeAcceptance()
	return nil
}

func (d *Device) storeAcceptance() {
	d.accept.Store(&acceptance{own: d.cfg.Address, unicast: d.filter.unicast.sorted(), all: d.filter.promiscuous})
}

// IsOwn reports whether dst is an address of this station: its own, or one of
// AddUnicast.
func (d *Device) IsOwn(dst HardwareAddr) bool {
	a := d.accept.Load()
	return dst == a.own || slices.Contains(a.unicast, dst)
}

// Accepts reports whether a frame to dst is to be received: hardware filters are
// imperfect, and netstack does not look at destination addresses.
func (d *Device) Accepts(dst HardwareAddr) bool {
	return dst.Multicast() || d.IsOwn(dst) || d.accept.Load().all
}

// SetMTU changes the largest packet, in bytes without Ethernet header. Frames
// longer than a receive page take several.
func (d *Device) SetMTU(mtu int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == closed {
		return fmt.Errorf("mac: %s: set MTU: %w", d.cfg.Name, ErrClosed)
	}
	if max := d.largestMTU(); mtu < minMTU || mtu > max {
		return fmt.Errorf("mac: %s: MTU %d: takes %d to %d: %w", d.cfg.Name, mtu, minMTU, max, ErrConfig)
	}
	if err := d.core.SetMTU(mtu); err != nil {
		return fmt.Errorf("mac: %s: set MTU %d: %w", d.cfg.Name, mtu, err)
	}
	d.cfg.MTU = mtu
	d.mtu.Store(int32(mtu))
	for _, q := range d.queues {
		q.maxFrame.Store(int32(d.cfg.maxFrame()))
	}
	return nil
}

// MTU is the largest packet in bytes without Ethernet header.
func (d *Device) MTU() int { return int(d.mtu.Load()) }
