package sun8i

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

func TestChain(t *testing.T) {
	c := newCore(t, bare(), Board{})
	mem := newMemory(5)
	r, err := c.NewRX(0, mem, 5, 1536)
	require.NoError(t, err)
	for slot, next := range []uint32{ringAddr + 16, ringAddr + 32, ringAddr + 48, ringAddr + 64, ringAddr} {
		require.Equal(t, [4]uint32{0, 0, 0, next}, words(t, mem, slot))
	}
	r.Post(3, []ring.Buffer{{Addr: 0x1000}, {Addr: 0x2000, Interrupt: true}, {Addr: 0x3000}})
	require.Equal(t, [4]uint32{emac.DescOwn, 0x01000600, 0x1000, ringAddr + 64}, words(t, mem, 3))
	require.Equal(t, [4]uint32{emac.DescOwn, 0x01000600, 0x2000, ringAddr}, words(t, mem, 4))
	require.Equal(t, [4]uint32{emac.DescOwn, 0x01000600, 0x3000, ringAddr + 16}, words(t, mem, 0))
	r.Post(1, nil)

	out := make([]ring.Completion, 5)
	require.Zero(t, r.Harvest(3, out))
	setStatus(t, mem, 3, 0x00440320)
	setStatus(t, mem, 4, 0x00450320)
	require.Equal(t, 2, r.Harvest(3, out))
	require.Equal(t, []uint32{68, 69}, []uint32{out[0].Len, out[1].Len})
	require.Equal(t, 1, r.Harvest(4, out[:1]))
	r.Reset()
	require.Equal(t, [4]uint32{0, 0, 0, ringAddr}, words(t, mem, 4))
}

func TestFill(t *testing.T) {
	c := newCore(t, bare(), Board{})
	mem := newMemory(6)
	x, err := c.NewTX(0, mem, 6)
	require.NoError(t, err)
	frames := []ring.TXFrame{
		{Addr: 0x1000, Len: 60},
		{Addr: 0x2000, Len: 5000, Checksum: ring.ChecksumFull, Interrupt: true},
		{Addr: 0x8000, Len: 2047},
	}
	x.Fill(3, frames)
	require.Equal(t, []int{1, 3, 1}, []int{frames[0].Slots, frames[1].Slots, frames[2].Slots})
	for slot, want := range map[int][3]uint32{
		3: {emac.DescOwn, 0x6100003C, 0x1000},
		4: {emac.DescOwn, 0x390007FF, 0x2000},
		5: {emac.DescOwn, 0x010007FF, 0x27FF},
		0: {emac.DescOwn, 0xC100038A, 0x2FFE},
		1: {emac.DescOwn, 0x610007FF, 0x8000},
		2: {},
	} {
		d := words(t, mem, slot)
		require.Equal(t, want, [3]uint32(d[:3]), "slot %d", slot)
	}
	require.Zero(t, x.Done(3, 1, 5))
	setStatus(t, mem, 1, 0)
	require.Equal(t, 5, x.Done(3, 1, 5))
	require.Equal(t, 1, x.Done(1, 1, 5))
}

func TestRingsRefused(t *testing.T) {
	c := newCore(t, bare(), Board{})
	mem := newMemory(8)
	for _, q := range []int{-1, 1} {
		_, err := c.NewRX(q, mem, 8, 1536)
		require.ErrorIs(t, err, mac.ErrConfig)
		_, err = c.NewTX(q, mem, 8)
		require.ErrorIs(t, err, mac.ErrConfig)
	}
	for _, slots := range []int{0, 1, 9, 1025} {
		_, err := c.NewRX(0, mem, slots, 1536)
		require.ErrorIs(t, err, mac.ErrConfig, "%d slots", slots)
		_, err = c.NewTX(0, mem, slots)
		require.ErrorIs(t, err, mac.ErrConfig, "%d slots", slots)
	}
	for _, size := range []int{0, 60, 1537, 2047, 2048} {
		_, err := c.NewRX(0, mem, 8, size)
		require.ErrorIs(t, err, mac.ErrConfig, "buffers of %d", size)
	}
	// B060: high memory is refused, never cut.
	_, err := c.NewTX(0, pagepool.NewHeap(8*emac.DescriptorSize, 0xFFFF_FFF0), 8)
	require.ErrorIs(t, err, mac.ErrConfig)
	_, err = c.NewTX(0, pagepool.NewHeap(8*emac.DescriptorSize, 0x1_0000_0000), 8)
	require.ErrorIs(t, err, mac.ErrConfig)
}

// TestDoorbell: a ring is posted before the device is started, and must not start
// it; from then on one write does both.
func TestDoorbell(t *testing.T) {
	b := bare()
	c := newCore(t, b, Board{})
	rx, err := c.NewRX(0, newMemory(8), 8, 1536)
	require.NoError(t, err)
	tx, err := c.NewTX(0, newMemory(8), 8)
	require.NoError(t, err)
	regs := b.windows[0]
	rx.Kick(0)
	tx.Kick(0)
	require.Empty(t, regs.writes)
	require.NoError(t, c.Start())
	require.ErrorIs(t, c.Start(), mac.ErrConfig)
	regs.writes = nil
	rx.Kick(3)
	tx.Kick(4)
	require.Equal(t, []access{{emac.RxCtl1, 0xC1E0000F}, {emac.TxCtl1, 0xC0000006}}, regs.writes)
	require.NoError(t, c.Stop())
	regs.writes = nil
	rx.Kick(0)
	require.Empty(t, regs.writes)
}

// FuzzFill: frames of any length are cut into pieces that make them up again, and
// every descriptor of them is the device's.
func FuzzFill(f *testing.F) {
	f.Add(uint16(60), uint16(1514), uint16(2048), uint8(0))
	f.Add(uint16(9000), uint16(1), uint16(2047), uint8(13))
	f.Fuzz(func(t *testing.T, a, b, n uint16, at uint8) {
		const slots = 32
		c := newCore(t, bare(), Board{})
		mem := newMemory(slots)
		x, err := c.NewTX(0, mem, slots)
		require.NoError(t, err)
		var frames []ring.TXFrame
		want, addr, need := []uint32{}, uint64(0x10000), 0
		for _, l := range []uint16{a, b, n} {
			pieces := (int(l) + emac.MaxBuffer - 1) / emac.MaxBuffer
			if l == 0 || need+pieces > slots {
				continue
			}
			need += pieces
			frames = append(frames, ring.TXFrame{Addr: addr, Len: uint32(l)})
			want = append(want, uint32(l))
			addr += uint64(l)
		}
		slot := int(at) % slots
		x.Fill(slot, frames)
		next := uint32(0x10000)
		for i := range frames {
			got := uint32(0)
			for k := range frames[i].Slots {
				d := words(t, mem, slot)
				first, last := d[1]&emac.TxFirst != 0, d[1]&emac.TxLast != 0
				require.Equal(t, []any{emac.DescOwn, next, k == 0, k == frames[i].Slots-1}, []any{d[0], d[2], first, last})
				n := d[1] & emac.CtlSize
				require.NotZero(t, n)
				got, next, slot = got+n, next+n, (slot+1)%slots
			}
			require.Equal(t, want[i], got)
		}
	})
}

// watched is memory that logs what is done to it.
type watched struct {
	pagepool.Memory
	log []string
}

func (w *watched) DescriptorWatcher() ring.Watcher { return w }
func (w *watched) DescriptorLoad(i int)            { w.log = append(w.log, fmt.Sprint("load ", i)) }
func (w *watched) DescriptorStore(i int, v uint32) {
	what := "store"
	if i%4 == emac.DescStatus && v == emac.DescOwn {
		what = "own"
	}
	w.log = append(w.log, fmt.Sprint(what, " ", i/4))
}
func (w *watched) Barrier(k ring.BarrierKind) {
	w.log = append(w.log, [...]string{"write barrier", "read barrier", "doorbell barrier"}[k])
}

// TestOwnership: words, barrier, the rest of each frame, barrier, its first
// descriptor. The suite cannot show it, since no frame of its has a rest.
func TestOwnership(t *testing.T) {
	c := newCore(t, bare(), Board{})
	mem := &watched{Memory: newMemory(8)}
	x, err := c.NewTX(0, mem, 8)
	require.NoError(t, err)
	mem.log = nil
	x.Fill(6, []ring.TXFrame{{Addr: 0x1000, Len: 3000}, {Addr: 0x3000, Len: 60}, {Addr: 0x4000, Len: 4095}})
	require.Equal(t, []string{
		"store 6", "store 6", "store 7", "store 7", "store 0", "store 0", "store 1", "store 1", "store 2", "store 2", "store 3", "store 3",
		"write barrier", "own 7", "own 2", "own 3", "write barrier", "own 6", "own 0", "own 1",
	}, mem.log)

	mem = &watched{Memory: newMemory(8)}
	r, err := c.NewRX(0, mem, 8, 1536)
	require.NoError(t, err)
	mem.log = nil
	r.Post(7, []ring.Buffer{{Addr: 0x1000}, {Addr: 0x2000}})
	require.Equal(t, []string{"store 7", "store 7", "store 0", "store 0", "write barrier", "own 7", "own 0"}, mem.log)
	mem.log = nil
	r.Harvest(7, make([]ring.Completion, 4))
	require.Equal(t, []string{"load 28"}, mem.log, "one look at one that is not done")
}
