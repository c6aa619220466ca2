//go:build linux

package linux

import (
	"testing"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac/sim/ravb"
)

const ravbClock = 133_333_333

// Registers of E-MAC.
const (
	ravbECMR   = 0x500
	ravbECMRTR = 0x60 // TE, RE
)

const ravbReset = 0x8000 // a spare word of the BAR

// ravbCore is what all variants have in common. They want a reset controller, and an
// mdio node that may be empty.
func ravbCore(v ravb.Variant, compatible, clocks []string, interrupts ...string) core {
	return core{
		model: func() model { return ravb.New(ravb.Config{Variant: v, ClockHz: ravbClock, AnyLinkChange: true}) },
		node: func(s slot) []guest.Node {
			handles := make([]uint32, len(clocks))
			for i := range handles {
				handles[i] = s.handle(clockHandle)
			}
			irq := s.irq
			for i := len(irq) / 3; i < len(interrupts); i++ {
				irq = append(irq, 0, uint32(60+i), 4) // lines that are never used
			}
			n := s.mac(0x1000, compatible, guest.Cells("interrupts", irq...),
				guest.Cells("clocks", handles...), guest.Strings("clock-names", clocks...),
				guest.Cells("resets", s.handle(resetHandle), 0), guest.Strings("phy-mode", "rgmii"))
			if len(interrupts) > 0 {
				n.Props = append(n.Props, guest.Strings("interrupt-names", interrupts...))
			}
			n.Children = []guest.Node{fixedLink(1000), {Name: "mdio", Props: []guest.Prop{guest.Cells("#address-cells", 1), guest.Cells("#size-cells", 0)}}}
			return []guest.Node{s.clock(ravbClock), s.reset(ravbReset), n}
		},
		modules: []string{"ravb"}, driver: "ravb",
		remove:  "echo 10000000.ethernet > /sys/bus/platform/drivers/ravb/unbind",
		insert:  "echo 10000000.ethernet > /sys/bus/platform/drivers/ravb/bind",
		running: func(m model) bool { return m.Read32(ravbECMR)&ravbECMRTR == ravbECMRTR },
		// Linux counts in software; the bytes it receives include the checksum trailer.
		sent:     map[string]string{"tx_queue_0_packets": "frames", "tx_queue_0_bytes": "bytes"},
		received: map[string]string{"rx_queue_0_packets": "frames"},
		features: []feature{{name: "rx"}},
		rings:    []int{128, 1024, 64},
		mtus:     []int{1300},
		missing: map[string]string{
			"ethtool -C":                 "the core has no coalescing, and ravb sets none",
			"multicast filter, ip maddr": "the core lets every group pass",
			"all multicast":              "the core lets every group pass",
		},
	}
}

// TestRavbGen2 is EtherAVB with one interrupt line.
func TestRavbGen2(t *testing.T) {
	c := ravbCore(ravb.Gen2, []string{"renesas,etheravb-r8a7791", "renesas,etheravb-rcar-gen2"}, []string{"fck"})
	c.mtus = append(c.mtus, 2000)
	runRavb(t, "ravb, R-Car Gen2", c)
}

// TestRavbGen3 is EtherAVB with six interrupt lines.
func TestRavbGen3(t *testing.T) {
	c := ravbCore(ravb.Gen3, []string{"renesas,etheravb-r8a7795", "renesas,etheravb-rcar-gen3"}, []string{"fck"},
		"ch0", "ch1", "ch18", "ch19", "ch22", "ch24")
	c.lines = 6
	c.mtus = append(c.mtus, 2000)
	runRavb(t, "ravb, R-Car Gen3", c)
}

// TestRavbGbEth is the Gigabit Ethernet of RZ/G2L, with its checksum engine both ways.
func TestRavbGbEth(t *testing.T) {
	c := ravbCore(ravb.GbEth, []string{"renesas,r9a07g044-gbeth", "renesas,rzg2l-gbeth"}, []string{"axi", "chi", "refclk"},
		"mux", "fil", "arp_ns")
	c.features = append(c.features, feature{"tx", func(m model) uint64 { return m.(*ravb.Model).Stats().Checksums }})
	runRavb(t, "ravb, RZ/G2L", c)
}

func runRavb(t *testing.T, title string, c core) {
	m := start(t, setup{title: title, cores: []core{c}})
	b := newBarewire(t, m.devices[0])
	m.list(t, b)
	m.healthy(t)
}
