package sim

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// EventKind names what a Trace counts.
type EventKind uint8

const (
	// RegisterRead and RegisterWrite are single accesses to the device. Doorbell
	// is counted besides the RegisterWrite that it is.
	RegisterRead EventKind = iota
	RegisterWrite
	Doorbell
	// DescriptorLoad and DescriptorStore are the driver's accesses to words of
	// descriptors.
	DescriptorLoad
	DescriptorStore
	// WriteBarrier, ReadBarrier and DoorbellBarrier are those of ring.Words.
	WriteBarrier
	ReadBarrier
	DoorbellBarrier
	// SyncForDevice and SyncForCPU are cache maintenance.
	SyncForDevice
	SyncForCPU
	// InterruptRaised and InterruptLowered are edges of the device's line.
	InterruptRaised
	InterruptLowered
	eventKinds
)

var eventNames = [eventKinds]string{
	"read", "write", "doorbell", "load", "store", "write-barrier", "read-barrier", "doorbell-barrier",
	"sync-for-device", "sync-for-cpu", "irq-high", "irq-low",
}

// String is a short name.
func (k EventKind) String() string {
	if k < eventKinds {
		return eventNames[k]
	}
	return "unknown"
}

// Counts is a snapshot of a Trace.
type Counts struct {
	RegisterReads, RegisterWrites, Doorbells      uint64
	DescriptorLoads, DescriptorStores             uint64
	WriteBarriers, ReadBarriers, DoorbellBarriers uint64
	SyncsForDevice, BytesForDevice                uint64
	SyncsForCPU, BytesForCPU                      uint64
	// Interrupts counts rising edges of the interrupt line.
	Interrupts uint64
}

// Sub is what has been counted since the earlier snapshot o.
func (c Counts) Sub(o Counts) Counts {
	return Counts{
		RegisterReads:    c.RegisterReads - o.RegisterReads,
		RegisterWrites:   c.RegisterWrites - o.RegisterWrites,
		Doorbells:        c.Doorbells - o.Doorbells,
		DescriptorLoads:  c.DescriptorLoads - o.DescriptorLoads,
		DescriptorStores: c.DescriptorStores - o.DescriptorStores,
		WriteBarriers:    c.WriteBarriers - o.WriteBarriers,
		ReadBarriers:     c.ReadBarriers - o.ReadBarriers,
		DoorbellBarriers: c.DoorbellBarriers - o.DoorbellBarriers,
		SyncsForDevice:   c.SyncsForDevice - o.SyncsForDevice,
		BytesForDevice:   c.BytesForDevice - o.BytesForDevice,
		SyncsForCPU:      c.SyncsForCPU - o.SyncsForCPU,
		BytesForCPU:      c.BytesForCPU - o.BytesForCPU,
		Interrupts:       c.Interrupts - o.Interrupts,
	}
}

// Event is one entry of the ordered log.
type Event struct {
	Kind EventKind
	// Name is the register's name, if the model knows one.
	Name string
	// Addr is a register offset or a device address.
	Addr uint64
	// Value is what was read or written, or the length of a sync.
	Value uint32
}

// String is one line, such as "write DMA_CH0_TX_TAIL 0x40000020".
func (e Event) String() string {
	switch e.Kind {
	case RegisterRead, RegisterWrite, Doorbell:
		name := e.Name
		if name == "" {
			name = fmt.Sprintf("0x%04x", e.Addr)
		}
		return fmt.Sprintf("%v %s %#x", e.Kind, name, e.Value)
	case DescriptorStore, SyncForDevice, SyncForCPU:
		return fmt.Sprintf("%v %#x %#x", e.Kind, e.Addr, e.Value)
	case DescriptorLoad:
		return fmt.Sprintf("%v %#x", e.Kind, e.Addr)
	default:
		return e.Kind.String()
	}
}

// Trace counts every access that a driver makes, exactly, and keeps an ordered
// log of them while one is asked for. Its methods may be called from any
// goroutine; the log's order is that of one goroutine's program, and arbitrary
// between goroutines.
type Trace struct {
	counts            [eventKinds]atomic.Uint64
	forDevice, forCPU atomic.Uint64
	logging           atomic.Bool
	mu                sync.Mutex
	log               []Event
	limit             int
}

// NewTrace returns a Trace that only counts.
func NewTrace() *Trace { return &Trace{} }

// Counts is a snapshot.
func (t *Trace) Counts() Counts {
	n := func(k EventKind) uint64 { return t.counts[k].Load() }
	return Counts{
		RegisterReads: n(RegisterRead), RegisterWrites: n(RegisterWrite), Doorbells: n(Doorbell),
		DescriptorLoads: n(DescriptorLoad), DescriptorStores: n(DescriptorStore),
		WriteBarriers: n(WriteBarrier), ReadBarriers: n(ReadBarrier), DoorbellBarriers: n(DoorbellBarrier),
		SyncsForDevice: n(SyncForDevice), BytesForDevice: t.forDevice.Load(),
		SyncsForCPU: n(SyncForCPU), BytesForCPU: t.forCPU.Load(),
		Interrupts: n(InterruptRaised),
	}
}

// Log starts an empty log of the next limit events; 0 ends logging.
func (t *Trace) Log(limit int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log, t.limit = nil, limit
	t.logging.Store(limit > 0)
}

// Events is a copy of the log.
func (t *Trace) Events() []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Event(nil), t.log...)
}

// String is the log, one event a line.
func (t *Trace) String() string {
	var b strings.Builder
	for _, e := range t.Events() {
		b.WriteString(e.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Register counts a register access. A bus calls it.
func (t *Trace) Register(k EventKind, off, v uint32, name func(off uint32) string) {
	t.counts[k].Add(1)
	if t.logging.Load() {
		t.append(Event{Kind: k, Name: name(off), Addr: uint64(off), Value: v})
	}
}

// Interrupt counts an edge of the interrupt line. A bus calls it.
func (t *Trace) Interrupt(level bool) {
	if level {
		t.event(InterruptRaised, 0, 0)
	} else {
		t.event(InterruptLowered, 0, 0)
	}
}

func (t *Trace) event(k EventKind, addr uint64, v uint32) {
	t.counts[k].Add(1)
	if t.logging.Load() {
		t.append(Event{Kind: k, Addr: addr, Value: v})
	}
}

func (t *Trace) sync(k EventKind, addr uint64, n int) {
	if k == SyncForDevice {
		t.forDevice.Add(uint64(max(n, 0)))
	} else {
		t.forCPU.Add(uint64(max(n, 0)))
	}
	t.event(k, addr, uint32(n))
}

func (t *Trace) append(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.log) < t.limit {
		t.log = append(t.log, e)
	}
}
