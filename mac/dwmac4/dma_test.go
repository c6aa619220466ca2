package dwmac4

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/dwmac/dwtest"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

func newRings(t *testing.T, slots int) (regs *fakeRegs, rx *rxRing, rxMem *dwtest.Memory, tx *dwmac.TXRing, txMem *dwtest.Memory) {
	t.Helper()
	regs = newRegs(0x1051)
	c := newCore(t, regs)
	rxMem, txMem = dwtest.NewMemory(slots), dwtest.NewMemory(slots)
	r, err := c.NewRX(0, rxMem, slots, 2048)
	require.NoError(t, err)
	x, err := c.NewTX(0, txMem, slots)
	require.NoError(t, err)
	require.Empty(t, regs.writes, "NewRX and NewTX write no registers")
	rx, tx = r.(*rxRing), x.(*dwmac.TXRing)
	rx.checksum = true
	rxMem.Log, txMem.Log = nil, nil
	return regs, rx, rxMem, tx, txMem
}

func TestHarvest(t *testing.T) {
	_, rx, m, _, _ := newRings(t, 6)
	const junk = 0xBAD0BAD0
	dwtest.SetWords(t, m, 4, [4]uint32{junk, 0x12, junk, 0x34010000 | 100})           // good, with verdict
	dwtest.SetWords(t, m, 5, [4]uint32{junk, junk, junk, 0x20000000})                 // first of two
	dwtest.SetWords(t, m, 0, [4]uint32{junk, 0x92, junk, 0x14010000 | 3000})          // last, bad checksum
	dwtest.SetWords(t, m, 1, [4]uint32{junk, junk, junk, 0x40000000})                 // context
	dwtest.SetWords(t, m, 2, [4]uint32{junk, 0x12, junk, 0x35018000 | 64})            // CRC error
	dwtest.SetWords(t, m, 3, [4]uint32{junk, junk, junk, gmac4.RDES3OWN | 0x1000000}) // still posted
	out := make([]ring.Completion, 8)

	n := rx.Harvest(4, out)
	require.Equal(t, []ring.Completion{
		{Len: 100, Trim: 4, Flags: ring.First | ring.Last | ring.ChecksumGood},
		{Flags: ring.First},
		{Len: 3000, Trim: 4, Flags: ring.Last | ring.ChecksumBad},
		{Flags: ring.NoData},
		{Len: 64, Trim: 4, Flags: ring.First | ring.Last | ring.ErrCRC},
	}, out[:n])
	require.Equal(t, []dwtest.Event{
		{Kind: "load", Index: 19}, {Kind: "load", Index: 23}, {Kind: "load", Index: 3}, {Kind: "load", Index: 7}, {Kind: "load", Index: 11}, {Kind: "load", Index: 15},
		{Kind: "read"},
		{Kind: "load", Index: 17}, {Kind: "load", Index: 1},
	}, m.Log, "RDES3 of each, then RDES1 of those with a verdict; no other word")

	m.Log = nil
	require.Zero(t, rx.Harvest(3, out))
	require.Equal(t, []dwtest.Event{{Kind: "load", Index: 15}}, m.Log)

	m.Log = nil
	require.Equal(t, 2, rx.Harvest(4, out[:2]), "as many as asked for")
	require.Equal(t, 3, m.Count("load"))

	m.Log = nil
	rx.checksum = false
	n = rx.Harvest(4, out)
	require.Equal(t, ring.First|ring.Last, out[0].Flags, "checksum engine off: no verdict")
	require.Equal(t, n+1, m.Count("load"), "and RDES1 is not read")
}

func TestRingChecks(t *testing.T) {
	c := newCore(t, newRegs(0x1051))
	for name, f := range map[string]func() error{
		"too few slots":  func() error { _, err := c.NewTX(0, dwtest.NewMemory(3), 3); return err },
		"too many slots": func() error { _, err := c.NewTX(0, dwtest.NewMemory(1025), 1025); return err },
		"short memory":   func() error { _, err := c.NewTX(0, dwtest.NewMemory(8), 9); return err },
		"queue":          func() error { _, err := c.NewTX(1, dwtest.NewMemory(8), 8); return err },
		"negative queue": func() error { _, err := c.NewRX(-1, dwtest.NewMemory(8), 8, 2048); return err },
		"buffer size":    func() error { _, err := c.NewRX(0, dwtest.NewMemory(8), 8, 2044); return err },
		"buffer too big": func() error { _, err := c.NewRX(0, dwtest.NewMemory(8), 8, 16384); return err },
		"misaligned": func() error {
			_, err := c.NewRX(0, pagepool.NewHeap(512, 0x1008), 8, 2048)
			return err
		},
		"across 4 GiB": func() error {
			_, err := c.NewRX(0, pagepool.NewHeap(512, 1<<32-64), 8, 2048)
			return err
		},
	} {
		require.ErrorIs(t, f(), mac.ErrConfig, name)
	}
	_, err := c.NewTX(0, dwtest.NewMemory(1024), 1024)
	require.NoError(t, err)
}

func TestHotPathAllocatesNothing(t *testing.T) {
	c := newCore(t, newRegs(0x1051))
	r, err := c.NewRX(0, pagepool.NewHeap(64*16, dwtest.RingAddr), 64, 2048)
	require.NoError(t, err)
	x, err := c.NewTX(0, pagepool.NewHeap(64*16, dwtest.RingAddr), 64)
	require.NoError(t, err)
	bufs, out := make([]ring.Buffer, 32), make([]ring.Completion, 32)
	frames := make([]ring.TXFrame, 32)
	for i := range frames {
		frames[i] = ring.TXFrame{Addr: 0x1000, Len: 1514}
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		r.Post(0, bufs)
		r.Harvest(40, out[:20])
		x.Fill(0, frames)
		x.Done(0, 31, 32)
	}))
}
