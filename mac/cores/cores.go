// Package cores is the table of all drivers, for programs that do not know which
// MAC they will meet. A program for one board imports that core's package alone and
// is smaller for it.
//
//	dev, err := mac.Open(ctx, bus, nil, cores.All()...)
//
// To add a core:
//
//   - add its driver to All, and its model to the table of package mac/sim/models at
//     the same place;
//   - say what works in features/NAME.ini, as features/TEMPLATE.ini explains;
//   - go test ./mac/cores -run TestFeatures -update writes the README's table.
//
// The tests of this package, of examples/httpserver and of integration/guestserver
// then run on it; integration/linux has a file for each core.
package cores

import (
	"fmt"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/dwmac1000"
	"github.com/barewire/barewire/mac/dwmac4"
	"github.com/barewire/barewire/mac/dwxgmac2"
	"github.com/barewire/barewire/mac/mvneta"
	"github.com/barewire/barewire/mac/ravb"
	"github.com/barewire/barewire/mac/sun8i"
)

// All are the drivers of all cores, sorted by family.
func All() []mac.Driver {
	return []mac.Driver{
		dwmac1000.Driver(),
		dwmac4.Driver(),
		dwxgmac2.Driver(),
		sun8i.Driver(),
		mvneta.Driver(),
		mvneta.HWBMDriver(),
		ravb.RCar(),
		ravb.GbEth(),
	}
}

// Find returns the driver with this name. The error lists the names there are, and
// wraps mac.ErrUnsupported.
func Find(name string) (mac.Driver, error) {
	for _, d := range All() {
		if d.Name == name {
			return d, nil
		}
	}
	return mac.Driver{}, fmt.Errorf("cores: no driver %q: there are %s: %w", name, strings.Join(Names(), ", "), mac.ErrUnsupported)
}

// Names are the names of all drivers, in the order of All.
func Names() []string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
}
