package dwmac4

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// mdioLimit bounds one access. A frame takes 64 cycles of MDC, 26 us at 2.5 MHz.
const mdioLimit = 10 * time.Millisecond

// mdioBus is the PHY management interface (MAC_MDIO_Address, MAC_MDIO_Data). The
// registers do one access at a time, so mu is held for all of it, waits included.
type mdioBus struct {
	regs  mac.Registers
	clock uint32 // CR field
	err   error  // why the bus cannot be used

	mu sync.Mutex
}

func newMDIO(regs mac.Registers, hz int) *mdioBus {
	m := &mdioBus{regs: regs}
	cr, ok := clockRange(hz)
	if !ok {
		m.err = fmt.Errorf("dwmac4: MDIO: application clock of %d Hz: no divider keeps MDC at 2.5 MHz or below: %w", hz, mac.ErrUnsupported)
	}
	m.clock = gmac4.Put(gmac4.MDIOCR, cr)
	return m
}

// clockRange is the CR field for an application clock of hz: the divider that
// brings MDC to 2.5 MHz or just below (MAC_MDIO_Address.CR). An unknown clock (0)
// gets the largest divider, which is right up to 800 MHz. ok is false above.
func clockRange(hz int) (cr uint32, ok bool) {
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

// access does one transfer. data is what MAC_MDIO_Data holds before.
func (m *mdioBus) access(phy, reg int, op, data uint32) (uint16, error) {
	if m.err != nil {
		return 0, m.err
	}
	if phy < 0 || phy > 31 || reg < 0 || reg > 31 {
		return 0, fmt.Errorf("dwmac4: MDIO PHY %d, register or device %d: both go from 0 to 31: %w", phy, reg, mac.ErrConfig)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(phy, reg); err != nil {
		return 0, err
	}
	m.regs.Write32(gmac4.MACMDIOData, data)
	m.regs.Write32(gmac4.MACMDIOAddr, op|m.clock|gmac4.MDIOGB|
		gmac4.Put(gmac4.MDIOPA, uint32(phy))|gmac4.Put(gmac4.MDIORDA, uint32(reg)))
	if err := m.ready(phy, reg); err != nil {
		return 0, err
	}
	if op&gmac4.MDIOGOC != opRead {
		return 0, nil
	}
	return uint16(m.regs.Read32(gmac4.MACMDIOData)), nil
}

func (m *mdioBus) ready(phy, reg int) error {
	idle := func(v uint32) bool { return v&gmac4.MDIOGB == 0 }
	if !wait(context.Background(), m.regs, gmac4.MACMDIOAddr, mdioLimit, idle) {
		return fmt.Errorf("dwmac4: MDIO PHY %d register %d: still busy after %v: is the application clock on?", phy, reg, mdioLimit)
	}
	return nil
}

const (
	opRead  = gmac4.MDIORead << 2
	opWrite = gmac4.MDIOWrite << 2
)

// Read implements mac.MDIO.Read.
func (m *mdioBus) Read(phy, reg int) (uint16, error) { return m.access(phy, reg, opRead, 0) }

// Write implements mac.MDIO.Write.
func (m *mdioBus) Write(phy, reg int, v uint16) error {
	_, err := m.access(phy, reg, opWrite, uint32(v))
	return err
}

// Read45 implements mac.MDIO.Read45.
func (m *mdioBus) Read45(phy, dev int, reg uint16) (uint16, error) {
	return m.access(phy, dev, opRead|gmac4.MDIOC45E, gmac4.Put(gmac4.MDIODataRA, uint32(reg)))
}

// Write45 implements mac.MDIO.Write45.
func (m *mdioBus) Write45(phy, dev int, reg uint16, v uint16) error {
	_, err := m.access(phy, dev, opWrite|gmac4.MDIOC45E, gmac4.Put(gmac4.MDIODataRA, uint32(reg))|uint32(v))
	return err
}
