package mvneta

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
)

// smiLimit bounds one access. A transfer takes 43 us.
const smiLimit = 10 * time.Millisecond

// smi is the bus to the PHYs. There is one for all ports of a SoC, behind the
// registers of the first; a process that has another port finds no PHY here. The
// register does one access at a time, so mu is held for all of it.
type smi struct {
	regs mac.Registers
	mu   sync.Mutex
}

func (s *smi) access(phy, reg int, op uint32) error {
	if phy < 0 || phy > 31 || reg < 0 || reg > 31 {
		return fmt.Errorf("mvneta: MDIO PHY %d, register %d: both go from 0 to 31: %w", phy, reg, mac.ErrConfig)
	}
	if !s.wait(0, neta.SMIBusy) {
		return fmt.Errorf("mvneta: MDIO PHY %d register %d: still busy after %v", phy, reg, smiLimit)
	}
	s.regs.Write32(neta.SMI, op|field.Put(neta.SMIPHY, uint32(phy))|field.Put(neta.SMIReg, uint32(reg)))
	return nil
}

// wait waits until all bits of set are 1 and all of clear 0.
func (s *smi) wait(set, clear uint32) bool {
	return wait(context.Background(), s.regs, neta.SMI, smiLimit, func(v uint32) bool { return v&set == set && v&clear == 0 })
}

// Read implements mac.MDIO.Read.
func (s *smi) Read(phy, reg int) (uint16, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.access(phy, reg, neta.SMIRead); err != nil {
		return 0, err
	}
	if !s.wait(neta.SMIValid, neta.SMIBusy) {
		return 0, fmt.Errorf("mvneta: MDIO PHY %d register %d: no answer after %v", phy, reg, smiLimit)
	}
	return uint16(s.regs.Read32(neta.SMI)), nil
}

// Write implements mac.MDIO.Write.
func (s *smi) Write(phy, reg int, v uint16) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.access(phy, reg, uint32(v)); err != nil {
		return err
	}
	if !s.wait(0, neta.SMIBusy) {
		return fmt.Errorf("mvneta: MDIO PHY %d register %d: still busy after %v", phy, reg, smiLimit)
	}
	return nil
}

var errClause45 = fmt.Errorf("mvneta: MDIO: this block has no clause 45, the XMDIO block of the SoC does: %w", mac.ErrUnsupported)

// Read45 implements mac.MDIO.Read45: the block cannot.
func (s *smi) Read45(int, int, uint16) (uint16, error) { return 0, errClause45 }

// Write45 implements mac.MDIO.Write45: the block cannot.
func (s *smi) Write45(int, int, uint16, uint16) error { return errClause45 }
