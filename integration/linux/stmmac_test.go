//go:build linux

package linux

import (
	"testing"

	"github.com/barewire/barewire/mac/sim/dwmac4"
)

// TestStmmac is the core as it is by default, with a fixed link and Barewire as
// the peer.
func TestStmmac(t *testing.T) {
	m := start(t, setup{title: "stmmac 5.10", cores: []core{dwmac4Core(dwmac4.Config{})}, bytes: 1 << 20})
	b := newBarewire(t, m.devices[0])
	m.list(t, b)
	m.engines(t, b)
	m.moderation(t)
	m.healthy(t)
}
