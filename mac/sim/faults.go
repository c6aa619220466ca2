package sim

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac"
)

// Fault is one way in which hardware goes wrong.
type Fault uint8

const (
	// LostInterrupt: a rising edge of the interrupt line is not passed on.
	LostInterrupt Fault = iota
	// SpuriousInterrupt: the line pulses with no cause behind it, after a change
	// of status that raised nothing.
	SpuriousInterrupt
	// RXBusError, TXBusError and DescriptorBusError: an access to a receive
	// buffer, a transmit buffer or a descriptor ends in a bus error.
	RXBusError
	TXBusError
	DescriptorBusError
	// StuckOwn: a transmitted descriptor is never given back.
	StuckOwn
	// BadCRC: a received frame has a wrong frame check sequence.
	BadCRC
	// BadLength: the length written back for a received frame is junk.
	BadLength
	// Overflow: the receive FIFO overflows in the middle of a frame, which ends
	// with an error.
	Overflow
	// Truncated: a received frame's last descriptor never comes (first without
	// last).
	Truncated
	// MissingFirst: a received frame's first descriptor is not marked as such.
	MissingFirst
	// DropFrame: a received frame vanishes between wire and FIFO.
	DropFrame
	// SlowReset: a soft reset takes as long as the model's reset time says.
	SlowReset
	// DeadReset: a soft reset never ends.
	DeadReset
	// LinkFlap: the link goes down with a frame's arrival, for a millisecond.
	LinkFlap
	faultKinds
)

var faultNames = [faultKinds]string{
	"lost interrupt", "spurious interrupt", "RX bus error", "TX bus error", "descriptor bus error", "stuck OWN",
	"bad CRC", "bad length", "overflow", "truncated frame", "missing first", "dropped frame", "slow reset",
	"dead reset", "link flap",
}

// String is the fault's name.
func (f Fault) String() string {
	if f < faultKinds {
		return faultNames[f]
	}
	return "unknown fault"
}

// FaultKinds are all kinds, for tables.
func FaultKinds() []Fault {
	k := make([]Fault, faultKinds)
	for i := range k {
		k[i] = Fault(i)
	}
	return k
}

// Faults decides when a model goes wrong. Each time a fault could happen (a
// frame arrives, a descriptor is fetched, …) is an opportunity; faults are set
// by the number of the opportunity or at random by seed. With nothing set an
// opportunity costs one load.
//
//	m.Faults().Once(sim.BadCRC)            // the next frame
//	m.Faults().Nth(sim.TXBusError, 5)      // the fifth buffer read from now
//	m.Faults().Rate(sim.StuckOwn, 10)      // one in a hundred, by seed
//	m.Faults().Always(sim.DeadReset)
//
// Its methods may be called from any goroutine.
type Faults struct {
	armed atomic.Uint32 // bit f: fault f is set in some way
	mu    sync.Mutex
	rand  random
	set   [faultKinds]struct {
		skip, times int // opportunities to let pass, then to hit
		perMille    int
		hits        uint64
	}
}

// NewFaults returns Faults with nothing set.
func NewFaults(seed uint64) *Faults {
	f := &Faults{}
	f.rand.seed(seed)
	return f
}

// Once sets fault k for the next opportunity.
func (f *Faults) Once(k Fault) { f.plan(k, 0, 1) }

// Nth sets fault k for the nth opportunity from now; 1 is the next.
func (f *Faults) Nth(k Fault, n int) { f.plan(k, max(n-1, 0), 1) }

// Times sets fault k for the next n opportunities.
func (f *Faults) Times(k Fault, n int) { f.plan(k, 0, n) }

// Rate sets fault k for perMille of 1000 opportunities, chosen by the seed.
func (f *Faults) Rate(k Fault, perMille int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set[k].perMille = perMille
	f.arm(k)
}

// Always sets fault k for every opportunity.
func (f *Faults) Always(k Fault) { f.Rate(k, 1000) }

// Clear ends fault k.
func (f *Faults) Clear(k Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.set[k]
	s.skip, s.times, s.perMille = 0, 0, 0
	f.arm(k)
}

// Hits is how often fault k has happened.
func (f *Faults) Hits(k Fault) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set[k].hits
}

func (f *Faults) plan(k Fault, skip, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set[k].skip, f.set[k].times = skip, times
	f.arm(k)
}

// arm keeps the bit of k in step. f.mu is held.
func (f *Faults) arm(k Fault) {
	if s := &f.set[k]; s.times > 0 || s.perMille > 0 {
		f.armed.Or(1 << k)
	} else {
		f.armed.And(^uint32(1 << k))
	}
}

// Hit is an opportunity for fault k. Models call it, and do it when it says so.
func (f *Faults) Hit(k Fault) bool {
	if f.armed.Load()&(1<<k) == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.set[k]
	hit := false
	switch {
	case s.times > 0 && s.skip > 0:
		s.skip--
	case s.times > 0:
		s.times--
		hit = true
	}
	if !hit && s.perMille > 0 {
		hit = f.rand.below(1000) < s.perMille
	}
	if hit {
		s.hits++
	}
	f.arm(k)
	return hit
}

// Random returns a number below n from the seeded sequence.
func (f *Faults) Random(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rand.below(n)
}

// FlapLink takes a link that is up down for a millisecond, with set (LinkFlap).
func FlapLink(c Clock, up mac.Link, set func(mac.Link)) {
	if !up.Up {
		return
	}
	set(mac.Link{})
	c.AfterFunc(time.Millisecond, func() { set(up) })
}
