package dwmac1000

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac/dwtest"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// newRings are rings of a core with these features, on memory that logs.
func newRings(t *testing.T, version, features uint32, p Platform, slots int) (c *Core, rx *rxRing, rxMem *dwtest.Memory, tx *txRing, txMem *dwtest.Memory) {
	t.Helper()
	regs := newRegs(version, features)
	c = newCore(t, regs, p)
	rxMem, txMem = newMemory(slots), newMemory(slots)
	r, err := c.NewRX(0, rxMem, slots, 2032)
	require.NoError(t, err)
	x, err := c.NewTX(0, txMem, slots)
	require.NoError(t, err)
	require.Empty(t, regs.writes, "NewRX and NewTX write no registers")
	rx, tx = r.(*rxRing), x.(*txRing)
	rxMem.Log, txMem.Log = nil, nil
	return c, rx, rxMem, tx, txMem
}

func event(kind string, index int, value uint32) dwtest.Event {
	return dwtest.Event{Kind: kind, Index: index, Value: value}
}

func TestPost(t *testing.T) {
	bufs := []ring.Buffer{{Addr: 0x10000, Interrupt: true}, {Addr: 0x20000}}
	_, rx, m, _, _ := newRings(t, 0x1037, allFeatures, Platform{}, 4)
	rx.Post(3, bufs)
	require.Equal(t, []dwtest.Event{
		event("store", 25, 0x87F0), event("store", 26, 0x10000), event("store", 27, 0), // the last slot says so
		event("store", 1, 0x800007F0), event("store", 2, 0x20000), event("store", 3, 0),
		{Kind: "write"}, event("store", 24, 0x80000000), event("store", 0, 0x80000000),
	}, m.Log, "extended, in a ring")

	_, rx, m, _, _ = newRings(t, 0x1037, allFeatures, Platform{Chained: true}, 4)
	rx.Post(3, bufs)
	require.Equal(t, []dwtest.Event{
		event("store", 13, 0x47F0), event("store", 14, 0x10000), event("store", 15, ringAddr),
		event("store", 1, 0x800047F0), event("store", 2, 0x20000), event("store", 3, ringAddr+16),
		{Kind: "write"}, event("store", 12, 0x80000000), event("store", 0, 0x80000000),
	}, m.Log, "enhanced, chained")
}

func TestFill(t *testing.T) {
	_, _, _, tx, m := newRings(t, 0x1032, allFeatures&^gmac3.FeatEnhDesc, Platform{}, 8)
	frames := []ring.TXFrame{
		{Addr: 0x10000, Len: 60},
		{Addr: 0x20000, Len: 4000, Checksum: ring.ChecksumFull, Interrupt: true},
	}
	tx.Fill(6, frames)
	require.Equal(t, []int{1, 2}, []int{frames[0].Slots, frames[1].Slots})
	require.Equal(t, []dwtest.Event{
		event("store", 25, 0x6000003C), event("store", 26, 0x10000), event("store", 27, 0),
		event("store", 29, 0x3A0007F0), event("store", 30, 0x20000), event("store", 31, 0),
		event("store", 1, 0xC00007B0), event("store", 2, 0x20000+2032), event("store", 3, 0),
		{Kind: "write"}, event("store", 0, 0x80000000), // all but the first descriptors
		{Kind: "write"}, event("store", 24, 0x80000000), event("store", 28, 0x80000000),
	}, m.Log)
	m.Log = nil
	require.Equal(t, 0, tx.Done(6, 0, 3), "owned by the device")
	dwtest.SetWords(t, m, 0, [4]uint32{0x00008000})
	require.Equal(t, 3, tx.Done(6, 0, 3), "round the end")
	require.Equal(t, 2, m.Count("load"))
}

func TestHarvest(t *testing.T) {
	_, rx, m, _, _ := newRings(t, 0x1037, allFeatures, Platform{}, 4)
	rx.checksum = true
	slot := func(i int, w0, w4 uint32) {
		dwtest.SetWords(t, m, 2*i+1, [4]uint32{w4})
		dwtest.SetWords(t, m, 2*i, [4]uint32{w0})
	}
	slot(3, 100<<16|0x321, 0x42)                // good
	slot(0, 0x220, 0xFFFFFFFF)                  // first of two
	slot(1, 3000<<16|0x121, 0x52)               // last, bad payload
	slot(2, gmac3.RDES0OWN|100<<16|0x321, 0x42) // still posted
	out := make([]ring.Completion, 4)
	n := rx.Harvest(3, out)
	require.Equal(t, []ring.Completion{
		{Len: 100, Trim: 4, Flags: ring.First | ring.Last | ring.ChecksumGood},
		{Flags: ring.First},
		{Len: 3000, Trim: 4, Flags: ring.Last | ring.ChecksumBad},
	}, out[:n])
	require.Equal(t, []dwtest.Event{
		event("load", 24, 0), event("load", 0, 0), event("load", 8, 0), event("load", 16, 0), {Kind: "read"},
		event("load", 28, 0), event("load", 12, 0),
	}, m.Log, "word 0 of each, then word 4 of those with a verdict; no other word")
}

func TestRingChecks(t *testing.T) {
	c := newCore(t, newRegs(0x1037, allFeatures), Platform{})
	at := func(addr uint64) pagepool.Memory { return pagepool.NewHeap(512, addr) }
	for name, f := range map[string]func() error{
		"too few slots":  func() error { _, err := c.NewTX(0, newMemory(3), 3); return err },
		"too many slots": func() error { _, err := c.NewTX(0, newMemory(1025), 1025); return err },
		"short memory":   func() error { _, err := c.NewTX(0, newMemory(8), 9); return err },
		"queue":          func() error { _, err := c.NewTX(1, newMemory(8), 8); return err },
		"negative queue": func() error { _, err := c.NewRX(-1, newMemory(8), 8, 2032); return err },
		"buffer size":    func() error { _, err := c.NewRX(0, newMemory(8), 8, 2044); return err },
		"buffer too big": func() error { _, err := c.NewRX(0, newMemory(8), 8, 8192); return err },
		"misaligned":     func() error { _, err := c.NewRX(0, at(0x1002), 8, 2032); return err },
		"above 4 GiB":    func() error { _, err := c.NewRX(0, at(1<<32), 8, 2032); return err },
		"across 4 GiB":   func() error { _, err := c.NewRX(0, at(1<<32-64), 8, 2032); return err },
	} {
		require.ErrorIs(t, f(), mac.ErrConfig, name)
	}
	_, err := c.NewTX(0, newMemory(1024), 1024)
	require.NoError(t, err)
}

// FuzzFill: whatever the lengths, the descriptors of a frame hold its bytes, once
// and in order, with one first, one last and no empty one.
func FuzzFill(f *testing.F) {
	f.Add(uint16(60), uint16(1514), uint8(0), true)
	f.Add(uint16(2032), uint16(2033), uint8(14), false)
	f.Add(uint16(4096), uint16(9018), uint8(3), true)
	f.Fuzz(func(t *testing.T, a, b uint16, at uint8, chained bool) {
		const slots = 16
		for _, features := range []uint32{allFeatures, allFeatures &^ gmac3.FeatEnhDesc} {
			c, err := NewCore(&fakeBus{regs: newRegs(0x1037, features)}, Platform{Chained: chained})
			if err != nil {
				t.Fatal(err)
			}
			m := newMemory(slots)
			x, err := c.NewTX(0, m, slots)
			if err != nil {
				t.Fatal(err)
			}
			frames := []ring.TXFrame{{Addr: 0x10000, Len: 1 + uint32(a)%9018}, {Addr: 0x40000, Len: 1 + uint32(b)%9018}}
			if used := (int(frames[0].Len)+c.format.maxPiece-1)/c.format.maxPiece + (int(frames[1].Len)+c.format.maxPiece-1)/c.format.maxPiece; used > slots {
				return
			}
			slot := int(at) % slots
			x.Fill(slot, frames)
			for i, fr := range frames {
				sent := uint32(0)
				for k := range fr.Slots {
					n, addr, first, last := readTX(t, c, m, slot)
					if n == 0 || addr != uint32(fr.Addr)+sent || first != (k == 0) || last != (k == fr.Slots-1) {
						t.Fatalf("frame %d of %d bytes, piece %d: %d bytes at %#x, first %v, last %v", i, fr.Len, k, n, addr, first, last)
					}
					sent += n
					slot = (slot + 1) % slots
				}
				if sent != fr.Len {
					t.Fatalf("frame %d of %d bytes: descriptors hold %d", i, fr.Len, sent)
				}
			}
		}
	})
}

// readTX reads a transmit descriptor.
func readTX(t *testing.T, c *Core, m *dwtest.Memory, slot int) (n, addr uint32, first, last bool) {
	t.Helper()
	w := dwtest.Words(t, m, slot*c.format.words/4)
	if w[0]&gmac3.TDES0OWN == 0 {
		t.Fatalf("slot %d is not given away", slot)
	}
	if c.format.enhanced {
		return w[1] & 0x1FFF, w[2], w[0]>>28&1 != 0, w[0]>>29&1 != 0
	}
	return w[1] & 0x7FF, w[2], w[1]>>29&1 != 0, w[1]>>30&1 != 0
}

func TestHotPathAllocatesNothing(t *testing.T) {
	c := newCore(t, newRegs(0x1037, allFeatures), Platform{})
	r, err := c.NewRX(0, pagepool.NewHeap(64*32, ringAddr), 64, 2032)
	require.NoError(t, err)
	x, err := c.NewTX(0, pagepool.NewHeap(64*32, ringAddr), 64)
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

// The codecs alone, on ordinary memory, in nanoseconds per descriptor.

func benchmark(b *testing.B, run func(*testing.B, *Core)) {
	for name, features := range map[string]uint32{"normal": allFeatures &^ gmac3.FeatEnhDesc, "extended": allFeatures} {
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			c, err := NewCore(&fakeBus{regs: newRegs(0x1037, features)}, Platform{})
			if err != nil {
				b.Fatal(err)
			}
			run(b, c)
		})
	}
}

func BenchmarkRX(b *testing.B) {
	benchmark(b, func(b *testing.B, c *Core) {
		mem := pagepool.NewHeap(64*c.format.size(), ringAddr)
		r, err := c.NewRX(0, mem, 64, 2032)
		if err != nil {
			b.Fatal(err)
		}
		r.(*rxRing).checksum = true
		device, err := ring.NewWords(mem)
		if err != nil {
			b.Fatal(err)
		}
		status := uint32(1518<<16 | 0x320)
		if c.format.extended {
			status |= gmac3.RDES0Payload
		}
		bufs, out := make([]ring.Buffer, 32), make([]ring.Completion, 32)
		for i := 0; i < b.N; i += 32 {
			r.Post(0, bufs)
			for s := range 32 {
				if c.format.extended {
					device.Store(s*c.format.words+4, 0x42)
				}
				device.Publish(s*c.format.words, status)
			}
			if r.Harvest(0, out) != 32 || out[31].Flags&ring.ChecksumGood == 0 {
				b.Fatal("not harvested")
			}
		}
	})
}

func BenchmarkTX(b *testing.B) {
	benchmark(b, func(b *testing.B, c *Core) {
		x, err := c.NewTX(0, pagepool.NewHeap(64*c.format.size(), ringAddr), 64)
		if err != nil {
			b.Fatal(err)
		}
		frames := make([]ring.TXFrame, 32)
		for i := range frames {
			frames[i] = ring.TXFrame{Addr: 0x1000, Len: 1514, Checksum: ring.ChecksumFull}
		}
		for i := 0; i < b.N; i += 32 {
			x.Fill(0, frames)
			x.Done(0, 31, 32)
		}
	})
}
