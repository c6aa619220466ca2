package mac

import (
	"fmt"

	"github.com/barewire/barewire/ring"
)

// Link is the state of the link now.
func (d *Device) Link() Link { return *d.linkNow.Load() }

// OnLink has f called with the link now and after each change. f is called by
// one goroutine at a time and may call any method of Device but Close.
func (d *Device) OnLink(f func(Link)) {
	d.mu.Lock()
	d.onLink = append(d.onLink, f)
	d.mu.Unlock()
	f(d.Link())
}

// followLink reads the link and passes a change on: to the core, to the queues
// and to whoever asked.
func (d *Device) followLink() {
	d.mu.Lock()
	if d.state != running {
		d.mu.Unlock()
		return
	}
	link := d.cfg.Link
	if link == (Link{}) {
		link, _ = d.core.Link()
	}
	if !link.Up {
		link = Link{}
	}
	if d.cfg.NoPause || !link.FullDuplex {
		link.RXPause, link.TXPause = false, false
	}
	if link == d.Link() {
		d.mu.Unlock()
		return
	}
	err := d.core.SetLink(link)
	if err != nil {
		link = Link{}
	}
	d.linkNow.Store(&link)
	calls := d.onLink
	d.mu.Unlock()

	for _, q := range d.queues {
		q.setDown(!link.Up)
	}
	d.cfg.Logger.Info("link", "device", d.cfg.Name, "state", link.String(), "err", err)
	for _, f := range calls {
		f(link)
	}
}

// Coalesce is the coalescing in force: RXUsecs is what the hardware really uses.
func (d *Device) Coalesce() ring.Coalesce { return *d.coalesce.Load() }

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

// applyCoalesce programs c and has the owners of rings take it over.
func (d *Device) applyCoalesce(c ring.Coalesce) error {
	if c.RXUsecs > 0 && d.info.Watchdog {
		actual, err := d.core.SetWatchdog(0, c.RXUsecs)
		if err != nil {
			return err
		}
		c.RXUsecs = actual
	}
	if err := d.programWatchdogs(c); err != nil {
		return err
	}
	every := c.RXFrames
	if every == 0 && (c.RXUsecs == 0 || !d.info.Watchdog) {
		every = 1 // or nothing would ever interrupt
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

// programWatchdogs writes the receive watchdogs. It leaves the last one running
// when RXUsecs is 0: slots posted before may carry no interrupt request.
func (d *Device) programWatchdogs(c ring.Coalesce) error {
	if !d.info.Watchdog || c.RXUsecs == 0 {
		return nil
	}
	for _, q := range d.queues {
		if _, err := d.core.SetWatchdog(q.index, c.RXUsecs); err != nil {
			return err
		}
	}
	return nil
}
