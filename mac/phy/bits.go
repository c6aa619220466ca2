package phy

import "github.com/barewire/barewire/mac/internal/mii"

// bit says which bit of a register stands for a mode.
type bit struct {
	bit  uint16
	mode Modes
}

var (
	abilityBits  = []bit{{mii.BMSR10Half, Mode10Half}, {mii.BMSR10Full, Mode10Full}, {mii.BMSR100Half, Mode100Half}, {mii.BMSR100Full, Mode100Full}}
	extendedBits = []bit{{mii.ESR1000THalf, Mode1000Half}, {mii.ESR1000TFull, Mode1000Full}}
	pmaLowBits   = []bit{{mii.PMAExt10, Mode10Half | Mode10Full}, {mii.PMAExt100, Mode100Half | Mode100Full}}
	pmaHighBits  = []bit{{mii.PMAExt10G, Mode10000}}
	pmaMultiBits = []bit{{mii.PMAMulti2500, Mode2500}, {mii.PMAMulti5000, Mode5000}}

	// Own advertisement and that of the partner.
	anBits      = []bit{{mii.AN10Half, Mode10Half}, {mii.AN10Full, Mode10Full}, {mii.AN100Half, Mode100Half}, {mii.AN100Full, Mode100Full}}
	gbcrBits    = []bit{{mii.GBCRHalf, Mode1000Half}, {mii.GBCRFull, Mode1000Full}}
	gbsrBits    = []bit{{mii.GBSRPartnerHalf, Mode1000Half}, {mii.GBSRPartnerFull, Mode1000Full}}
	controlBits = []bit{{mii.MGBTControl2500, Mode2500}, {mii.MGBTControl5000, Mode5000}, {mii.MGBTControl10G, Mode10000}}
	statusBits  = []bit{{mii.MGBTStatus2500, Mode2500}, {mii.MGBTStatus5000, Mode5000}, {mii.MGBTStatus10G, Mode10000}}
)

// decode is the modes that a register has bits for, encode the bits for modes.
func decode(v uint16, bits []bit) (m Modes) {
	for _, b := range bits {
		if v&b.bit != 0 {
			m |= b.mode
		}
	}
	return m
}

func encode(m Modes, bits []bit) (v uint16) {
	for _, b := range bits {
		if m&b.mode != 0 {
			v |= b.bit
		}
	}
	return v
}

// mask is all bits that stand for modes.
func mask(bits []bit) uint16 { return encode(mii.AllModes, bits) }

// resolvePause is table 28B-3: from the pause bits that both ends advertise (ANAR
// and ANLPAR, or 7.16 and 7.19) follows whether we obey the partner's pause
// frames and whether we send some. It holds for full duplex.
func resolvePause(own, partner uint16) (rx, tx bool) {
	const sym, asym = mii.ANPause, mii.ANAsymPause
	switch both := own & partner; {
	case both&sym != 0:
		return true, true
	case both&asym != 0:
		return own&sym != 0, partner&sym != 0
	}
	return false, false
}
