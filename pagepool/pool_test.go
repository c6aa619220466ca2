package pagepool

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	p, err := New(NewHeap(64*2048, 0x1000), Config{PageSize: 2048, Poison: true})
	require.NoError(t, err)
	require.NoError(t, p.CanLend())
	t.Log(p.CopyBreak())
	pg, ok := p.Alloc()
	require.True(t, ok)
	p.Claim(pg)
	v, ok := p.Lend(pg, 10, 100)
	require.True(t, ok)
	v.Release()
	require.NoError(t, p.Check())
	require.NoError(t, p.Close(context.Background()))
}
