//go:build !unix

package sim

import "errors"

func mapMemory(int) ([]byte, func() error, error) {
	return nil, nil, errors.ErrUnsupported
}
