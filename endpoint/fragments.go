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

// maxTrains is how many datagrams are kept back at once. The fragments of one
// need no limit: each must begin where the last ended, at less than 64 KiB.
const maxTrains = 16

// fragmentTrains keeps the fragments of outgoing UDP datagrams back until the
// last one is there.
//
// With transmit checksum offload netstack leaves the UDP checksum out before it
// cuts a datagram into fragments. No hardware can put it in then, since it sees
// one fragment at a time, and over IPv6 a UDP checksum of zero is not allowed
// (RFC 8200 section 8.1). netstack writes all fragments of a datagram one after
// the other, so they are kept for a moment, summed, and sent. Those whose last
// fragment never comes are dropped when others need their place, and counted
// then: WritePackets has already called them sent.
type fragmentTrains struct {
	mu     sync.Mutex
	trains []*fragmentTrain
	closed bool // keep nothing any more
}

// fragmentTrain is the fragments of one datagram so far, in order. It holds a
// reference to each packet.
type fragmentTrain struct {
	key     fragmentKey
	packets []*stack.PacketBuffer
	payload int    // bytes of IP payload so far
	sum     uint16 // their checksum
	start   int    // where the UDP header begins in the first frame
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

// held is what became of a fragment.
type held struct {
	// kept: it is in a train, or was dropped with one. Otherwise it is to be sent
	// as it is: not UDP, or with a checksum, or not the next of its datagram.
	kept bool
	// complete is a train to be sent, lost one to be dropped. They are the
	// caller's to release.
	complete, lost *fragmentTrain
}

// hold takes a fragment.
func (t *fragmentTrains) hold(pkt *stack.PacketBuffer, l *layout) held {
	f, ok := parseFragment(head(pkt), l)
	if !ok || f.protocol != uint8(header.UDPProtocolNumber) || f.start >= l.end {
		return held{}
	}
	first := f.offset == 0
	if first && (!f.more || !zeroChecksum(pkt, f.start)) {
		return held{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.find(f.key)
	switch {
	case first && t.closed:
		train := &fragmentTrain{}
		train.add(pkt, f.start, l.end)
		return held{kept: true, lost: train}
	case first && at >= 0:
		// Another datagram with the same identification. What follows could belong
		// to either, and a checksum over a mixture would make it look right.
		train := t.remove(at)
		train.add(pkt, f.start, l.end)
		return held{kept: true, lost: train}
	case first:
		h := held{kept: true}
		if len(t.trains) == maxTrains {
			h.lost = t.remove(0)
		}
		train := &fragmentTrain{key: f.key, start: f.start}
		train.add(pkt, f.start, l.end)
		t.trains = append(t.trains, train)
		return h
	case at < 0 || t.trains[at].payload != f.offset:
		return held{}
	}
	t.trains[at].add(pkt, f.start, l.end)
	if f.more {
		return held{kept: true}
	}
	return held{kept: true, complete: t.remove(at)}
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

// close ends keeping fragments back and returns those that are.
func (t *fragmentTrains) close() []*fragmentTrain {
	t.mu.Lock()
	defer t.mu.Unlock()
	trains := t.trains
	t.trains, t.closed = nil, true
	return trains
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
	at := 0
	sum := checksumer{odd: t.payload%2 != 0}
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
// one. It reports false when the ring filled up on the way: the fragments that
// were called sent when they were kept back are counted as dropped then, and the
// last one is the caller's to count.
func (e *Endpoint) sendTrain(q *mac.Queue, tx *ring.TX, t *fragmentTrain) bool {
	defer t.release()
	for i, pkt := range t.packets {
		b := reserve(q, tx, pkt.Size())
		if b == nil {
			e.countLost(q, len(t.packets)-i-1)
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

// dropTrain drops fragments that were kept back in vain.
func (e *Endpoint) dropTrain(q *mac.Queue, t *fragmentTrain) {
	e.countLost(q, len(t.packets))
	t.release()
}

func (e *Endpoint) countLost(q *mac.Queue, fragments int) {
	e.stats.txFragments.add(fragments)
	q.CountTXDrop(fragments)
}
