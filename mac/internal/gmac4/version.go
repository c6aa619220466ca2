package gmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/field"
)

// Facts is what differs between versions of the core.
type Facts struct {
	// Version is the low byte of MAC_Version: 0x42 is 4.20.
	Version uint8
	// IntNIE and IntAIE are the two summary bits of DMA_CHi_Interrupt_Enable.
	// Every other bit has the same place in all versions.
	IntNIE, IntAIE uint32
	// Feature3 says that MAC_HW_Feature3 exists.
	Feature3 bool
}

// versions is sorted by version and never written. A version between two
// entries behaves as the lower one.
var versions = []Facts{
	{Version: 0x40, IntNIE: 1 << 16, IntAIE: 1 << 15},
	{Version: 0x41, IntNIE: 1 << 15, IntAIE: 1 << 14},
	{Version: 0x51, IntNIE: 1 << 15, IntAIE: 1 << 14, Feature3: true},
}

// FactsFor returns the facts of the core that reads v from MAC_Version. ok is
// false when its major version is neither 4 nor 5.
func FactsFor(v uint32) (facts Facts, ok bool) {
	version := uint8(field.Get(VersionSynopsys, v))
	if major := version >> 4; major != 4 && major != 5 {
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

// VersionName is the version as the manual writes it: "4.20".
func VersionName(v uint32) string {
	version := field.Get(VersionSynopsys, v)
	return fmt.Sprintf("%d.%d0", version>>4, version&15)
}
