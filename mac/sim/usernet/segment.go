package usernet

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Offsets of header fields, from the start of their header.
const (
	ip4TotalLen   = 2
	ip4ID         = 4
	ip4Checksum   = 10
	ip6PayloadLen = 4
	tcpSeq        = 4
	tcpDataOffset = 12
	tcpFlags      = 13
	tcpWindow     = 14
	tcpChecksum   = 16
)

// WritePackets implements stack.LinkEndpoint. Packets of any number of goroutines
// go straight to the wire, and wait for it while it is busy.
func (l *link) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	transmit := l.transmit.Load()
	if transmit == nil {
		l.stats.txUnplugged.Add(uint64(pkts.Len()))
		return pkts.Len(), nil
	}
	buf := l.buffers.Get().(*[]byte)
	s := sender{transmit: *transmit, buf: *buf}
	for _, pkt := range pkts.AsSlice() {
		s.packet(pkt)
	}
	*buf = s.buf
	l.buffers.Put(buf)
	l.stats.txFrames.Add(s.frames)
	l.stats.txBytes.Add(s.bytes)
	return pkts.Len(), nil
}

// sender makes frames of packets, one at a time in one buffer.
type sender struct {
	transmit      func([]byte)
	buf           []byte
	frames, bytes uint64
}

// packet sends one packet, in several frames when it has more than the maximum
// segment size of payload.
func (s *sender) packet(pkt *stack.PacketBuffer) {
	views, skip := pkt.AsViewList()
	from := reader{view: views.Front(), off: skip}
	gso := &pkt.GSOOptions
	size := pkt.Size()
	if gso.Type == stack.GSONone || gso.MSS == 0 || pkt.Data().Size() <= int(gso.MSS) {
		frame := s.room(size)
		from.read(frame)
		if gso.Type != stack.GSONone && gso.NeedsCsum {
			finishChecksum(frame[headerLen+len(pkt.NetworkHeader().Slice()):], int(gso.CsumOffset))
		}
		s.send(frame)
		return
	}
	s.segments(pkt, &from)
}

// finishChecksum replaces the sum of the pseudo-header, which netstack has left in
// the checksum field at off, by the checksum of the segment.
func finishChecksum(segment []byte, off int) {
	binary.BigEndian.PutUint16(segment[off:], ^checksum.Checksum(segment, 0))
}

// segments cuts a TCP packet. The headers are kept at the front of the buffer and
// brought up to date for each segment.
func (s *sender) segments(pkt *stack.PacketBuffer, from *reader) {
	mss, left := int(pkt.GSOOptions.MSS), pkt.Data().Size()
	tcpAt := headerLen + len(pkt.NetworkHeader().Slice())
	headers := tcpAt + len(pkt.TransportHeader().Slice())
	frame := s.room(headers + mss)
	from.read(frame[:headers])
	ip, tcp := frame[headerLen:tcpAt], frame[tcpAt:]
	v4 := pkt.NetworkProtocolNumber == header.IPv4ProtocolNumber

	// The pseudo-header's sum without the length, which differs from segment to
	// segment.
	pseudo := checksum.Combine(binary.BigEndian.Uint16(tcp[tcpChecksum:]), ^uint16(headers-tcpAt+left))
	flags, seq := tcp[tcpFlags], binary.BigEndian.Uint32(tcp[tcpSeq:])
	for first := true; left > 0; first = false {
		n := min(mss, left)
		left -= n
		from.read(frame[headers : headers+n])
		if v4 {
			binary.BigEndian.PutUint16(ip[ip4TotalLen:], uint16(headers-headerLen+n))
			if !first {
				binary.BigEndian.PutUint16(ip[ip4ID:], binary.BigEndian.Uint16(ip[ip4ID:])+1)
			}
			binary.BigEndian.PutUint16(ip[ip4Checksum:], 0)
			binary.BigEndian.PutUint16(ip[ip4Checksum:], ^checksum.Checksum(ip, 0))
		} else {
			binary.BigEndian.PutUint16(ip[ip6PayloadLen:], uint16(headers-headerLen-header.IPv6MinimumSize+n))
		}
		tcp[tcpFlags] = flags
		if left > 0 {
			tcp[tcpFlags] &^= byte(header.TCPFlagFin | header.TCPFlagPsh)
		}
		if !first {
			tcp[tcpFlags] &^= byte(header.TCPFlagCwr)
		}
		binary.BigEndian.PutUint32(tcp[tcpSeq:], seq)
		seq += uint32(n)
		segment := frame[tcpAt : headers+n]
		binary.BigEndian.PutUint16(tcp[tcpChecksum:], checksum.Combine(pseudo, uint16(len(segment))))
		finishChecksum(segment, tcpChecksum)
		s.send(frame[:headers+n])
	}
}

// room returns the first n bytes of the buffer.
func (s *sender) room(n int) []byte {
	if need := max(n, minFrame); cap(s.buf) < need {
		s.buf = make([]byte, need)
	}
	return s.buf[:n]
}

func (s *sender) send(frame []byte) {
	if n := len(frame); n < minFrame {
		frame = frame[:minFrame]
		clear(frame[n:])
	}
	s.frames++
	s.bytes += uint64(len(frame))
	s.transmit(frame)
}

// reader reads the bytes of a packet in order.
type reader struct {
	view *buffer.View
	off  int // read or to be skipped in view
}

// read fills dst; the packet has that many bytes left.
func (r *reader) read(dst []byte) {
	for len(dst) > 0 && r.view != nil {
		data := r.view.AsSlice()
		if r.off >= len(data) {
			r.off -= len(data)
			r.view = r.view.Next()
			continue
		}
		n := copy(dst, data[r.off:])
		dst = dst[n:]
		r.off += n
	}
}
