package dwmac

import (
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
)

// InBand is the link that the status of RGMII, SGMII or SMII carries, in the bits of
// dwregs. Not every RGMII PHY sends in-band status; one that does not looks like a
// link that is down, and so does a device that is gone.
func InBand(status uint32) mac.Link {
	if status&dwregs.InBandLink == 0 {
		return mac.Link{}
	}
	l := mac.Link{Up: true, FullDuplex: status&dwregs.InBandDuplex != 0}
	switch field.Get(dwregs.InBandSpeed, status) {
	case dwregs.InBand10:
		l.Speed = 10
	case dwregs.InBand100:
		l.Speed = 100
	case dwregs.InBand1000:
		l.Speed = 1000
	default:
		return mac.Link{} // reserved
	}
	return l
}
