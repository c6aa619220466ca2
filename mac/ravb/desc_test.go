package ravb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/etheravb"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

func TestDecodeRX(t *testing.T) {
	const whole = ring.First | ring.Last
	for _, c := range []struct {
		name    string
		w       uint32
		trailer uint8
		want    ring.Completion
	}{
		{"whole frame", 0x7000_0040, 0, ring.Completion{Len: 64, Flags: whole}},
		{"with a trailer", 0x7000_0042, 2, ring.Completion{Len: 66, Trim: 2, Flags: whole | ring.Trailer}},
		{"multicast, interrupt request, padding", 0x7F80_C5EE, 4, ring.Completion{Len: 1518, Trim: 4, Flags: whole | ring.Trailer}},
		{"start", 0x5000_0FFF, 4, ring.Completion{Len: 4095, Flags: ring.First}},
		{"middle", 0x4000_0100, 4, ring.Completion{Len: 256}},
		{"end", 0x6000_0001, 4, ring.Completion{Len: 1, Trim: 4, Flags: ring.Last | ring.Trailer}},
		{"CRC", 0x7001_2040, 2, ring.Completion{Len: 64, Flags: whole | ring.ErrCRC}},
		{"PHY", 0x7002_0040, 0, ring.Completion{Len: 64, Flags: whole | ring.ErrReceive}},
		{"too short", 0x7004_0040, 0, ring.Completion{Len: 64, Flags: whole | ring.ErrLength}},
		{"too long", 0x7008_0040, 0, ring.Completion{Len: 64, Flags: whole | ring.ErrLength}},
		{"residual bits alone", 0x7010_2040, 0, ring.Completion{Len: 64, Flags: whole}},
		{"carrier lost alone", 0x7020_2040, 0, ring.Completion{Len: 64, Flags: whole}},
		{"carrier extension", 0x7040_0040, 0, ring.Completion{Len: 64, Flags: whole | ring.ErrReceive}},
		{"truncated", 0x7000_1040, 2, ring.Completion{Len: 64, Flags: whole | ring.ErrOverflow}},
		{"error in the middle of a frame", 0x4001_0040, 0, ring.Completion{Len: 64, Flags: ring.ErrCRC}},
		{"empty end", 0x3000_0040, 2, ring.Completion{Flags: whole}},
		{"a link", 0x9000_0040, 2, ring.Completion{Flags: whole}},
		{"zeros", 0, 2, ring.Completion{Flags: whole}},
	} {
		require.Equal(t, c.want, decodeRX(c.w, c.trailer), c.name)
		require.False(t, posted(c.w), c.name)
	}
	require.True(t, posted(0xC000_0040))
	require.True(t, posted(0xCF00_0000), "with an interrupt request")
	require.Equal(t, uint32(0xC000_0FC0), rxEmpty(maxBuffer))
}

func TestTransmitControl(t *testing.T) {
	require.EqualValues(t, 0x7000_05EA, txControl(1514, true, true))
	require.EqualValues(t, 0x5000_0200, txControl(512, true, false))
	require.EqualValues(t, 0x4000_0200, txControl(512, false, false))
	require.EqualValues(t, 0x6000_0001, txControl(1, false, true))
	require.True(t, sent(0xC000_05EA))
	require.False(t, sent(0x7000_05EA))
	require.False(t, sent(0x3000_0000), "never filled")
}

func TestFrameSizes(t *testing.T) {
	for _, v := range []*variant{&gen2, &gen3, &gen4, &gbeth} {
		require.GreaterOrEqual(t, v.maxMTU(), 1500)
		require.LessOrEqual(t, v.maxMTU()+headerRoom, v.maxFrame)
		require.LessOrEqual(t, v.maxFrame, maxPiece, "a frame needs one descriptor")
	}
	require.Equal(t, 1500, gbeth.maxMTU())
	require.Zero(t, maxPiece%4, "pieces behind the first one are aligned, too")
}

func FuzzDecodeRX(f *testing.F) {
	for _, w := range []uint32{0, 0x7000_0040, 0x5000_0FFF, 0xFFFF_FFFF, 0xC000_0100} {
		f.Add(w, uint8(2))
	}
	f.Fuzz(func(t *testing.T, w uint32, trailer uint8) {
		c := decodeRX(w, trailer)
		if c.Len > etheravb.MaxData || c.Trim != 0 && c.Trim != trailer || c.Flags&ring.Trailer != 0 && c.Flags&ring.Last == 0 {
			t.Fatalf("%#x: %+v", w, c)
		}
		if bad := w&(etheravb.MSCErrors|etheravb.DescTR) != 0; bad && c.Flags&ring.ErrAny == 0 && c.Len > 0 {
			t.Fatalf("%#x: %+v: an error is lost", w, c)
		}
		if dt := field.Get(etheravb.DescDT, w); (dt < etheravb.DTFMid || dt > etheravb.DTFSingle) && c.Len != 0 {
			t.Fatalf("%#x: %+v: no part of a frame has bytes", w, c)
		}
	})
}

// FuzzReceive has the device write anything into the control words of its
// descriptors, and anything into its buffers.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0x40, 0, 0, 0x70, 0xFF, 0, 0, 0x50, 1, 0, 0, 0x60}, true)
	f.Add([]byte{2, 0, 0, 0x70, 0, 0, 1, 0x40, 3, 0, 0, 0x60, 14, 0, 0, 0x70}, false)
	// A start too short for the headers that the verdict is made from.
	f.Add([]byte{1, 0, 0, 0x50, 100, 0, 0, 0x60}, true)
	f.Add([]byte{13, 0, 0, 0x50, 100, 0, 0, 0x60}, false)
	f.Fuzz(func(t *testing.T, words []byte, toe bool) {
		const slots, size = 8, 256
		trailer, stride := uint8(etheravb.SumTrailer), etheravb.ExtendedSize
		if toe {
			trailer, stride = etheravb.TOETrailer, etheravb.DescriptorSize
		}
		desc := pagepool.NewHeap(slots*stride+extraBytes, 0x1000_0000)
		pages := pagepool.NewHeap(16*size, 0x2000_0000)
		pool, err := pagepool.New(pages, pagepool.Config{PageSize: size, Poison: true})
		require.NoError(t, err)
		d, err := newDescRing(desc, slots, stride)
		require.NoError(t, err)
		codec := &rxRing{descRing: d, bufferSize: size, trailer: trailer}
		codec.Reset()
		rx, err := ring.NewRX(ring.RXConfig{Codec: codec, Pool: pool, Slots: slots, BufferSize: size, MaxFrame: 1522})
		require.NoError(t, err)
		device, err := ring.NewWords(desc)
		require.NoError(t, err)
		out := make([]ring.Frame, 4)
		rx.Refill()
		for slot := 0; len(words) >= 4; slot = (slot + 1) % slots {
			w := uint32(words[0]) | uint32(words[1])<<8 | uint32(words[2])<<16 | uint32(words[3])<<24
			if !posted(device.Load(slot * d.stride)) {
				t.Fatalf("slot %d is not the device's", slot)
			}
			if posted(w) {
				w ^= 1 << 30 // what is not written back stays for ever
			}
			buffer := pages.Bytes()[device.Load(slot*d.stride+1)-0x2000_0000:]
			copy(buffer[:size], words)
			words = words[4:]
			device.Publish(slot*d.stride, w)
			n := rx.Harvest(out)
			for _, fr := range out[:n] {
				if fr.Len < 14 || fr.Len > 1522 {
					t.Fatalf("frame of %d bytes", fr.Len)
				}
				for _, p := range fr.Pieces {
					if p.Off+p.Len > size {
						t.Fatalf("piece %+v", p)
					}
					pool.Recycle(p.Page)
				}
			}
			rx.Refill()
			if err := pool.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzJudge: no frame, however cut or wrong, breaks the verdict, and what the sum
// calls good really sums up.
func FuzzJudge(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00\x00\x1c\x00\x00\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02\x00\x01\x00\x02\x00\x08\x00\x00"), uint16(0x1234))
	f.Fuzz(func(t *testing.T, b []byte, trailer uint16) {
		if len(b) < 14 {
			return
		}
		judgeTOE(b, trailer, ^trailer)
		head := b[:min(len(b), 256)]
		right := fold(add(0, append(b[14:len(b):len(b)], make([]byte, len(b)%2)...)))
		verdict := judgeSum(head, len(b), right>>8|right<<8)
		if verdict == ring.ChecksumGood && !checks(b[14:]) {
			t.Fatalf("%x is called good", b)
		}
		if verdict == ring.ChecksumBad && checks(b[14:]) {
			t.Fatalf("%x is called bad", b)
		}
		judgeSum(head, len(b), trailer)
	})
}

// checks is the verdict on an IP packet the long way.
func checks(ip []byte) bool {
	even := func(b []byte) []byte { return append(b[:len(b):len(b)], make([]byte, len(b)%2)...) }
	var addresses, l4 []byte
	var proto byte
	if ip[0]>>4 == 4 {
		size := int(ip[0]&15) * 4
		if fold(add(0, ip[:size])) != 0xFFFF {
			return false
		}
		addresses, l4, proto = ip[12:20], ip[size:], ip[9]
	} else {
		addresses, l4, proto = ip[8:40], ip[40:], ip[6]
	}
	sum := add(0, even(l4))
	if proto != protoICMP {
		sum = uint32(fold(sum)) + uint32(fold(add(uint32(proto)+uint32(len(l4)), addresses)))
	}
	return zero(sum)
}
