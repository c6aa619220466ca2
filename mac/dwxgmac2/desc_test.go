package dwxgmac2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/dwmac/dwtest"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/ring"
)

func TestDecodeRX(t *testing.T) {
	const last, whole = ring.First | ring.Last, 0x30000000
	frame := func(f ring.Flags) ring.Completion { return ring.Completion{Len: 64, Trim: 4, Flags: last | f} }
	for _, c := range []struct {
		name string
		w3   uint32
		want ring.Completion
	}{
		{"whole frame, not IP", whole | 64, frame(0)},
		{"IPv4 TCP", whole | 1<<20 | 64, frame(ring.ChecksumGood)},
		{"IPv4 UDP", whole | 2<<20 | 64, frame(ring.ChecksumGood)},
		{"IPv4 ICMP", whole | 3<<20 | 64, frame(ring.ChecksumGood)},
		{"IPv4, other or a fragment", whole | 7<<20 | 64, frame(0)},
		{"IPv6 alone", whole | 8<<20 | 64, frame(0)},
		{"IPv6 TCP", whole | 9<<20 | 64, frame(ring.ChecksumGood)},
		{"IPv6 ICMP", whole | 11<<20 | 64, frame(ring.ChecksumGood)},
		{"IPv6, other", whole | 15<<20 | 64, frame(0)},
		{"reserved protocol", whole | 4<<20 | 64, frame(0)},
		{"with hash, one tag", whole | 1<<26 | 9<<16 | 1<<20 | 64, frame(ring.ChecksumGood)},
		{"two tags: the engine does not look", whole | 10<<16 | 1<<20 | 64, frame(0)},
		{"two other tags", whole | 13<<16 | 1<<20 | 64, frame(0)},
		{"a context follows", whole | 1<<27 | 64, frame(0)},
		{"first of several, junk", 0x2FFFFFFF, ring.Completion{Flags: ring.First}},
		{"middle, junk", 0x0FFFFFFF, ring.Completion{}},
		{"last of several", 0x100017FF, ring.Completion{Len: 0x17FF, Trim: 4, Flags: ring.Last}},
		{"longest length", 0x10003FFF, ring.Completion{Len: 0x3FFF, Trim: 4, Flags: ring.Last}},
		{"bit 14 is no length", 0x10004040, ring.Completion{Len: 64, Trim: 4, Flags: ring.Last}},
		{"context", 0x70003FFF, ring.Completion{Flags: ring.NoData}},
		{"GMII error", whole | 1<<15 | 1<<16 | 64, frame(ring.ErrReceive)},
		{"watchdog", whole | 1<<15 | 2<<16 | 64, frame(ring.ErrLength)},
		{"CRC", whole | 1<<15 | 3<<16 | 64, frame(ring.ErrCRC)},
		{"giant", whole | 1<<15 | 4<<16 | 64, frame(ring.ErrLength)},
		{"IP header checksum", whole | 1<<15 | 5<<16 | 64, frame(ring.ChecksumBad)},
		{"L4 checksum", whole | 1<<15 | 6<<16 | 1<<20 | 64, frame(ring.ChecksumBad)},
		{"overflow", whole | 1<<15 | 7<<16 | 64, frame(ring.ErrOverflow)},
		{"error without a code", whole | 1<<15 | 64, frame(ring.ErrReceive)},
		{"unknown code", whole | 1<<15 | 12<<16 | 64, frame(ring.ErrReceive)},
	} {
		require.Equal(t, c.want, decodeRX(c.w3, true), c.name)
		off := c.want
		off.Flags &^= ring.ChecksumGood
		require.Equal(t, off, decodeRX(c.w3, false), "%s, engine off", c.name)
	}
}

// FuzzDecodeRX: whatever the device writes, the flags make sense together.
func FuzzDecodeRX(f *testing.F) {
	f.Add(uint32(0x30100040), true)
	f.Add(uint32(0xFFFFFFFF), true)
	f.Add(uint32(0x70000000), false)
	f.Add(uint32(0x30058040), false)
	f.Fuzz(func(t *testing.T, w3 uint32, checksum bool) {
		c := decodeRX(w3, checksum)
		const known = ring.First | ring.Last | ring.NoData | ring.ErrAny | ring.ChecksumGood | ring.ChecksumBad
		switch {
		case c.Flags&^known != 0:
			t.Fatalf("%#x: flags %#x", w3, c.Flags)
		case c.Flags&ring.Last == 0 && (c.Len != 0 || c.Trim != 0 || c.Flags&^(ring.First|ring.NoData) != 0):
			t.Fatalf("%#x: %+v: no last descriptor", w3, c)
		case c.Flags&ring.NoData != 0 && c.Flags != ring.NoData:
			t.Fatalf("%#x: context with %#x", w3, c.Flags)
		case c.Len > xgmac2.RDES3PL:
			t.Fatalf("%#x: length %d", w3, c.Len)
		case c.Flags&ring.ChecksumGood != 0 && (!checksum || w3&xgmac2.RDES3ES != 0 || c.Flags&(ring.ErrAny|ring.ChecksumBad) != 0):
			t.Fatalf("%#x: vouched for with %#x", w3, c.Flags)
		case c.Flags&ring.Last != 0 && w3&xgmac2.RDES3ES != 0 && c.Flags&(ring.ErrAny|ring.ChecksumBad) == 0:
			t.Fatalf("%#x: an error is lost", w3)
		}
	})
}

func TestHarvest(t *testing.T) {
	m := dwtest.NewMemory(6)
	c := &Core{}
	c.info.RXQueues = 1
	codec, err := c.NewRX(0, m, 6, 2048)
	require.NoError(t, err)
	r := codec.(*rxRing)
	r.checksum = true
	const junk = 0xBAD0BAD0
	dwtest.SetWords(t, m, 4, [4]uint32{junk, junk, junk, 0x30100000 | 100})
	dwtest.SetWords(t, m, 5, [4]uint32{junk, junk, junk, 0x20000000})
	dwtest.SetWords(t, m, 0, [4]uint32{junk, junk, junk, 0x18068000 | 3000}) // bad checksum, a context follows
	dwtest.SetWords(t, m, 1, [4]uint32{junk, junk, junk, xgmac2.RDES3OWN})   // and is not there yet
	out := make([]ring.Completion, 8)
	m.Log = nil
	n := r.Harvest(4, out)
	require.Equal(t, []ring.Completion{
		{Len: 100, Trim: 4, Flags: ring.First | ring.Last | ring.ChecksumGood},
		{Flags: ring.First},
		{Len: 3000, Trim: 4, Flags: ring.Last | ring.ChecksumBad},
	}, out[:n])
	require.Equal(t, 4, m.Count("load"), "one word of each")
	require.Equal(t, 1, m.Count("read"), "one barrier for the batch")
	dwtest.SetWords(t, m, 1, [4]uint32{junk, junk, junk, xgmac2.RDES3CTXT})
	dwtest.SetWords(t, m, 2, [4]uint32{junk, junk, junk, xgmac2.RDES3OWN})
	n = r.Harvest(1, out)
	require.Equal(t, []ring.Completion{{Flags: ring.NoData}}, out[:n], "the context, late")
	require.Zero(t, r.Harvest(2, out))
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Harvest(4, out[:3]) }))
}
