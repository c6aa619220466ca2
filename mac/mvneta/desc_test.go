package mvneta

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/neta"
	"github.com/barewire/barewire/ring"
)

const (
	first, last, whole = neta.RXFirst, neta.RXLast, neta.RXFirst | neta.RXLast
	good               = neta.RXL4OK | neta.RXIPHeaderOK
)

// size is the size word of n bytes, with something in the parser's half.
func size(n int) uint32 { return uint32(n)<<16 | 0x1234 }

func TestDecode(t *testing.T) {
	failed := func(code uint32) uint32 {
		return whole | good | neta.RXError | field.Put(neta.RXErrorCode, code)
	}
	type words struct{ status, size uint32 }
	for name, v := range map[string]struct {
		in   []words
		want []ring.Completion
	}{
		"one buffer": {
			[]words{{whole, size(66)}},
			[]ring.Completion{{Len: 66, Trim: 4, Flags: ring.First | ring.Last}},
		},
		"the rest is counted off, whatever the others say": {
			[]words{{first | good, size(600)}, {neta.RXError, 0xFFFF0000}, {last | neta.RXError, size(3)}},
			[]ring.Completion{
				{Len: 256, Flags: ring.First}, {Len: 256}, {Len: 88, Trim: 4, Flags: ring.Last | ring.ChecksumGood},
			},
		},
		"the last buffer holds nothing but FCS": {
			[]words{{first, size(258)}, {last, 0}},
			[]ring.Completion{{Len: 256, Flags: ring.First}, {Len: 2, Trim: 4, Flags: ring.Last}},
		},
		"longer than one buffer and no second one": {
			[]words{{whole, size(300)}},
			[]ring.Completion{{Len: 300, Trim: 4, Flags: ring.First | ring.Last}},
		},
		"more descriptors than the length needs": {
			[]words{{first, size(100)}, {0, 0}, {last, 0}},
			[]ring.Completion{{Len: 100, Flags: ring.First}, {}, {Trim: 4, Flags: ring.Last}},
		},
		"last without first": {
			[]words{{last | good, size(100)}},
			[]ring.Completion{{Trim: 4, Flags: ring.Last}},
		},
		"a verdict is of its own frame": {
			[]words{{first | good, size(100)}, {first, size(90)}, {last, 0}},
			[]ring.Completion{
				{Len: 100, Flags: ring.First}, {Len: 90, Flags: ring.First}, {Trim: 4, Flags: ring.Last},
			},
		},
		"CRC": {
			[]words{{failed(neta.RXErrorCRC), size(66)}},
			[]ring.Completion{{Len: 66, Trim: 4, Flags: ring.First | ring.Last | ring.ErrCRC}},
		},
		"overrun": {
			[]words{{failed(neta.RXErrorOverrun), size(66)}},
			[]ring.Completion{{Len: 66, Trim: 4, Flags: ring.First | ring.Last | ring.ErrOverflow}},
		},
		"too long": {
			[]words{{failed(neta.RXErrorLength), size(66)}},
			[]ring.Completion{{Len: 66, Trim: 4, Flags: ring.First | ring.Last | ring.ErrLength}},
		},
		"no buffer": {
			[]words{{failed(neta.RXErrorResource), size(66)}},
			[]ring.Completion{{Len: 66, Trim: 4, Flags: ring.First | ring.Last | ring.ErrReceive}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decoder{buffer: 256, checksum: true}
			for i, w := range v.in {
				require.Equal(t, v.want[i], d.next(w.status, w.size), "descriptor %d", i)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	for status, want := range map[uint32]ring.Flags{
		good:                                 ring.ChecksumGood,
		good | neta.RXL3Type | neta.RXL4Type: ring.ChecksumGood,
		neta.RXL4OK:                          0,
		neta.RXIPHeaderOK:                    0,
		good | neta.RXFragment:               0,
		field.Put(neta.RXL3Type, neta.L3IPv4Bad) | 1<<30: 0,
		0: 0,
	} {
		require.Equal(t, want, verdict(status), "%#x", status)
	}
	d := decoder{buffer: 256}
	require.Zero(t, d.next(whole|good, size(66)).Flags&ring.ChecksumGood, "the engine is off")
}

// eth is an Ethernet header with tags, then a payload.
func eth(typ uint16, tags int, payload ...byte) []byte {
	b := make([]byte, 12)
	for i := range tags {
		b = binary.BigEndian.AppendUint16(b, [...]uint16{typeQinQ, typeVLAN}[(tags-i)%2])
		b = binary.BigEndian.AppendUint16(b, 5)
	}
	b = binary.BigEndian.AppendUint16(b, typ)
	return append(append(b, payload...), make([]byte, 40)...)
}

func ip4(ihl byte, fragment uint16, proto byte) []byte {
	b := make([]byte, 20)
	b[0] = 0x40 | ihl
	binary.BigEndian.PutUint16(b[6:], fragment)
	b[9] = proto
	return b
}

func ip6(proto byte) []byte {
	b := make([]byte, 40)
	b[0], b[6] = 0x60, proto
	return b
}

func TestCommand(t *testing.T) {
	const (
		full = uint32(1) << 30
		none = uint32(2) << 30
		v4   = neta.TXIPChecksum
	)
	for name, v := range map[string]struct {
		frame []byte
		want  uint32
	}{
		"IPv4 TCP":                {eth(typeIPv4, 0, ip4(5, 0, 6)...), 14 | 5<<8 | v4 | full},
		"IPv4 UDP":                {eth(typeIPv4, 0, ip4(5, 0x4000, 17)...), 14 | 5<<8 | v4 | neta.TXUDP | full},
		"IPv4 with options":       {eth(typeIPv4, 0, ip4(15, 0, 6)...), 14 | 15<<8 | v4 | full},
		"IPv4 ICMP":               {eth(typeIPv4, 0, ip4(5, 0, 1)...), 14 | 5<<8 | v4 | none},
		"IPv4 first fragment":     {eth(typeIPv4, 0, ip4(5, 0x2000, 6)...), 14 | 5<<8 | v4 | none},
		"IPv4 last fragment":      {eth(typeIPv4, 0, ip4(5, 0x0010, 17)...), 14 | 5<<8 | v4 | none},
		"IPv4 without a header":   {eth(typeIPv4, 0, ip4(4, 0, 6)...), 14 | 4<<8 | v4 | none},
		"IPv4 behind a tag":       {eth(typeIPv4, 1, ip4(5, 0, 6)...), 18 | 5<<8 | v4 | full},
		"IPv4 behind two tags":    {eth(typeIPv4, 2, ip4(5, 0, 6)...), 22 | 5<<8 | v4 | full},
		"IPv4 behind three tags":  {eth(typeIPv4, 3, ip4(5, 0, 6)...), none},
		"IPv6 TCP":                {eth(typeIPv6, 0, ip6(6)...), 14 | 10<<8 | neta.TXIPv6 | full},
		"IPv6 UDP":                {eth(typeIPv6, 0, ip6(17)...), 14 | 10<<8 | neta.TXIPv6 | neta.TXUDP | full},
		"IPv6 fragment":           {eth(typeIPv6, 0, ip6(44)...), 14 | 10<<8 | neta.TXIPv6 | none},
		"ARP":                     {eth(0x0806, 0), none},
		"an Ethernet header":      {eth(typeIPv4, 0)[:14], none},
		"part of an IP header":    {eth(typeIPv4, 0, ip4(5, 0, 6)...)[:33], none},
		"less than a header":      {eth(typeIPv4, 1)[:13], none},
		"a tag with nothing more": {eth(typeIPv4, 1)[:16], none},
	} {
		t.Run(name, func(t *testing.T) {
			f := ring.TXFrame{Data: v.frame, Checksum: ring.ChecksumFull}
			require.Equal(t, neta.TXFirst|v.want, command(&f))
			f.Checksum = ring.ChecksumNone
			require.Equal(t, neta.TXFirst|none, command(&f), "not asked for")
		})
	}
}

// FuzzDecode: whatever the device writes, a frame has no more bytes than its first
// descriptor says, and a piece none beyond a buffer unless it ends the frame, which
// the ring then drops.
func FuzzDecode(f *testing.F) {
	f.Add(whole, size(66), last, size(3), first, size(9000), uint32(0), uint32(0))
	f.Add(first, size(700), uint32(0), unwritten, last, uint32(0), whole|good, size(65535))
	f.Fuzz(func(t *testing.T, s0, z0, s1, z1, s2, z2, s3, z3 uint32) {
		d := decoder{buffer: 256, checksum: true}
		sum, open := uint32(0), uint32(0)
		for _, w := range [][2]uint32{{s0, z0}, {s1, z1}, {s2, z2}, {s3, z3}} {
			c := d.next(w[0], w[1])
			if c.Flags&ring.First != 0 {
				sum, open = 0, w[1]>>16
			}
			if sum += c.Len; sum > open {
				t.Fatalf("%d bytes of a frame of %d", sum, open)
			}
			if c.Len > d.buffer && c.Flags&ring.Last == 0 {
				t.Fatalf("%d bytes in a buffer of %d", c.Len, d.buffer)
			}
			if c.Flags&ring.Last != 0 {
				if c.Trim != fcsLen || sum != open {
					t.Fatalf("frame of %d bytes ends with %d, trim %d", open, sum, c.Trim)
				}
				sum, open = 0, 0
			}
		}
	})
}

// FuzzChecksum: headers are looked for inside of the frame alone, and what the
// engine is told lies in it.
func FuzzChecksum(f *testing.F) {
	f.Add(eth(typeIPv4, 2, ip4(5, 0, 6)...))
	f.Add(eth(typeIPv6, 1, ip6(17)...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := checksum(b)
		if c&(neta.TXFirst|neta.TXLast|neta.TXPad) != 0 {
			t.Fatalf("%#x: marks of a frame", c)
		}
		if mode := field.Get(neta.TXL4Mode, c); mode != neta.TXL4Full && mode != neta.TXL4None {
			t.Fatalf("%#x: mode %d", c, mode)
		}
		if at := field.Get(neta.TXL3Offset, c); int(at) >= max(len(b), 1) {
			t.Fatalf("%#x: headers at %d in %d bytes", c, at, len(b))
		}
	})
}
