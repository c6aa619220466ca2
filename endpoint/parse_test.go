package endpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

const (
	protoTCP  = uint8(header.TCPProtocolNumber)
	protoUDP  = uint8(header.UDPProtocolNumber)
	protoICMP = uint8(header.ICMPv4ProtocolNumber)
)

func TestParse(t *testing.T) {
	pad := make([]byte, 18)
	for _, c := range []struct {
		name    string
		frame   []byte
		headers int
		end     int // 0: the whole frame
		frag    bool
		options bool
	}{
		{"IPv4 TCP", ipv4(protoTCP, nil, tcpHeader(0), pattern(10)), 14 + 20 + 20, 0, false, false},
		{"IPv4 TCP with TCP options", ipv4(protoTCP, nil, tcpHeader(12), pattern(10)), 14 + 20 + 32, 0, false, false},
		{"IPv4 UDP", ipv4(protoUDP, nil, udpHeader(10), pattern(10)), 14 + 20 + 8, 0, false, false},
		{"padded to the Ethernet minimum", append(ipv4(protoUDP, nil, udpHeader(0)), pad...), 42, 42, false, false},
		{"IPv6 TCP", ipv6(protoTCP, tcpHeader(0), pattern(10)), 14 + 40 + 20, 0, false, false},
		{"IPv6 UDP padded", append(ipv6(protoUDP, udpHeader(0)), pad...), 62, 62, false, false},
		{"IPv4 ICMP", ipv4(protoICMP, nil, pattern(8)), 0, 0, false, false},
		{"IPv4 options", ipv4(protoUDP, func(h header.IPv4) { h[0] = 0x46 }, make([]byte, 4), udpHeader(0)), 14 + 24 + 8, 0, false, true},
		{"IPv4 first fragment", ipv4(protoUDP, func(h header.IPv4) { h[6] = 0x20 }, udpHeader(10), pattern(10)), 0, 0, true, false},
		{"IPv4 later fragment", ipv4(protoUDP, func(h header.IPv4) { h[7] = 5 }, pattern(10)), 0, 0, true, false},
		{"IPv6 fragment", ipv6(44, ipv6Fragment(protoUDP, 0, true, 1), udpHeader(10), pattern(10)), 0, 0, true, false},
		{"IPv6 hop by hop", ipv6(0, []byte{protoUDP, 0, 1, 4, 0, 0, 0, 0}, udpHeader(0)), 54 + 8 + 8, 0, false, true},
		{"IPv6 three headers of options", ipv6(0, []byte{60, 0, 1, 4, 0, 0, 0, 0}, []byte{253, 1, 1, 12}, make([]byte, 12), []byte{protoTCP, 0, 0, 1, 0, 0, 0, 0}, tcpHeader(0)), 54 + 32 + 20, 0, false, true},
		{"IPv6 hop by hop without end", ipv6(0, make([]byte, 8)), 0, 0, false, true},
		{"IPv6 hop by hop past the end", ipv6(0, []byte{protoTCP, 255, 1, 4, 0, 0, 0, 0}), 0, 0, false, true},
		{"IPv6 hop by hop cut short", ipv6(0, make([]byte, 7)), 0, 0, false, false},
		{"IPv6 routing header", ipv6(43, []byte{protoUDP, 0, 0, 0, 0, 0, 0, 0}, udpHeader(0)), 0, 0, false, false},
		{"IPv6 hop by hop and fragment", ipv6(0, []byte{44, 0, 1, 4, 0, 0, 0, 0}, ipv6Fragment(protoUDP, 0, true, 1), udpHeader(0)), 0, 0, false, true},
		{"ARP", ethernet(header.ARPProtocolNumber, make([]byte, 28)), 0, 0, false, false},
		{"VLAN tag", ethernet(0x8100, []byte{0, 5, 8, 0}, make([]byte, 40)), 0, 0, false, false},
		{"802.3 length field", ethernet(0x0026, make([]byte, 46)), 0, 0, false, false},
		{"IPv4 length longer than the frame", ipv4(protoUDP, func(h header.IPv4) { h.SetTotalLength(100) }, udpHeader(0)), 0, 0, false, false},
		{"IPv4 length shorter than its header", ipv4(protoUDP, func(h header.IPv4) { h.SetTotalLength(19) }, udpHeader(0)), 0, 0, false, false},
		{"IPv4 header length too small", ipv4(protoUDP, func(h header.IPv4) { h[0] = 0x44 }, udpHeader(0)), 0, 0, false, false},
		{"IPv4 with another version", ipv4(protoUDP, func(h header.IPv4) { h[0] = 0x65 }, udpHeader(0)), 0, 0, false, false},
		{"TCP data offset too small", ipv4(protoTCP, nil, func() []byte { b := tcpHeader(0); b[12] = 0x40; return b }()), 0, 0, false, false},
		{"TCP data offset past the end", ipv4(protoTCP, nil, func() []byte { b := tcpHeader(0); b[12] = 0xf0; return b }()), 0, 0, false, false},
		{"UDP header cut short", ipv4(protoUDP, nil, udpHeader(0)[:6]), 0, 0, false, false},
		{"IPv6 length longer than the frame", func() []byte { b := ipv6(protoUDP, udpHeader(0)); b[18] = 1; return b }(), 0, 0, false, false},
		{"IPv6 header cut short", ipv6(protoUDP)[:40], 0, 0, false, false},
		{"IPv4 header cut short", ipv4(protoUDP, nil)[:20], 0, 0, false, false},
		{"Ethernet header alone", ethernet(header.IPv4ProtocolNumber), 0, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := parse(c.frame, len(c.frame))
			end := c.end
			if end == 0 {
				end = len(c.frame)
			}
			require.Equal(t, c.headers, l.headers, "headers")
			require.Equal(t, end, l.end, "end")
			require.Equal(t, c.frag, l.fragment, "fragment")
			require.Equal(t, c.options, l.options, "options")
		})
	}
}

// FuzzParse: whatever the bytes, the layout stays inside the frame.
func FuzzParse(f *testing.F) {
	f.Add(ipv4(protoTCP, nil, tcpHeader(12), pattern(10)), 0)
	f.Add(ipv6(protoUDP, udpHeader(5), pattern(5)), 3)
	f.Add(ipv6(44, ipv6Fragment(protoUDP, 8, false, 9), pattern(5)), 0)
	f.Fuzz(func(t *testing.T, b []byte, beyond int) {
		// The frame may be longer than the bytes at hand.
		length := len(b) + max(beyond, 0)%9000
		l := parse(b, length)
		if l.end > length || l.headers > l.end || l.headers > len(b) || l.transportAt > l.headers {
			t.Fatalf("layout %+v of %d bytes, frame of %d", l, len(b), length)
		}
		if l.headers > 0 && l.headers-l.transportAt < header.UDPMinimumSize {
			t.Fatalf("layout %+v: transport header too short", l)
		}
		if l.fragment {
			if fr, ok := parseFragment(b, &l); ok && (fr.start > len(b) || fr.start > l.end) {
				t.Fatalf("fragment %+v of %d bytes, layout %+v", fr, len(b), l)
			}
		}
		if l.headers > 0 && l.end <= len(b) {
			fillChecksum(b, &l)
		}
	})
}
