package dwmac

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
)

// mdioLimit bounds one access. A frame takes 64 cycles of MDC, 26 us at 2.5 MHz.
const mdioLimit = 10 * time.Millisecond

// MDIOOp is one transfer on the MDIO bus.
type MDIOOp struct {
	Write, Clause45 bool
	PHY             uint32
	// Device is the clause 45 device, Register the register of that or of
	// clause 22.
	Device, Register uint32
	Value            uint16 // to write
}

// MDIORegisters says how a core's station management is driven: one register is
// written with what belongs to a transfer, a second one starts it, and has a busy
// bit that says when it is over.
type MDIORegisters struct {
	First, Start, Data uint32 // Data holds what was read, in its lower half
	Busy               uint32
	// Encode is what First and Start are written with.
	Encode func(MDIOOp) (first, start uint32)
	// Prepare, where there is one, is called before each transfer.
	Prepare func(MDIOOp)
	// NoClause45 says that the core has clause 22 only.
	NoClause45 bool
	// Clause22PHYs is how many PHY addresses, from 0 on, clause 22 reaches. 0: all.
	Clause22PHYs int
}

// MDIO is the PHY management interface of a core. The registers do one access at a
// time, so mu is held for all of it, waits included.
type MDIO struct {
	core string // for errors
	regs mac.Registers
	at   MDIORegisters
	err  error

	mu sync.Mutex
}

var _ mac.MDIO = (*MDIO)(nil)

// NewMDIO returns the MDIO bus behind these registers. With err every access fails
// with it: there is no clock that would do, say.
func NewMDIO(core string, regs mac.Registers, at MDIORegisters, err error) *MDIO {
	return &MDIO{core: core, regs: regs, at: at, err: err}
}

func (m *MDIO) access(phy, dev, reg int, op MDIOOp) (uint16, error) {
	switch {
	case m.err != nil:
		return 0, m.err
	case phy < 0 || phy > 31 || dev < 0 || dev > 31 || reg < 0 || reg > 0xFFFF || !op.Clause45 && reg > 31:
		return 0, fmt.Errorf("%s: MDIO PHY %d, device %d, register %d: PHY and device go from 0 to 31, and so does a register of clause 22: %w", m.core, phy, dev, reg, mac.ErrConfig)
	case op.Clause45 && m.at.NoClause45:
		return 0, fmt.Errorf("%s: MDIO PHY %d: the core has clause 22 only: %w", m.core, phy, mac.ErrUnsupported)
	case !op.Clause45 && m.at.Clause22PHYs > 0 && phy >= m.at.Clause22PHYs:
		return 0, fmt.Errorf("%s: MDIO PHY %d: clause 22 reaches PHYs 0 to %d in this version of the core: %w", m.core, phy, m.at.Clause22PHYs-1, mac.ErrUnsupported)
	}
	op.PHY, op.Device, op.Register = uint32(phy), uint32(dev), uint32(reg)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(phy, reg); err != nil {
		return 0, err
	}
	if m.at.Prepare != nil {
		m.at.Prepare(op)
	}
	first, start := m.at.Encode(op)
	m.regs.Write32(m.at.First, first)
	m.regs.Write32(m.at.Start, start|m.at.Busy)
	if err := m.ready(phy, reg); err != nil || op.Write {
		return 0, err
	}
	return uint16(m.regs.Read32(m.at.Data)), nil
}

func (m *MDIO) ready(phy, reg int) error {
	idle := func(v uint32) bool { return v&m.at.Busy == 0 }
	if !Wait(context.Background(), m.regs, m.at.Start, mdioLimit, idle) {
		return fmt.Errorf("%s: MDIO PHY %d register %d: still busy after %v: is the application clock on?", m.core, phy, reg, mdioLimit)
	}
	return nil
}

// Read implements mac.MDIO.Read.
func (m *MDIO) Read(phy, reg int) (uint16, error) { return m.access(phy, 0, reg, MDIOOp{}) }

// Write implements mac.MDIO.Write.
func (m *MDIO) Write(phy, reg int, v uint16) error {
	_, err := m.access(phy, 0, reg, MDIOOp{Write: true, Value: v})
	return err
}

// Read45 implements mac.MDIO.Read45.
func (m *MDIO) Read45(phy, dev int, reg uint16) (uint16, error) {
	return m.access(phy, dev, int(reg), MDIOOp{Clause45: true})
}

// Write45 implements mac.MDIO.Write45.
func (m *MDIO) Write45(phy, dev int, reg uint16, v uint16) error {
	_, err := m.access(phy, dev, int(reg), MDIOOp{Clause45: true, Write: true, Value: v})
	return err
}

// ClockRange is the CR field of GMAC3 and GMAC4 for an application clock of hz: the
// divider that brings MDC to 2.5 MHz or just below. An unknown clock (0) gets the
// largest divider, which is right up to 800 MHz. ok is false above.
func ClockRange(hz int) (cr uint32, ok bool) {
	for _, r := range []struct {
		below int // hertz
		cr    uint32
	}{
		{1, 7}, // unknown: / 324
		{35e6, 2}, {60e6, 3}, {100e6, 0}, {150e6, 1}, {250e6, 4}, {300e6, 5}, {500e6, 6}, {800e6 + 1, 7},
	} {
		if hz < r.below {
			return r.cr, true
		}
	}
	return 7, false
}
