package dwmac4

import (
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/mac/sim/internal/dwmac"
	"github.com/barewire/barewire/mac/sim/internal/offload"
)

// checksum puts the verdict of the receive checksum engine into the frame's
// status. It reports false when queue q drops the frame for it.
func (m *Model) checksum(q int, fr *dwmac.RXFrame, f []byte, config uint32) bool {
	if config&gmac4.ConfigIPC == 0 {
		return true
	}
	v := offload.Check(f)
	fr.Status[3] |= gmac4.RDES3RS1V
	fr.Status[1] = uint32(v.Payload)
	for _, b := range [...]struct {
		on  bool
		bit uint32
	}{
		{v.IPv4, gmac4.RDES1IPV4},
		{v.IPv6, gmac4.RDES1IPV6},
		{v.HeaderError, gmac4.RDES1IPHE},
		{v.PayloadError, gmac4.RDES1IPCE},
		{v.Bypassed, gmac4.RDES1IPCB},
	} {
		if b.on {
			fr.Status[1] |= b.bit
		}
	}
	if fr.Status[3]&gmac4.RDES3ES == 0 {
		m.mmc.CountIPC(v)
	}
	const keep = gmac4.RxQOpFEP | gmac4.RxQOpDISTCPEF
	mode := m.queue(q, gmac4.RxQOpMode)
	return !v.HeaderError && !v.PayloadError || mode&keep != 0 || mode&gmac4.RxQOpRSF == 0
}
