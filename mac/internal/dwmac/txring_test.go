package dwmac

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/dwmac/dwtest"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

func TestEncodeTX(t *testing.T) {
	frame := ring.TXFrame{Addr: 0x12_3456_7890, Len: 1514}
	marked := frame
	marked.Interrupt, marked.Checksum = true, ring.ChecksumFull
	tso := ring.TXFrame{Addr: 0x12_3456_7890, Len: 54 + 60000, MSS: 1448, HeaderLen: 54, L4HeaderLen: 20, Interrupt: true, Checksum: ring.ChecksumFull}
	for _, c := range []struct {
		name string
		got  descriptor
		want descriptor
	}{
		{"frame in one piece", txFirst(&frame, 1514), descriptor{0x34567890, 0x12, 1514, 0xB0000000 | 1514}},
		{"with interrupt and checksum", txFirst(&marked, 1514), descriptor{0x34567890, 0x12, 0x80000000 | 1514, 0xB0030000 | 1514}},
		{"first of several: no interrupt", txFirst(&marked, 1000), descriptor{0x34567890, 0x12, 1000, 0xA0030000 | 1514}},
		{"middle", txPiece(0xFFFF_FFFF, 16368, false, true), descriptor{0xFFFFFFFF, 0, 16368, 0x80000000}},
		{"last", txPiece(0x1_0000_0000, 1, true, true), descriptor{0, 1, 0x80000001, 0x90000000}},
		// THL 5 words at bit 19, TSE bit 18, TPL 60000; no LD, no CIC, no B1L beside HL.
		{"TSO header", txHeader(&tso), descriptor{0x34567890, 0x12, 54, 0xA0000000 | 5<<19 | 1<<18 | 60000}},
		{"MSS context", txContext(1448), descriptor{0, 0, 1448, 0xC4000000}},
	} {
		require.Equal(t, c.want, c.got, c.name)
	}
}

func TestSegmented(t *testing.T) {
	require.False(t, segmented(&ring.TXFrame{Len: 1514}))
	require.True(t, segmented(&ring.TXFrame{Len: 1514, MSS: 536, HeaderLen: 54}))
	require.False(t, segmented(&ring.TXFrame{Len: 54, MSS: 536, HeaderLen: 54}), "headers alone would hang the DMA")
}

func TestFillSingle(t *testing.T) {
	regs, _, _, tx, m := newRings(t, 8)
	frames := []ring.TXFrame{
		{Addr: 0x1000, Len: 60},
		{Addr: 0x2000, Len: 1514, Checksum: ring.ChecksumFull, Interrupt: true},
	}
	tx.Fill(7, frames)
	require.Equal(t, 1, frames[0].Slots)
	require.Equal(t, 1, frames[1].Slots)
	require.Equal(t, &[4]uint32{0x1000, 0, 60, 0xB000003C}, dwtest.Words(t, m, 7))
	require.Equal(t, &[4]uint32{0x2000, 0, 0x80000000 | 1514, 0xB0030000 | 1514}, dwtest.Words(t, m, 0))
	dwtest.CheckOwnOrder(t, m.Log)
	require.Equal(t, 8, m.Count("store"))
	require.Equal(t, 1, m.Count("write"))
	require.Zero(t, m.Count("load"))
	tx.Kick(1)
	require.Equal(t, []access{{txTail, 0x2345_0010}}, regs.writes)
}

func TestFillPieces(t *testing.T) {
	for _, c := range []struct{ size, slots int }{
		{MaxPiece - 1, 1}, {MaxPiece, 1}, {MaxPiece + 1, 2}, {2 * MaxPiece, 2}, {2*MaxPiece + 1, 3},
	} {
		_, _, _, tx, m := newRings(t, 8)
		frames := []ring.TXFrame{{Addr: 0x10_0000, Len: uint32(c.size), Interrupt: true}}
		tx.Fill(6, frames)
		require.Equal(t, c.slots, frames[0].Slots, c.size)
		checkFrame(t, m, 6, 8, &frames[0])
		dwtest.CheckOwnOrder(t, m.Log)
		stores := ownStores(m.Log)
		require.Equal(t, 6*4+3, stores[len(stores)-1], "OWN of the first descriptor is published last")
	}
}

// ownStores are the indices of the words with OWN, in order of their stores.
func ownStores(log []dwtest.Event) (at []int) {
	for _, e := range log {
		if e.Kind == "store" && e.Index%4 == 3 && e.Value>>31 != 0 {
			at = append(at, e.Index)
		}
	}
	return at
}

// checkFrame reads the descriptors of a frame as the device does.
func checkFrame(t *testing.T, m pagepool.Memory, at, slots int, f *ring.TXFrame) {
	t.Helper()
	next, total := f.Addr, uint32(0)
	for i := range f.Slots {
		d := dwtest.Words(t, m, (at+i)%slots)
		require.NotZero(t, d[3]&dwregs.TDES3OWN)
		require.Equal(t, next, uint64(d[1])<<32|uint64(d[0]))
		require.Equal(t, i == 0, d[3]&dwregs.TDES3FD != 0, "FD")
		require.Equal(t, i == f.Slots-1, d[3]&dwregs.TDES3LD != 0, "LD")
		require.Equal(t, i == f.Slots-1 && f.Interrupt, d[2]&dwregs.TDES2IOC != 0, "IOC")
		if i == 0 {
			require.Equal(t, f.Len, d[3]&dwregs.TDES3FL)
		}
		n := d[2] & dwregs.TDES2B1L
		require.True(t, n > 0 && n <= MaxPiece)
		next += uint64(n)
		total += n
	}
	require.Equal(t, f.Len, total)
}

func TestFillTSO(t *testing.T) {
	_, _, _, tx, m := newRings(t, 16)
	frames := []ring.TXFrame{
		{Addr: 0x10_0000, Len: 54 + 40000, MSS: 1448, HeaderLen: 54, L4HeaderLen: 20, Interrupt: true},
		{Addr: 0x20_0000, Len: 66 + 2896, MSS: 1448, HeaderLen: 66, L4HeaderLen: 32},
		{Addr: 0x30_0000, Len: 66 + 2896, MSS: 1000, HeaderLen: 66, L4HeaderLen: 32},
	}
	tx.Fill(14, frames)
	require.Equal(t, []int{5, 2, 3}, []int{frames[0].Slots, frames[1].Slots, frames[2].Slots})
	for slot, want := range map[int][4]uint32{
		14: {0, 0, 1448, 0xC4000000},
		15: {0x10_0000, 0, 54, 0xA0000000 | 5<<19 | 1<<18 | 40000},
		0:  {0x10_0000 + 54, 0, MaxPiece, 0x80000000},
		1:  {0x10_0000 + 54 + MaxPiece, 0, MaxPiece, 0x80000000},
		2:  {0x10_0000 + 54 + 2*MaxPiece, 0, 0x80000000 | 40000 - 2*MaxPiece, 0x90000000},
		3:  {0x20_0000, 0, 66, 0xA0000000 | 8<<19 | 1<<18 | 2896}, // same MSS: no context
		4:  {0x20_0000 + 66, 0, 2896, 0x90000000},
		5:  {0, 0, 1000, 0xC4000000},
		6:  {0x30_0000, 0, 66, 0xA0000000 | 8<<19 | 1<<18 | 2896},
		7:  {0x30_0000 + 66, 0, 2896, 0x90000000},
	} {
		require.Equal(t, &want, dwtest.Words(t, m, slot), "slot %d", slot)
	}
	dwtest.CheckOwnOrder(t, m.Log)
	own := ownStores(m.Log)
	require.Equal(t, []int{14*4 + 3, 5*4 + 3}, own[len(own)-2:], "contexts last of all")
	require.Equal(t, 3, m.Count("write"))

	tx.Reset()
	again := frames[2:]
	tx.Fill(0, again)
	require.Equal(t, 3, again[0].Slots, "a reset forgets the MSS")
}

func TestDone(t *testing.T) {
	_, _, _, tx, m := newRings(t, 8)
	tx.Fill(6, []ring.TXFrame{{Addr: 0x1000, Len: 60}, {Addr: 0x2000, Len: 60}, {Addr: 0x3000, Len: 60, Interrupt: true}})
	m.Log = nil
	require.Zero(t, tx.Done(6, 0, 3))
	dwtest.SetWords(t, m, 0, [4]uint32{0, 0, 0, 0x30008002}) // sent with an error: done all the same
	require.Equal(t, 3, tx.Done(6, 0, 3))
	require.Equal(t, 1, tx.Done(0, 0, 1))
	load := dwtest.Event{Kind: "load", Index: 3}
	require.Equal(t, []dwtest.Event{load, load, load}, m.Log, "one load each")
}

// FuzzFill fills rings with frames of any kind and size and reads them back as
// the device does.
func FuzzFill(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(42))
	f.Fuzz(func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		_, _, _, tx, m := newRings(t, 64)
		at := rnd.IntN(64)
		var frames []ring.TXFrame
		for free := 63; ; {
			fr := ring.TXFrame{Addr: uint64(rnd.Uint32()) << 6, Len: 1 + uint32(rnd.IntN(32767)), Interrupt: rnd.IntN(2) == 0}
			if rnd.IntN(3) == 0 {
				fr.HeaderLen, fr.L4HeaderLen, fr.MSS = 54, 20, uint16(64+rnd.IntN(3)*500)
			}
			if free -= int(fr.Len)/MaxPiece + 3; free < 0 {
				break
			}
			frames = append(frames, fr)
		}
		m.Log = nil
		tx.Fill(at, frames)
		dwtest.CheckOwnOrder(t, m.Log)
		mss := uint16(0)
		for i := range frames {
			fr := &frames[i]
			require.LessOrEqual(t, fr.Slots, int(fr.Len+MaxPiece-1)/MaxPiece+2)
			if segmented(fr) {
				slot := at
				if fr.MSS != mss {
					require.Equal(t, uint32(fr.MSS), dwtest.Words(t, m, slot%64)[2])
					slot++
				}
				mss = fr.MSS
				d := dwtest.Words(t, m, slot%64)
				require.Zero(t, d[3]&dwregs.TDES3LD)
				require.Equal(t, fr.Len-54, d[3]&dwregs.TDES3TPL)
			} else {
				checkFrame(t, m, at, 64, fr)
			}
			require.NotZero(t, dwtest.Words(t, m, (at+fr.Slots-1)%64)[3]&dwregs.TDES3LD)
			at = (at + fr.Slots) % 64
		}
	})
}
