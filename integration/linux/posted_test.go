//go:build linux

package linux

import (
	"testing"

	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// TestPosted has QEMU post register writes: the model sees them some time after
// the guest's CPU has gone on, as on a bus with buffers. What Linux does not read
// back before it relies on it is then late.
func TestPosted(t *testing.T) {
	m := start(t, setup{title: "stmmac 5.10, posted writes", models: []dwmac4.Config{{}}, fixed: gigabit(), posted: true})
	b := newBarewire(t, m.probes[0])
	m.traffic(t, b)
	m.lifeCycle(t, b)
	m.healthy(t)
}
