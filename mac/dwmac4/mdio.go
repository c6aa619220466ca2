package dwmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// newMDIO is the PHY management interface (MAC_MDIO_Address, MAC_MDIO_Data) at an
// application clock of hz.
func newMDIO(regs mac.Registers, hz int) *dwmac.MDIO {
	var err error
	cr, ok := dwmac.ClockRange(hz)
	if !ok {
		err = fmt.Errorf("dwmac4: MDIO: application clock of %d Hz: no divider keeps MDC at 2.5 MHz or below: %w", hz, mac.ErrUnsupported)
	}
	encode := func(op dwmac.MDIOOp) (data, addr uint32) {
		data = uint32(op.Value)
		addr = field.Put(gmac4.MDIOCR, cr) | field.Put(gmac4.MDIOPA, op.PHY) | field.Put(gmac4.MDIOGOC, gmac4.MDIORead)
		if op.Write {
			addr = addr&^gmac4.MDIOGOC | field.Put(gmac4.MDIOGOC, gmac4.MDIOWrite)
		}
		if op.Clause45 {
			return data | field.Put(gmac4.MDIODataRA, op.Register), addr | gmac4.MDIOC45E | field.Put(gmac4.MDIORDA, op.Device)
		}
		return data, addr | field.Put(gmac4.MDIORDA, op.Register)
	}
	return dwmac.NewMDIO("dwmac4", regs, dwmac.MDIORegisters{
		First: gmac4.MACMDIOData, Start: gmac4.MACMDIOAddr, Data: gmac4.MACMDIOData, Busy: gmac4.MDIOGB,
		Encode: encode,
	}, err)
}
