package usernet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// recorder keeps the packets that reach the stack, with their frames whole.
type recorder struct {
	stack.NetworkDispatcher
	frames [][]byte
}

func (r *recorder) DeliverNetworkPacket(_ tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	v := pkt.ToView()
	defer v.Release()
	r.frames = append(r.frames, bytes.Clone(v.AsSlice()))
}

// tcpFrame makes a right frame of a connection.
func tcpFrame(v6 bool, srcPort uint16, seq uint32, flags header.TCPFlags, payload []byte) []byte {
	options := []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	src, dst := tcpip.AddrFrom4([4]byte{10, 0, 2, 15}), tcpip.AddrFrom4([4]byte{10, 0, 2, 2})
	ipLen, proto := header.IPv4MinimumSize, header.IPv4ProtocolNumber
	if v6 {
		src, dst = tcpip.AddrFrom16([16]byte{0xfd, 15: 15}), tcpip.AddrFrom16([16]byte{0xfd, 15: 2})
		ipLen, proto = header.IPv6MinimumSize, header.IPv6ProtocolNumber
	}
	tcpLen := header.TCPMinimumSize + len(options)
	frame := make([]byte, headerLen+ipLen+tcpLen+len(payload))
	header.Ethernet(frame).Encode(&header.EthernetFields{SrcAddr: "\x02\x00\x00\x00\x00\x0f", DstAddr: "\x52\x55\x0a\x00\x02\x02", Type: proto})
	segment := frame[headerLen+ipLen:]
	if v6 {
		header.IPv6(frame[headerLen:]).Encode(&header.IPv6Fields{PayloadLength: uint16(len(segment)), TransportProtocol: header.TCPProtocolNumber, HopLimit: 64, SrcAddr: src, DstAddr: dst})
	} else {
		ip := header.IPv4(frame[headerLen:])
		ip.Encode(&header.IPv4Fields{TotalLength: uint16(ipLen + len(segment)), ID: uint16(seq), TTL: 64, Protocol: uint8(header.TCPProtocolNumber), SrcAddr: src, DstAddr: dst})
		ip.SetChecksum(^ip.CalculateChecksum())
	}
	tcp := header.TCP(segment)
	tcp.Encode(&header.TCPFields{SrcPort: srcPort, DstPort: 80, SeqNum: seq, AckNum: 9, DataOffset: uint8(tcpLen), Flags: flags, WindowSize: 100})
	copy(tcp[header.TCPMinimumSize:], options)
	copy(tcp[tcpLen:], payload)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, src, dst, uint16(len(segment)))
	tcp.SetChecksum(^checksum.Checksum(tcp, sum))
	return frame
}

func coalesce(t testing.TB, frames ...[]byte) [][]byte {
	o, err := (&Options{MTU: 65535}).withDefaults()
	require.NoError(t, err)
	var c counters
	r := &recorder{}
	newCoalescer(newLink(&o, &c)).deliver(r, frames)
	return r.frames
}

const (
	ack = header.TCPFlagAck
	psh = header.TCPFlagAck | header.TCPFlagPsh
)

func TestCoalescing(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		r := rand.New(rand.NewPCG(1, 2))
		for _, mss := range []int{1, 2, 3, 999, 1000, 1448} { // odd ones change the byte order of the sum
			stream := make([]byte, 40*mss+mss/2)
			for i := range stream {
				stream[i] = byte(r.Uint32())
			}
			var frames [][]byte
			for at := 0; at < len(stream); at += mss {
				end := min(at+mss, len(stream))
				flags := header.TCPFlags(ack)
				if end == len(stream) {
					flags = psh
				}
				frames = append(frames, tcpFrame(v6, 1000, uint32(at), flags, stream[at:end]))
			}
			damaged := bytes.Clone(frames[7])
			damaged[len(damaged)-1] ^= 0x10
			want := len(frames) * mss / 65535
			out := coalesce(t, frames...)
			require.LessOrEqual(t, len(out), want+2, "mss %d", mss)
			var got []byte
			for i, f := range out {
				checkFrame(t, 65535, append(f, make([]byte, max(0, minFrame-len(f)))...))
				s, ok := parse(f)
				require.True(t, ok)
				require.EqualValues(t, len(got), s.seq)
				require.Equal(t, i == len(out)-1, s.push, "PSH of the last part")
				got = append(got, f[s.payloadAt:]...)
			}
			require.True(t, bytes.Equal(stream, got))

			frames[7] = damaged
			out = coalesce(t, frames...)
			require.False(t, checksumRight(out[0]), "a damaged part was joined and not noticed")
		}
	}
}

// checksumRight verifies the TCP checksum of a trimmed frame.
func checksumRight(frame []byte) bool {
	tcpAt := headerLen + header.IPv4MinimumSize
	if header.Ethernet(frame).Type() == header.IPv6ProtocolNumber {
		tcpAt = headerLen + header.IPv6MinimumSize
	}
	return checksum.Checksum(frame[tcpAt:], pseudoSum(frame, tcpAt, len(frame)-tcpAt)) == 0xffff
}

func TestWhatIsNotJoined(t *testing.T) {
	data := make([]byte, 100)
	first := tcpFrame(false, 1000, 0, ack, data)
	change := func(f func(frame []byte)) []byte {
		frame := tcpFrame(false, 1000, 100, ack, data)
		f(frame)
		ip := header.IPv4(frame[headerLen:])
		ip.SetChecksum(0)
		ip.SetChecksum(^ip.CalculateChecksum())
		return frame
	}
	const ip, tcp = headerLen, headerLen + header.IPv4MinimumSize
	for name, second := range map[string][]byte{
		"gap":         tcpFrame(false, 1000, 101, ack, data),
		"overlap":     tcpFrame(false, 1000, 99, ack, data),
		"other port":  tcpFrame(false, 1001, 100, ack, data),
		"longer":      tcpFrame(false, 1000, 100, ack, make([]byte, 101)),
		"FIN":         tcpFrame(false, 1000, 100, ack|header.TCPFlagFin, data),
		"no payload":  tcpFrame(false, 1000, 100, ack, nil),
		"IPv6":        tcpFrame(true, 1000, 100, ack, data),
		"TOS":         change(func(f []byte) { f[ip+1] = 3 }),
		"TTL":         change(func(f []byte) { f[ip+8] = 63 }),
		"DF":          change(func(f []byte) { f[ip+6] = 0x40 }),
		"fragment":    change(func(f []byte) { f[ip+6] = 0x20 }),
		"offset":      change(func(f []byte) { f[ip+7] = 1 }),
		"UDP":         change(func(f []byte) { f[ip+9] = 17 }),
		"ack":         change(func(f []byte) { f[tcp+11]++ }),
		"window":      change(func(f []byte) { f[tcp+15]++ }),
		"timestamp":   change(func(f []byte) { f[tcp+27]++ }),
		"data offset": change(func(f []byte) { f[tcp+12] = 0x40 }),
		"all options": change(func(f []byte) { f[tcp+12] = 0xf0 }),
		"source MAC":  change(func(f []byte) { f[7] = 9 }),
		"bad IP sum":  append(bytes.Clone(first[:ip+10]), append([]byte{0, 0}, first[ip+12:]...)...),
	} {
		require.Equal(t, [][]byte{first, second}, coalesce(t, first, second), name)
	}
	good := tcpFrame(false, 1000, 100, ack, data)
	require.Len(t, coalesce(t, first, good), 1)
	require.Len(t, coalesce(t, tcpFrame(false, 1000, 0, psh, data), good), 2, "PSH ends a packet")
}

func TestConnectionsAreJoinedSideBySide(t *testing.T) {
	var frames [][]byte
	for i := range uint32(6) {
		for p := range uint16(flows) {
			frames = append(frames, tcpFrame(false, 1000+p, i*10, ack, make([]byte, 10)))
		}
	}
	out := coalesce(t, frames...)
	require.Len(t, out, flows)
	for p, f := range out {
		require.EqualValues(t, 1000+p, binary.BigEndian.Uint16(f[headerLen+header.IPv4MinimumSize:]))
	}
}

func TestPaddingIsTrimmed(t *testing.T) {
	short := tcpFrame(false, 1000, 0, ack, nil)
	padded := append(bytes.Clone(short), make([]byte, 20)...)
	require.Equal(t, [][]byte{short}, coalesce(t, padded))
	arp := broadcastFrame()
	arp[12], arp[13] = 8, 6
	require.Equal(t, [][]byte{arp}, coalesce(t, arp))
}

// FuzzDeliver feeds frames through the receive path into a whole stack: it may
// drop them, and nothing else.
func FuzzDeliver(f *testing.F) {
	f.Add(tcpFrame(false, 1000, 0, ack, make([]byte, 10)), tcpFrame(false, 1000, 10, ack, make([]byte, 10)))
	f.Add(tcpFrame(true, 1000, 0, header.TCPFlagSyn, nil), broadcastFrame())
	f.Add(make([]byte, 14), make([]byte, 20))
	n, err := New(nil)
	require.NoError(f, err)
	f.Cleanup(func() { n.Close() })
	n.OnTransmit(func([]byte) {})
	g := newCoalescer(n.link)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var frames [][]byte
		for _, frame := range [][]byte{a, b} {
			if len(frame) >= headerLen && len(frame) <= 1514 {
				frames = append(frames, bytes.Clone(frame))
			}
		}
		g.deliver(*n.link.dispatcher.Load(), frames)
		if len(g.order) != 0 {
			t.Fatal("frames left behind")
		}
	})
}

// FuzzCoalesce joins any two frames: nothing is lost, and no bad checksum is made
// good.
func FuzzCoalesce(f *testing.F) {
	f.Add(tcpFrame(false, 1000, 0, ack, make([]byte, 10)), tcpFrame(false, 1000, 10, ack, make([]byte, 10)))
	f.Add(tcpFrame(true, 1000, 0, ack, make([]byte, 9)), tcpFrame(true, 1000, 9, psh, make([]byte, 3)))
	f.Add(make([]byte, 14), make([]byte, 80))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a) < headerLen || len(b) < headerLen || len(a) > 3000 || len(b) > 3000 {
			return
		}
		a, b = trim(a), trim(b)
		out := coalesce(t, a, b)
		switch len(out) {
		case 2:
			if !bytes.Equal(out[0], a) || !bytes.Equal(out[1], b) {
				t.Fatal("frames changed")
			}
		case 1:
			sa, _ := parse(a)
			sb, _ := parse(b)
			if len(out[0]) != len(a)+len(b)-sb.payloadAt || sa.payloadAt != sb.payloadAt {
				t.Fatal("bytes lost")
			}
			if checksumRight(out[0]) && checksumRight(a) != checksumRight(b) {
				t.Fatal("a bad checksum became a good one")
			}
			if checksumRight(a) && checksumRight(b) && !checksumRight(out[0]) {
				t.Fatal("two good checksums became a bad one")
			}
		default:
			t.Fatalf("%d packets of 2 frames", len(out))
		}
	})
}
