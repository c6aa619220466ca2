package cores_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/barewire/barewire/mac"
	bussim "github.com/barewire/barewire/mac/bus/sim"
	"github.com/barewire/barewire/mac/cores"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// known are all names that there may be, in the order of the table.
var known = []string{"dwmac1000", "dwmac4", "dwxgmac2", "sun8i", "mvneta", "mvneta-hwbm", "ravb-rcar", "ravb-gbeth"}

func TestNoDoubles(t *testing.T) {
	// PCI functions are written as the device tree does.
	form := regexp.MustCompile(`^([a-z0-9]+,[a-zA-Z0-9.-]+|pci[0-9a-f]{4},[0-9a-f]{4})$`)
	owner := map[string]string{}
	for _, d := range cores.All() {
		require.NotNil(t, d.New, d.Name)
		for _, c := range d.Compatible {
			require.Regexp(t, form, c)
			require.Empty(t, owner[c], "%s and %s both claim %s", owner[c], d.Name, c)
			owner[c] = d.Name
		}
	}
	rest := known
	for _, name := range cores.Names() {
		for len(rest) > 0 && rest[0] != name {
			rest = rest[1:]
		}
		require.NotEmpty(t, rest, "%s: unknown, double or out of order", name)
		rest = rest[1:]
	}
}

// TestEachOpensItsModel: by its name, and by what the model says of itself.
func TestEachOpensItsModel(t *testing.T) {
	require.Len(t, models.All(), len(cores.All()), "each driver has a model")
	for i, d := range cores.All() {
		t.Run(d.Name, func(t *testing.T) {
			require.Equal(t, d.Name, models.All()[i].Name, "the tables have one order")
			found, err := cores.Find(d.Name)
			require.NoError(t, err)
			m, err := models.Find(d.Name)
			require.NoError(t, err)
			address := mac.HardwareAddr{2, 0, 0, 0, 0, 1}
			open := func(drivers ...mac.Driver) {
				t.Helper()
				hardware := m.Build(sim.Build{Inline: true, Address: address})
				// Some cores know no link by themselves.
				cfg := &mac.Config{Link: mac.Link{Up: true, Speed: 1000, FullDuplex: true}}
				dev, err := mac.Open(t.Context(), bussim.New(hardware, nil), cfg, drivers...)
				require.NoError(t, err)
				require.Equal(t, d.Name, dev.Info().Core)
				require.Equal(t, address, dev.Address(), "what firmware left")
				require.NoError(t, dev.Close())
				require.Empty(t, hardware.Violations().List())
			}
			open(found)
			if len(d.Compatible) > 0 { // others are opened by name only
				open(cores.All()...)
			}
		})
	}
}

func TestUnknownName(t *testing.T) {
	_, err := cores.Find("e1000")
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, `"e1000"`)
	for _, name := range cores.Names() {
		require.ErrorContains(t, err, name)
	}
	_, err = models.Find("e1000")
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorContains(t, err, "dwmac4")
}
