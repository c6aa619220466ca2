package dwxgmac2

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
)

// newMDIO is the PHY management interface at an application clock of hz. Its second
// register holds data and command, and MDIO_Clause_22_Port says which clause the
// command is of.
func newMDIO(regs mac.Registers, hz, clause22PHYs int) *dwmac.MDIO {
	cr := field.Put(xgmac2.MDIOCR, clockRange(hz))
	return dwmac.NewMDIO("dwxgmac2", regs, dwmac.MDIORegisters{
		First: xgmac2.MACMDIOAddr, Start: xgmac2.MACMDIOData, Data: xgmac2.MACMDIOData, Busy: xgmac2.MDIOBusy,
		Clause22PHYs: clause22PHYs,
		Prepare: func(op dwmac.MDIOOp) {
			port := uint32(0)
			if !op.Clause45 {
				port = 1 << op.PHY
			}
			regs.Write32(xgmac2.MACMDIOPort, port)
		},
		Encode: func(op dwmac.MDIOOp) (addr, command uint32) {
			addr = field.Put(xgmac2.MDIOPA, op.PHY) | field.Put(xgmac2.MDIORA, op.Register)
			if op.Clause45 {
				addr |= field.Put(xgmac2.MDIODA, op.Device)
			}
			if op.Write {
				return addr, cr | field.Put(xgmac2.MDIOCMD, xgmac2.MDIOWrite) | uint32(op.Value)
			}
			return addr, cr | field.Put(xgmac2.MDIOCMD, xgmac2.MDIORead)
		},
	}, nil)
}

// clockRange is the CR field for an application clock of hz. An unknown clock (0) gets
// the largest divider.
func clockRange(hz int) uint32 {
	for cr, limit := range [...]int{150e6, 250e6, 300e6, 350e6, 400e6} {
		if hz > 0 && hz <= limit {
			return uint32(cr)
		}
	}
	return 5
}
