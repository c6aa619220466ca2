// Package queues has what the drivers of cores with several queues share.
package queues

import (
	"fmt"

	"github.com/barewire/barewire/mac"
)

// CheckStart checks that the core is not running yet and every queue in use has its
// ring. R and T are its codecs, core its name for errors.
func CheckStart[R, T any](core string, s *mac.Setup, started bool, rx []*R, tx []*T) error {
	if started {
		return fmt.Errorf("%s: start: running already: stop it first: %w", core, mac.ErrConfig)
	}
	for q := range s.RXQueues {
		if rx[q] == nil {
			return fmt.Errorf("%s: start: receive queue %d has no ring: %w", core, q, mac.ErrConfig)
		}
	}
	for q := range s.TXQueues {
		if tx[q] == nil {
			return fmt.Errorf("%s: start: transmit queue %d has no ring: %w", core, q, mac.ErrConfig)
		}
	}
	return nil
}
