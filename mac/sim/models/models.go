// Package models is the table of all models, for programs that take a core by its
// name. Who wants one core alone imports that core's package instead.
package models

import (
	"fmt"
	"strings"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/dwmac1000"
	"github.com/barewire/barewire/mac/sim/dwmac4"
	"github.com/barewire/barewire/mac/sim/dwxgmac2"
	"github.com/barewire/barewire/mac/sim/mvneta"
	"github.com/barewire/barewire/mac/sim/ravb"
	"github.com/barewire/barewire/mac/sim/sun8i"
)

// Model makes models of one core.
type Model struct {
	// Name is that of the core's driver (mac.Driver).
	Name string
	// Build makes one.
	Build func(sim.Build) sim.Model
}

// All are the models, each as its core is mostly built, in the order of package
// mac/cores.
func All() []Model {
	return []Model{
		{"dwmac1000", dwmac1000.Config{}.Build},
		{"dwmac4", dwmac4.Config{}.Build},
		{"dwxgmac2", dwxgmac2.Config{}.Build},
		{"sun8i", sun8i.Config{}.Build},
		{"mvneta", mvneta.Config{}.Build},
		{"mvneta-hwbm", mvneta.Config{}.Build},
		{"ravb-rcar", ravb.Config{}.Build},
		{"ravb-gbeth", ravb.Config{Variant: ravb.GbEth}.Build},
	}
}

// Find returns the model of the driver with this name. The error lists the names
// there are, and wraps mac.ErrUnsupported.
func Find(name string) (Model, error) {
	var names []string
	for _, m := range All() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Model{}, fmt.Errorf("models: no model of %q: there are %s: %w", name, strings.Join(names, ", "), mac.ErrUnsupported)
}
