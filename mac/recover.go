package mac

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// monitorPeriod is how often the monitor looks at link, counters and the
// transmit watchdog. 32-bit octet counters wrap in 3.4 s at 10 Gbit/s.
const monitorPeriod = time.Second

// serveInterrupts turns interrupts into wake-ups, until the line is closed.
func (d *Device) serveInterrupts(irq Interrupt) {
	defer d.wg.Done()
	for {
		if err := irq.Wait(); err != nil {
			d.interruptsEnded(err)
			return
		}
		d.dispatch(d.core.Interrupt())
		if err := irq.Rearm(); err != nil {
			d.interruptsEnded(err)
			return
		}
	}
}

func (d *Device) interruptsEnded(err error) {
	if !errors.Is(err, os.ErrClosed) {
		d.cfg.Logger.Error("interrupts lost", "device", d.cfg.Name, "err", err)
	}
}

// dispatch wakes those whom an interrupt is for.
func (d *Device) dispatch(ev Events) {
	for _, q := range d.queues {
		bit := uint32(1) << q.index
		if ev.Starved&bit != 0 {
			q.starves.Add(1)
			q.starved.Store(true)
		}
		if ev.RX&bit != 0 {
			q.rxIRQs.Add(1)
			q.notify()
		}
		if ev.TX&bit != 0 {
			q.txIRQs.Add(1)
			q.txReady()
		}
	}
	if ev.Unknown != 0 {
		d.cfg.Logger.Warn("unknown interrupt causes masked", "device", d.cfg.Name, "causes", fmt.Sprintf("%#x", ev.Unknown))
	}
	if ev.Fatal != 0 {
		d.fatal.Or(ev.Fatal)
	}
	if ev.TXStopped != 0 {
		d.halted.Or(ev.TXStopped)
	}
	if ev.Fatal|ev.TXStopped != 0 || ev.Link {
		d.wakeMonitor()
	}
}

// monitor repairs the device and follows its link until Close.
func (d *Device) monitor() {
	defer d.wg.Done()
	ticker := time.NewTicker(monitorPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-d.quit:
			return
		case <-d.events:
			d.repair(nil)
		case now := <-ticker.C:
			d.watch(now)
		}
		d.followLink()
	}
}

// watch is the monitor's periodic work.
func (d *Device) watch(now time.Time) {
	d.mu.Lock()
	if d.state == running {
		d.core.Counters(&d.counters)
	}
	d.mu.Unlock()
	var stuck *Queue
	for _, q := range d.queues {
		q.notify() // an interrupt that was lost costs a period, not the queue
		if q.stuck(now, d.cfg.TXTimeout) {
			stuck = q
		}
	}
	d.repair(stuck)
}

// repair resets the device when an interrupt or the watchdog has found a reason,
// or when the last reset failed.
func (d *Device) repair(stuck *Queue) {
	d.transition.Lock()
	defer d.transition.Unlock()
	reason, again := d.beginRepair(stuck)
	if reason == "" {
		return
	}
	err := d.reset()
	if err == nil {
		d.change(repairing, running)
		d.cfg.Logger.Warn("device reset", "device", d.cfg.Name, "reason", reason)
		return
	}
	if !again { // once, not every period
		d.cfg.Logger.Error("device reset failed; trying again", "device", d.cfg.Name, "reason", reason, "err", err)
	}
	d.mu.Lock()
	d.recovers.Failed++
	d.mu.Unlock()
}

// beginRepair takes the reasons for a repair and counts them. Without one it
// returns "". again says that the last repair failed.
func (d *Device) beginRepair(stuck *Queue) (reason string, again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != running && d.state != repairing {
		return "", false
	}
	again = d.state == repairing
	fatal, halted := d.fatal.Swap(0), d.halted.Swap(0)
	switch {
	case fatal != 0:
		d.recovers.FatalBusError++
		reason = "fatal bus error"
	case halted != 0:
		d.recovers.TXStopped++
		reason = "transmit DMA stopped"
	case stuck != nil:
		d.recovers.TXTimeout++
		reason = "transmit timeout"
	case again:
		reason = "earlier reset failed"
	default:
		return "", false
	}
	d.state = repairing
	return reason, again
}

// reset stops and resets the core and programs everything again: rings, filter,
// address, coalescing. The stack's connections live on; frames in flight are
// lost. When the core does not come out of reset, everything it was given stays
// posted, so that no memory it may still write to is used for anything else. The
// caller holds transition.
func (d *Device) reset() error {
	d.acquireAll()
	defer d.releaseAll()
	d.mu.Lock()
	d.core.Counters(&d.counters)
	if err := d.core.Stop(); err != nil {
		d.cfg.Logger.Debug("stop before reset", "device", d.cfg.Name, "err", err)
	}
	d.reapAll()
	err := d.core.Reset(context.Background())
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("reset %s: %w", d.info.Core, err)
	}
	for _, q := range d.queues {
		q.resetRings()
	}
	d.mu.Lock()
	err = d.program()
	if err == nil {
		_, err = d.programWatchdogs(d.watchdog)
	}
	if err == nil {
		err = d.programFrames(int(d.queues[0].every.Load()))
	}
	d.link.stale = true
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return d.startDMA()
}

// reapAll finds out what was sent before a reset makes the core forget it: what
// is left in the rings counts as dropped.
func (d *Device) reapAll() {
	for _, q := range d.queues {
		q.tx.Lock()
		for q.tx.ring.Reap() > 0 {
		}
		q.tx.Unlock()
	}
}

// resetRings takes everything back from a device that was stopped. The receive
// side is the device's.
func (q *Queue) resetRings() {
	q.RX.Reset()
	q.tx.Lock()
	lost := q.tx.ring.Reset()
	q.tx.Unlock()
	q.CountTXDrop(lost)
	q.starved.Store(false)
	q.Publish()
}
