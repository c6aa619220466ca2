//go:build linux

package linux

import (
	"testing"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac"
	driver "github.com/barewire/barewire/mac/dwxgmac2"
	"github.com/barewire/barewire/mac/fake"
	"github.com/barewire/barewire/mac/sim/dwxgmac2"
	"github.com/barewire/barewire/mac/sim/phy"
)

const xgmacClock = 125_000_000

// Registers of XGMAC, those of channels for channel 0. They are not shared with the
// model, which could be wrong in them.
const (
	xgmacTxConfig   = 0x0000 // 0 transmitter on
	xgmacRxConfig   = 0x0004 // 0 receiver on
	xgmacTxRingLen  = 0x3130
	xgmacRxRingLen  = 0x3134
	xgmacRxWatchdog = 0x313c
	xgmacTxControl  = 0x3104
	xgmacRxControl  = 0x3108
)

// xgmacCore is an XGMAC with a fixed link of 10 Gbit/s.
func xgmacCore(config dwxgmac2.Config) core {
	config.AnyLinkChange, config.ClockHz = true, xgmacClock
	return core{
		model: func() model { return dwxgmac2.New(config) },
		node: func(s slot) []guest.Node {
			n := xgmacNode(s, "xgmii")
			n.Children = []guest.Node{fixedLink(10_000)}
			return []guest.Node{s.clock(xgmacClock), n}
		},
		modules: []string{"dwmac_generic"}, driver: "stmmaceth",
		link: mac.Link{Up: true, Speed: 10_000, FullDuplex: true},
		peer: fake.Core{Driver: driver.Driver(), Build: dwxgmac2.Config{}.Build},
		running: func(m model) bool {
			return m.Read32(xgmacTxConfig)&m.Read32(xgmacRxConfig)&1 != 0
		},
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
		},
		features: []feature{
			{"tso", func(m model) uint64 { return m.(*dwxgmac2.Model).Stats().TSOFrames }},
			{"tx", func(m model) uint64 { return m.(*dwxgmac2.Model).Stats().Checksums }},
			{name: "rx"},
		},
		// The unit is 256 cycles of 125 MHz; the driver rounds to nearest.
		coalesce: []setting{
			{"rx-usecs 33", xgmacRxWatchdog, 0x10}, {"rx-usecs 200", xgmacRxWatchdog, 0x62},
			{"rx-usecs 522", xgmacRxWatchdog, 0xff}, {"rx-usecs 328", xgmacRxWatchdog, 0xa0},
		},
		refused: []string{"rx-usecs 20", "rx-usecs 0", "rx-usecs 100000", "tx-frames 300", "tx-usecs 0 tx-frames 0", "tx-usecs 200000"},
		rings:   []int{64, 1024, 512},
		slots: func(m model) (rx, tx int) {
			return int(m.Read32(xgmacRxRingLen)&0x3ff) + 1, int(m.Read32(xgmacTxRingLen)&0x3ff) + 1
		},
		mtus: []int{1300, 3000, 9000},
	}
}

// xgmacNode is the MAC's node, without a link.
func xgmacNode(s slot, mode string, props ...guest.Prop) guest.Node {
	return s.mac(guest.BARSize, []string{"snps,dwxgmac-2.10", "snps,dwxgmac"}, append([]guest.Prop{
		guest.Cells("interrupts", s.irq...), guest.Strings("interrupt-names", "macirq"),
		guest.Cells("clocks", s.handle(clockHandle), s.handle(clockHandle)), guest.Strings("clock-names", "stmmaceth", "pclk"),
		guest.Strings("phy-mode", mode), {Name: "snps,tso"},
	}, props...)...)
}

// TestXGMAC is Linux's stmmac on an XGMAC at 10 Gbit/s.
func TestXGMAC(t *testing.T) {
	m := start(t, setup{title: "stmmac XGMAC", cores: []core{xgmacCore(dwxgmac2.Config{})}})
	b := newBarewire(t, m.devices[0])
	m.list(t, b)
	m.healthy(t)
}

// TestXGMACQueues is an XGMAC with two queues each way, message-signalled interrupts
// and a PHY on its MDIO bus. stmmac has no pause to negotiate here: it never switches
// it off again on this core.
func TestXGMACQueues(t *testing.T) {
	config := dwxgmac2.Config{Version: 0x32, Queues: 2, PHY: phy.Config{Modes: phy.UpTo1000}}
	c := xgmacCore(config)
	c.link, c.peer = mac.Link{}, fake.Core{}
	c.node = func(s slot) []guest.Node {
		n := xgmacNode(s, "rgmii", guest.Cells("phy-handle", s.handle(phyHandle)),
			guest.Cells("snps,mtl-rx-config", s.handle(rxQueueHandle)), guest.Cells("snps,mtl-tx-config", s.handle(txQueueHandle)))
		n.Children = []guest.Node{mdioNode(s)}
		return append(twoQueues(s), s.clock(xgmacClock), n)
	}
	m := start(t, setup{title: "stmmac XGMAC 3.20, two queues, MSI, PHY", cores: []core{c}, messages: true, manual: true})
	b := newBarewire(t, m.devices[0])
	if !check(t, m.title, "insmod, probe and up", m.bringUp) {
		return
	}
	m.reachPeer(t)
	m.msiOnly(t)
	m.steps(t, m.traffic(b))
	m.queues(t, xgmacRxControl+channelStride, xgmacTxControl+channelStride)
	m.pulls(t, b, []pull{
		{mac.Link{Up: true, Speed: 100, FullDuplex: true}, "100 full"},
		{mac.Link{Up: true, Speed: 1000, FullDuplex: true}, "1000 full"},
	})
	m.healthy(t)
}
