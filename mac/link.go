package mac

import (
	"fmt"
	"slices"
	"time"

	"github.com/barewire/barewire/ring"
)

// linkState is what is to be remembered of the link. Guarded by Device.mu.
type linkState struct {
	// stale: the core does not have linkNow, since it was reset or refused it.
	stale bool
	// failed: the last SetLink did, and that was logged.
	failed bool
	// phy is what the PHY said last, phyFailed that it gave no answer, and
	// phyErrors how often.
	phy       Link
	phyFailed bool
	phyErrors uint64
	// listeners are told of changes by one goroutine at a time, which holds no
	// lock meanwhile; delivering says that there is one.
	listeners  []*linkListener
	delivering bool
}

type linkListener struct {
	f    func(Link)
	told *Link // nil: nothing yet
}

// Link is the state of the link now. It is down while the device is closed or a
// reset has failed.
func (d *Device) Link() Link { return *d.linkNow.Load() }

// OnLink has f called with the link now and after each change, until Close. f is
// called by one goroutine at a time, with no lock held, and the last call is
// about the last change. It may call any method of Device but Close.
func (d *Device) OnLink(f func(Link)) {
	d.mu.Lock()
	d.link.listeners = append(d.link.listeners, &linkListener{f: f})
	d.mu.Unlock()
	d.tellLink()
}

// followLink reads the link and passes a change on: to the core, to the queues
// and to whoever asked.
func (d *Device) followLink() {
	d.readPHY()
	d.mu.Lock()
	d.updateLink()
	d.mu.Unlock()
	d.tellLink()
}

// updateLink is followLink for core and queues. The caller holds mu, so that a
// queue is never opened to senders when the device has been closed or is being
// reset: both change the state first and shut the queues afterwards.
func (d *Device) updateLink() {
	link, before := Link{}, d.Link()
	switch d.state {
	case running:
		link = d.readLink()
	case repairing: // down until a reset succeeds
	default:
		return
	}
	if link == before && !d.link.stale {
		return
	}
	if d.state == running {
		err := d.core.SetLink(link)
		if err != nil {
			if !d.link.failed {
				d.cfg.Logger.Error("link refused; trying again", "device", d.cfg.Name, "link", link.String(), "err", err)
			}
			link = Link{}
		}
		d.link.stale, d.link.failed = err != nil, err != nil
	}
	d.linkNow.Store(&link)
	for _, q := range d.queues {
		q.setDown(!link.Up)
	}
	if link != before {
		d.cfg.Logger.Info("link", "device", d.cfg.Name, "state", link.String())
	}
}

// readLink is the link that Config, the PHY or the core says there is. The caller
// holds mu.
func (d *Device) readLink() Link {
	link := d.cfg.Link
	switch {
	case link != (Link{}):
	case d.phy != nil:
		link = d.link.phy
	default:
		link, _ = d.core.Link()
	}
	if !link.Up {
		return Link{}
	}
	if d.cfg.NoPause || !link.FullDuplex {
		link.RXPause, link.TXPause = false, false
	}
	return link
}

// tellLink calls those who have not heard of the link now. When somebody is at
// it already, that one does it.
func (d *Device) tellLink() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.link.delivering {
		return
	}
	d.link.delivering = true
	for {
		link := d.linkNow.Load()
		i := slices.IndexFunc(d.link.listeners, func(l *linkListener) bool { return l.told == nil || *l.told != *link })
		if i < 0 {
			break
		}
		l := d.link.listeners[i]
		l.told = link
		d.mu.Unlock()
		l.f(*link)
		d.mu.Lock()
	}
	d.link.delivering = false
}

// Coalesce is the coalescing in force: RXUsecs is what the hardware's watchdog
// really uses, and RXFrames is 1 when it interrupts for every frame.
func (d *Device) Coalesce() ring.Coalesce { return *d.coalesce.Load() }

// PollDelay is how long the poll goroutine waits, with interrupts masked, before
// it looks again after a pass that found frames: PollUsecs, and on a core without
// a receive watchdog RXUsecs if that is longer.
func (d *Device) PollDelay() time.Duration {
	c := d.coalesce.Load()
	usecs := c.PollUsecs
	if !d.info.Watchdog {
		usecs = max(usecs, c.RXUsecs)
	}
	return time.Duration(usecs) * time.Microsecond
}

// SetCoalesce changes coalescing of all queues while traffic flows. On error
// nothing has changed. Slots that are posted keep the interrupt request they
// were posted with.
func (d *Device) SetCoalesce(c ring.Coalesce) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("mac: %s: %w", d.cfg.Name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == closed {
		return fmt.Errorf("mac: %s: set coalescing: %w", d.cfg.Name, ErrClosed)
	}
	if err := d.applyCoalesce(c); err != nil {
		return fmt.Errorf("mac: %s: %w", d.cfg.Name, err)
	}
	return nil
}

// applyCoalesce programs c and has the owners of rings take it over. The caller
// holds mu.
func (d *Device) applyCoalesce(c ring.Coalesce) error {
	actual, err := d.programWatchdogs(c.RXUsecs)
	if err != nil {
		return err
	}
	d.watchdog = c.RXUsecs
	if d.info.Watchdog {
		c.RXUsecs = actual
	}
	if d.info.EveryFrame {
		c.RXFrames = 1
	}
	every := c.RXFrames
	if every == 0 && (c.RXUsecs == 0 || !d.info.Watchdog) {
		every = 1 // or nothing would ever interrupt
	}
	if err := d.programFrames(every); err != nil {
		return err
	}
	for _, q := range d.queues {
		q.every.Store(int32(every))
		q.tx.Lock()
		q.tx.ring.SetMarkFrames(c.TXFrames)
		q.tx.Unlock()
		q.notify()
	}
	d.coalesce.Store(&c)
	return nil
}

// programWatchdogs writes the receive watchdogs and returns what the hardware
// makes of usecs, 0 when it has no watchdog. It leaves the last one running when
// usecs is 0: slots posted before may carry no interrupt request.
func (d *Device) programWatchdogs(usecs int) (actual int, err error) {
	if !d.info.Watchdog || usecs == 0 {
		return 0, nil
	}
	for _, q := range d.queues {
		if actual, err = d.core.SetWatchdog(q.index, usecs); err != nil {
			return 0, err
		}
	}
	return actual, nil
}

// programFrames tells a core that counts frames at how many to interrupt.
func (d *Device) programFrames(every int) error {
	core, ok := d.core.(FrameCoalescer)
	if !ok {
		return nil
	}
	for _, q := range d.queues {
		if err := core.SetRXFrames(q.index, every); err != nil {
			return err
		}
	}
	return nil
}
