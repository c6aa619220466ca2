package dwmac4

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/ring"
)

func TestDecodeRX(t *testing.T) {
	const last = ring.First | ring.Last
	const whole = gmac4.RDES3FD | gmac4.RDES3LD
	for _, c := range []struct {
		name string
		w3   uint32
		want ring.Completion
	}{
		{"whole frame", 0x30000040, ring.Completion{Len: 64, Trim: 4, Flags: last}},
		{"whole frame, verdict", 0x34010040, ring.Completion{Len: 64, Trim: 4, Flags: last | needVerdict}},
		{"two VLAN tags: no verdict", 0x34050040, ring.Completion{Len: 64, Trim: 4, Flags: last}},
		{"one VLAN tag", 0x34040040, ring.Completion{Len: 64, Trim: 4, Flags: last | needVerdict}},
		{"first of several, junk length and errors", 0x21F8FFFF, ring.Completion{Flags: ring.First}},
		{"middle", 0x00007FFF, ring.Completion{}},
		{"last of several", 0x100017FF, ring.Completion{Len: 0x17FF, Trim: 4, Flags: ring.Last}},
		{"longest length", 0x10007FFF, ring.Completion{Len: 0x7FFF, Trim: 4, Flags: ring.Last}},
		{"timestamp context", 0x70007FFF, ring.Completion{Flags: ring.NoData}},
		{"CRC", whole | gmac4.RDES3ES | gmac4.RDES3CE | 64, ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrCRC}},
		{"giant", whole | gmac4.RDES3ES | gmac4.RDES3GP | 64, ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrLength}},
		{"watchdog", whole | gmac4.RDES3ES | gmac4.RDES3RWT | 64, ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrLength}},
		{"overflow", whole | gmac4.RDES3ES | gmac4.RDES3OE | 64, ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrOverflow}},
		{"dribble", whole | gmac4.RDES3ES | gmac4.RDES3DE | 64, ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrFrame}},
		{"receive error", whole | gmac4.RDES3ES | gmac4.RDES3RE | 64, ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrReceive}},
		{"summary alone", whole | gmac4.RDES3ES | 64, ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrReceive}},
		{"CRC and dribble, verdict not wanted", whole | gmac4.RDES3RS1V | gmac4.RDES3ES | gmac4.RDES3CE | gmac4.RDES3DE | 64,
			ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrCRC | ring.ErrFrame}},
		{"error bit without summary", whole | gmac4.RDES3CE | 64, ring.Completion{Len: 64, Trim: 4, Flags: last | ring.ErrCRC}},
	} {
		require.Equal(t, c.want, decodeRX(c.w3), c.name)
	}
}

func TestDecodeVerdict(t *testing.T) {
	for _, c := range []struct {
		name string
		w1   uint32
		want ring.Flags
	}{
		{"IPv4 TCP", 0x12, ring.ChecksumGood},
		{"IPv4 UDP", 0x11, ring.ChecksumGood},
		{"IPv4 ICMP", 0x13, ring.ChecksumGood},
		{"IPv6 TCP", 0x22, ring.ChecksumGood},
		{"junk in the upper half", 0xFFFF0012, ring.ChecksumGood},
		{"not IP", 0x00, 0},
		{"payload type without IP", 0x02, 0},
		{"fragment or unknown payload", 0x10, 0},
		{"reserved payload type", 0x14, 0},
		{"engine bypassed", 0x52, 0},
		{"bypassed, stale payload error", 0xD2, 0},
		{"IP header error", 0x1A, ring.ChecksumBad},
		{"IP header error, bypassed", 0x58, ring.ChecksumBad},
		{"payload error", 0x92, ring.ChecksumBad},
		{"both errors", 0x9A, ring.ChecksumBad},
	} {
		require.Equal(t, c.want, decodeVerdict(c.w1), c.name)
	}
}

// FuzzDecodeRX: whatever the device writes, the flags make sense together.
func FuzzDecodeRX(f *testing.F) {
	f.Add(uint32(0x34010040), uint32(0x12))
	f.Add(uint32(0xFFFFFFFF), uint32(0xFFFFFFFF))
	f.Add(uint32(0x70000000), uint32(0))
	f.Fuzz(func(t *testing.T, w3, w1 uint32) {
		c := decodeRX(w3)
		isLast := c.Flags&ring.Last != 0
		if !isLast && (c.Len != 0 || c.Trim != 0 || c.Flags&^(ring.First|ring.NoData) != 0) {
			t.Fatalf("%#x: %+v: no last descriptor", w3, c)
		}
		if c.Flags&ring.NoData != 0 && c.Flags != ring.NoData {
			t.Fatalf("%#x: context with %#x", w3, c.Flags)
		}
		if c.Len > dwregs.MaxFrame {
			t.Fatalf("%#x: length %d", w3, c.Len)
		}
		if c.Flags&needVerdict != 0 && (c.Flags&ring.ErrAny != 0 || w3&gmac4.RDES3RS1V == 0) {
			t.Fatalf("%#x: verdict of a bad frame, or none given", w3)
		}
		if v := decodeVerdict(w1); v&ring.ChecksumGood != 0 && (v&ring.ChecksumBad != 0 || w1&(gmac4.RDES1IPHE|gmac4.RDES1IPCE|gmac4.RDES1IPCB) != 0) {
			t.Fatalf("%#x: verdict %#x", w1, v)
		}
	})
}
