//go:build linux

package linux

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac/sim/dwmac1000"
	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// TestDwmac1000 is GMAC 3.70 with extended descriptors.
func TestDwmac1000(t *testing.T) {
	m := start(t, setup{title: "stmmac 3.70", cores: []core{dwmac1000Core(dwmac1000.Config{})}, bytes: 1 << 20})
	b := newBarewire(t, m.devices[0])
	m.list(t, b)
	check(t, m.title, "MTU 9000, ping", func(t *testing.T) {
		require.NoError(t, b.mac.SetMTU(9000))
		m.run(t, "ip link set eth0 down; ip link set eth0 mtu 9000 && ip link set eth0 up && carrier eth0")
		m.reachPeer(t)
		m.pings(t, 2, peer4, 56, 4054, 4055, 8163, 8972)
	})
	m.healthy(t)
}

// TestDwmac1000Normal is an old GMAC with normal descriptors, which has no receive
// watchdog.
func TestDwmac1000Normal(t *testing.T) {
	c := dwmac1000Core(dwmac1000.Config{Version: 0x32, NormalDescriptors: true})
	// Linux leaves the second buffer of a normal descriptor without an address: a
	// frame has to fit the first one.
	c.mtus = []int{1300, 1400}
	c.missing = map[string]string{"ethtool -C": "before version 3.50 there is no receive watchdog"}
	m := start(t, setup{title: "stmmac 3.20", cores: []core{c}})
	m.list(t, newBarewire(t, m.devices[0]))
	m.healthy(t)
}

// TestDwmac1000Chained has Linux link the descriptors instead of laying them out in
// rings, which it does when the module is told to.
func TestDwmac1000Chained(t *testing.T) {
	m := start(t, setup{title: "stmmac 3.70, chained", cores: []core{dwmac1000Core(dwmac1000.Config{VouchesForAll: true})}, manual: true})
	if !check(t, m.title, "insmod chain_mode=1, probe and up", func(t *testing.T) {
		m.run(t, `for m in $(cat /mod/order); do
			[ $m = stmmac ] && { insmod /mod/$m.ko chain_mode=1; break; }
			insmod /mod/$m.ko
		done`)
		m.bringUp(t)
		require.NotEmpty(t, m.run(t, "dmesg | grep 'Chain mode enabled'"))
	}) {
		t.FailNow()
	}
	m.steps(t, m.traffic(newBarewire(t, m.devices[0])))
	m.healthy(t)
}

// Registers of GMAC 3.x, by the manual's numbers (DesignWare Ethernet MAC
// 10/100/1000 Universal). They are not shared with the model, which could be wrong
// in them.
const (
	gmac3Config   = 0x0000
	gmac3RE       = 1 << 2
	gmac3TE       = 1 << 3
	gmac3Watchdog = 0x1024
)

// dwmac1000Core is a GMAC 3.x with a fixed link. Management counters and the
// watchdog's unit are those of dwmac4.
func dwmac1000Core(config dwmac1000.Config) core {
	config.AnyLinkChange = true
	c := dwmac4Core(dwmac4.Config{})
	c.model = func() model { return dwmac1000.New(config) }
	c.node = func(s slot) []guest.Node {
		n := s.mac(guest.BARSize, dwmac1000.New(config).Compatible(),
			guest.Cells("interrupts", s.irq...), guest.Strings("interrupt-names", "macirq"),
			guest.Cells("clocks", s.handle(clockHandle), s.handle(clockHandle)), guest.Strings("clock-names", "stmmaceth", "pclk"),
			guest.Strings("phy-mode", "rgmii"), guest.Cells("rx-fifo-depth", 16<<10), guest.Cells("tx-fifo-depth", 16<<10))
		n.Children = []guest.Node{fixedLink(1000)}
		return []guest.Node{s.clock(dwmac4Clock), n}
	}
	c.running = func(m model) bool { return m.Read32(gmac3Config)&(gmac3RE|gmac3TE) == gmac3RE|gmac3TE }
	c.features = []feature{
		{"tx", func(m model) uint64 { return m.(*dwmac1000.Model).Stats().Checksums }},
		{name: "rx"},
	}
	for i := range c.coalesce {
		c.coalesce[i].reg = gmac3Watchdog
	}
	c.slots = nil // no register tells
	// Of a piece of a frame that is longer than 4 KiB Linux gives the device the
	// first 4 KiB alone, with no address for the rest: a stream must not have such.
	c.mtus = []int{1300, 3000, 4000}
	return c
}
