package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseRange(t *testing.T) {
	for in, want := range map[string]Range{
		"0x7c000000+0x1000000": {0x7c000000, 0x1000000}, "0x7c000000+16M": {0x7c000000, 16 << 20}, "4096+64K": {4096, 64 << 10},
		"0+1G": {0, 1 << 30}, "0xfffffffffffff000+4095": {0xfffffffffffff000, 4095},
		"": {}, "0x1000": {}, "0x1000+": {}, "+1": {}, "0x1000+0": {}, "0x1000+1T": {}, "-1+1": {}, "0x1000+1M extra": {}, "0x1000-0x2000": {},
		"0+18446744073709551615K": {}, "0xffffffffffffffff+4K": {}, "0x1000 + 1": {},
	} {
		got, err := ParseRange(in)
		require.Equal(t, want == Range{}, err != nil, "%q: %v", in, err)
		require.Equal(t, want, got, "%q", in)
	}
}

func FuzzParseRange(f *testing.F) {
	f.Add("0x7c000000+16M")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRange(s)
		if err != nil {
			return
		}
		again, err := ParseRange(r.String())
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
