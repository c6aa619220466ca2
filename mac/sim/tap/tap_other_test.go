//go:build !linux

package tap

import (
	"errors"
	"testing"
)

func TestOpenSaysUnsupported(t *testing.T) {
	if _, err := Open("tap0", nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("got %v", err)
	}
}
