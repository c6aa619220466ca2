//go:build linux

package linux

import (
	"testing"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac/sim/mvneta"
)

const mvnetaClock = 200_000_000

// Registers of NETA, those of queues for queue 0.
const (
	netaWindow      = 0x4000
	netaRXSize      = 0x14a0 // 13:0 descriptors
	netaRXThreshold = 0x14c0
	netaRXTime      = 0x2580
	netaTXCommand   = 0x2448 // 7:0 queues that are on
	netaRXCommand   = 0x2680
	netaGMAC0       = 0x2c00 // 0 on
	netaTXSize      = 0x3c20 // 13:0 descriptors, 29:16 threshold
	netaSlots       = 0x3fff
)

// mvnetaCore is a port of an Armada 3700, where interrupts are plain ones, with a
// fixed link. Buffers are software's.
func mvnetaCore() core {
	return core{
		model: func() model {
			return mvneta.New(mvneta.Config{
				Compatible: "marvell,armada-3700-neta", PassThrough: true, CPUs: 1, ClockHz: mvnetaClock, NoBPPI: true,
			})
		},
		node: func(s slot) []guest.Node {
			n := s.mac(netaWindow, []string{"marvell,armada-3700-neta"},
				guest.Cells("interrupts", s.irq...), guest.Cells("clocks", s.handle(clockHandle)), guest.Strings("phy-mode", "rgmii-id"))
			n.Children = []guest.Node{fixedLink(1000)}
			return []guest.Node{s.clock(mvnetaClock), n}
		},
		modules: []string{"mvneta"}, driver: "mvneta",
		barSize: 2 << 20, // with the aperture of a buffer manager, which is not used
		running: func(m model) bool {
			return m.Read32(netaGMAC0)&m.Read32(netaTXCommand)&m.Read32(netaRXCommand)&1 != 0
		},
		sent: map[string]string{
			"good_frames_sent": "frames", "good_octets_sent": "octets",
			"broadcast_frames_sent": "broadcast", "multicast_frames_sent": "multicast",
		},
		received: map[string]string{
			"good_frames_received": "frames", "good_octets_received": "octets",
			"broadcast_frames_received": "broadcast", "multicast_frames_received": "multicast",
		},
		features: []feature{
			{"tx", func(m model) uint64 { return m.(*mvneta.Model).Stats().Checksums }},
			{name: "rx"},
		},
		coalesce: []setting{
			{"rx-usecs 50", netaRXTime, 50 * mvnetaClock / 1e6}, {"rx-usecs 1000", netaRXTime, 1000 * mvnetaClock / 1e6},
			{"rx-frames 8", netaRXThreshold, 8}, {"rx-frames 32", netaRXThreshold, 32},
			{"tx-frames 4", netaTXSize, 4<<16 | 1024}, {"tx-frames 0", netaTXSize, 1024},
			{"rx-usecs 100", netaRXTime, 100 * mvnetaClock / 1e6},
		},
		refused: []string{"tx-usecs 100", "adaptive-rx on"},
		rings:   []int{448, 512},
		slots: func(m model) (rx, tx int) {
			return int(m.Read32(netaRXSize) & netaSlots), int(m.Read32(netaTXSize) & netaSlots)
		},
		mtus: []int{1300, 3000, 9000},
	}
}

// TestMvneta is NETA with buffers of software.
func TestMvneta(t *testing.T) {
	m := start(t, setup{title: "mvneta, Armada 3700", cores: []core{mvnetaCore()}})
	b := newBarewire(t, m.devices[0])
	m.list(t, b)
	m.healthy(t)
}
