// Package cores is the table of all drivers, for programs that do not know which
// MAC they will meet. A program for one board imports that core's package alone and
// is smaller for it.
//
//	dev, err := mac.Open(ctx, bus, nil, cores.All()...)
//
// To add a core, add its driver to All here and its model to the table of package
// mac/sim/models, at the same place. The tests of this package and of
// examples/httpserver then run on it.
package cores

import (
	"fmt"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/dwmac4"
)

// All are the drivers of all cores, sorted by family.
func All() []mac.Driver {
	return []mac.Driver{
		dwmac4.Driver(),
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
