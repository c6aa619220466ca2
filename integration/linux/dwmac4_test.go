//go:build linux

package linux

import (
	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// dwmac4Core is a GMAC4 or GMAC5 with a fixed link, and nodes added to its own.
func dwmac4Core(config dwmac4.Config) core {
	config.AnyLinkChange = true
	return core{
		model: func() model { return newProbe(config) },
		node: func(s slot) []guest.Node {
			n := stmmacNode(s, config)
			n.Children = []guest.Node{fixedLink(1000)}
			return []guest.Node{s.clock(dwmac4Clock), n}
		},
		modules: []string{"dwmac_generic"}, driver: "stmmaceth",
		running: func(m model) bool { return m.Read32(macConfig)&(configRE|configTE) == configRE|configTE },
		sent: map[string]string{
			"mmc_tx_framecount_gb": "frames", "mmc_tx_framecount_g": "frames", "mmc_tx_octetcount_gb": "octets", "mmc_tx_octetcount_g": "octets",
			"mmc_tx_broadcast_gb": "broadcast", "mmc_tx_multicast_gb": "multicast", "mmc_tx_unicast_gb": "unicast",
			"mmc_tx_broadcastframe_g": "broadcast", "mmc_tx_multicastframe_g": "multicast",
			"mmc_tx_64_octets_gb": "bin0", "mmc_tx_65_to_127_octets_gb": "bin1", "mmc_tx_128_to_255_octets_gb": "bin2", "mmc_tx_256_to_511_octets_gb": "bin3",
			"mmc_tx_512_to_1023_octets_gb": "bin4", "mmc_tx_1024_to_max_octets_gb": "bin5",
		},
		received: map[string]string{
			"mmc_rx_framecount_gb": "frames", "mmc_rx_octetcount_gb": "octets", "mmc_rx_octetcount_g": "octets", "mmc_rx_unicast_g": "unicast",
			"mmc_rx_broadcastframe_g": "broadcast", "mmc_rx_multicastframe_g": "multicast",
			"mmc_rx_64_octets_gb": "bin0", "mmc_rx_65_to_127_octets_gb": "bin1", "mmc_rx_128_to_255_octets_gb": "bin2", "mmc_rx_256_to_511_octets_gb": "bin3",
			"mmc_rx_512_to_1023_octets_gb": "bin4", "mmc_rx_1024_to_max_octets_gb": "bin5",
			"mmc_rx_ipv4_gd": "ipv4", "mmc_rx_ipv4_gd_octets": "ipv4_octets", "mmc_rx_tcp_gd": "tcp", "mmc_rx_tcp_gd_octets": "tcp_octets",
			"mmc_rx_icmp_gd": "icmp", "mmc_rx_icmp_gd_octets": "icmp_octets",
		},
		features: []feature{
			{"tso", func(m model) uint64 { return m.(*probe).Stats().TSOFrames }},
			{"tx", func(m model) uint64 { return m.(*probe).Stats().Checksums }},
			{name: "rx"},
		},
		// The unit is 256 cycles of 125 MHz; the driver rounds to nearest.
		coalesce: []setting{
			{"rx-usecs 33", dmaRxWatchdog, 0x10}, {"rx-usecs 60", dmaRxWatchdog, 0x1d}, {"rx-usecs 200", dmaRxWatchdog, 0x62},
			{"rx-usecs 500", dmaRxWatchdog, 0xf4}, {"rx-usecs 522", dmaRxWatchdog, 0xff}, {"rx-usecs 328", dmaRxWatchdog, 0xa0},
		},
		refused: []string{"rx-usecs 20", "rx-usecs 0", "rx-usecs 100000", "tx-frames 300", "tx-usecs 0 tx-frames 0", "tx-usecs 200000"},
		rings:   []int{64, 128, 1024, 512},
		slots: func(m model) (rx, tx int) {
			return int(m.Read32(dmaRxRingLen)&0x3ff) + 1, int(m.Read32(dmaTxRingLen)&0x3ff) + 1
		},
		mtus: []int{1300, 3000, 9000},
	}
}

const dwmac4Clock = 125_000_000

// stmmacNode is the MAC's node, without a link.
func stmmacNode(s slot, config dwmac4.Config, props ...guest.Prop) guest.Node {
	return s.mac(guest.BARSize, dwmac4.New(config).Compatible(), append([]guest.Prop{
		guest.Cells("interrupts", s.irq...), guest.Strings("interrupt-names", "macirq"),
		guest.Cells("clocks", s.handle(clockHandle), s.handle(clockHandle)), guest.Strings("clock-names", "stmmaceth", "pclk"),
		guest.Strings("phy-mode", "rgmii"), {Name: "snps,tso"},
	}, props...)...)
}
