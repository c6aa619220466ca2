package endpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/barewire/barewire/mac"
)

// TestTransmitChecksums: TCP and UDP leave with a right checksum although netstack
// left it out, whether the engine can find the header or not, at even and odd
// lengths, padded or not.
func TestTransmitChecksums(t *testing.T) {
	s := newSender(t, mac.Config{})
	options := []byte{1, 1, 1, 0}
	longer := func(h header.IPv4) { h[0] = 0x46 }
	hop := func(next uint8) []byte { return []byte{next, 0, 1, 4, 0, 0, 0, 0} }
	for _, n := range []int{0, 1, 2, 99, 1000} {
		data := pattern(n)
		for name, frame := range map[string][]byte{
			"IPv4 UDP":                        ipv4(protoUDP, nil, udpHeader(n), data),
			"IPv4 TCP":                        ipv4(protoTCP, nil, tcpHeader(12), data),
			"IPv4 options UDP":                ipv4(protoUDP, longer, options, udpHeader(n), data),
			"IPv4 options TCP":                ipv4(protoTCP, longer, options, tcpHeader(0), data),
			"IPv6 UDP":                        ipv6(protoUDP, udpHeader(n), data),
			"IPv6 TCP":                        ipv6(protoTCP, tcpHeader(0), data),
			"IPv6 hop by hop UDP":             ipv6(0, hop(protoUDP), udpHeader(n), data),
			"IPv6 hop by hop, experiment TCP": ipv6(0, hop(253), hop(protoTCP), tcpHeader(0), data),
		} {
			l := parse(frame, len(frame))
			require.NotZero(t, l.headers, name)
			if l.options && l.network == header.IPv4ProtocolNumber { // over the options too
				ip := header.IPv4(frame[14:])
				ip.SetChecksum(0)
				ip.SetChecksum(^checksum.Checksum(frame[14:38], 0))
			}
			require.Equal(t, 1, s.send(append(frame[:len(frame):len(frame)], make([]byte, 6)...)), name)
			out := s.sent()
			require.Len(t, out, 1, name)
			requireChecksum(t, out[0], &l, name)
		}
	}
}

// requireChecksum checks the transport checksum of a frame of layout l.
func requireChecksum(t *testing.T, b []byte, l *layout, name string) {
	t.Helper()
	segment := b[l.transportAt:l.end]
	if l.transport == header.UDPProtocolNumber {
		require.NotZero(t, header.UDP(segment).Checksum(), name)
	}
	sum := pseudoSum(b, l.network, l.transport, len(segment))
	require.EqualValues(t, 0xffff, checksum.Checksum(segment, sum), "%s: checksum of %d bytes", name, len(segment))
}

// TestUDPZeroSum: a UDP checksum that computes to 0 is sent as 0xffff, by the
// endpoint as by the engine.
func TestUDPZeroSum(t *testing.T) {
	s := newSender(t, mac.Config{})
	hop := []byte{protoUDP, 0, 1, 4, 0, 0, 0, 0}
	for name, frame := range map[string][]byte{
		"engine":   ipv6(protoUDP, udpHeader(2), []byte{0, 0}),
		"endpoint": ipv6(0, hop, udpHeader(2), []byte{0, 0}),
	} {
		l := parse(frame, len(frame))
		data := frame[l.headers:l.end]
		sum := pseudoSum(frame, l.network, l.transport, 10)
		sum = ^checksum.Checksum(frame[l.transportAt:l.end], sum) // what makes the sum 0xffff
		data[0], data[1] = byte(sum>>8), byte(sum)
		require.Equal(t, 1, s.send(frame))
		out := s.sent()
		require.Len(t, out, 1)
		require.EqualValues(t, 0xffff, header.UDP(out[0][l.transportAt:]).Checksum(), name)
	}
}
