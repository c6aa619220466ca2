package phy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/mii"
)

// Modes is a set of speeds with their duplex.
type Modes = mii.Modes

// The modes that twisted pair negotiates. 2500 Mbit/s and up are full duplex.
const (
	Mode10Half   = mii.Mode10Half
	Mode10Full   = mii.Mode10Full
	Mode100Half  = mii.Mode100Half
	Mode100Full  = mii.Mode100Full
	Mode1000Half = mii.Mode1000Half
	Mode1000Full = mii.Mode1000Full
	Mode2500     = mii.Mode2500
	Mode5000     = mii.Mode5000
	Mode10000    = mii.Mode10000

	// UpTo100 and UpTo1000 are what Fast and Gigabit Ethernet have in use: half
	// duplex at 1000 Mbit/s is in the standard and nowhere else.
	UpTo100  = Mode10Half | Mode10Full | Mode100Half | Mode100Full
	UpTo1000 = UpTo100 | Mode1000Full
)

// Pause is what the partner is offered of flow control (802.3 annex 28B.2).
type Pause uint8

const (
	// PauseAny offers everything: pause frames both ways, or only towards us.
	PauseAny Pause = iota
	// PauseNone offers nothing.
	PauseNone
	// PauseSymmetric offers pause frames both ways or not at all.
	PauseSymmetric
	// PauseTransmit offers to send pause frames, but not to obey any.
	PauseTransmit
)

func (p Pause) bits() uint16 {
	switch p {
	case PauseNone:
		return 0
	case PauseSymmetric:
		return mii.ANPause
	case PauseTransmit:
		return mii.ANAsymPause
	}
	return mii.ANPause | mii.ANAsymPause
}

// Scan as an address looks for the PHY: there must be exactly one.
const Scan = -1

// resetLimit bounds a reset, which 802.3 gives half a second (22.2.4.1.1).
const resetLimit = 600 * time.Millisecond

// Options says which PHY it is and what to do with it.
type Options struct {
	// Address is the PHY's on the bus, 0 to 31, or Scan.
	Address int
	// Modes is what the partner is offered, as far as the PHY can do it: leave out
	// what the MAC or the wiring between the two cannot. 0: all that the PHY can,
	// but half duplex at 1000 Mbit/s.
	Modes Modes
	// Pause is what the partner is offered of flow control. With mac.Config.NoPause
	// it should be PauseNone.
	Pause Pause
	// Force has the link not negotiated: Modes is then the one mode of 10 or 100
	// Mbit/s that is used. The partner must be set to the same, or takes half
	// duplex.
	Force bool
	// Reset resets the PHY first. What firmware has set in vendor registers, RGMII
	// delays say, is lost.
	Reset bool
	// Setup, where it is set, is called before negotiation, each time that the PHY
	// may have lost its registers. It may use the PHY's Read, Write, Read45 and
	// Write45.
	Setup func(*PHY) error
}

// Counters counts what a PHY has been through.
type Counters struct {
	// Drops is how often a link that was up was lost, however shortly.
	Drops uint64
	// Errors is how often the PHY did not answer Link as a PHY does.
	Errors uint64
	// Restored is how often lost registers were set again.
	Restored uint64
}

// PHY is one PHY. Its methods may be called from any goroutine and take as long
// as the MDIO accesses they make.
type PHY struct {
	port
	id    uint32
	setup func(*PHY) error

	mu        sync.Mutex // a sequence of accesses, and what follows
	abilities uint16     // BMSR or Devices1, which do not change
	can       Modes
	gigabit   bool // GBCR and GBSR are there
	multi     bool // MGBTControl and MGBTStatus are
	eee       bool // EEEAdvertise is
	want      settings
	link      mac.Link
	suspect   bool // it did not answer: its registers may be lost
	kept      kept // what the registers held when they had been set
	count     Counters

	dropped atomic.Bool // somebody else has read that the link was lost
}

var _ mac.PHY = (*PHY)(nil)

// settings is what the PHY is to be set to.
type settings struct {
	modes Modes
	pause Pause
	force bool
	down  bool // powered down
}

// kept are the registers that tell whether a PHY has lost what it was set to.
type kept struct{ an, bmcr uint16 }

// At is for mac.Config.PHY: it opens the PHY of a device.
// With Scan it takes the address that the device tree gives, when it gives one.
func At(o Options) func(context.Context, mac.MDIO, mac.Wiring) (mac.PHY, error) {
	return func(ctx context.Context, bus mac.MDIO, w mac.Wiring) (mac.PHY, error) {
		o := o
		if o.Address == Scan && len(w.PHYs) == 1 {
			o.Address = w.PHYs[0]
		}
		p, err := Open(ctx, bus, o)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
}

// Open finds the PHY, powers it up and has it negotiate. A link that is up
// already as it should be is left up. The error wraps mac.ErrNoDevice when there
// is no PHY, mac.ErrConfig when Options cannot be met, and mac.ErrReset when a
// reset does not end.
func Open(ctx context.Context, bus mac.MDIO, o Options) (*PHY, error) {
	f, err := find(bus, o.Address)
	if err != nil {
		return nil, err
	}
	p := &PHY{port: newPort(bus, f.Address, f.Clause45), id: f.ID, setup: o.Setup}
	if o.Reset {
		if err := p.reset(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.readAbilities(); err != nil {
		return nil, err
	}
	if p.want, err = p.check(settings{modes: o.Modes, pause: o.Pause, force: o.Force}); err != nil {
		return nil, err
	}
	if _, err := p.restore(); err != nil {
		return nil, err
	}
	return p, nil
}

// Address is the PHY's address on the bus, ID its identifier.
func (p *PHY) Address() int { return p.addr }

// ID is manufacturer, model and revision (registers 2 and 3).
func (p *PHY) ID() uint32 { return p.id }

// Modes is what the PHY can do.
func (p *PHY) Modes() Modes { return p.can }

// Counters are the counts since Open.
func (p *PHY) Counters() Counters {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// Read reads clause 22 register reg, 0 to 31.
func (p *PHY) Read(reg int) (uint16, error) {
	v, err := p.read(reg)
	if reg == mii.BMSR && v&mii.BMSRLink == 0 && err == nil {
		p.dropped.Store(true) // Link will not see it any more
	}
	return v, err
}

// Write writes clause 22 register reg.
func (p *PHY) Write(reg int, v uint16) error { return p.write(reg, v) }

// Read45 reads clause 45 register reg of device dev.
func (p *PHY) Read45(dev int, reg uint16) (uint16, error) { return p.read45(dev, reg) }

// Write45 writes clause 45 register reg of device dev.
func (p *PHY) Write45(dev int, reg, v uint16) error { return p.write45(dev, reg, v) }

// reset resets the PHY and waits for the end of it.
func (p *PHY) reset(ctx context.Context) error {
	read := func() (uint16, error) { return p.read(mii.BMCR) }
	err := error(nil)
	if p.only45 {
		read = func() (uint16, error) { return p.read45(mii.DevPMA, mii.Control1) }
		err = p.write45(mii.DevPMA, mii.Control1, mii.Control1Reset)
	} else {
		err = p.write(mii.BMCR, mii.BMCRReset)
	}
	deadline := time.Now().Add(resetLimit)
	for err == nil {
		late := time.Now().After(deadline)
		var v uint16
		if v, err = read(); err == nil && v&mii.BMCRReset == 0 {
			return nil
		}
		if late {
			return fmt.Errorf("phy: address %d: PHY reset takes longer than %v: %w", p.addr, resetLimit, mac.ErrReset)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("phy: address %d: PHY reset: %w", p.addr, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return err
}

// readAbilities finds out what the PHY can do.
func (p *PHY) readAbilities() error {
	var status, extended uint16
	var err error
	if p.only45 {
		p.abilities, err = p.read45(mii.DevPMA, mii.Devices1)
	} else if status, err = p.read(mii.BMSR); err == nil {
		p.abilities = status & mii.BMSRAbilities
	}
	if err == nil && status&mii.BMSRExtended != 0 {
		extended, err = p.read(mii.ESR)
	}
	if err != nil {
		return err
	}
	p.can = decode(status, abilityBits) | decode(extended, extendedBits)
	p.gigabit = p.can&(Mode1000Half|Mode1000Full) != 0
	return p.readAbilities45()
}

// readAbilities45 is the part of them that is in clause 45 registers, where there
// are any: registers 13 and 14 of an older PHY read anything but this.
func (p *PHY) readAbilities45() error {
	devices, err := p.read45(mii.DevPMA, mii.Devices1)
	if err != nil {
		return err
	}
	const need = mii.HasPMA | mii.HasAN
	if devices == 0xffff || devices&need != need {
		return nil
	}
	ext, err := p.read45(mii.DevPMA, mii.PMAExtAbility)
	if err != nil {
		return err
	}
	var multi uint16
	if ext&mii.PMAExtMulti != 0 {
		if multi, err = p.read45(mii.DevPMA, mii.PMAMultiAbility); err != nil {
			return err
		}
	}
	high := decode(ext, pmaHighBits) | decode(multi, pmaMultiBits)
	p.can |= high
	if p.only45 {
		p.can |= decode(ext, pmaLowBits)
	}
	p.multi = high != 0
	if devices&mii.HasPCS == 0 {
		return nil
	}
	eee, err := p.read45(mii.DevPCS, mii.PCSEEEAbility)
	p.eee = eee != 0
	return err
}
