//go:build !linux

package devmem

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/barewire/barewire/mac"
)

// Bus is a device on Linux's /dev/mem. There is none on this system.
type Bus struct{ mac.Bus }

// Open fails with an error that wraps errors.ErrUnsupported: it is for Linux.
func Open(dev string, opts *Options) (*Bus, error) {
	return nil, fmt.Errorf("devmem: open %s: this is for Linux, not %s: use package sim: %w", dev, runtime.GOOS, errors.ErrUnsupported)
}

// Check fails as Open does.
func Check(root, dev string, opts *Options) error {
	_, err := Open(dev, nil)
	return err
}

// String implements fmt.Stringer.
func (b *Bus) String() string { return "devmem: not on " + runtime.GOOS }
