package ravb

import "github.com/barewire/barewire/mac/internal/etheravb"

// variant is what differs between the cores, as data. The tables are never
// written.
type variant struct {
	driver     string // mac.Info.Core
	name       string // mac.Info.Version
	compatible []string

	queues   int
	rxDesc   int // size of a receive descriptor
	maxFrame int // longest frame sent, in bytes without FCS
	maxRX    int // longest frame received, when that is more

	toe        bool // GbEth: checksum engine, other speeds, other RCR
	halfDuplex bool
	// gptpInConfig: CCC.GAC, CSEL and OPC change in one write. Otherwise the clock
	// of gPTP is chosen once in CONFIG.
	gptpInConfig, gptpClock bool
	// enableDisable: RIE, RID, TIE and TID set and clear single bits.
	enableDisable bool
	// lines: the core has more interrupt lines than one, which CIE and DIL deal to.
	lines bool
	// emac: the E-MAC's causes come on the same line.
	emac bool
	// delays: APSR is there and holds clock delays.
	delays bool
	// lost: TROCR counts; carrier: CXR41 and CXR42 do.
	lost, carrier bool
}

// gen2 is EtherAVB of R-Car Gen2 and RZ/G1.
var gen2 = variant{
	driver: "ravb-rcar", name: "R-Car Gen2",
	compatible: []string{
		"renesas,etheravb-rcar-gen2", "renesas,etheravb-r8a7742", "renesas,etheravb-r8a7743", "renesas,etheravb-r8a7744",
		"renesas,etheravb-r8a7745", "renesas,etheravb-r8a77470", "renesas,etheravb-r8a7790", "renesas,etheravb-r8a7791",
		"renesas,etheravb-r8a7792", "renesas,etheravb-r8a7793", "renesas,etheravb-r8a7794",
	},
	queues: 2, rxDesc: etheravb.ExtendedSize,
	maxFrame:  etheravb.MaxRCarFrame,
	gptpClock: true, emac: true,
}

// gen3 is EtherAVB of R-Car Gen3 and RZ/G2.
var gen3 = variant{
	driver: "ravb-rcar", name: "R-Car Gen3",
	compatible: []string{
		"renesas,etheravb-rcar-gen3", "renesas,etheravb-r8a774a1", "renesas,etheravb-r8a774b1", "renesas,etheravb-r8a774c0",
		"renesas,etheravb-r8a774e1", "renesas,etheravb-r8a7795", "renesas,etheravb-r8a7796", "renesas,etheravb-r8a77961",
		"renesas,etheravb-r8a77965", "renesas,etheravb-r8a77970", "renesas,etheravb-r8a77980", "renesas,etheravb-r8a77990",
		"renesas,etheravb-r8a77995",
	},
	queues: 2, rxDesc: etheravb.ExtendedSize,
	maxFrame:     etheravb.MaxRCarFrame,
	gptpInConfig: true, gptpClock: true, enableDisable: true, lines: true, delays: true, lost: true,
}

// gen4 is EtherAVB of R-Car V3U, V4H and V4M: what Gen4 adds is in APSR.
var gen4 = func() variant {
	v := gen3
	v.name = "R-Car Gen4"
	v.compatible = []string{
		"renesas,etheravb-rcar-gen4", "renesas,etheravb-r8a779a0", "renesas,etheravb-r8a779g0", "renesas,etheravb-r8a779h0",
	}
	return v
}()

// gbeth is the Gigabit Ethernet of RZ/G2L, RZ/G2LC, RZ/G2UL, RZ/V2L, RZ/Five and
// RZ/G3S.
var gbeth = variant{
	driver: "ravb-gbeth", name: "RZ/G2L",
	compatible: []string{
		"renesas,rzg2l-gbeth", "renesas,r9a07g043-gbeth", "renesas,r9a07g044-gbeth", "renesas,r9a07g054-gbeth",
		"renesas,r9a08g045-gbeth",
	},
	queues: 1, rxDesc: etheravb.DescriptorSize,
	maxFrame: etheravb.MaxGbEthSend, maxRX: etheravb.MaxGbEthRecv,
	toe: true, halfDuplex: true, emac: true, lost: true, carrier: true,
}

// headerRoom is what a frame has beside its MTU before the FCS: Ethernet header and
// two VLAN tags.
const (
	headerRoom = 14 + 2*4
	fcsLen     = 4
	minMTU     = 68 // IPv4's own limit
)

// maxMTU is the largest MTU, bounded by what the core sends.
func (v *variant) maxMTU() int { return v.maxFrame - headerRoom }
