//go:build linux

package guestserver

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/integration/internal/guest"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/models"
)

// TestCores has the server serve on every core but the one that TestServer looks
// into, each in a guest of its own. The PCI function says what it says of every
// core: the driver is the one that -core names. The link is a fixed one.
func TestCores(t *testing.T) {
	needQEMU(t)
	for _, model := range models.All() {
		if model.Name == "dwmac4" {
			continue
		}
		t.Run(model.Name, func(t *testing.T) {
			testCore(t, setup{
				title: "UIO, " + model.Name, core: model.Name, fetch: guest.Fetch, model: model.Build(sim.Build{FIFO: fifoSize}),
				modules: uioModules, bind: bindUIO, irq: "uio_pci_generic", line: "uio 0000:00:04.0",
				flags: "-bus uio -unsafe-hugepages -core " + model.Name + " -link " + strconv.Itoa(fast.Speed),
			})
		})
	}
}

// testCore is the short list.
func testCore(t *testing.T, s setup) {
	m := start(t, s)
	for _, c := range []struct {
		name string
		f    func(t *testing.T)
	}{
		{"start the server", m.startServer},
		{"GET /", m.page},
		{"download of 1 MiB", func(t *testing.T) { m.download(t, 1<<20) }},
		{"upload of 1 MiB", func(t *testing.T) { m.upload(t, 1<<20) }},
		{"20 connections at once", m.atOnce},
		{"UDP echoes of 1 to 8000 bytes", m.echoes},
		{"interrupts through the kernel", m.interruptsUsed},
		{"no rule of the hardware broken, no DMA refused", m.clean},
		{"SIGTERM: no page lent, exit code 0, DMA has ended", m.terminated},
		{"no warning of the kernel", m.quiet},
	} {
		if !check(t, m.title, c.name, c.f) {
			return // what follows would say nothing new
		}
	}
	require.NotZero(t, m.server.Stats().INTxSent)
}
