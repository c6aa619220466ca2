package offload

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain is the textbook sum.
func plain(b []byte) uint16 {
	s := uint32(0)
	for i := 0; i < len(b); i += 2 {
		w := uint32(b[i]) << 8
		if i+1 < len(b) {
			w |= uint32(b[i+1])
		}
		if s += w; s > 0xffff {
			s -= 0xffff
		}
	}
	return uint16(s)
}

func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 200 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if n%3 == 0 {
			for i := range b {
				b[i] = 0xff
			}
		}
		require.Equal(t, plain(b), Sum(0).Add(b).Fold(), "%d bytes", n)
		cut := n / 2 &^ 1
		require.Equal(t, plain(b), Sum(0).Add(b[:cut]).Add(b[cut:]).Fold())
	}
}

func eth(typ uint16, payload []byte) []byte {
	f := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}
	return append(binary.BigEndian.AppendUint16(f, typ), payload...)
}

func ip4(proto byte, payload []byte) []byte {
	h := make([]byte, 20)
	h[0], h[8], h[9] = 0x45, 64, proto
	binary.BigEndian.PutUint16(h[2:], uint16(20+len(payload)))
	copy(h[12:], []byte{192, 0, 2, 1, 192, 0, 2, 2})
	return eth(typeIPv4, append(h, payload...))
}

func ip6(next byte, payload []byte) []byte {
	h := make([]byte, 40)
	h[0], h[6], h[7] = 0x60, next, 64
	binary.BigEndian.PutUint16(h[4:], uint16(len(payload)))
	h[8], h[23], h[24], h[39] = 0xfe, 1, 0xfe, 2
	return eth(typeIPv6, append(h, payload...))
}

func l4(proto byte, n int) []byte {
	switch proto {
	case protoTCP:
		b := make([]byte, 20+n)
		b[12], b[13] = 0x50, 0x98 // CWR, PSH, ACK
		fill(b[20:])
		return b
	case protoUDP:
		b := make([]byte, 8+n)
		binary.BigEndian.PutUint16(b[4:], uint16(8+n))
		fill(b[8:])
		return b
	default:
		b := make([]byte, 8+n)
		b[0] = 8
		fill(b[8:])
		return b
	}
}

func fill(b []byte) {
	for i := range b {
		b[i] = byte(i*13 + 1)
	}
}

// A known packet: checksum values worked out elsewhere.
func TestKnownHeader(t *testing.T) {
	h := []byte{0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7}
	require.EqualValues(t, 0xb861, Sum(0).Add(h).Checksum())
}

func TestInsertThenCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		f    []byte
		want Payload
	}{
		{"TCP4", ip4(protoTCP, l4(protoTCP, 101)), TCP},
		{"UDP4", ip4(protoUDP, l4(protoUDP, 7)), UDP},
		{"ICMP4", ip4(protoICMP, l4(protoICMP, 33)), ICMP},
		{"TCP6", ip6(protoTCP, l4(protoTCP, 100)), TCP},
		{"UDP6", ip6(protoUDP, l4(protoUDP, 0)), UDP},
		{"ICMP6", ip6(protoICMPv6, l4(protoICMPv6, 56)), ICMP},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, pad := range []int{0, 9} {
				f := append(bytes.Clone(c.f), bytes.Repeat([]byte{0xee}, pad)...)
				header, payload := Insert(f, Full)
				require.False(t, header || payload)
				v := Check(f)
				require.True(t, v.Good())
				require.Equal(t, c.want, v.Payload)
				require.Equal(t, len(c.f)-14, v.Length)
				for bit := range 8 * (len(c.f) - 14) {
					g := bytes.Clone(f)
					g[14+bit/8] ^= 1 << (bit % 8)
					if v := Check(g); v.Good() && !unchecked(c.f, bit) {
						t.Fatalf("bit %d flipped and not found", bit)
					}
				}
			}
		})
	}
}

// unchecked says whether no checksum covers the bit: the IPv6 header's first
// word and hop limit, and its length where UDP's own counts.
func unchecked(f []byte, bit int) bool {
	at := bit / 8
	return f[14]>>4 == 6 && (at < 4 || at == 7 || at < 6 && f[20] == protoUDP)
}

func TestCheckLimits(t *testing.T) {
	fragment := ip4(protoUDP, l4(protoUDP, 20))
	fragment[20] = 0x20
	Insert(fragment, Header)
	short := ip4(protoTCP, l4(protoTCP, 0)[:12])
	Insert(short, Header)
	hop := ip6(0, append([]byte{17, 0, 0, 0, 0, 0, 0, 0}, l4(protoUDP, 4)...))
	long := ip4(protoUDP, l4(protoUDP, 20))
	binary.BigEndian.PutUint16(long[16:], 2000)
	Insert(long, Header)
	for _, c := range []struct {
		name string
		f    []byte
		want Verdict
	}{
		{"empty", nil, Verdict{Bypassed: true}},
		{"ARP", eth(0x0806, make([]byte, 46)), Verdict{Bypassed: true}},
		{"fragment", fragment, Verdict{IPv4: true, Fragment: true, Length: 48, Header: 20}},
		{"TCP header cut", short, Verdict{IPv4: true, Payload: TCP, PayloadError: true, Length: 32, Header: 20}},
		{"extension header", hop, Verdict{IPv6: true, Bypassed: true, Length: 60, Header: 40}},
		{"longer than the frame", long, Verdict{IPv4: true, HeaderError: true}},
		{"IPv4 header cut", eth(typeIPv4, make([]byte, 10)), Verdict{IPv4: true, HeaderError: true}},
		{"IPv6 header cut", eth(typeIPv6, make([]byte, 10)), Verdict{IPv6: true, HeaderError: true}},
		{"version 5", eth(typeIPv4, append([]byte{0x55}, make([]byte, 40)...)), Verdict{IPv4: true, HeaderError: true}},
	} {
		require.Equal(t, c.want, Check(c.f), c.name)
		require.False(t, Check(c.f).Good())
	}
}

func TestInsertRefuses(t *testing.T) {
	fragment := ip4(protoUDP, l4(protoUDP, 20))
	fragment[20] = 0x20
	for _, c := range []struct {
		name            string
		f               []byte
		header, payload bool
	}{
		{"not IP", eth(0x0806, make([]byte, 46)), true, false},
		{"fragment", fragment, false, true},
		{"unknown protocol", ip4(132, make([]byte, 20)), false, true},
		{"header cut", eth(typeIPv6, make([]byte, 39)), true, false},
		{"nothing", []byte{1, 2}, true, false},
	} {
		header, payload := Insert(c.f, Full)
		require.Equal(t, c.header, header, c.name)
		require.Equal(t, c.payload, payload, c.name)
	}
}

func TestUDPZeroSum(t *testing.T) {
	f := ip4(protoUDP, l4(protoUDP, 2))
	for v := range 1 << 16 {
		binary.BigEndian.PutUint16(f[42:], uint16(v))
		Insert(f, Full)
		if sum := binary.BigEndian.Uint16(f[40:]); sum == 0xffff {
			require.True(t, Check(f).Good())
			return
		} else {
			require.NotZero(t, sum)
		}
	}
	t.Fatal("no payload whose sum is zero")
}

func TestSegment(t *testing.T) {
	for _, c := range []struct {
		name        string
		header      []byte
		l4, payload int
		mss         int
		sizes       []int
	}{
		{"TCP4", ip4(protoTCP, l4(protoTCP, 0)), 20, 2500, 1000, []int{1000, 1000, 500}},
		{"exact", ip4(protoTCP, l4(protoTCP, 0)), 20, 2000, 1000, []int{1000, 1000}},
		{"one", ip4(protoTCP, l4(protoTCP, 0)), 20, 10, 1000, []int{10}},
		{"TCP6", ip6(protoTCP, l4(protoTCP, 0)), 20, 65000, 30000, []int{30000, 30000, 5000}},
		{"UDP6", ip6(protoUDP, l4(protoUDP, 0)), 8, 300, 200, []int{200, 100}},
		{"UDP4", ip4(protoUDP, l4(protoUDP, 0)), 8, 300, 200, []int{200, 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			payload := make([]byte, c.payload)
			fill(payload)
			header := bytes.Clone(c.header)
			binary.BigEndian.PutUint32(header[len(header)-c.l4+4:], 0xfffffff0)
			if c.l4 == 8 {
				header = bytes.Clone(c.header)
			}
			s, ok := NewSegmenter(header, payload, c.l4, c.mss)
			require.True(t, ok)
			var buf, got []byte
			for i, n := range c.sizes {
				var more bool
				buf, more = s.Next(buf)
				require.True(t, more)
				require.Len(t, buf, len(header)+n)
				require.True(t, Check(buf).Good(), "segment %d", i)
				if c.l4 == 20 {
					tcp := buf[len(header)-20:]
					require.Equal(t, 0xfffffff0+uint32(len(got)), binary.BigEndian.Uint32(tcp[4:]))
					require.Equal(t, i == 0, tcp[13]&tcpCWR != 0)
					require.Equal(t, i == len(c.sizes)-1, tcp[13]&tcpPSH != 0)
				}
				if header[14]>>4 == 4 {
					require.EqualValues(t, i, binary.BigEndian.Uint16(buf[18:]))
				}
				got = append(got, buf[len(header):]...)
			}
			_, more := s.Next(buf)
			require.False(t, more)
			require.Equal(t, payload, got)
		})
	}
	for _, h := range [][]byte{nil, eth(0x0806, make([]byte, 40)), ip4(protoTCP, make([]byte, 4))} {
		_, ok := NewSegmenter(h, []byte{1}, 20, 100)
		require.False(t, ok)
	}
}

func FuzzEngines(f *testing.F) {
	f.Add(ip4(protoTCP, l4(protoTCP, 10)), uint8(20), uint16(100))
	f.Add(ip6(protoUDP, l4(protoUDP, 10)), uint8(8), uint16(64))
	f.Add([]byte{}, uint8(0), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, l4Len uint8, mss uint16) {
		Check(b)
		g := bytes.Clone(b)
		if header, payload := Insert(g, Full); !header && !payload {
			if v := Check(g); v.HeaderError || v.PayloadError && v.Payload != UDP {
				t.Fatalf("inserted and not right: %+v", v)
			}
		}
		if s, ok := NewSegmenter(b, b, int(l4Len), int(mss)); ok {
			for n := 0; ; n++ {
				if _, more := s.Next(nil); !more {
					break
				}
				if n > len(b) {
					t.Fatal("more segments than bytes")
				}
			}
		}
	})
}
