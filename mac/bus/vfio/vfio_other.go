//go:build !linux

package vfio

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/barewire/barewire/mac"
)

// Bus is a device on Linux VFIO. There is none on this system.
type Bus struct{ mac.Bus }

type kernel interface{}

// Open fails with an error that wraps errors.ErrUnsupported: VFIO is part of
// Linux.
func Open(dev string, opts *Options) (*Bus, error) {
	return nil, fmt.Errorf("vfio: open %s: VFIO is part of Linux, this is %s: use package sim: %w", dev, runtime.GOOS, errors.ErrUnsupported)
}

// Check fails as Open does.
func Check(root, dev string) error {
	_, err := Open(dev, nil)
	return err
}

// String implements fmt.Stringer.
func (b *Bus) String() string { return "vfio: not on " + runtime.GOOS }
