package endpoint

import (
	"encoding/binary"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/ring"
)

// Limits of what is kept back: datagrams, and fragments of one.
const (
	maxTrains    = 16
	maxFragments = 64 << 10 / 512
)

// fragmentTrains keeps the fragments of outgoing UDP datagrams back until the
// last one is there.
//
// With transmit checksum offload netstack leaves the UDP checksum out before it
// cuts a datagram into fragments. No hardware can put it in then, since it sees
// one fragment at a time, and over IPv6 a UDP checksum of zero is not allowed
// (RFC 8200 section 8.1). netstack writes all fragments of a datagram one after
// the other, so they are kept for a moment, summed, and sent.
type fragmentTrains struct {
	mu     sync.Mutex
	trains []*fragmentTrain
}

// fragmentTrain is the fragments of one datagram so far, in order. It holds a
// reference to each packet.
type fragmentTrain struct {
	key     fragmentKey
	packets []*stack.PacketBuffer
	payload int    // bytes of IP payload so far
	sum     uint16 // their checksum
	start   int    // where the IP payload of a fragment begins in its frame
}

// fragmentKey names a datagram: addresses and identification.
type fragmentKey struct {
	addresses [2 * header.IPv6AddressSize]byte
	id        uint32
	version   uint8
}

// fragment is what the fragment fields of a frame say.
type fragment struct {
	key      fragmentKey
	protocol uint8
	start    int // of the IP payload in the frame
	offset   int
	more     bool
}

// ipv6FragmentEnd is where the payload of an IPv6 fragment begins.
const ipv6FragmentEnd = ipv6End + header.IPv6FragmentHeaderSize

func parseFragment(b []byte, l *layout) (f fragment, ok bool) {
	if l.network == header.IPv4ProtocolNumber {
		ip := header.IPv4(b[ethernetHeader:])
		copy(f.key.addresses[:], ip[12:20])
		f.key.id, f.key.version = uint32(ip.ID()), 4
		f.protocol, f.offset, f.more = ip.Protocol(), int(ip.FragmentOffset()), ip.More()
		f.start = ethernetHeader + int(ip.HeaderLength())
		return f, f.start <= len(b)
	}
	if len(b) < ipv6FragmentEnd || l.end < ipv6FragmentEnd {
		return f, false
	}
	ip := b[ethernetHeader:]
	copy(f.key.addresses[:], ip[8:40])
	ext := b[ipv6End:]
	field := binary.BigEndian.Uint16(ext[2:])
	f.key.id, f.key.version = binary.BigEndian.Uint32(ext[4:]), 6
	f.protocol, f.offset, f.more = ext[0], int(field&^7), field&1 != 0
	f.start = ipv6FragmentEnd
	return f, true
}

// hold takes a fragment. done is false when it was kept back. With the last
// fragment of a datagram it returns the whole train, whose packets are the
// caller's then. A nil train with done means that the packet is to be sent as it
// is: not UDP, or with a checksum, or not the next of its datagram.
func (t *fragmentTrains) hold(pkt *stack.PacketBuffer, l *layout) (train *fragmentTrain, done bool) {
	f, ok := parseFragment(head(pkt), l)
	if !ok || f.protocol != uint8(header.UDPProtocolNumber) {
		return nil, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.find(f.key)
	if f.offset == 0 {
		if !f.more || !zeroChecksum(pkt, f.start) {
			return nil, true
		}
		if at >= 0 { // the id came round again, or the first was sent twice
			t.remove(at).release()
		}
		if len(t.trains) == maxTrains {
			t.remove(0).release()
		}
		at = len(t.trains)
		t.trains = append(t.trains, &fragmentTrain{key: f.key})
	} else if at < 0 || t.trains[at].payload != f.offset {
		return nil, true
	}
	train = t.trains[at]
	train.add(pkt, f.start, l.end)
	if !f.more {
		return t.remove(at), true
	}
	if len(train.packets) == maxFragments {
		t.remove(at).release()
	}
	return nil, false
}

func (t *fragmentTrains) find(key fragmentKey) int {
	for i, train := range t.trains {
		if train.key == key {
			return i
		}
	}
	return -1
}

func (t *fragmentTrains) remove(i int) *fragmentTrain {
	train := t.trains[i]
	t.trains = append(t.trains[:i], t.trains[i+1:]...)
	return train
}

// drop forgets everything kept back.
func (t *fragmentTrains) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, train := range t.trains {
		train.release()
	}
	t.trains = nil
}

// zeroChecksum reports whether the UDP header at start has no checksum.
func zeroChecksum(pkt *stack.PacketBuffer, start int) bool {
	var udp [header.UDPMinimumSize]byte
	return copyAt(udp[:], pkt, start) == len(udp) && header.UDP(udp[:]).Checksum() == 0
}

// copyAt copies bytes of a packet from offset at on and returns how many.
func copyAt(dst []byte, pkt *stack.PacketBuffer, at int) int {
	n := 0
	eachSlice(pkt, func(b []byte) {
		if at >= len(b) {
			at -= len(b)
			return
		}
		n += copy(dst[n:], b[at:])
		at = 0
	})
	return n
}

// eachSlice calls f with the bytes of a packet, piece by piece.
func eachSlice(pkt *stack.PacketBuffer, f func([]byte)) {
	views, skip := pkt.AsViewList()
	for v := views.Front(); v != nil; v = v.Next() {
		b := v.AsSlice()
		if len(b) <= skip {
			skip -= len(b)
			continue
		}
		f(b[skip:])
		skip = 0
	}
}

// add appends a fragment whose IP payload lies at start to end of its frame.
func (t *fragmentTrain) add(pkt *stack.PacketBuffer, start, end int) {
	t.packets = append(t.packets, pkt.IncRef())
	t.start = start
	at, odd := 0, t.payload%2 != 0
	sum := checksumer{odd: odd}
	eachSlice(pkt, func(b []byte) {
		lo, hi := min(max(start-at, 0), len(b)), min(end-at, len(b))
		if lo < hi {
			sum.add(b[lo:hi])
		}
		at += len(b)
	})
	t.sum = checksum.Combine(t.sum, sum.sum)
	t.payload += end - start
}

// checksumer sums pieces of any length.
type checksumer struct {
	sum uint16
	odd bool // an odd number of bytes went before
}

func (c *checksumer) add(b []byte) {
	s := checksum.Checksum(b, 0)
	if c.odd {
		s = s<<8 | s>>8 // RFC 1071 section 2 (B)
	}
	c.sum = checksum.Combine(c.sum, s)
	c.odd = c.odd != (len(b)%2 != 0)
}

func (t *fragmentTrain) release() {
	for _, pkt := range t.packets {
		pkt.DecRef()
	}
	t.packets = nil
}

// sendTrain commits all fragments of a datagram with its checksum in the first
// one. It reports false when the ring filled up on the way.
func (e *Endpoint) sendTrain(q *mac.Queue, tx *ring.TX, t *fragmentTrain) bool {
	defer t.release()
	for i, pkt := range t.packets {
		b := reserve(q, tx, pkt.Size())
		if b == nil {
			return false
		}
		gather(b, pkt)
		if i == 0 {
			network := header.Ethernet(b).Type()
			sum := pseudoSum(b, network, header.UDPProtocolNumber, t.payload)
			header.UDP(b[t.start:]).SetChecksum(udpChecksum(checksum.Combine(t.sum, sum)))
		}
		tx.Commit(ring.TXFrame{})
	}
	return true
}
