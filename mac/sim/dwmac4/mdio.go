package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
)

// transfer decodes MAC_MDIO_Address and MAC_MDIO_Data.
func transfer(addr, data uint32) dwmac.Transfer {
	t := dwmac.Transfer{
		Write:    field.Get(gmac4.MDIOGOC, addr) == gmac4.MDIOWrite,
		Clause45: addr&gmac4.MDIOC45E != 0,
		PHY:      int(field.Get(gmac4.MDIOPA, addr)),
		Device:   int(field.Get(gmac4.MDIORDA, addr)),
		Register: int(field.Get(gmac4.MDIODataRA, data)),
	}
	if !t.Clause45 {
		t.Register = t.Device
	}
	return t
}

// mdioStart is a write to MAC_MDIO_Address.
func (m *chip) mdioStart(v uint32) {
	if !m.MDIO.WriteAddr(v) {
		m.Bad.Record("MAC_MDIO_Address written with %#x while a transfer is busy", v)
	}
}
