package xgmac2

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/field"
)

// Facts is what differs between versions of the core.
type Facts struct {
	// Version is the low byte of MAC_Version: 0x21 is 2.10.
	Version uint8
	// IntNIE and IntAIE are the two summary bits of DMA_CHi_Interrupt_Enable.
	// Every other bit has the same place in all versions.
	IntNIE, IntAIE uint32
	// Clause22PHYs is how many PHY addresses, from 0, clause 22 can reach.
	Clause22PHYs int
	// Slow says that 10 and 100 Mbit/s can be had where there is GMII.
	Slow bool
}

// versions is sorted by version and never written. A version between two entries
// behaves as the lower one.
var versions = []Facts{
	{Version: 0x20, IntNIE: 1 << 16, IntAIE: 1 << 15, Clause22PHYs: 4},
	{Version: 0x21, IntNIE: 1 << 15, IntAIE: 1 << 14, Clause22PHYs: 4},
	{Version: 0x22, IntNIE: 1 << 15, IntAIE: 1 << 14, Clause22PHYs: 32, Slow: true},
}

// FactsFor returns the facts of the core that reads v from MAC_Version. ok is
// false when it is no XGMAC of version 2 or 3.
func FactsFor(v uint32) (facts Facts, ok bool) {
	version := uint8(field.Get(VersionSynopsys, v))
	if major := version >> 4; major != 2 && major != 3 || field.Get(VersionDevice, v) != DeviceXGMAC {
		return Facts{}, false
	}
	for _, f := range versions {
		if f.Version <= version {
			facts = f
		}
	}
	facts.Version = version
	return facts, true
}

// VersionName is the version as the manual writes it: "2.10".
func VersionName(v uint32) string {
	version := field.Get(VersionSynopsys, v)
	return fmt.Sprintf("%d.%d0", version>>4, version&15)
}
