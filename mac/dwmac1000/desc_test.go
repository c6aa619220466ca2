package dwmac1000

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/ring"
)

var formats = map[string]format{
	"normal":           formatFor(false, true, false),
	"normal chained":   formatFor(false, false, true),
	"enhanced":         formatFor(true, false, false),
	"enhanced chained": formatFor(true, true, true),
	"extended":         formatFor(true, true, false),
}

func TestFormats(t *testing.T) {
	for name, want := range map[string][3]int{ // words, largest buffer, largest piece
		"normal": {4, 2032, 2032}, "normal chained": {4, 2032, 2032},
		"enhanced": {4, 8176, 4096}, "enhanced chained": {4, 8176, 4096}, "extended": {8, 8176, 4096},
	} {
		f := formats[name]
		require.Equal(t, want, [3]int{f.words, f.maxBuffer, f.maxPiece}, name)
	}
}

// TestControlWords: numbers worked out from the manual's tables by hand.
func TestControlWords(t *testing.T) {
	for _, c := range []struct {
		format         string
		size           int
		interrupt, end bool
		want           uint32
	}{
		{"normal", 0x5F0, true, false, 0x000005F0},
		{"normal", 0x7F0, false, true, 0x820007F0},
		{"normal chained", 0x5F0, true, true, 0x010005F0},
		{"enhanced", 0x7F0, false, false, 0x800007F0},
		{"enhanced", 0x1FF0, true, true, 0x00009FF0},
		{"enhanced chained", 0x7F0, true, true, 0x000047F0},
		{"extended", 0x7F0, false, true, 0x800087F0},
	} {
		f := formats[c.format]
		require.Equal(t, c.want, f.rxControl(c.size, c.interrupt, c.end), "%+v", c)
	}
	for _, c := range []struct {
		format                     string
		first, last, interrupt, ck bool
		n                          uint32
		end                        bool
		w0, w1                     uint32
	}{
		{"normal", true, true, true, true, 1514, false, 0x80000000, 0xF80005EA},
		{"normal", true, false, false, false, 2032, true, 0x80000000, 0x220007F0},
		{"normal chained", false, true, false, false, 60, true, 0x80000000, 0x4100003C},
		{"enhanced", true, true, true, true, 1514, false, 0xF0C00000, 0x5EA},
		{"enhanced", false, true, false, false, 4096, true, 0xA0200000, 0x1000},
		{"enhanced chained", true, false, false, true, 4096, true, 0x90D00000, 0x1000},
		{"extended", true, true, false, false, 60, true, 0xB0200000, 0x3C},
	} {
		f := formats[c.format]
		control := uint32(0)
		for _, x := range []struct {
			on  bool
			bit uint32
		}{{c.first, f.tx.first}, {c.last, f.tx.last}, {c.interrupt, f.tx.interrupt}, {c.ck, f.tx.cic}} {
			if x.on {
				control |= x.bit
			}
		}
		w0, w1 := f.txWords(control, c.n, c.end)
		require.Equal(t, [2]uint32{c.w0, c.w1}, [2]uint32{w0, w1}, "%+v: %#x %#x", c, w0, w1)
	}
}

func TestDecodeRX(t *testing.T) {
	const (
		whole = ring.First | ring.Last
		es    = gmac3.RDES0ES
		frame = 0x00400320 // 64 bytes, first and last, a type
	)
	for _, c := range []struct {
		name     string
		w0       uint32
		checksum bool
		short    ring.Flags // with normal and enhanced descriptors
		extended ring.Flags
	}{
		{"good", frame, true, whole | ring.ChecksumGood, whole},
		{"good, engine off", frame, false, whole, whole},
		{"word 4, or a bad payload checksum", frame | gmac3.RDES0Payload, true, whole | ring.ChecksumBad, whole | needVerdict},
		{"the same in the summary", frame | es | gmac3.RDES0Payload, true, whole | ring.ChecksumBad, whole | needVerdict},
		{"a bad header checksum", frame | gmac3.RDES0Header, true, whole | ring.ChecksumBad, whole},
		{"both", frame | gmac3.RDES0Header | gmac3.RDES0Payload, true, whole | ring.ChecksumBad, whole | needVerdict},
		{"a length", frame &^ gmac3.RDES0FT, true, whole, whole},
		{"unknown payload", frame&^gmac3.RDES0FT | gmac3.RDES0Payload, true, whole, whole | needVerdict},
		{"not IP", frame&^gmac3.RDES0FT | gmac3.RDES0Header | gmac3.RDES0Payload, true, whole, whole | needVerdict},
		{"reserved", frame&^gmac3.RDES0FT | gmac3.RDES0Header, true, whole, whole},
		{"address matched, engine off", frame | gmac3.RDES0Payload, false, whole, whole},
		{"CRC", frame | es | gmac3.RDES0CE, true, whole | ring.ErrCRC, whole | ring.ErrCRC},
		{"CRC without summary", frame | gmac3.RDES0CE, true, whole | ring.ErrCRC, whole | ring.ErrCRC},
		{"CRC and dribble", frame | es | gmac3.RDES0CE | gmac3.RDES0DBE, true, whole | ring.ErrCRC | ring.ErrFrame, whole | ring.ErrCRC | ring.ErrFrame},
		{"dribble alone", frame | gmac3.RDES0DBE, true, whole | ring.ChecksumGood, whole},
		{"overflow", frame | es | gmac3.RDES0OE, true, whole | ring.ErrOverflow, whole | ring.ErrOverflow},
		{"watchdog", frame | es | gmac3.RDES0RWT, true, whole | ring.ErrLength, whole | ring.ErrLength},
		{"no descriptor", frame | es | gmac3.RDES0DE, true, whole | ring.ErrLength, whole | ring.ErrLength},
		{"receive error", frame | es | gmac3.RDES0RE, true, whole | ring.ErrReceive, whole | ring.ErrReceive},
		{"late collision", frame | es | gmac3.RDES0LC, true, whole | ring.ErrReceive, whole | ring.ErrReceive},
		{"summary alone", frame | es, true, whole | ring.ErrReceive, whole | ring.ErrReceive},
		{"giant, engine off", frame | es | gmac3.RDES0Header, false, whole | ring.ErrLength, whole | ring.ErrLength},
		{"length field wrong, frame whole", frame&^gmac3.RDES0FT | gmac3.RDES0LE, true, whole, whole},
	} {
		for name, f := range formats {
			want := ring.Completion{Len: 64, Trim: 4, Flags: c.short}
			if f.extended {
				want.Flags = c.extended
			}
			require.Equal(t, want, f.decodeRX(c.w0, c.checksum), "%s, %s", c.name, name)
		}
	}
	for name, f := range formats {
		require.Equal(t, ring.Completion{Flags: ring.First}, f.decodeRX(0x3FFF0000|gmac3.RDES0FS|es|gmac3.RDES0CE, true), "first of several, junk length and errors: %s", name)
		require.Equal(t, ring.Completion{}, f.decodeRX(0x3FFF0000, true), "middle: %s", name)
		require.Equal(t, ring.Completion{Len: 0x3FFF, Trim: 4, Flags: ring.Last}, f.decodeRX(0x3FFF0100, false), "longest: %s", name)
	}
}

func TestDecodeExtended(t *testing.T) {
	for _, c := range []struct {
		name string
		w4   uint32
		want ring.Flags
	}{
		{"IPv4 TCP", 0x42, ring.ChecksumGood},
		{"IPv4 UDP", 0x41, ring.ChecksumGood},
		{"IPv6 ICMP", 0x83, ring.ChecksumGood},
		{"junk above", 0xFFFFFF42, ring.ChecksumGood},
		{"not IP", 0x00, 0},
		{"payload type without IP", 0x02, 0},
		{"fragment or unknown payload", 0x40, 0},
		{"reserved payload type", 0x44, 0},
		{"bypassed", 0x61, 0},
		{"header error", 0x48, ring.ChecksumBad},
		{"payload error", 0x52, ring.ChecksumBad},
		{"both", 0x5A, ring.ChecksumBad},
	} {
		require.Equal(t, c.want, decodeExtended(c.w4), c.name)
	}
}

func TestSummed(t *testing.T) {
	ip := func(typ uint16, tag bool, at int, v byte) []byte {
		f := make([]byte, 60)
		f[14], f[23], f[20] = 0x45, 6, 0x40 // TCP, don't fragment
		if typ == 0x86DD {
			f[14], f[20] = 0x60, 6
		}
		f[12], f[13] = byte(typ>>8), byte(typ)
		if at > 0 {
			f[at] = v
		}
		if tag {
			return append(append(append([]byte{}, f[:12]...), 0x81, 0, 0, 5), f[12:]...)
		}
		return f
	}
	for name, c := range map[string]struct {
		head []byte
		want bool
	}{
		"IPv4 TCP":          {ip(0x800, false, 0, 0), true},
		"IPv4 UDP, tagged":  {ip(0x800, true, 23, 17), true},
		"IPv4 ICMP":         {ip(0x800, false, 23, 1), true},
		"IPv4 GRE":          {ip(0x800, false, 23, 47), false},
		"first fragment":    {ip(0x800, false, 20, 0x20), false},
		"last fragment":     {ip(0x800, false, 21, 1), false},
		"IPv6 TCP":          {ip(0x86DD, false, 0, 0), true},
		"IPv6 ICMP, tagged": {ip(0x86DD, true, 20, 58), true},
		"IPv6 fragment":     {ip(0x86DD, false, 20, 44), false},
		"ARP":               {ip(0x806, false, 0, 0), false},
		"two tags":          {append(append([]byte{}, ip(0x800, true, 0, 0)[:16]...), ip(0x800, true, 0, 0)[12:]...), false},
		"short":             {ip(0x800, false, 0, 0)[:33], false},
		"short, tagged":     {ip(0x800, true, 0, 0)[:37], false},
		"nothing":           {nil, false},
	} {
		require.Equal(t, c.want, summed(c.head), name)
	}
}

// FuzzDecodeRX: whatever the device writes, the flags make sense together.
func FuzzDecodeRX(f *testing.F) {
	f.Add(uint32(0x00400320), uint32(0x42), true)
	f.Add(uint32(0xFFFFFFFF), uint32(0xFFFFFFFF), true)
	f.Add(uint32(0x7FFFFFFF), uint32(0), false)
	f.Fuzz(func(t *testing.T, w0, w4 uint32, checksum bool) {
		for name, f := range formats {
			c := f.decodeRX(w0, checksum)
			if c.Flags&ring.Last == 0 && (c.Len != 0 || c.Trim != 0 || c.Flags&^ring.First != 0) {
				t.Fatalf("%s, %#x: %+v: no last descriptor", name, w0, c)
			}
			if c.Len > 0x3FFF {
				t.Fatalf("%s, %#x: length %d", name, w0, c.Len)
			}
			verdict := c.Flags & (ring.ChecksumGood | ring.ChecksumBad | needVerdict)
			if verdict != 0 && (!checksum || c.Flags&ring.ErrAny != 0) {
				t.Fatalf("%s, %#x: verdict %#x of a bad frame, or none given", name, w0, c.Flags)
			}
			if verdict&needVerdict != 0 && !f.extended {
				t.Fatalf("%s, %#x: no word 4", name, w0)
			}
			if verdict&ring.ChecksumGood != 0 && w0&(gmac3.RDES0Header|gmac3.RDES0Payload) != 0 {
				t.Fatalf("%s, %#x: good with an error", name, w0)
			}
		}
		const errors = gmac3.RDES4IPHE | gmac3.RDES4IPPE | gmac3.RDES4IPCB
		if v := decodeExtended(w4); v&ring.ChecksumGood != 0 && (v&ring.ChecksumBad != 0 || w4&errors != 0) {
			t.Fatalf("%#x: verdict %#x", w4, v)
		}
	})
}
