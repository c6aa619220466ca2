package dwmac4

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

func newRings(t *testing.T, slots int) (regs *fakeRegs, rx *rxRing, rxMem *watched, tx *txRing, txMem *watched) {
	t.Helper()
	regs = newRegs(0x1051)
	c := newCore(t, regs)
	rxMem, txMem = newMemory(slots), newMemory(slots)
	r, err := c.NewRX(0, rxMem, slots, 2048)
	require.NoError(t, err)
	x, err := c.NewTX(0, txMem, slots)
	require.NoError(t, err)
	require.Empty(t, regs.writes, "NewRX and NewTX write no registers")
	rx, tx = r.(*rxRing), x.(*txRing)
	rx.checksum = true
	rxMem.log, txMem.log = nil, nil
	return regs, rx, rxMem, tx, txMem
}

func TestPost(t *testing.T) {
	regs, rx, m, _, _ := newRings(t, 6)
	for slot := range 6 { // what a device left behind
		setWords(t, m, slot, [4]uint32{0xDEAD0000, 0xDEAD0001, 0xDEAD0002, 0x3FFFFFFF})
	}
	rx.Post(4, []ring.Buffer{{Addr: 0x10000}, {Addr: 0x2_0000_1000, Interrupt: true}, {Addr: 0x3000}})
	require.Equal(t, &[4]uint32{0x10000, 0, 0, 0x81000000}, words(t, m, 4))
	require.Equal(t, &[4]uint32{0x1000, 2, 0, 0xC1000000}, words(t, m, 5))
	require.Equal(t, &[4]uint32{0x3000, 0, 0, 0x81000000}, words(t, m, 0))
	checkOwnOrder(t, m.log)
	require.Equal(t, 12, m.count("store"), "each word once")
	require.Equal(t, 1, m.count("write"), "one barrier for the batch")
	require.Zero(t, m.count("load"), "descriptors are not read back")

	rx.Kick(1)
	require.Equal(t, "doorbell", m.log[len(m.log)-1].kind)
	require.Equal(t, []access{{0x1128, 0x2345_0010}}, regs.writes)
	rx.Kick(0)
	rx.Kick(0)
	require.Equal(t, []access{{0x1128, 0x2345_0010}, {0x1128, 0x2345_0000}, {0x1128, 0x2345_0000}}, regs.writes,
		"the base after a wrap, and a tail that has not moved")

	m.log = nil
	rx.Post(1, nil)
	require.Empty(t, m.log)
	rx.Reset()
	for slot := range 6 {
		require.Equal(t, &[4]uint32{}, words(t, m, slot))
	}
}

func TestHarvest(t *testing.T) {
	_, rx, m, _, _ := newRings(t, 6)
	const junk = 0xBAD0BAD0
	setWords(t, m, 4, [4]uint32{junk, 0x12, junk, 0x34010000 | 100})           // good, with verdict
	setWords(t, m, 5, [4]uint32{junk, junk, junk, 0x20000000})                 // first of two
	setWords(t, m, 0, [4]uint32{junk, 0x92, junk, 0x14010000 | 3000})          // last, bad checksum
	setWords(t, m, 1, [4]uint32{junk, junk, junk, 0x40000000})                 // context
	setWords(t, m, 2, [4]uint32{junk, 0x12, junk, 0x35018000 | 64})            // CRC error
	setWords(t, m, 3, [4]uint32{junk, junk, junk, gmac4.RDES3OWN | 0x1000000}) // still posted
	out := make([]ring.Completion, 8)

	n := rx.Harvest(4, out)
	require.Equal(t, []ring.Completion{
		{Len: 100, Trim: 4, Flags: ring.First | ring.Last | ring.ChecksumGood},
		{Flags: ring.First},
		{Len: 3000, Trim: 4, Flags: ring.Last | ring.ChecksumBad},
		{Flags: ring.NoData},
		{Len: 64, Trim: 4, Flags: ring.First | ring.Last | ring.ErrCRC},
	}, out[:n])
	require.Equal(t, []event{
		{"load", 19, 0}, {"load", 23, 0}, {"load", 3, 0}, {"load", 7, 0}, {"load", 11, 0}, {"load", 15, 0},
		{"read", 0, 0},
		{"load", 17, 0}, {"load", 1, 0},
	}, m.log, "RDES3 of each, then RDES1 of those with a verdict; no other word")

	m.log = nil
	require.Zero(t, rx.Harvest(3, out))
	require.Equal(t, []event{{"load", 15, 0}}, m.log)

	m.log = nil
	require.Equal(t, 2, rx.Harvest(4, out[:2]), "as many as asked for")
	require.Equal(t, 3, m.count("load"))

	m.log = nil
	rx.checksum = false
	n = rx.Harvest(4, out)
	require.Equal(t, ring.First|ring.Last, out[0].Flags, "checksum engine off: no verdict")
	require.Equal(t, n+1, m.count("load"), "and RDES1 is not read")
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
	require.Equal(t, &[4]uint32{0x1000, 0, 60, 0xB000003C}, words(t, m, 7))
	require.Equal(t, &[4]uint32{0x2000, 0, 0x80000000 | 1514, 0xB0030000 | 1514}, words(t, m, 0))
	checkOwnOrder(t, m.log)
	require.Equal(t, 8, m.count("store"))
	require.Equal(t, 1, m.count("write"))
	require.Zero(t, m.count("load"))
	tx.Kick(1)
	require.Equal(t, []access{{0x1120, 0x2345_0010}}, regs.writes)
}

func TestFillPieces(t *testing.T) {
	for _, c := range []struct{ size, slots int }{
		{maxPiece - 1, 1}, {maxPiece, 1}, {maxPiece + 1, 2}, {2 * maxPiece, 2}, {2*maxPiece + 1, 3},
	} {
		_, _, _, tx, m := newRings(t, 8)
		frames := []ring.TXFrame{{Addr: 0x10_0000, Len: uint32(c.size), Interrupt: true}}
		tx.Fill(6, frames)
		require.Equal(t, c.slots, frames[0].Slots, c.size)
		checkFrame(t, m, 6, 8, &frames[0])
		checkOwnOrder(t, m.log)
		stores := ownStores(m.log)
		require.Equal(t, 6*4+3, stores[len(stores)-1], "OWN of the first descriptor is published last")
	}
}

// ownStores are the indices of the words with OWN, in order of their stores.
func ownStores(log []event) (at []int) {
	for _, e := range log {
		if e.kind == "store" && e.index%4 == 3 && e.value>>31 != 0 {
			at = append(at, e.index)
		}
	}
	return at
}

// checkFrame reads the descriptors of a frame as the device does.
func checkFrame(t *testing.T, m pagepool.Memory, at, slots int, f *ring.TXFrame) {
	t.Helper()
	next, total := f.Addr, uint32(0)
	for i := range f.Slots {
		d := words(t, m, (at+i)%slots)
		require.NotZero(t, d[3]&gmac4.TDES3OWN)
		require.Equal(t, next, uint64(d[1])<<32|uint64(d[0]))
		require.Equal(t, i == 0, d[3]&gmac4.TDES3FD != 0, "FD")
		require.Equal(t, i == f.Slots-1, d[3]&gmac4.TDES3LD != 0, "LD")
		require.Equal(t, i == f.Slots-1 && f.Interrupt, d[2]&gmac4.TDES2IOC != 0, "IOC")
		if i == 0 {
			require.Equal(t, f.Len, d[3]&gmac4.TDES3FL)
		}
		n := d[2] & gmac4.TDES2B1L
		require.True(t, n > 0 && n <= maxPiece)
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
		0:  {0x10_0000 + 54, 0, maxPiece, 0x80000000},
		1:  {0x10_0000 + 54 + maxPiece, 0, maxPiece, 0x80000000},
		2:  {0x10_0000 + 54 + 2*maxPiece, 0, 0x80000000 | 40000 - 2*maxPiece, 0x90000000},
		3:  {0x20_0000, 0, 66, 0xA0000000 | 8<<19 | 1<<18 | 2896}, // same MSS: no context
		4:  {0x20_0000 + 66, 0, 2896, 0x90000000},
		5:  {0, 0, 1000, 0xC4000000},
		6:  {0x30_0000, 0, 66, 0xA0000000 | 8<<19 | 1<<18 | 2896},
		7:  {0x30_0000 + 66, 0, 2896, 0x90000000},
	} {
		require.Equal(t, &want, words(t, m, slot), "slot %d", slot)
	}
	checkOwnOrder(t, m.log)
	own := ownStores(m.log)
	require.Equal(t, []int{14*4 + 3, 5*4 + 3}, own[len(own)-2:], "contexts last of all")
	require.Equal(t, 3, m.count("write"))

	tx.Reset()
	again := frames[2:]
	tx.Fill(0, again)
	require.Equal(t, 3, again[0].Slots, "a reset forgets the MSS")
}

func TestDone(t *testing.T) {
	_, _, _, tx, m := newRings(t, 8)
	tx.Fill(6, []ring.TXFrame{{Addr: 0x1000, Len: 60}, {Addr: 0x2000, Len: 60}, {Addr: 0x3000, Len: 60, Interrupt: true}})
	m.log = nil
	require.Zero(t, tx.Done(6, 0, 3))
	setWords(t, m, 0, [4]uint32{0, 0, 0, 0x30008002}) // sent with an error: done all the same
	require.Equal(t, 3, tx.Done(6, 0, 3))
	require.Equal(t, 1, tx.Done(0, 0, 1))
	require.Equal(t, []event{{"load", 3, 0}, {"load", 3, 0}, {"load", 3, 0}}, m.log, "one load each")
}

func TestRingChecks(t *testing.T) {
	c := newCore(t, newRegs(0x1051))
	for name, f := range map[string]func() error{
		"too few slots":  func() error { _, err := c.NewTX(0, newMemory(3), 3); return err },
		"too many slots": func() error { _, err := c.NewTX(0, newMemory(1025), 1025); return err },
		"short memory":   func() error { _, err := c.NewTX(0, newMemory(8), 9); return err },
		"queue":          func() error { _, err := c.NewTX(1, newMemory(8), 8); return err },
		"negative queue": func() error { _, err := c.NewRX(-1, newMemory(8), 8, 2048); return err },
		"buffer size":    func() error { _, err := c.NewRX(0, newMemory(8), 8, 2044); return err },
		"buffer too big": func() error { _, err := c.NewRX(0, newMemory(8), 8, 16384); return err },
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
	_, err := c.NewTX(0, newMemory(1024), 1024)
	require.NoError(t, err)
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
			if free -= int(fr.Len)/maxPiece + 3; free < 0 {
				break
			}
			frames = append(frames, fr)
		}
		m.log = nil
		tx.Fill(at, frames)
		checkOwnOrder(t, m.log)
		mss := uint16(0)
		for i := range frames {
			fr := &frames[i]
			require.LessOrEqual(t, fr.Slots, int(fr.Len+maxPiece-1)/maxPiece+2)
			if segmented(fr) {
				slot := at
				if fr.MSS != mss {
					require.Equal(t, uint32(fr.MSS), words(t, m, slot%64)[2])
					slot++
				}
				mss = fr.MSS
				d := words(t, m, slot%64)
				require.Zero(t, d[3]&gmac4.TDES3LD)
				require.Equal(t, fr.Len-54, d[3]&gmac4.TDES3TPL)
			} else {
				checkFrame(t, m, at, 64, fr)
			}
			require.NotZero(t, words(t, m, (at+fr.Slots-1)%64)[3]&gmac4.TDES3LD)
			at = (at + fr.Slots) % 64
		}
	})
}

func TestHotPathAllocatesNothing(t *testing.T) {
	c := newCore(t, newRegs(0x1051))
	r, err := c.NewRX(0, pagepool.NewHeap(64*16, ringAddr), 64, 2048)
	require.NoError(t, err)
	x, err := c.NewTX(0, pagepool.NewHeap(64*16, ringAddr), 64)
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
