//go:build linux

package linux

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// Handles of twoQueues.
const (
	rxQueueHandle = firstHandle + iota
	txQueueHandle
)

// twoQueues are the nodes that set up two queues each way: broadcasts and
// multicasts go to the second.
func twoQueues(s slot) []guest.Node {
	flag := func(name string) guest.Prop { return guest.Prop{Name: name} }
	return []guest.Node{
		{Name: "rx-queues", Props: []guest.Prop{
			guest.Cells("snps,rx-queues-to-use", 2), flag("snps,rx-sched-sp"), guest.Cells("phandle", s.handle(rxQueueHandle)),
		}, Children: []guest.Node{
			{Name: "queue0", Props: []guest.Prop{flag("snps,dcb-algorithm"), guest.Cells("snps,map-to-dma-channel", 0), guest.Cells("snps,priority", 0x0f)}},
			{Name: "queue1", Props: []guest.Prop{flag("snps,dcb-algorithm"), guest.Cells("snps,map-to-dma-channel", 1), guest.Cells("snps,priority", 0xf0),
				flag("snps,route-multi-broad")}},
		}},
		{Name: "tx-queues", Props: []guest.Prop{
			guest.Cells("snps,tx-queues-to-use", 2), flag("snps,tx-sched-wrr"), guest.Cells("phandle", s.handle(txQueueHandle)),
		}, Children: []guest.Node{
			{Name: "queue0", Props: []guest.Prop{guest.Cells("snps,weight", 0x10), flag("snps,dcb-algorithm"), guest.Cells("snps,priority", 0)}},
			{Name: "queue1", Props: []guest.Prop{guest.Cells("snps,weight", 0x11), flag("snps,dcb-algorithm"), guest.Cells("snps,priority", 1)}},
		}},
	}
}

// TestQueues is a core with two queues each way, message-signalled interrupts and
// a PHY on its MDIO bus.
func TestQueues(t *testing.T) {
	config := dwmac4.Config{Version: 0x52, Queues: 2, RXFIFO: 32 << 10, TXFIFO: 32 << 10}
	c := dwmac4Core(config)
	const resetLine = guest.BARSize // above the MAC's registers
	c.barSize = 2 * guest.BARSize
	c.node = func(s slot) []guest.Node {
		n := stmmacNode(s, config, guest.Cells("phy-handle", s.handle(phyHandle)),
			guest.Cells("snps,mtl-rx-config", s.handle(rxQueueHandle)), guest.Cells("snps,mtl-tx-config", s.handle(txQueueHandle)),
			guest.Cells("resets", s.handle(resetHandle), 0), guest.Strings("reset-names", "stmmaceth"))
		n.Children = []guest.Node{mdioNode(s)}
		return append(twoQueues(s), s.clock(dwmac4Clock), s.reset(resetLine), n)
	}
	m := start(t, setup{title: "stmmac 5.20, two queues, MSI, PHY", cores: []core{c}, messages: true, manual: true})
	b := newBarewire(t, m.devices[0]) // first, as plugging a cable in takes the link down for a while
	if !check(t, m.title, "insmod, probe and up", m.bringUp) {
		return
	}
	check(t, m.title, "reset line asserted and released", func(t *testing.T) {
		require.Equal(t, []uint32{1, 0}, m.devices[0].writes(resetLine))
	})
	m.reachPeer(t)
	m.msiOnly(t)
	m.steps(t, m.traffic(b))
	m.queues(t, dmaRxControl+channelStride, dmaTxControl+channelStride)
	m.pulls(t, b, []pull{
		{mac.Link{Up: true, Speed: 100, FullDuplex: true}, "100 full"},
		{mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true}, "1000 full"},
	})
	m.phy(t)
	m.healthy(t)
}

// msiOnly is the check that interrupts are messages.
func (m *machine) msiOnly(t *testing.T) {
	check(t, m.title, "interrupts are messages", func(t *testing.T) {
		require.NotZero(t, m.devices[0].server.Stats().MSISent)
		require.Zero(t, m.devices[0].server.Stats().INTxSent)
	})
}

// mdioNode is a bus with a PHY.
func mdioNode(s slot) guest.Node {
	return guest.Node{
		Name:  "mdio",
		Props: []guest.Prop{guest.Strings("compatible", "snps,dwmac-mdio"), guest.Cells("#address-cells", 1), guest.Cells("#size-cells", 0)},
		Children: []guest.Node{{Name: "ethernet-phy@1", Props: []guest.Prop{
			guest.Strings("compatible", "ethernet-phy-ieee802.3-c22"), guest.Cells("reg", 1), guest.Cells("phandle", s.handle(phyHandle)),
		}}},
	}
}

// counted is a model that counts frames by DMA channel: GMAC4's or XGMAC's.
type counted interface {
	model
	Stats() dwmac4.Stats
}

// queues are the checks of which queue frames come and go by. rxControl and txControl
// are those of channel 1.
func (m *machine) queues(t *testing.T, rxControl, txControl uint32) {
	p := m.devices[0].model.(counted)
	check(t, m.title, "receive queues by the routing rules", func(t *testing.T) {
		before := p.Stats()
		frame := func(to [6]byte, pcp int) {
			f := make([]byte, 64)
			copy(f, to[:])
			copy(f[6:], []byte{2, 0, 0, 0, 0, 1, 0x88, 0xb5})
			if pcp >= 0 {
				copy(f[12:], []byte{0x81, 0, byte(pcp << 5), 5, 0x88, 0xb5})
			}
			m.devices[0].port().Deliver(f)
		}
		own, all := [6]byte{2, 0, 0, 0, 0, 10}, [6]byte{255, 255, 255, 255, 255, 255}
		for range 3 {
			frame(own, -1)
			frame(own, 1)
		}
		require.Equal(t, [2]uint64{6, 0}, [2]uint64{p.Stats().RX[0] - before.RX[0], p.Stats().RX[1] - before.RX[1]}, "unicast, and VLAN priority 1")
		before = p.Stats()
		for range 3 {
			frame(all, -1)
			frame(own, 6)
		}
		require.Equal(t, [2]uint64{0, 6}, [2]uint64{p.Stats().RX[0] - before.RX[0], p.Stats().RX[1] - before.RX[1]}, "broadcast, and VLAN priority 6")
	})
	check(t, m.title, "both transmit queues carry flows", func(t *testing.T) {
		// Flows go by a hash of their addresses, but TCP, which may be segmented, by
		// queue 0 only.
		before := p.Stats()
		m.run(t, "for i in $(seq 100 123); do ip addr add 192.0.2.$i/32 dev eth0; ping -c 1 -q -W 10 -I 192.0.2.$i 192.0.2.1 > /dev/null || exit 1; ip addr del 192.0.2.$i/32 dev eth0; done")
		require.NotZero(t, p.Stats().TX[0]-before.TX[0])
		require.NotZero(t, p.Stats().TX[1]-before.TX[1])
	})
	check(t, m.title, "ethtool -L", func(t *testing.T) {
		for _, n := range []int{1, 2} {
			m.run(t, fmt.Sprintf("ethtool -L eth0 rx %[1]d tx %[1]d; carrier eth0", n))
			m.reachPeer(t)
			require.Equal(t, fmt.Sprintf("%d\n%d", n, n), m.run(t, "ls -d /sys/class/net/eth0/queues/rx-* | wc -l; ls -d /sys/class/net/eth0/queues/tx-* | wc -l"))
			require.Equal(t, n == 2, p.Read32(rxControl)&controlStart != 0)
			require.Equal(t, n == 2, p.Read32(txControl)&controlStart != 0)
			m.pings(t, 3, peer4, 56, 1472)
			m.upload(t, peer4, 300_000)
			m.download(t, peer4, 300_000)
		}
	})
}

// pull is a link that comes back in the place of another, and what Linux then says of
// it.
type pull struct {
	link mac.Link
	want string
}

// pulls are the checks of a link that comes and goes.
func (m *machine) pulls(t *testing.T, b *barewire, pulls []pull) {
	p := m.devices[0].model
	operstate := func(state string) {
		t.Helper()
		m.until(t, func() bool { return m.run(t, "cat /sys/class/net/eth0/operstate") == state }, "link "+state)
	}
	for _, c := range pulls {
		check(t, m.title, "cable pulled, and back at "+c.link.String(), func(t *testing.T) {
			require.NoError(t, b.cable.Close())
			operstate("down")
			b.plug(&cable.Options{Link: c.link})
			operstate("up")
			require.Equal(t, c.want, m.run(t, "echo $(cat /sys/class/net/eth0/speed /sys/class/net/eth0/duplex)"))
			m.reachPeer(t)
			m.pings(t, 3, peer4, 56, 1472)
			m.download(t, peer4, 300_000)
			pause := c.link.RXPause
			require.Equal(t, pause, p.Read32(macRxFlow)&rxFlowRFE != 0)
			require.Equal(t, pause, p.Read32(macTxFlow)&flowEnable != 0)
		})
	}
}

// phy are the checks of flow control that a PHY has negotiated.
func (m *machine) phy(t *testing.T) {
	p := m.devices[0].model.(*probe)
	check(t, m.title, "pause, ethtool -A and a pause frame", func(t *testing.T) {
		pause := make([]byte, 60)
		copy(pause, []byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0, 1, 0xff, 0xff})
		// The longest pause, 33 ms, is over before a slow test has looked: several.
		pauses := func() (held bool) {
			for range 10 {
				p.Deliver(pause)
				held = held || p.Read32(mtlTxQDebug)&debugPaused != 0
			}
			return held
		}
		before := m.number(t, "stat eth0 mmc_rx_pause_frames")
		require.True(t, pauses())
		m.pings(t, 3, peer4, 56)
		require.Equal(t, before+10, m.number(t, "stat eth0 mmc_rx_pause_frames"))
		m.run(t, "ethtool -A eth0 autoneg off rx off tx off")
		m.until(t, func() bool { return p.Read32(macRxFlow)&rxFlowRFE == 0 && p.Read32(macTxFlow)&flowEnable == 0 }, "pause off")
		require.False(t, pauses())
		m.run(t, "ethtool -A eth0 autoneg off rx on tx on")
		m.until(t, func() bool { return p.Read32(macRxFlow)&rxFlowRFE != 0 && p.Read32(macTxFlow)&flowEnable != 0 }, "pause on")
		require.True(t, pauses())
		m.pings(t, 3, peer4, 56)
	})
}
