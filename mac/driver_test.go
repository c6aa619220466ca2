package mac

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// saysBus is a bus that says what it is.
type saysBus struct {
	*fakeBus
	names []string
}

func (b saysBus) Compatible() []string { return b.names }

func TestMatch(t *testing.T) {
	drivers := []Driver{
		{Name: "general", Compatible: []string{"maker,mac"}},
		{Name: "special", Compatible: []string{"maker,mac-2", "pci16c3,7102"}},
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"maker,mac"}, "general"},
		{[]string{"board,mac", "maker,mac-2", "maker,mac"}, "special"}, // the more specific name, not the first driver
		{[]string{"pci16c3,7102"}, "special"},
	} {
		d, err := Match(saysBus{names: c.names}, drivers...)
		require.NoError(t, err)
		require.Equal(t, c.want, d.Name, c.names)
	}

	for _, names := range [][]string{nil, {"other,mac"}} {
		_, err := Match(saysBus{fakeBus: &fakeBus{}, names: names}, drivers...)
		require.ErrorIs(t, err, ErrUnsupported)
		require.ErrorContains(t, err, "bus0")
		require.ErrorContains(t, err, "general, special")
		for _, n := range names {
			require.ErrorContains(t, err, n)
		}
	}
	_, err := Match(saysBus{fakeBus: &fakeBus{}})
	require.ErrorIs(t, err, ErrUnsupported)

	d, err := Match(saysBus{names: []string{"other,mac"}}, drivers[0])
	require.NoError(t, err)
	require.Equal(t, "general", d.Name, "the only driver is the caller's choice")
}

func TestOpen(t *testing.T) {
	b := &fakeBus{core: newFakeCore()}
	_, err := Open(context.Background(), b, nil)
	require.ErrorIs(t, err, ErrUnsupported)
	require.Equal(t, 1, b.closed)

	b = &fakeBus{core: newFakeCore()}
	_, err = Open(context.Background(), b, nil, Driver{Name: "broken", New: func(Bus) (Core, error) { return nil, errTest }})
	require.ErrorIs(t, err, errTest)
	require.Equal(t, 1, b.closed)

	b = &fakeBus{core: newFakeCore()}
	d, err := Open(context.Background(), b, nil, Driver{Name: "fake", New: func(Bus) (Core, error) { return b.core, nil }})
	require.NoError(t, err)
	require.NoError(t, d.Close())
}
