package dwmac

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/ring"
)

func TestWatchdog(t *testing.T) {
	for _, c := range []struct {
		usecs, hz int
		shift     uint
		reg       uint32
		actual    int
	}{
		{0, 100e6, 0, 0, 0},
		{410, 0, 0, 0xA0, 410},     // unknown clock: 100 MHz
		{410, 100e6, 0, 0xA0, 410}, // the 0xA0 of the manual's examples
		{328, 125e6, 0, 0xA0, 328},
		{164, 250e6, 0, 0xA0, 164},
		{200, 125e6, 0, 98, 201},
		{2, 100e6, 0, 1, 3}, // the least: nearest to 2.56
		{653, 100e6, 0, 255, 653},
		{655, 100e6, 3, 1<<16 | 128, 655},
		{5000, 100e6, 3, 3<<16 | 244, 4997},
		{1000, 500e6, 3, 3<<16 | 244, 999},
	} {
		count, shift, actual, err := Watchdog(c.usecs, c.hz, c.shift)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c.reg, shift<<16|count, "%+v", c)
		require.Equal(t, c.actual, actual, "%+v", c)
	}
	for _, c := range []struct {
		usecs int
		shift uint
		text  string
	}{
		{1, 0, "takes 0 or 2 to 654"}, {655, 0, "takes 0 or 2 to 654"}, {-1, 0, "takes 0 or 2 to 654"},
		{5233, 3, "takes 0 or 2 to 5232"}, {1 << 30, 3, "takes 0 or 2 to 5232"},
	} {
		_, _, _, err := Watchdog(c.usecs, 100e6, c.shift)
		require.ErrorIs(t, err, ring.ErrCoalesce)
		require.ErrorContains(t, err, c.text)
	}
	for usecs := 2; usecs <= 654; usecs++ { // the named range is exact
		_, _, actual, err := Watchdog(usecs, 100e6, 0)
		require.NoError(t, err)
		require.InDelta(t, usecs, actual, 2)
	}
}
