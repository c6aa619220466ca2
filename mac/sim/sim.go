// Package sim holds what register-level models of Ethernet MACs share: the
// memory they reach by DMA, the clock they run on, the interrupt and wire they
// drive, the faults that can be injected, and the counts of everything a driver
// does to them.
//
// A model (one folder per core below this one) is the hardware's side of a
// register map. It takes what the registers say, never a constant of the
// driver's, and it is hostile where hardware may be.
package sim

import (
	"time"

	"github.com/barewire/barewire/mac"
)

// Device is a model of a MAC as a bus sees it. mac/bus/sim joins it to a driver
// in the same process; integration/vfiouser serves it to an emulated machine.
//
// Read32, Write32 and the Port's methods may be called from any goroutine.
type Device interface {
	mac.Registers

	// Compatible lists device-tree names, most specific first.
	Compatible() []string

	// WindowSize is the size of the register window in bytes.
	WindowSize() int

	// ClockHz is the rate of the core's application clock in hertz.
	ClockHz() int

	// Connect gives the model its memory and its interrupt line. It is called
	// once, before the first register access. irq is called with the model's
	// lock held, on every change of the level: it must not call back.
	Connect(mem DMA, irq func(level bool))

	// Port is the model's connection to the wire.
	Port() Port

	// Close stops the model's goroutines and timers. DMA ends before it returns.
	Close() error
}

// Described is implemented by devices that can name their registers, for traces
// and counts.
type Described interface {
	// RegisterName is the manual's name of the register at off, or "".
	RegisterName(off uint32) string
	// Doorbell reports whether a write at off only tells the device to look at a
	// ring.
	Doorbell(off uint32) bool
}

// Windowed is implemented by devices with more register windows than one (a
// syscon, a buffer manager). All of them are parts of the device's one register
// space, so that offsets and names stay unique.
type Windowed interface {
	// Windows are the windows in order. Window 0 is the device itself and starts
	// at 0.
	Windows() []Window
}

// Window is a part of a device's register space, in bytes.
type Window struct{ Offset, Size uint32 }

// MultiLine is implemented by devices with several interrupt lines, for buses that
// have as many. Connect serves the others: it has one line, as a driver with one
// needs it.
type MultiLine interface {
	// Lines is the number of interrupt lines.
	Lines() int
	// ConnectLines is Connect with a function that is told which line has changed,
	// counted from 0.
	ConnectLines(mem DMA, irq func(line int, level bool))
}

// DMA is memory as the device reaches it.
type DMA interface {
	// Slice returns the n bytes at device address addr, for reading or, with
	// write set, for writing too. It fails when any of them is not mapped: the
	// model then raises a bus error. The slice is not kept past the access.
	Slice(addr uint64, n int, write bool) ([]byte, error)
}

// Port is one end of a wire: a model's, a TAP device's, a user-mode network's.
// Frames are without FCS.
type Port interface {
	// Deliver hands a frame from the wire to the port. The port copies what it
	// keeps. It is never called from inside the transmit function of the same
	// port, so that two ports joined by a cable cannot lock each other up.
	Deliver(frame []byte)

	// OnTransmit sets where frames go that leave the port. f may block while the
	// wire is busy; it copies what it keeps. nil unplugs the wire.
	OnTransmit(f func(frame []byte))
}

// LinkPort is a port that can be told about the link.
type LinkPort interface {
	Port
	// SetLink changes what the port sees of the link: carrier, speed, duplex and
	// the partner's pause ability.
	SetLink(mac.Link)
}

// Clock is the time a model runs on.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine, or from inside Advance on a manual
	// clock, when d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call of AfterFunc.
type Timer interface {
	// Stop reports whether it kept the call from being made.
	Stop() bool
	// Reset has the call made when d has passed from now, again or for the first
	// time, and reports whether it was pending.
	Reset(d time.Duration) bool
}
