//go:build !linux

package uio

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/barewire/barewire/mac"
)

// Bus is a device on Linux UIO. There is none on this system.
type Bus struct{ mac.Bus }

// Open fails with an error that wraps errors.ErrUnsupported: UIO is part of
// Linux.
func Open(dev string, opts *Options) (*Bus, error) {
	return nil, fmt.Errorf("uio: open %s: UIO is part of Linux, this is %s: use package sim: %w", dev, runtime.GOOS, errors.ErrUnsupported)
}

// Check fails as Open does.
func Check(root, dev string, opts *Options) error {
	_, err := Open(dev, nil)
	return err
}

// String implements fmt.Stringer.
func (b *Bus) String() string { return "uio: not on " + runtime.GOOS }
