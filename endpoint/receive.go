package endpoint

import (
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// splitCopy is the payload length in bytes from which a copied frame gets its
// headers in a view of their own. netstack keeps a reference to the headers
// while it parses them, and so copies the chunk they lie in once more; below
// this length that copy costs less than a second view.
const splitCopy = 4096

// deliver hands the frames of a batch to netstack and disposes of their pages.
func (p *poller) deliver(frames []ring.Frame) {
	a := p.e.attached.Load()
	if a == nil {
		for i := range frames {
			p.discard(&frames[i], &p.e.stats.rxDetached)
		}
		return
	}
	p.joined.NetworkDispatcher = a.dispatcher
	for i := range frames {
		f := &frames[i]
		head := p.head(f)
		dst, src := mac.HardwareAddr(head[0:6]), mac.HardwareAddr(head[6:12])
		if !p.e.dev.Accepts(dst) {
			p.discard(f, &p.e.stats.rxOtherHost)
			continue
		}
		if src == p.e.dev.Address() {
			// Our own frame, come back by a hub or a loop.
			p.discard(f, &p.e.stats.rxOwn)
			continue
		}
		if dst.Multicast() && dst != mac.Broadcast {
			p.q.CountMulticast()
		}
		l := parse(head, int(f.Len))
		pkt := p.packet(f, &l)
		pkt.NetworkProtocolNumber = l.network
		pkt.PktType = p.packetType(dst)
		pkt.LinkHeader().Consume(ethernetHeader)
		if pkt.PktType == tcpip.PacketOtherHost {
			// Promiscuous: packet sockets see it, the network protocols do not look at
			// the Ethernet address and would take it for theirs.
			a.dispatcher.DeliverLinkPacket(l.network, pkt)
			pkt.DecRef()
			continue
		}
		p.hand(a.dispatcher, pkt, f.Flags&ring.ChecksumGood != 0)
	}
}

// head is the first piece of a frame. RX has seen to it that a frame has 14 bytes
// in all; when they do not lie in one piece, the first pieces are gathered.
func (p *poller) head(f *ring.Frame) []byte {
	first := &f.Pieces[0]
	b := p.q.Pool.Bytes(first.Page)[first.Off : first.Off+first.Len]
	if len(b) >= ethernetHeader {
		return b
	}
	n := 0
	for i := range f.Pieces {
		n += copy(p.scratch[n:], p.bytes(&f.Pieces[i]))
	}
	return p.scratch[:n]
}

func (p *poller) bytes(piece *ring.Piece) []byte {
	return p.q.Pool.Bytes(piece.Page)[piece.Off : piece.Off+piece.Len]
}

func (p *poller) packetType(dst mac.HardwareAddr) tcpip.PacketType {
	switch {
	case dst == mac.Broadcast:
		return tcpip.PacketBroadcast
	case dst.Multicast():
		return tcpip.PacketMulticast
	case p.e.dev.IsOwn(dst):
		return tcpip.PacketHost
	default:
		return tcpip.PacketOtherHost
	}
}

// hand gives a packet to netstack, through GRO when that may join it. vouched
// says that the hardware has verified its checksums.
func (p *poller) hand(d stack.NetworkDispatcher, pkt *stack.PacketBuffer, vouched bool) {
	switch {
	case !vouched && p.e.dev.RXChecksum():
		// What GRO holds was received before.
		p.flush()
		p.deliverUnvouched(d, pkt)
	case p.e.gro:
		pkt.RXChecksumValidated = true
		p.gro.Enqueue(pkt)
	default:
		d.DeliverNetworkPacket(pkt.NetworkProtocolNumber, pkt)
	}
	pkt.DecRef()
}

func (p *poller) deliverUnvouched(d stack.NetworkDispatcher, pkt *stack.PacketBuffer) {
	if p.joined.apart != nil {
		p.joined.apart.Lock()
		defer p.joined.apart.Unlock()
	}
	p.e.unvouched.Add(1)
	d.DeliverNetworkPacket(pkt.NetworkProtocolNumber, pkt)
	p.e.unvouched.Add(-1)
}

// flush delivers what GRO holds. One call of gro.GRO.Flush takes only the oldest
// packet of each bucket, so it is repeated until it delivers nothing.
func (p *poller) flush() {
	if !p.e.gro {
		return
	}
	for before := -1; before != p.joined.delivered; {
		before = p.joined.delivered
		p.gro.Flush()
	}
}

// groDispatcher counts what GRO delivers.
//
// The IP and TCP checksums of packets that GRO has joined are stale: were they
// verified, because another queue just delivers a packet that must be, they would
// be dropped. So with several queues the deliveries of GRO hold apart for reading
// and those of unvouched packets hold it for writing. Only poll goroutines ever
// wait for it, and nothing that a delivery waits for waits for them.
type groDispatcher struct {
	stack.NetworkDispatcher
	delivered int
	apart     *sync.RWMutex // nil with one queue
}

func (d *groDispatcher) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	d.delivered++
	if d.apart != nil {
		d.apart.RLock()
		defer d.apart.RUnlock()
	}
	d.NetworkDispatcher.DeliverNetworkPacket(protocol, pkt)
}

// discard drops a frame.
func (p *poller) discard(f *ring.Frame, count *counter) {
	count.add(1)
	p.q.CountRXDrop()
	p.recycle(f.Pieces)
}

func (p *poller) recycle(pieces []ring.Piece) {
	for i := range pieces {
		p.q.Pool.Recycle(pieces[i].Page)
	}
}

// packet makes a frame a packet and disposes of its pages: they are lent with
// the payload, or recycled when the payload is copied.
func (p *poller) packet(f *ring.Frame, l *layout) *stack.PacketBuffer {
	var b buffer.Buffer
	payload := l.end - l.headers
	switch {
	case l.headers == 0 || l.headers > int(f.Pieces[0].Len):
		// Not plain TCP or UDP: netstack may look for headers anywhere.
		p.q.Pool.CountCopy()
		b = p.copied(f.Pieces, 0, l.end)
		p.recycle(f.Pieces)
	case l.end >= p.q.Pool.CopyBreak() && payload > 0:
		b = p.copied(f.Pieces, 0, l.headers)
		p.lend(&b, f.Pieces, l)
	case payload >= splitCopy:
		p.q.Pool.CountCopy()
		b = p.copied(f.Pieces, 0, l.headers)
		rest := p.copied(f.Pieces, l.headers, l.end)
		b.Merge(&rest)
		p.recycle(f.Pieces)
	default:
		p.q.Pool.CountCopy()
		b = p.copied(f.Pieces, 0, l.end)
		p.recycle(f.Pieces)
	}
	return stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: b})
}

// copied is a buffer of one view with bytes from to to of a frame.
func (p *poller) copied(pieces []ring.Piece, from, to int) buffer.Buffer {
	v := buffer.NewView(to - from)
	for i := range pieces {
		b := p.bytes(&pieces[i])
		if from < len(b) {
			v.Write(b[max(from, 0):min(to, len(b))])
		}
		from, to = from-len(b), to-len(b)
		if to <= 0 {
			break
		}
	}
	return buffer.MakeWithView(v)
}

// lend adds the payload of a frame to b as views of its pages. A page over the
// loan limit is copied. Buffer.Merge and not Append: that one would first fill
// the free bytes of the header view, by copying.
func (p *poller) lend(b *buffer.Buffer, pieces []ring.Piece, l *layout) {
	from, to := l.headers, l.end
	for i := range pieces {
		piece := &pieces[i]
		n := int(piece.Len)
		lo, hi := min(max(from, 0), n), min(to, n)
		from, to = from-n, to-n
		if lo >= hi {
			p.q.Pool.Recycle(piece.Page)
			continue
		}
		view, ok := p.q.Pool.Lend(piece.Page, int(piece.Off)+lo, hi-lo)
		if !ok {
			view = copyOf(p.q.Pool, piece, lo, hi)
			p.q.Pool.Recycle(piece.Page)
		}
		part := buffer.MakeWithView(view)
		b.Merge(&part)
	}
}

func copyOf(pool *pagepool.Pool, piece *ring.Piece, lo, hi int) *buffer.View {
	v := buffer.NewView(hi - lo)
	v.Write(pool.Bytes(piece.Page)[int(piece.Off)+lo : int(piece.Off)+hi])
	return v
}
