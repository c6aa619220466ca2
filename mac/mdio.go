package mac

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// MDIO is the bus to the PHYs, nil when the core has none. After Close its accesses
// fail with ErrClosed.
func (d *Device) MDIO() MDIO {
	if d.mdio.bus == nil {
		return nil
	}
	return &d.mdio
}

// PHY is what Config.PHY has returned, nil when no PHY is followed.
func (d *Device) PHY() PHY { return d.phy }

// PollLink has the link read now, rather than within a second: for interrupts of a
// PHY that do not come through the core. It does not wait.
func (d *Device) PollLink() { d.wakeMonitor() }

// wakeMonitor has the monitor repair what is broken and read the link.
func (d *Device) wakeMonitor() {
	select {
	case d.events <- struct{}{}:
	default:
	}
}

// mdioGate is the MDIO bus of a core until the device's registers go.
type mdioGate struct {
	bus MDIO

	mu   sync.RWMutex
	shut bool
}

var _ MDIO = (*mdioGate)(nil)

// close waits for the accesses under way, each of which is bounded.
func (g *mdioGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

func (g *mdioGate) enter() error {
	g.mu.RLock()
	if g.shut {
		g.mu.RUnlock()
		return fmt.Errorf("mac: MDIO: %w", ErrClosed)
	}
	return nil
}

// Read implements MDIO.Read.
func (g *mdioGate) Read(phy, reg int) (uint16, error) {
	if err := g.enter(); err != nil {
		return 0, err
	}
	defer g.mu.RUnlock()
	return g.bus.Read(phy, reg)
}

// Write implements MDIO.Write.
func (g *mdioGate) Write(phy, reg int, v uint16) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.RUnlock()
	return g.bus.Write(phy, reg, v)
}

// Read45 implements MDIO.Read45.
func (g *mdioGate) Read45(phy, dev int, reg uint16) (uint16, error) {
	if err := g.enter(); err != nil {
		return 0, err
	}
	defer g.mu.RUnlock()
	return g.bus.Read45(phy, dev, reg)
}

// Write45 implements MDIO.Write45.
func (g *mdioGate) Write45(phy, dev int, reg, v uint16) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.RUnlock()
	return g.bus.Write45(phy, dev, reg, v)
}

// openReset resets the core. Where that does not end, the PHY may be powered down
// and give no clock: it is opened first then, which wakes it.
func (d *Device) openReset(ctx context.Context) error {
	err := d.core.Reset(ctx)
	if errors.Is(err, ErrReset) && d.followsPHY() {
		if perr := d.openPHY(ctx); perr != nil {
			return errors.Join(fmt.Errorf("reset %s: %w", d.info.Core, err), perr)
		}
		err = d.core.Reset(ctx)
	}
	if err != nil {
		return fmt.Errorf("reset %s: %w", d.info.Core, err)
	}
	return nil
}

// openLink makes sure that somebody says what the link is.
func (d *Device) openLink(ctx context.Context) error {
	if d.followsPHY() && d.phy == nil {
		return d.openPHY(ctx)
	}
	if _, ok := d.core.Link(); !ok && d.cfg.Link == (Link{}) && d.phy == nil {
		return fmt.Errorf("%s knows no link state by itself: give its PHY as Config.PHY or the fixed link as Config.Link: %w", d.info.Core, ErrConfig)
	}
	return nil
}

func (d *Device) followsPHY() bool {
	if d.cfg.PHY == nil || d.cfg.Link != (Link{}) {
		return false
	}
	if !d.cfg.PHYFallback || len(wiringOf(d.bus).PHYs) > 0 {
		return true
	}
	_, known := d.core.Link()
	return !known
}

func (d *Device) openPHY(ctx context.Context) error {
	p, err := d.cfg.PHY(ctx, d.MDIO(), wiringOf(d.bus))
	if err != nil {
		return fmt.Errorf("open the PHY: %w", err)
	}
	d.phy = p
	return nil
}

// readPHY reads the PHY's link for readLink, with no lock held: MDIO is slow.
func (d *Device) readPHY() {
	if d.phy == nil {
		return
	}
	link, err := d.phy.Link()
	if err != nil {
		link = Link{}
	}
	d.mu.Lock()
	lost := d.link.phy.Up && !link.Up
	again := err != nil && d.link.phyFailed
	d.link.phy, d.link.phyFailed = link, err != nil
	if err != nil {
		d.link.phyErrors++
	}
	d.mu.Unlock()
	switch {
	case err != nil && !again: // once, not every period
		d.cfg.Logger.Error("PHY does not say what the link is; taking it for down", "device", d.cfg.Name, "err", err)
	case lost:
		d.wakeMonitor() // it may have come back already
	}
}
