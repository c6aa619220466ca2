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
	m := start(t, setup{title: "stmmac 5.10, posted writes", cores: []core{dwmac4Core(dwmac4.Config{})}, posted: true})
	b := newBarewire(t, m.devices[0])
	m.steps(t, m.traffic(b))
	m.steps(t, m.lifeCycle(b))
	m.healthy(t)
}
