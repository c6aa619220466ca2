package gmac3

import (
	"fmt"

	"github.com/barewire/barewire/mac/internal/field"
)

// Facts is what differs between versions of the core.
type Facts struct {
	// Version is the low byte of the version register: 0x37 is 3.70.
	Version uint8
	// Watchdog says that the receive interrupt watchdog (RIWT) exists.
	Watchdog bool
	// Extended says that enhanced descriptors can be of eight words.
	Extended bool
}

// FactsFor returns the facts of the core that reads v from its version register.
// ok is false when its major version is not 3.
func FactsFor(v uint32) (facts Facts, ok bool) {
	version := uint8(field.Get(VersionSynopsys, v))
	if version>>4 != 3 {
		return Facts{}, false
	}
	return Facts{Version: version, Watchdog: version >= 0x35, Extended: version >= 0x35}, true
}

// VersionName is the version as the manual writes it: "3.70".
func VersionName(v uint32) string {
	version := field.Get(VersionSynopsys, v)
	return fmt.Sprintf("%d.%d0", version>>4, version&15)
}
