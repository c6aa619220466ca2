package dwmac1000

import (
	"maps"
	"slices"

	"github.com/barewire/barewire/mac"
)

// Platform is how a SoC has integrated the core, as far as no register tells. The
// zero value is right for every core: what is not stated is not relied on.
type Platform struct {
	// RXFIFO and TXFIFO are the sizes of the FIFOs in bytes (rx-fifo-depth and
	// tx-fifo-depth of the device tree). 0: unknown, so no flow control by the
	// receiver, and no inserted checksums in frames of more than 1500 bytes.
	RXFIFO, TXFIFO int
	// HashBins is the size of the hash filter (snps,multicast-filter-bins): 64,
	// 128 or 256, and less than 0 for none. 0: 64, unless the core says that it has
	// a larger one and not how large.
	HashBins int
	// Addresses is the number of address slots, the own one included
	// (snps,perfect-filter-entries): 1 to 32. 0: 2 when the core has more than one.
	Addresses int
	// ChecksumMTU is the largest MTU with which checksums are inserted. 0: what
	// the transmit FIFO can hold, 1500 when that is unknown.
	ChecksumMTU int
	// Burst is the longest DMA burst in beats of the bus, 1, 2, 4, 8, 16 or 32. 0:
	// 8. FixedBursts has bursts of that length only.
	Burst       int
	FixedBursts bool
	// NoWatchdog says that the receive watchdog does not work, whatever the
	// version of the core.
	NoWatchdog bool
	// Chained links descriptors by their addresses instead of laying them out side
	// by side.
	Chained bool
	// Features is for cores that have no feature register.
	Features Features
	// SetSpeed is called with the speed in Mbit/s before a link comes up, with the
	// MAC off: where the SoC has to change the transmit clock. nil: it has not.
	SetSpeed func(mbits int) error
}

// Features is what a core without feature register has. MDIO, 10, 100 and 1000
// Mbit/s and half duplex are taken for granted.
type Features struct {
	// Enhanced descriptors instead of normal ones.
	Enhanced bool
	// RXChecksum is an engine of type 2.
	RXChecksum, TXChecksum bool
	// Counters are the management counters (MMC).
	Counters bool
}

// platforms are the device-tree names that this driver knows. Names with a zero
// Platform say all there is to know in registers, or are not documented. It is
// never written.
//
// Sources: device trees and glue drivers of Linux.
var platforms = map[string]Platform{
	"snps,dwmac":       {},
	"snps,dwmac-3.40a": {ChecksumMTU: defaultMTU, Features: Features{Enhanced: true, TXChecksum: true}},
	"snps,dwmac-3.50a": {},
	"snps,dwmac-3.610": {ChecksumMTU: defaultMTU, Features: Features{Enhanced: true}},
	"snps,dwmac-3.70a": {},
	"snps,dwmac-3.710": {ChecksumMTU: defaultMTU, Features: Features{Enhanced: true}},
	"snps,dwmac-3.72a": {},
	"snps,dwmac-3.73a": {},
	"snps,dwmac-3.74a": {},
	"st,spear600-gmac": {},

	"allwinner,sun7i-a20-gmac": {
		RXFIFO: 16384, TXFIFO: 4096, Burst: 16, FixedBursts: true,
		Features: Features{TXChecksum: true},
	},
	"altr,socfpga-stmmac":         {RXFIFO: 4096, TXFIFO: 4096, HashBins: 256, Addresses: 32, NoWatchdog: true},
	"altr,socfpga-stmmac-a10-s10": {RXFIFO: 16384, TXFIFO: 4096, HashBins: 256, Addresses: 32, NoWatchdog: true},
	"amlogic,meson6-dwmac":        {},
	"amlogic,meson8b-dwmac":       {},
	"amlogic,meson-gxbb-dwmac":    {RXFIFO: 4096, TXFIFO: 2048},
	"amlogic,meson-axg-dwmac":     {RXFIFO: 4096, TXFIFO: 2048},
	"baikal,bt1-dwmac":            {RXFIFO: 16384, TXFIFO: 16384},
	"nuvoton,npcm8xx-sgmii":       {},
	"qcom,ipq806x-gmac":           {},
	"rockchip,rk3288-gmac":        {},
	"rockchip,rk3328-gmac":        {},
	"rockchip,rk3399-gmac":        {},
	"thead,th1520-gmac":           {HashBins: 64, Addresses: 32, Burst: 32, FixedBursts: true},
	"pci104a,cc09":                {}, // STMicroelectronics
}

// PlatformFor is the platform of the most specific of these device-tree names that
// the driver knows, or the zero value.
func PlatformFor(compatible ...string) Platform {
	for _, name := range compatible {
		if p, ok := platforms[name]; ok {
			return p
		}
	}
	return Platform{}
}

// Driver is the driver of GMAC 3.x cores, for mac.Open.
func Driver() mac.Driver {
	return mac.Driver{
		Name:       "dwmac1000",
		Compatible: slices.Sorted(maps.Keys(platforms)),
		New:        func(bus mac.Bus) (mac.Core, error) { return New(bus) },
	}
}

// DriverFor is the driver for a platform that it does not know by name.
func DriverFor(p Platform) mac.Driver {
	d := Driver()
	d.New = func(bus mac.Bus) (mac.Core, error) { return NewCore(bus, p) }
	return d
}
