package dwxgmac2

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// transfer decodes what MDIO_Single_Command_Control_Data was written with, and
// MDIO_Single_Command_Address. A PHY that is not set to clause 22 in
// MDIO_Clause_22_Port is spoken to in clause 45, and so is one that clause 22 does
// not reach in this version.
func (m *chip) transfer(command, _ uint32) dwmac.Transfer {
	addr := m.Load(xgmac2.MACMDIOAddr)
	t := dwmac.Transfer{
		Write:    field.Get(xgmac2.MDIOCMD, command) == xgmac2.MDIOWrite,
		PHY:      int(field.Get(xgmac2.MDIOPA, addr)),
		Device:   int(field.Get(xgmac2.MDIODA, addr)),
		Register: int(field.Get(xgmac2.MDIORA, addr)),
	}
	c22 := m.Load(xgmac2.MACMDIOPort)>>t.PHY&1 != 0
	if t.Clause45 = !c22 || t.PHY >= m.facts.Clause22PHYs; !t.Clause45 {
		t.Register &= 31
	}
	return t
}

// writeCommand is a write to MDIO_Single_Command_Control_Data: data and command are
// one register.
func (m *chip) writeCommand(v uint32) {
	m.MDIO.WriteData(v & xgmac2.MDIOData)
	if !m.MDIO.WriteAddr(v &^ xgmac2.MDIOData) {
		m.Bad.Record("MDIO command %#x while a transfer is busy", v)
	}
}

// readCommand is a read of it.
func (m *chip) readCommand() uint32 { return m.MDIO.ReadAddr() | m.MDIO.ReadData() }
