// Package cable joins two ports of the simulated world: a model and a TAP
// device, two models, a model and a user-mode network.
//
// Each direction is a bounded FIFO of frames in pooled buffers, emptied by a
// goroutine of its own. A sender whose FIFO is full waits, as a MAC waits while
// the wire is busy. A manual cable has no goroutines and moves one frame a step,
// so that a test decides when each frame arrives.
//
// A cable can record what it carries (Options.Taps) and spoil it (Options.AToB,
// Options.BToA). It has no speed: a burst from a TAP device or a user-mode network,
// which know no flow control, can overflow a MAC's FIFO, and TCP repairs that only
// slowly. Options.FlowControl is the remedy that real links have.
package cable

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/internal/fifo"
)

// Direction is a direction of travel through a cable.
type Direction uint8

// The two directions, after the arguments of Connect.
const (
	AToB Direction = iota
	BToA
)

// String is the direction with an arrow.
func (d Direction) String() string {
	if d == AToB {
		return "a->b"
	}
	return "b->a"
}

// Tap sees each frame just before it is delivered, as it is delivered. The two
// directions call it concurrently. It must not keep or change the frame.
type Tap func(dir Direction, frame []byte)

// Options are the options of Connect.
type Options struct {
	// Depth is how many frames each direction queues. 0 means 256.
	Depth int
	// MaxFrame is the length in bytes of the longest frame carried; longer ones
	// are dropped and counted. 0 means 65553: the largest IP packet with an
	// Ethernet header and a VLAN tag.
	MaxFrame int
	// Drop makes a full FIFO drop what does not fit instead of making the sender
	// wait.
	Drop bool
	// Manual makes a cable without goroutines: frames move by Step and Run only.
	// A full FIFO drops, since the sender may be the one who steps.
	Manual bool
	// Taps see all frames that are delivered.
	Taps []Tap
	// FlowControl has the cable obey pause frames, as a switch does (IEEE 802.3
	// Annex 31B): one that a port sends goes no farther and holds back what goes to
	// that port. It is for a MAC whose partner is none.
	FlowControl bool
	// Link is what ports that implement sim.LinkPort are told when the cable is
	// plugged in. The zero value means 1000 Mb/s full duplex; with FlowControl the
	// partner obeys pause frames (TXPause), otherwise there is no pause.
	Link mac.Link
	// AToB and BToA spoil the frames of a direction.
	AToB, BToA Impairments
	// Clock times delays and pauses. nil means wall time.
	Clock sim.Clock
}

const (
	defaultDepth    = 256
	defaultMaxFrame = 65535 + 14 + 4
	// batch is how many frames the delivering goroutine takes at a time: enough
	// to spread the cost of the lock, few enough to stay in cache.
	batch = 64
	// closeWait is how long Close waits for ports that do not return.
	closeWait = 2 * time.Second
)

// Cable joins two ports. Its methods may be called from any goroutine, but Step
// and Run from one at a time.
type Cable struct {
	dirs   [2]*direction
	taps   []Tap
	manual bool
	up     atomic.Bool // the link; frames are lost while it is down
	speed  atomic.Int64

	stepping atomic.Bool
	next     Direction // of the next Step

	workers  sync.WaitGroup
	close    sync.Once
	closeErr error
}

// direction is one direction of travel. Senders own everything before the
// queue, the delivering goroutine what comes out of it.
type direction struct {
	dir      Direction
	cable    *Cable
	from, to sim.Port
	queue    *fifo.Queue
	wait     bool // senders wait for space
	maxFrame int
	impair   *impairer // nil for a good cable
	pause    *pauser   // nil without flow control
	stats    counters
	// inside is set while the receiving port has a frame, for Close's error.
	inside atomic.Bool
}

// Connect plugs a cable into ports a and b. nil options are the defaults. Ports
// that implement sim.LinkPort see the link come up.
func Connect(a, b sim.Port, o *Options) *Cable {
	if o == nil {
		o = &Options{}
	}
	c := &Cable{taps: o.Taps, manual: o.Manual}
	c.dirs[AToB] = newDirection(c, AToB, a, b, o, o.AToB)
	c.dirs[BToA] = newDirection(c, BToA, b, a, o, o.BToA)
	c.up.Store(true)
	for _, d := range c.dirs {
		d.from.OnTransmit(d.send)
		if !c.manual {
			c.workers.Go(d.work)
		}
	}
	link := o.Link
	if link == (mac.Link{}) {
		link = mac.Link{Up: true, Speed: 1000, FullDuplex: true, TXPause: o.FlowControl}
	}
	c.SetLink(link)
	return c
}

func newDirection(c *Cable, dir Direction, from, to sim.Port, o *Options, im Impairments) *direction {
	d := &direction{dir: dir, cable: c, from: from, to: to, wait: !o.Drop && !o.Manual, maxFrame: o.MaxFrame}
	if d.maxFrame <= 0 {
		d.maxFrame = defaultMaxFrame
	}
	depth := o.Depth
	if depth <= 0 {
		depth = defaultDepth
	}
	d.queue = fifo.New(depth, batch)
	if o.FlowControl {
		d.pause = newPauser(o.Clock)
	}
	if im.enabled() {
		d.impair = newImpairer(d, im, depth, o.Clock)
	}
	return d
}

// SetLink tells ports that implement sim.LinkPort about the link. While it is
// down the cable loses every frame that is sent; those queued still arrive.
func (c *Cable) SetLink(link mac.Link) {
	c.up.Store(link.Up)
	c.speed.Store(int64(link.Speed))
	for _, d := range c.dirs {
		if d.pause != nil && !link.Up {
			d.pause.pause(0)
		}
		if p, ok := d.from.(sim.LinkPort); ok {
			p.SetLink(link)
		}
	}
}

// send is the transmit function of the port that d leads from.
func (d *direction) send(frame []byte) {
	if back := d.cable.dirs[d.dir^1]; back.pause != nil {
		if t, ok := pauseTime(frame, int(d.cable.speed.Load())); ok {
			d.stats.pauses.Add(1)
			back.pause.pause(t)
			return
		}
	}
	switch {
	case len(frame) > d.maxFrame:
		d.stats.tooLong.Add(1)
	case !d.cable.up.Load():
		d.stats.linkDown.Add(1)
	case d.impair != nil:
		d.impair.send(frame)
	default:
		d.put(frame, d.wait)
	}
}

func (d *direction) put(frame []byte, wait bool) {
	ok, waited := d.queue.Put(frame, wait)
	if waited {
		d.stats.waited.Add(1)
	}
	if ok {
		d.stats.queued.Add(1)
	} else {
		d.stats.dropped.Add(1)
	}
}

// work delivers frames until the queue is closed.
func (d *direction) work() {
	for {
		frames := d.queue.Next(batch, true)
		if len(frames) == 0 {
			return
		}
		d.deliver(frames)
	}
}

func (d *direction) deliver(frames [][]byte) {
	bytes := 0
	d.inside.Store(true)
	for _, frame := range frames {
		if d.pause != nil {
			d.pause.wait()
		}
		for _, tap := range d.cable.taps {
			tap(d.dir, frame)
		}
		d.to.Deliver(frame)
		bytes += len(frame)
	}
	d.inside.Store(false)
	d.stats.delivered.Add(uint64(len(frames)))
	d.stats.bytes.Add(uint64(bytes))
}

// Step delivers one queued frame of a manual cable and reports whether there was
// one. The directions take turns, a to b first, as far as both have frames and no
// pause. It does nothing on a cable that is not manual, and when called from inside
// a Deliver that Step itself has called.
func (c *Cable) Step() bool {
	if !c.manual || !c.stepping.CompareAndSwap(false, true) {
		return false
	}
	defer c.stepping.Store(false)
	for range c.dirs {
		d := c.dirs[c.next]
		c.next ^= 1
		if d.pause != nil && d.pause.paused() {
			continue
		}
		frames := d.queue.Next(1, false)
		if len(frames) == 0 && d.impair != nil && d.impair.releaseHeld() {
			frames = d.queue.Next(1, false)
		}
		if len(frames) > 0 {
			d.deliver(frames)
			return true
		}
	}
	return false
}

// Run steps until the cable is quiet and returns how many frames it delivered.
// It fails when there are still frames after limit steps: two ports that answer
// each other for ever would not end otherwise.
func (c *Cable) Run(limit int) (int, error) {
	for n := range limit {
		if !c.Step() {
			return n, nil
		}
	}
	if n := c.dirs[AToB].queue.Len() + c.dirs[BToA].queue.Len(); n > 0 {
		return limit, fmt.Errorf("cable: run: %d frames still queued after %d steps: raise the limit, or look for ports that answer each other", n, limit)
	}
	return limit, nil
}

// Close unplugs the cable: both ports lose their transmit function and link,
// senders that wait return, frames that are queued are lost and the goroutines
// end. It may be called more than once.
//
// A port that does not return from Deliver, OnTransmit or SetLink within two
// seconds makes Close return an error. The goroutine that is inside the port
// ends when the port returns.
func (c *Cable) Close() error {
	c.close.Do(func() { c.closeErr = c.unplug() })
	return c.closeErr
}

func (c *Cable) unplug() error {
	// The queues first: a port may hold a lock of its own while its transmit
	// function waits in here.
	for _, d := range c.dirs {
		d.stats.discarded.Add(uint64(d.queue.Close()))
		if d.impair != nil {
			d.stats.discarded.Add(uint64(d.impair.close()))
		}
		if d.pause != nil {
			d.pause.end()
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, d := range c.dirs {
			d.from.OnTransmit(nil)
		}
		c.SetLink(mac.Link{})
		c.workers.Wait()
	}()
	timeout := time.NewTimer(closeWait)
	defer timeout.Stop()
	select {
	case <-done:
		return nil
	case <-timeout.C:
	}
	for _, d := range c.dirs {
		if d.inside.Load() {
			return fmt.Errorf("cable: close: the port at the end of %v has not returned from Deliver in %v: its Deliver must not wait for ever", d.dir, closeWait)
		}
	}
	return fmt.Errorf("cable: close: a port has not returned from OnTransmit or SetLink in %v: they must not wait for ever", closeWait)
}
