package cable

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/barewire/barewire/mac/sim"
)

// Impairments spoil the frames of one direction. Chances are per mille, 0 to
// 1000. The same seed spoils the same frames of a sequence in the same way.
type Impairments struct {
	// Seed starts the random sequence of this direction.
	Seed uint64
	// Drop is the chance that a frame is lost.
	Drop int
	// Corrupt is the chance that one bit of a frame is flipped. Frames are
	// without FCS, so the receiving MAC cannot see it: this is corruption that
	// only the checksums of IP, TCP and UDP can find.
	Corrupt int
	// Duplicate is the chance that a frame arrives twice.
	Duplicate int
	// Swap is the chance that a frame arrives after the one sent behind it. When
	// none is sent within 10 ms, or before a manual cable is quiet, it arrives
	// alone.
	Swap int
	// Delay is added to every frame's travel. The delay line holds as many
	// frames as the FIFO and drops what it cannot hold.
	Delay time.Duration
}

func (im Impairments) enabled() bool {
	return im.Drop > 0 || im.Corrupt > 0 || im.Duplicate > 0 || im.Swap > 0 || im.Delay > 0
}

// swapWait is how long a frame waits for the neighbour it is swapped with.
const swapWait = 10 * time.Millisecond

// impairer spoils frames on their way into a direction's queue. It makes copies:
// a bad cable need not be fast.
type impairer struct {
	Impairments
	d     *direction
	depth int
	clock sim.Clock

	mu        sync.Mutex
	rand      *rand.Rand
	held      []byte // waits for its neighbour
	heldTimer sim.Timer
	line      []delayed // the delay line, first due first
	lineTimer sim.Timer
	closed    bool
}

type delayed struct {
	due   time.Time
	frame []byte
}

func newImpairer(d *direction, im Impairments, depth int, clock sim.Clock) *impairer {
	if clock == nil {
		clock = sim.RealClock{}
	}
	return &impairer{
		Impairments: im,
		d:           d,
		depth:       depth,
		clock:       clock,
		rand:        rand.New(rand.NewPCG(im.Seed, uint64(d.dir))),
	}
}

// chance draws one random number whatever the rate is, so that changing one rate
// does not shift the draws of the others.
func (im *impairer) chance(perMille int) bool { return im.rand.IntN(1000) < perMille }

func (im *impairer) send(frame []byte) {
	im.mu.Lock()
	out := im.spoil(frame)
	if im.Delay > 0 && !im.closed {
		im.delay(out)
		out = nil
	}
	im.mu.Unlock()
	for _, f := range out {
		im.d.put(f, im.d.wait)
	}
}

// spoil decides the fate of a frame and returns what now goes on. The caller
// holds mu.
func (im *impairer) spoil(frame []byte) [][]byte {
	stats := &im.d.stats
	drop, corrupt := im.chance(im.Drop), im.chance(im.Corrupt)
	duplicate, swap := im.chance(im.Duplicate), im.chance(im.Swap)
	bit := im.rand.Uint64()
	if drop {
		stats.lost.Add(1)
		return nil
	}
	frame = append([]byte(nil), frame...)
	if corrupt && len(frame) > 0 {
		stats.corrupted.Add(1)
		bit %= uint64(len(frame)) * 8
		frame[bit/8] ^= 1 << (bit % 8)
	}
	out := [][]byte{frame}
	if duplicate {
		stats.duplicated.Add(1)
		out = append(out, frame)
	}
	switch {
	case im.held != nil:
		out = append(out, im.held)
		im.unhold()
	case swap && !im.closed:
		stats.swapped.Add(1)
		im.held = frame
		im.heldTimer = im.clock.AfterFunc(swapWait, func() { im.releaseHeld() })
		out = out[1:]
	}
	return out
}

func (im *impairer) unhold() {
	im.held = nil
	im.heldTimer.Stop()
}

// releaseHeld lets a frame go that waits for its neighbour, and reports whether
// there was one. It goes straight to the queue: by now it is late enough.
func (im *impairer) releaseHeld() bool {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.held == nil {
		return false
	}
	im.d.put(im.held, false)
	im.unhold()
	return true
}

// delay puts frames on the delay line. The caller holds mu.
func (im *impairer) delay(frames [][]byte) {
	due := im.clock.Now().Add(im.Delay)
	for _, f := range frames {
		if len(im.line) == im.depth {
			im.d.stats.dropped.Add(1)
			continue
		}
		im.d.stats.delayedSent.Add(1)
		im.line = append(im.line, delayed{due, f})
	}
	if im.lineTimer == nil && len(im.line) > 0 {
		im.lineTimer = im.clock.AfterFunc(im.Delay, im.arrive)
	}
}

// arrive moves what is due from the delay line to the queue. It does not wait for
// space, so that it may keep the lock and with it the order.
func (im *impairer) arrive() {
	im.mu.Lock()
	defer im.mu.Unlock()
	now := im.clock.Now()
	n := 0
	for n < len(im.line) && !im.line[n].due.After(now) {
		im.d.put(im.line[n].frame, false)
		n++
	}
	im.line = slices.Delete(im.line, 0, n)
	im.lineTimer = nil
	if len(im.line) > 0 && !im.closed {
		im.lineTimer = im.clock.AfterFunc(im.line[0].due.Sub(now), im.arrive)
	}
}

// close stops the timers and returns how many frames were under way.
func (im *impairer) close() int {
	im.mu.Lock()
	defer im.mu.Unlock()
	n := len(im.line)
	im.closed = true
	im.line = nil
	if im.lineTimer != nil {
		im.lineTimer.Stop()
	}
	if im.held != nil {
		im.unhold()
		n++
	}
	return n
}
