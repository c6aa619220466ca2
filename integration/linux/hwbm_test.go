//go:build linux

package linux

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac/sim/mvneta"
)

// hwbmFiles are what the modules are built from besides the kernel's sources.
//
//go:embed testdata/hwbm
var hwbmFiles embed.FS

// hwbmSources are the kernel's: the driver, which Debian builds without the buffer
// manager, and the parts that it then needs.
var hwbmSources = []string{
	"drivers/net/ethernet/marvell/mvneta.c", "drivers/net/ethernet/marvell/mvneta_bm.c",
	"drivers/net/ethernet/marvell/mvneta_bm.h", "net/core/hwbm.c",
}

// buildTime is for the first build, which downloads compiler, headers and sources.
const buildTime = 20 * time.Minute

// Where the parts are in BAR 0, as in the model.
const (
	bmOffset, bmSize     = 0x8000, 0xac
	bppiOffset, bppiSize = 0x100000, 0x100000
)

// mvnetaHWBMCore is mvnetaCore with buffers of the buffer manager: a mix that no
// SoC has, since those that have the buffer manager have interrupts per CPU, which
// the board has not.
func mvnetaHWBMCore() core {
	const bppi, bm = firstHandle, firstHandle + 1
	c := mvnetaCore()
	swbm := c.node
	c.node = func(s slot) []guest.Node {
		nodes := swbm(s)
		port := &nodes[len(nodes)-1]
		port.Props = append(port.Props, guest.Cells("buffer-manager", s.handle(bm)), guest.Cells("bm,pool-long", 0), guest.Cells("bm,pool-short", 1))
		return append([]guest.Node{
			{Name: fmt.Sprintf("bppi@%x", s.bar+bppiOffset), Props: []guest.Prop{
				guest.Strings("compatible", "test,bppi"), guest.Cells("reg", 0, s.bar+bppiOffset, 0, bppiSize),
				guest.Cells("phandle", s.handle(bppi)),
			}},
			{Name: fmt.Sprintf("bm@%x", s.bar+bmOffset), Props: []guest.Prop{
				guest.Strings("compatible", "marvell,armada-380-neta-bm"), guest.Cells("reg", 0, s.bar+bmOffset, 0, bmSize),
				guest.Cells("clocks", s.handle(clockHandle)), guest.Cells("internal-mem", s.handle(bppi)), {Name: "dma-coherent"},
				guest.Cells("pool0,capacity", 1024), guest.Cells("pool1,capacity", 512), guest.Cells("pool1,pkt-size", 256),
				guest.Cells("phandle", s.handle(bm)),
			}},
		}, nodes...)
	}
	c.modules = []string{"bppi", "mvneta_bm_hwbm", "mvneta"}
	c.mtus = []int{1300, 3000}
	return c
}

// TestMvnetaHWBM is NETA with buffers of the buffer manager, which needs an arm guest
// of 32 bits, and modules that Debian does not have.
func TestMvnetaHWBM(t *testing.T) {
	needQEMU(t)
	if !*full {
		t.Skip("builds kernel modules: make integration-full")
	}
	ctx, cancel := context.WithTimeout(t.Context(), buildTime)
	defer cancel()
	debian, err := guest.FetchARMTools(ctx)
	require.NoError(t, err)
	files, err := fs.Sub(hwbmFiles, "testdata/hwbm")
	require.NoError(t, err)
	require.NoError(t, debian.Build(ctx, hwbmSources, files))

	m := start(t, setup{title: "mvneta with buffer manager", cores: []core{mvnetaHWBMCore()}, debian: debian})
	b := newBarewire(t, m.devices[0])
	m.list(t, b)
	stats := func() mvneta.Stats { return m.devices[0].model.(*mvneta.Model).Stats() }
	check(t, m.title, "frames lie in buffers of both pools", func(t *testing.T) {
		s := stats()
		require.NotZero(t, s.Gets[0], "long")
		require.NotZero(t, s.Gets[1], "short")
	})
	m.healthy(t)
	check(t, m.title, "every buffer given was taken back", func(t *testing.T) {
		s := stats()
		require.Equal(t, s.Puts, s.Gets)
	})
}
