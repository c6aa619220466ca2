package mac

import (
	"context"
	"errors"
	"fmt"
)

// Start posts the receive rings and starts the device. It does nothing when the
// device runs already. Functions of OnLink are called by another goroutine: Start
// may be called with a lock held that they need, as netstack does.
func (d *Device) Start() error {
	if ok, err := d.startable(); !ok {
		return err
	}
	d.transition.Lock()
	err := d.start()
	d.transition.Unlock()
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.updateLink()
	d.mu.Unlock()
	d.wakeMonitor() // which tells the listeners
	return nil
}

// startable reports whether the device waits to be started.
func (d *Device) startable() (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == closed {
		return false, fmt.Errorf("mac: %s: start: %w", d.cfg.Name, ErrClosed)
	}
	return d.state == opened, nil
}

// start is Start for a caller that holds transition.
func (d *Device) start() error {
	if ok, err := d.startable(); !ok {
		return err
	}
	d.acquireAll()
	err := d.startDMA()
	d.releaseAll()
	if err != nil {
		return fmt.Errorf("mac: %s: %w", d.cfg.Name, err)
	}
	if !d.change(opened, running) {
		return fmt.Errorf("mac: %s: start: %w", d.cfg.Name, ErrClosed)
	}
	d.wg.Add(2)
	go d.serveInterrupts(d.irq)
	go d.monitor()
	return nil
}

// change moves from one state to the next, unless the device has been closed
// meanwhile.
func (d *Device) change(from, to deviceState) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != from {
		return false
	}
	d.state = to
	return true
}

// acquireAll takes the receive sides of all queues, releaseAll gives them back.
func (d *Device) acquireAll() {
	for _, q := range d.queues {
		q.setDown(true)
		q.acquire()
	}
}

func (d *Device) releaseAll() {
	for _, q := range d.queues {
		q.release()
	}
}

// startDMA posts all receive rings and starts the core. The receive sides are
// the device's.
func (d *Device) startDMA() error {
	for _, q := range d.queues {
		q.applySettings()
		q.Refill()
		q.Publish()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.core.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.info.Core, err)
	}
	return nil
}

// Close stops the device: the MAC, then DMA, proved idle, then everything it
// holds. The poll goroutines have ended or end on their own at the next
// Checkpoint. It waits Config.CloseTimeout for pages that the stack still holds;
// the error then wraps a *pagepool.LentError with their number, and that memory
// stays mapped. When DMA cannot be proved idle even by a reset, the error wraps
// ErrNotIdle and all its memory is kept for ever.
//
// A second call waits for the first and returns what that did.
func (d *Device) Close() error {
	d.closing.Do(func() {
		if err := d.close(); err != nil {
			d.closeErr = fmt.Errorf("mac: close %s: %w", d.cfg.Name, err)
		}
		d.cfg.Logger.Info("device closed", "device", d.cfg.Name, "err", d.closeErr)
	})
	return d.closeErr
}

func (d *Device) close() error {
	// From here on neither Start nor a repair begins.
	d.mu.Lock()
	d.state = closed
	d.mu.Unlock()
	close(d.quit)

	d.transition.Lock()
	d.acquireAll()
	d.mu.Lock()
	err := d.stopDMA(context.Background())
	d.core.Counters(&d.counters)
	d.mu.Unlock()
	if ierr := d.irq.Close(); ierr != nil {
		err = errors.Join(err, fmt.Errorf("close interrupt: %w", ierr))
	}
	d.irq = nil
	d.transition.Unlock() // the monitor may be waiting for it
	d.wg.Wait()
	d.linkNow.Store(&Link{})
	d.mdio.close()

	if errors.Is(err, ErrNotIdle) {
		d.cfg.Logger.Error("DMA does not stop; its memory is kept", "device", d.cfg.Name, "err", err)
		err = errors.Join(err, d.bus.Close())
	} else {
		for _, q := range d.queues {
			q.resetRings()
		}
		err = errors.Join(err, d.free())
	}
	for _, q := range d.queues {
		q.gone.Store(true)
	}
	d.releaseAll()
	return err
}

// stopDMA stops the core, by reset if need be.
func (d *Device) stopDMA(ctx context.Context) error {
	err := d.core.Stop()
	d.reapAll()
	if err == nil {
		return nil
	}
	d.cfg.Logger.Warn("stop failed; resetting", "device", d.cfg.Name, "err", err)
	if rerr := d.core.Reset(ctx); rerr != nil {
		return fmt.Errorf("stop: %w; then %w", err, errors.Join(rerr, ErrNotIdle))
	}
	return nil
}

// free releases all memory of a device that does no DMA, and the bus. The
// receive sides are the device's.
func (d *Device) free() error {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.CloseTimeout)
	defer cancel()
	d.mdio.close()
	var errs []error
	for _, q := range d.queues {
		if q.Pool != nil {
			errs = append(errs, q.Pool.Close(ctx))
			if q.RX != nil {
				q.Publish() // pages came home while Close waited
			}
		}
	}
	for _, m := range d.memory {
		errs = append(errs, m.Release())
	}
	if d.irq != nil {
		errs = append(errs, d.irq.Close())
	}
	errs = append(errs, d.bus.Close())
	return errors.Join(errs...)
}
