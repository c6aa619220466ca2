package sun8i

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/field"
)

// newMDIO is the PHY management interface (MII_CMD, MII_DATA), which does clause
// 22 only.
func newMDIO(regs mac.Registers, hz int) *dwmac.MDIO {
	var err error
	div, ok := divider(hz)
	if !ok {
		err = fmt.Errorf("sun8i: MDIO: bus clock of %d Hz: no divider keeps MDC at 2.5 MHz or below: %w", hz, mac.ErrUnsupported)
	}
	encode := func(op dwmac.MDIOOp) (data, cmd uint32) {
		cmd = field.Put(emac.MIIDiv, div) | field.Put(emac.MIIPHY, op.PHY) | field.Put(emac.MIIReg, op.Register)
		if op.Write {
			return uint32(op.Value), cmd | emac.MIIWrite
		}
		// A PHY that is not there reads all ones, whatever was transferred before.
		return 0xFFFF, cmd
	}
	return dwmac.NewMDIO("sun8i", regs, dwmac.MDIORegisters{
		First: emac.MIIData, Start: emac.MIICmd, Data: emac.MIIData, Busy: emac.MIIBusy,
		Encode: encode, NoClause45: true,
	}, err)
}

// divider is the smallest one, 16 << div, that keeps MDC at 2.5 MHz or below. An
// unknown clock gets the largest.
func divider(hz int) (div uint32, ok bool) {
	const mdc, largest = 2_500_000, 3
	if hz <= 0 {
		return largest, true
	}
	for div < largest && hz > mdc<<(4+div) {
		div++
	}
	return div, hz <= mdc<<(4+div)
}
