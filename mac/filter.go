package mac

import (
	"fmt"
	"maps"
	"slices"
)

// groups counts how often each address was joined.
type groups map[HardwareAddr]int

func (g groups) sorted() []HardwareAddr {
	s := make([]HardwareAddr, 0, len(g))
	for a := range g {
		s = append(s, a)
	}
	slices.SortFunc(s, func(a, b HardwareAddr) int { return slices.Compare(a[:], b[:]) })
	return s
}

// filterState is what the users of a device want it to receive. It starts with
// every group passing, since netstack tells a link endpoint nothing of groups;
// the first JoinGroup ends that. Guarded by Device.mu.
type filterState struct {
	multicast, unicast groups
	allMulticast       bool // asked for by SetAllMulticast
	told               bool // somebody joins groups
	promiscuous        bool
}

func (f *filterState) filter() Filter {
	return Filter{
		Unicast:      f.unicast.sorted(),
		Multicast:    f.multicast.sorted(),
		AllMulticast: f.allMulticast || !f.told,
		Promiscuous:  f.promiscuous,
	}
}

// JoinGroup lets frames for a group address through. Joins are counted: the
// group is left when LeaveGroup was called as often. The first JoinGroup of a
// device ends its initial state of passing every group. Like every method of
// Device that changes the filter it may be called from any goroutine, also while
// frames flow.
func (d *Device) JoinGroup(a HardwareAddr) error {
	if !a.Multicast() {
		return fmt.Errorf("mac: join %s: not a group address: %w", a, ErrConfig)
	}
	return d.changeFilter(func(f *filterState) error {
		f.told = true
		f.multicast[a]++
		return nil
	})
}

// LeaveGroup takes back one JoinGroup.
func (d *Device) LeaveGroup(a HardwareAddr) error {
	return d.changeFilter(func(f *filterState) error { return f.multicast.leave(a) })
}

// AddUnicast lets frames for one more station address through, with counts as in
// JoinGroup. RemoveUnicast takes it back.
func (d *Device) AddUnicast(a HardwareAddr) error {
	if !a.Usable() {
		return fmt.Errorf("mac: add %s: not a station address: %w", a, ErrConfig)
	}
	return d.changeFilter(func(f *filterState) error {
		f.unicast[a]++
		return nil
	})
}

// RemoveUnicast takes back one AddUnicast.
func (d *Device) RemoveUnicast(a HardwareAddr) error {
	return d.changeFilter(func(f *filterState) error { return f.unicast.leave(a) })
}

// SetAllMulticast passes every group, or only those joined.
func (d *Device) SetAllMulticast(on bool) error {
	return d.changeFilter(func(f *filterState) error {
		f.told, f.allMulticast = true, on
		return nil
	})
}

// SetPromiscuous passes every frame on the wire.
func (d *Device) SetPromiscuous(on bool) error {
	return d.changeFilter(func(f *filterState) error {
		f.promiscuous = on
		return nil
	})
}

// Filter is what the device lets through now.
func (d *Device) Filter() Filter {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.filter.filter()
}

func (g groups) leave(a HardwareAddr) error {
	if g[a] == 0 {
		return fmt.Errorf("mac: leave %s: not joined: %w", a, ErrConfig)
	}
	if g[a]--; g[a] == 0 {
		delete(g, a)
	}
	return nil
}

// changeFilter changes the filter, or nothing when the change or the core fails.
func (d *Device) changeFilter(change func(*filterState) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == closed {
		return fmt.Errorf("mac: %s: change filter: %w", d.cfg.Name, ErrClosed)
	}
	next := d.filter
	next.multicast, next.unicast = maps.Clone(next.multicast), maps.Clone(next.unicast)
	if err := change(&next); err != nil {
		return err
	}
	if err := d.core.SetFilter(next.filter()); err != nil {
		return fmt.Errorf("mac: %s: program filter: %w", d.cfg.Name, err)
	}
	d.filter = next
	d.storeAcceptance()
	return nil
}
