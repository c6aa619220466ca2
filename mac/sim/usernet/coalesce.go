package usernet

import (
	"bytes"
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
)

const (
	// flows is how many connections of a batch are joined at once.
	flows = 8
	// splitAbove is the length of a frame from which its front goes into a view
	// of its own. netstack copies the view that holds the headers; frontLen
	// bytes hold them all.
	splitAbove = 4096
	frontLen   = 128
	maxIP      = 65535
)

// coalescer joins the frames of a connection in a batch to one packet for the
// stack, as a network card's LRO and Linux's GRO do.
//
// The checksum of the joined packet is computed from the checksums of its parts
// and their headers, without a look at the payload. So the stack still verifies
// every byte: when a part is damaged, the joined packet's checksum is wrong.
type coalescer struct {
	link  *link
	open  [flows]flow
	order []*flow // open flows, oldest first
}

// flow is consecutive segments of one connection, not yet delivered.
type flow struct {
	frames  [][]byte // trimmed to their IP length
	head    segment  // of the first frame
	next    uint32   // sequence number that follows
	payload int      // bytes
	sum     uint16   // ones' complement sum of the payload
}

// segment is where things are in a TCP frame.
type segment struct {
	tcpAt, payloadAt int
	seq              uint32
	push             bool
}

func newCoalescer(l *link) *coalescer {
	return &coalescer{link: l, order: make([]*flow, 0, flows)}
}

// deliver hands a batch of frames to the stack. The frames are not kept.
func (g *coalescer) deliver(d stack.NetworkDispatcher, frames [][]byte) {
	for _, frame := range frames {
		frame = trim(frame)
		if g.link.opts.NoCoalescing {
			g.single(d, frame)
			continue
		}
		s, ok := parse(frame)
		if !ok {
			// What cannot be joined may belong to an open flow, and must not
			// overtake it.
			g.flush(d)
			g.single(d, frame)
			continue
		}
		g.add(d, frame, s)
	}
	g.flush(d)
}

// add puts a segment behind those of its connection, or begins a flow with it.
func (g *coalescer) add(d stack.NetworkDispatcher, frame []byte, s segment) {
	for _, f := range g.order {
		if !f.sameConnection(frame, s) {
			continue
		}
		if !f.follows(frame, s) {
			g.flush(d)
			break
		}
		f.append(frame, s)
		if s.push || len(frame) < len(f.frames[0]) || len(f.frames) == batch {
			g.flush(d)
		}
		return
	}
	if len(g.order) == flows {
		g.flush(d)
	}
	f := &g.open[len(g.order)]
	g.order = append(g.order, f)
	*f = flow{frames: f.frames[:0], head: s, next: s.seq}
	f.append(frame, s)
	if s.push {
		g.flush(d)
	}
}

// flush delivers all open flows, oldest first.
func (g *coalescer) flush(d stack.NetworkDispatcher) {
	for _, f := range g.order {
		if len(f.frames) == 1 {
			g.single(d, f.frames[0])
		} else {
			g.link.stats.rxJoined.Add(uint64(len(f.frames) - 1))
			g.packet(d, f.join())
		}
		clear(f.frames)
	}
	g.order = g.order[:0]
}

// single delivers one frame as it is.
func (g *coalescer) single(d stack.NetworkDispatcher, frame []byte) {
	if len(frame) <= splitAbove {
		g.packet(d, buffer.MakeWithView(buffer.NewViewWithData(frame)))
		return
	}
	b := buffer.MakeWithView(buffer.NewViewWithData(frame[:frontLen]))
	_ = b.Append(buffer.NewViewWithData(frame[frontLen:])) // fails for a shared view only
	g.packet(d, b)
}

// packet delivers a frame in a buffer.
func (g *coalescer) packet(d stack.NetworkDispatcher, b buffer.Buffer) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: b})
	defer pkt.DecRef()
	eth, ok := pkt.LinkHeader().Consume(headerLen)
	if !ok {
		return
	}
	switch {
	case mac.HardwareAddr(eth[:6]) == mac.Broadcast:
		pkt.PktType = tcpip.PacketBroadcast
	case eth[0]&1 != 0:
		pkt.PktType = tcpip.PacketMulticast
	default:
		pkt.PktType = tcpip.PacketHost
	}
	pkt.NetworkProtocolNumber = header.Ethernet(eth).Type()
	d.DeliverNetworkPacket(pkt.NetworkProtocolNumber, pkt)
}

// trim cuts the padding of a short IP packet.
func trim(frame []byte) []byte {
	ip := frame[headerLen:]
	n := len(ip)
	switch header.Ethernet(frame).Type() {
	case header.IPv4ProtocolNumber:
		if len(ip) >= header.IPv4MinimumSize {
			n = int(binary.BigEndian.Uint16(ip[ip4TotalLen:]))
		}
	case header.IPv6ProtocolNumber:
		if len(ip) >= header.IPv6MinimumSize {
			n = header.IPv6MinimumSize + int(binary.BigEndian.Uint16(ip[ip6PayloadLen:]))
		}
	}
	return frame[:headerLen+min(n, len(ip))]
}

// parse finds the parts of a trimmed frame that can be joined with others: plain
// IPv4 without options or fragments, or IPv6 without extension headers, and TCP
// with payload and no flags but ACK and PSH.
func parse(frame []byte) (segment, bool) {
	ip := frame[headerLen:]
	var s segment
	switch header.Ethernet(frame).Type() {
	case header.IPv4ProtocolNumber:
		if len(ip) < header.IPv4MinimumSize+header.TCPMinimumSize || ip[0] != 0x45 || ip[9] != byte(header.TCPProtocolNumber) ||
			int(binary.BigEndian.Uint16(ip[ip4TotalLen:])) != len(ip) ||
			binary.BigEndian.Uint16(ip[6:])&^(1<<14) != 0 || // all but "don't fragment"
			checksum.Checksum(ip[:header.IPv4MinimumSize], 0) != 0xffff {
			return s, false
		}
		s.tcpAt = headerLen + header.IPv4MinimumSize
	case header.IPv6ProtocolNumber:
		if len(ip) < header.IPv6MinimumSize+header.TCPMinimumSize || ip[0]>>4 != 6 || ip[6] != byte(header.TCPProtocolNumber) ||
			int(binary.BigEndian.Uint16(ip[ip6PayloadLen:])) != len(ip)-header.IPv6MinimumSize {
			return s, false
		}
		s.tcpAt = headerLen + header.IPv6MinimumSize
	default:
		return s, false
	}
	tcp := frame[s.tcpAt:]
	dataOffset := int(tcp[tcpDataOffset]>>4) * 4
	flags := header.TCPFlags(tcp[tcpFlags])
	if dataOffset < header.TCPMinimumSize || dataOffset >= len(tcp) || flags&^header.TCPFlagPsh != header.TCPFlagAck {
		return s, false
	}
	s.payloadAt = s.tcpAt + dataOffset
	s.seq = binary.BigEndian.Uint32(tcp[tcpSeq:])
	s.push = flags&header.TCPFlagPsh != 0
	return s, true
}

// sameConnection compares MAC and IP addresses, IP version and ports.
func (f *flow) sameConnection(frame []byte, s segment) bool {
	first := f.frames[0]
	if s.tcpAt != f.head.tcpAt || !bytes.Equal(frame[:headerLen], first[:headerLen]) {
		return false
	}
	addresses := addressesAt(s.tcpAt)
	return bytes.Equal(frame[addresses:s.tcpAt+tcpSeq], first[addresses:s.tcpAt+tcpSeq])
}

// follows reports whether a segment of the connection continues the flow: next in
// sequence, no longer than the first, and with the same header but for what
// differs from segment to segment.
func (f *flow) follows(frame []byte, s segment) bool {
	first := f.frames[0]
	if s.seq != f.next || s.payloadAt != f.head.payloadAt || len(frame) > len(first) ||
		f.payload+len(frame)-headerLen > maxIP {
		return false
	}
	if s.tcpAt == headerLen+header.IPv4MinimumSize {
		if frame[headerLen+1] != first[headerLen+1] || // TOS
			!bytes.Equal(frame[headerLen+6:headerLen+9], first[headerLen+6:headerLen+9]) { // DF, TTL
			return false
		}
	} else if !bytes.Equal(frame[headerLen:headerLen+4], first[headerLen:headerLen+4]) || // class, flow label
		frame[headerLen+7] != first[headerLen+7] { // hop limit
		return false
	}
	a, b := frame[s.tcpAt:s.payloadAt], first[s.tcpAt:s.payloadAt]
	return bytes.Equal(a[8:tcpFlags], b[8:tcpFlags]) && // acknowledgement, data offset
		bytes.Equal(a[tcpWindow:tcpChecksum], b[tcpWindow:tcpChecksum]) &&
		bytes.Equal(a[tcpChecksum+2:], b[tcpChecksum+2:]) // urgent pointer, options
}

// append takes a segment into the flow.
func (f *flow) append(frame []byte, s segment) {
	n := len(frame) - s.payloadAt
	// A segment sums up to 0xffff with its pseudo-header when nothing is damaged,
	// so that its payload's sum is the complement of all the rest.
	sum := ^checksum.Combine(pseudoSum(frame, s.tcpAt, len(frame)-s.tcpAt), checksum.Checksum(frame[s.tcpAt:s.payloadAt], 0))
	if f.payload&1 != 0 {
		sum = sum<<8 | sum>>8 // its bytes change places in the 16-bit words
	}
	f.sum = checksum.Combine(f.sum, sum)
	f.payload += n
	f.next += uint32(n)
	f.frames = append(f.frames, frame)
}

// pseudoSum is the sum of the pseudo-header of a segment of n bytes (RFC 9293
// section 3.1, RFC 8200 section 8.1). The addresses end where TCP begins.
func pseudoSum(frame []byte, tcpAt, n int) uint16 {
	rest := checksum.Combine(uint16(header.TCPProtocolNumber), uint16(n))
	return checksum.Combine(rest, checksum.Checksum(frame[addressesAt(tcpAt):tcpAt], 0))
}

// addressesAt is where the IP addresses begin that end at tcpAt.
func addressesAt(tcpAt int) int {
	if tcpAt == headerLen+header.IPv4MinimumSize {
		return tcpAt - 2*header.IPv4AddressSize
	}
	return tcpAt - 2*header.IPv6AddressSize
}

// join makes one packet of a flow: its headers in one view, its payload in
// another.
func (f *flow) join() buffer.Buffer {
	first, last := f.frames[0], f.frames[len(f.frames)-1]
	tcpAt, payloadAt := f.head.tcpAt, f.head.payloadAt
	payload := buffer.NewView(f.payload)
	for _, frame := range f.frames {
		_, _ = payload.Write(frame[payloadAt:]) // a view's Write does not fail
	}
	headers := buffer.NewViewWithData(first[:payloadAt])
	h := headers.AsSlice()
	ip, tcp := h[headerLen:tcpAt], h[tcpAt:]
	if tcpAt == headerLen+header.IPv4MinimumSize {
		binary.BigEndian.PutUint16(ip[ip4TotalLen:], uint16(payloadAt-headerLen+f.payload))
		binary.BigEndian.PutUint16(ip[ip4Checksum:], 0)
		binary.BigEndian.PutUint16(ip[ip4Checksum:], ^checksum.Checksum(ip, 0))
	} else {
		binary.BigEndian.PutUint16(ip[ip6PayloadLen:], uint16(payloadAt-tcpAt+f.payload))
	}
	tcp[tcpFlags] |= last[tcpAt+tcpFlags] & byte(header.TCPFlagPsh)
	binary.BigEndian.PutUint16(tcp[tcpChecksum:], 0)
	sum := checksum.Combine(f.sum, checksum.Checksum(tcp, 0))
	sum = checksum.Combine(sum, pseudoSum(first, tcpAt, payloadAt-tcpAt+f.payload))
	binary.BigEndian.PutUint16(tcp[tcpChecksum:], ^sum)

	b := buffer.MakeWithView(headers)
	_ = b.Append(payload) // fails for a shared view only
	return b
}
