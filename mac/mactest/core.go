package mactest

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/ring"
)

// Model is the hardware's side of a core.
type Model = sim.Model

// Setup says what hardware the suite wants.
type Setup struct {
	// Address is what firmware left in the station address register; zero means
	// that it left nothing of use. It is lost at reset, where the core does so.
	Address mac.HardwareAddr
	// Seed seeds faults and junk.
	Seed uint64
}

// Core describes one variant of a core: how to make it, and what is to be
// expected of it.
type Core struct {
	// Name is the variant's name, for the log.
	Name string
	// Model makes a core that has just been powered on, with the link up as
	// Links[0] says. It does all DMA inline and runs on the system's clock.
	Model func(Setup) Model
	// Open makes the driver, as New of the core's package does.
	Open func(mac.Bus) (mac.Core, error)

	// Version is what mac.Info.Version must say.
	Version string
	// WrongVersion makes a read of register Offset return Value, which says that
	// this is another core.
	WrongVersion struct{ Offset, Value uint32 }

	// Links are the links that the core can have, the fastest first.
	Links []mac.Link
	// Pause says what of flow control the core can do.
	Pause struct{ RX, TX bool }

	// Descriptor is the layout of descriptors as far as the order of stores goes.
	Descriptor Descriptor
	// BringUp is the order of register writes that matters from NewDevice to
	// Start.
	BringUp []Order
	// Posted splits a value written to the doorbell at off into what the device
	// does at once, as the next read expects, and what of it gives descriptors
	// away, which a bridge may hold back. nil: a doorbell does nothing else.
	Posted func(off, v uint32) (now, later uint32)
	// Costs are the exact costs of the hot path.
	Costs Costs

	// Filter says how exact the address filter is.
	Filter Filter

	// Drops says where a frame is counted that each fault spoils. nil: nowhere,
	// since the driver cannot know of it.
	Drops map[sim.Fault]Counter
	// TooLong is where a frame longer than the MTU allows is counted, Missed
	// where one that met a full ring and FIFO is.
	TooLong, Missed Counter
	// Repairs says which repair each fatal fault must lead to.
	Repairs map[sim.Fault]func(mac.Recoveries) uint64

	// AddCounts adds to the hardware counters of received and transmitted frames,
	// behind the driver's back, and returns how many: the more, the better.
	AddCounts func(Model) uint64

	// InsertsAlways says that the transmit checksum engine is on for all frames or
	// for none: it also mends a wrong checksum that nobody asked it about.
	InsertsAlways bool

	// Missing lists the sub-tests that this core cannot support, with the reason.
	Missing map[string]string

	// CoherentOnly leaves the pass on memory that is not coherent to another variant
	// of the same driver.
	CoherentOnly bool

	memory sim.SpaceOptions // of this pass
}

// Counter picks a count from a snapshot.
type Counter func(mac.Snapshot) uint64

// Ring counts in the statistics of receive ring 0.
func Ring(pick func(ring.RXStats) uint64) Counter {
	return func(s mac.Snapshot) uint64 { return pick(s.Queues[0].RX) }
}

// Hardware counts in the hardware's counters.
func Hardware(pick func(mac.Counters) uint64) Counter {
	return func(s mac.Snapshot) uint64 { return pick(s.Hardware) }
}

// Descriptor says which word of a descriptor gives it to the device.
type Descriptor struct {
	// OwnWord is the index of the word with OWN (or the descriptor's type).
	OwnWord int
	// RXOwn and TXOwn report whether a value of that word gives the descriptor to
	// the device. nil: the core has counters instead, and its doorbell gives
	// descriptors away.
	RXOwn, TXOwn func(w uint32) bool
}

// Step is a write to a register: its name, and the bits that make it the one.
type Step struct {
	Register    string
	Mask, Value uint32
}

// Order demands that the last write that is Before comes ahead of the first one
// that is After. Both must happen.
type Order struct{ Before, After Step }

// Costs are exact figures of the hot path. Loads and stores are of words of
// descriptors, reads and writes of registers.
type Costs struct {
	// RXLoads is per received descriptor, RXVerdictLoads per received frame that
	// the checksum engine judged, on top of it. RXBatchReads is per batch.
	RXLoads, RXVerdictLoads, RXBatchReads uint64
	// RXStores is per descriptor posted.
	RXStores uint64
	// RefillWrites is the register writes of a refill, doorbells among them.
	RefillWrites, RefillDoorbells uint64
	// TXStores is per descriptor filled; nothing is loaded.
	TXStores uint64
	// FlushWrites is the register writes of a transmit batch, doorbells among them.
	FlushWrites, FlushDoorbells uint64
	// ReapLoads and ReapReads are one look at the transmit ring's progress.
	ReapLoads, ReapReads uint64
	// PassWrites is the register writes of Ack and Unmask together, PassReads
	// their reads.
	PassWrites, PassReads uint64
}

// Filter says how exact the address filter is.
type Filter struct {
	// Groups is how many groups can be joined with frames to others still kept
	// out, 0 when every group always passes. Stations is the same for further
	// station addresses.
	Groups, Stations int
}
