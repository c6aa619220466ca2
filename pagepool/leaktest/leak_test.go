// Package leaktest runs the pool under gVisor's leak checker. The checker is
// global to a process and must be on before any buffer exists, so this is a
// test binary of its own.
package leaktest

import (
	"io"
	"os"
	"testing"

	"github.com/barewire/barewire/pagepool"
	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/refs"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

func TestMain(m *testing.M) {
	refs.SetLeakMode(refs.LeaksPanic)
	os.Exit(m.Run())
}

// lendPacket lends a page as the payload of a packet.
func lendPacket(t *testing.T, p *pagepool.Pool) *stack.PacketBuffer {
	pg, ok := p.Alloc()
	require.True(t, ok)
	p.Claim(pg)
	payload, ok := p.Lend(pg, 14, 1000)
	require.True(t, ok)
	b := buffer.MakeWithView(buffer.NewViewWithData(p.Bytes(pg)[:14]))
	tail := buffer.MakeWithView(payload)
	b.Merge(&tail)
	return stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: b})
}

// The checker knows every chunk by its creation and removal. Ours is never
// created in its eyes, so it must never be removed either, however views of it
// are copied, pulled up, written and released.
func TestPoolUnderLeakChecker(t *testing.T) {
	p, err := pagepool.New(pagepool.NewHeap(8*2048, 0), pagepool.Config{PageSize: 2048, MaxLent: 8, Poison: true})
	require.NoError(t, err)
	require.NoError(t, p.CanLend(), "the self-test runs under the checker")

	for range 100 {
		pkt := lendPacket(t, p)
		pkt.LinkHeader().Consume(header.EthernetMinimumSize)
		segment := pkt.Clone()
		pkt.DecRef()
		if b, ok := segment.Data().PullUp(20); ok { // copies the page's chunk
			b[0]++
		}
		_, err := segment.Data().ReadTo(io.Discard, false)
		require.NoError(t, err)
		segment.DecRef()
		p.Reclaim()
	}
	require.Zero(t, p.ReclaimAll())
	require.NoError(t, p.Check())

	// A packet that is still out when the pool closes, too.
	late := lendPacket(t, p)
	ctx := t.Context()
	require.NotPanics(t, func() { late.DecRef() })
	require.NoError(t, p.Close(ctx))
	require.NotPanics(t, refs.DoRepeatedLeakCheck)
}

// The checker is on and does see a lent packet that nobody releases.
func TestLeakIsSeen(t *testing.T) {
	p, err := pagepool.New(pagepool.NewHeap(2*2048, 0), pagepool.Config{PageSize: 2048, CopyBreak: pagepool.LendAlways})
	require.NoError(t, err)
	pkt := lendPacket(t, p)
	require.Panics(t, refs.DoRepeatedLeakCheck)
	require.Equal(t, 1, p.ReclaimAll())
	pkt.DecRef()
	require.NotPanics(t, refs.DoRepeatedLeakCheck)
	require.Zero(t, p.ReclaimAll())
}
