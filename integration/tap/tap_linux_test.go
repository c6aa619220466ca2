package tap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/mac"
	model "github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/pagepool"
)

// sizes are payloads of echoes: the least, ping's default, the longest that fits
// an IPv4 packet of 1500 bytes and one more, and one of several fragments.
var sizes = []int{0, 1, 56, 1472, 1473, 8000}

func TestDefault(t *testing.T) {
	r := boot(t, setup{})
	r.pings(t, sizes...)
	_, jumbo, parts := r.wire.counts()
	require.Zero(t, jumbo)
	require.NotZero(t, parts[kernelTo])
	require.NotZero(t, parts[kernelFrom])
	r.transfers(t, 64<<20/slowdown, 1)
	r.transfers(t, 32<<20/slowdown, 8)

	require.True(t, r.mac.RXChecksum())
	require.True(t, r.mac.TXChecksum())
	require.NotZero(t, r.mac.Model().(*model.Model).Stats().Checksums, "the core has inserted no checksum")
}

// Whatever is switched on or off, every byte arrives.
func TestConfigurations(t *testing.T) {
	needKernel(t)
	const size = 16 << 20 / slowdown
	for _, c := range []struct {
		name  string
		setup setup
		check func(*testing.T, *rig)
	}{
		{
			name:  "no checksum offload",
			setup: setup{mac: mac.Config{NoRXChecksum: true, NoTXChecksum: true}},
			check: func(t *testing.T, r *rig) {
				require.False(t, r.mac.RXChecksum())
				require.Zero(t, r.mac.Model().(*model.Model).Stats().Checksums)
			},
		},
		{
			name:  "GRO and GSO",
			setup: setup{endpoint: endpoint.Options{GRO: true, GSO: true}},
		},
		{
			name: "two queues",
			setup: setup{
				mac:      mac.Config{Queues: 2},
				model:    model.Config{Queues: 2, RXFIFO: 32 << 10, TXFIFO: 32 << 10},
				endpoint: endpoint.Options{GRO: true},
			},
			check: func(t *testing.T, r *rig) {
				s := r.mac.Model().(*model.Model).Stats()
				require.NotZero(t, s.TX[0])
				require.NotZero(t, s.TX[1])
			},
		},
		{
			name:  "every page lent, small rings",
			setup: setup{mac: mac.Config{CopyBreak: pagepool.LendAlways, RXRing: 64, TXRing: 64}},
			check: func(t *testing.T, r *rig) {
				for _, q := range r.mac.Snapshot().Queues {
					require.NotZero(t, q.Pool.LentHighWater)
				}
			},
		},
		{
			name:  "every frame copied",
			setup: setup{mac: mac.Config{CopyBreak: pagepool.CopyAlways}},
			check: func(t *testing.T, r *rig) {
				for _, q := range r.mac.Snapshot().Queues {
					require.Zero(t, q.Pool.LentHighWater)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := boot(t, c.setup)
			r.pings(t, sizes...)
			r.transfers(t, size, 4)
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}

// Frames of 9014 bytes, each in one page and each in several.
func TestJumboFrames(t *testing.T) {
	needKernel(t)
	const mtu, size = 9000, 32 << 20 / slowdown
	fifo := model.Config{RXFIFO: 64 << 10, TXFIFO: 64 << 10}
	for _, c := range []struct {
		name  string
		setup setup
	}{
		{"one page a frame", setup{mac: mac.Config{MTU: mtu}, model: fifo}},
		{"pages of 2048 bytes", setup{
			mac:      mac.Config{MTU: mtu, PageSize: 2048, RXRing: 1024, CopyBreak: pagepool.LendAlways},
			model:    fifo,
			endpoint: endpoint.Options{GRO: true},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := boot(t, c.setup)
			r.pings(t, append(sizes, mtu-20-8, mtu-40-8)...)
			r.kernelPing(t, our4, 8000, 5, "-M", "do")
			r.kernelPing(t, our4, mtu-20-8, 5, "-M", "do")
			r.kernelPing(t, our6, mtu-40-8, 5, "-M", "do")
			_, jumbo, _ := r.wire.counts()
			r.transfers(t, size, 1)
			r.transfers(t, size/2, 4)

			longest, after, _ := r.wire.counts()
			for _, dir := range []struct {
				name string
				n    int
			}{{"from", int(kernelTo)}, {"to", int(kernelFrom)}} {
				require.Equal(t, 14+mtu, longest[dir.n], "longest frame %s the kernel", dir.name)
				// Four transfers of each size go each way, most of them in full frames.
				require.Greater(t, after[dir.n]-jumbo[dir.n], 4*(size+size/2)/2/mtu, "jumbo frames %s the kernel", dir.name)
			}
			for _, q := range r.mac.Snapshot().Queues {
				if c.setup.mac.PageSize != 0 {
					require.Greater(t, q.RX.Descriptors, 2*q.RX.Frames, "frames in several descriptors")
				} else {
					require.Equal(t, q.RX.Frames, q.RX.Descriptors)
				}
			}
		})
	}
}
