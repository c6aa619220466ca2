//go:build linux

package linux

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim/cable"
	"github.com/barewire/barewire/mac/sim/sun8i"
)

// Registers of the EMAC, and of the system control behind it in the BAR, which has
// the EMAC clock register and room for a reset controller.
const (
	emacWindow   = 0x8000
	emacTxCtl0   = 0x10
	emacTxFlow   = 0x1c
	emacRxCtl0   = 0x24
	emacEnable   = 1 << 31
	emacRxFlow   = 1 << 16
	emacBusClock = 200_000_000

	emacSyscon = 0x8000
	emacReset  = 0x8100
	emacClock  = emacSyscon + 0x30
)

// sun8iCore is the EMAC of an A64, without a PHY or with one at address 1.
func sun8iCore(phy bool) core {
	at := -1
	if phy {
		at = 1
	}
	const none = "the core has none"
	return core{
		model: func() model {
			return sun8i.New(sun8i.Config{Windows: true, ClockHz: emacBusClock, AnyLinkChange: true, PHYAddress: at, RXFIFO: 64 << 10})
		},
		node: func(s slot) []guest.Node {
			n := s.mac(emacWindow, []string{"allwinner,sun50i-a64-emac"},
				guest.Cells("interrupts", s.irq...), guest.Strings("interrupt-names", "macirq"),
				guest.Cells("syscon", s.handle(firstHandle)),
				guest.Cells("clocks", s.handle(clockHandle)), guest.Strings("clock-names", "stmmaceth"),
				guest.Cells("resets", s.handle(resetHandle), 0), guest.Strings("reset-names", "stmmaceth"),
				guest.Strings("phy-mode", "rgmii"))
			if phy {
				n.Props = append(n.Props, guest.Cells("phy-handle", s.handle(phyHandle)))
				n.Children = []guest.Node{mdioNode(s)}
			} else {
				n.Children = []guest.Node{fixedLink(1000)}
			}
			return []guest.Node{s.clock(emacBusClock), s.spare("syscon", firstHandle, emacSyscon, 0x100), s.reset(emacReset), n}
		},
		modules: []string{"dwmac_sun8i"}, driver: "dwmac-sun8i",
		running: func(m model) bool { return m.Read32(emacTxCtl0)&m.Read32(emacRxCtl0)&emacEnable != 0 },
		// Receive checksums cannot be switched off: the driver sets the bit, and says so.
		features: []feature{{"tx", func(m model) uint64 { return m.(*sun8i.Model).Stats().Checksums }}},
		rings:    []int{64, 128, 1024, 512}, // a chain has no length that a register knows
		mtus:     []int{1300},
		missing: map[string]string{
			"ethtool -S: counters are what was on the wire": "counters: " + none,
			"ethtool -C": "receive watchdog: " + none + "; transmit interrupts are put off by a timer of the driver",
		},
	}
}

// TestSun8i is the EMAC with a fixed link.
func TestSun8i(t *testing.T) {
	m := start(t, setup{title: "dwmac-sun8i, A64", cores: []core{sun8iCore(false)}})
	b := newBarewire(t, m.devices[0])
	p := m.devices[0].model.(*sun8i.Model)
	check(t, m.title, "the EMAC clock register says RGMII", func(t *testing.T) { require.EqualValues(t, 6, p.Read32(emacClock)) })
	m.list(t, b)
	m.wrongChecksums(t, b)
	check(t, m.title, "more groups than filters: everything passes", func(t *testing.T) {
		groups := func(do string) {
			m.run(t, "for i in 1 2 3 4 5 6 7 8; do ip maddr "+do+" 01:00:5e:01:02:0$i dev eth0; done")
		}
		m.passes(t, false, otherAddress, ownAddress)
		groups("add")
		m.passes(t, true, [6]byte{1, 0, 0x5e, 1, 2, 8}, ownAddress)
		m.passes(t, true, otherAddress, ownAddress)
		groups("del")
		m.passes(t, false, [6]byte{1, 0, 0x5e, 1, 2, 8}, ownAddress)
		m.passes(t, false, otherAddress, ownAddress)
	})
	m.healthy(t)
}

// wrongChecksums: what the wire damages does not reach a program, by the doing of
// the model's engine: Linux takes what the driver hands it for checked.
func (m *machine) wrongChecksums(t *testing.T, b *barewire) {
	check(t, m.title, "bits flipped on the wire are caught", func(t *testing.T) {
		b.plug(&cable.Options{AToB: cable.Impairments{Seed: 3, Corrupt: 20}, BToA: cable.Impairments{Seed: 4, Corrupt: 20}})
		defer b.plug(nil)
		m.upload(t, peer4, 1<<20)
		m.download(t, peer4, 1<<20)
		require.NotZero(t, b.cable.Stats(fromLinux).Corrupted)
		require.NotZero(t, b.cable.Stats(toLinux).Corrupted)
	})
}

// TestSun8iPHY has the link come from a PHY, by MDIO.
func TestSun8iPHY(t *testing.T) {
	m := start(t, setup{title: "dwmac-sun8i, PHY", cores: []core{sun8iCore(true)}, manual: true})
	b := newBarewire(t, m.devices[0]) // the cable is in before Linux looks at the PHY
	p := m.devices[0].model.(*sun8i.Model)
	if !check(t, m.title, "insmod, probe and up", m.bringUp) {
		return
	}
	check(t, m.title, "pings, and TCP both ways", func(t *testing.T) {
		m.pings(t, 3, peer4, 0, 56, 1472)
		m.upload(t, peer4, 200_000)
		m.download(t, peer4, 200_000)
	})
	for _, l := range []mac.Link{
		{Up: true, Speed: 100, FullDuplex: true}, {Up: true, Speed: 10},
		{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true},
	} {
		duplex := "half"
		if l.FullDuplex {
			duplex = "full"
		}
		check(t, m.title, "cable pulled, and back with "+l.String(), func(t *testing.T) {
			require.NoError(t, b.cable.Close())
			m.until(t, func() bool { return m.run(t, "cat /sys/class/net/eth0/operstate") == "down" }, "link down")
			b.plug(&cable.Options{Link: l})
			m.until(t, func() bool { return m.run(t, "cat /sys/class/net/eth0/operstate") == "up" }, "link up")
			require.Equal(t, fmt.Sprint(l.Speed, " ", duplex), m.run(t, "echo $(cat /sys/class/net/eth0/speed /sys/class/net/eth0/duplex)"))
			m.reachPeer(t)
			m.pings(t, 3, peer4, 56, 1472)
			m.download(t, peer4, 100_000)
			require.Equal(t, l.RXPause, p.Read32(emacRxCtl0)&emacRxFlow != 0)
			require.Equal(t, l.TXPause, p.Read32(emacTxFlow)&1 != 0)
		})
	}
	m.healthy(t)
}
