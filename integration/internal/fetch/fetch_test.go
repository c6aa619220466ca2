package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is made once is not made again, and nothing is left of what failed.
func TestMade(t *testing.T) {
	a := &Archive{Dir: t.TempDir()}
	made := 0
	fill := func(dir string) error {
		made++
		return os.WriteFile(filepath.Join(dir, "it"), []byte("x"), 0o600)
	}
	one, err := a.Made("thing", 1, fill)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(one, "it"))
	again, err := a.Made("thing", 1, fill)
	require.NoError(t, err)
	require.Equal(t, []any{one, 1}, []any{again, made})
	other, err := a.Made("thing", 2, fill)
	require.NoError(t, err)
	require.NotEqual(t, one, other, "another key")

	failed := errors.New("no luck")
	_, err = a.Made("thing", 3, func(dir string) error { return errors.Join(fill(dir), failed) })
	require.ErrorIs(t, err, failed)
	left, err := os.ReadDir(a.Dir)
	require.NoError(t, err)
	require.Len(t, left, 2)
}
