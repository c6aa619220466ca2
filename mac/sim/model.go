package sim

import "github.com/barewire/barewire/mac"

// Model is a device with the controls that tests and the fake MAC need. All models
// below this package are.
type Model interface {
	Device
	Described
	// Deliver, OnTransmit and SetLink are those of LinkPort.
	LinkPort
	// Faults are the faults that can be injected.
	Faults() *Faults
	// Violations are what the driver did that the manual forbids.
	Violations() *Violations
}

// Build says what hardware is wanted, as far as that is a question for every core.
// A model's package has a Config for the rest, whose method Build makes one:
//
//	func (c Config) Build(b sim.Build) sim.Model
//
// Fields of b win over those of c. The zero value is a good default.
type Build struct {
	// Address is what firmware left in the station address register. Zero: the
	// Config's.
	Address mac.HardwareAddr
	// Queues is the least number of queues each way. A core that cannot have so
	// many has what it can. 0: the Config's.
	Queues int
	// FIFO is the size of each FIFO in bytes, a power of two. 0: the Config's, and
	// where the core has no choice it is ignored.
	FIFO int
	// Clock is the time the model runs on. nil: the system's.
	Clock Clock
	// Seed seeds faults and junk.
	Seed uint64
	// Inline has all DMA done inside the register write or the delivery that
	// allows it, so that a run is the same each time. Otherwise goroutines of the
	// model do it.
	Inline bool
	// CheckArmed looks for armed receive buffers that share bytes, and records
	// them as violations, in a model that can. It costs time per frame.
	CheckArmed bool
}
