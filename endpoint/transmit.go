package endpoint

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/ring"
)

// WritePackets implements stack.LinkWriter.WritePackets. Packets are borrowed:
// their bytes are in the transmit arena when it returns. The doorbell of each
// queue is rung once, at the end. When a ring is full it waits for the device, at
// most tx-usecs (see ring.Coalesce) without progress, and then drops what is left
// of the list and counts it; it never waits for a poll goroutine.
func (e *Endpoint) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	list := pkts.AsSlice()
	sent := 0
	var err tcpip.Error
	for _, q := range e.dev.Queues() {
		n, qerr := e.write(q, list)
		sent += n
		if qerr != nil {
			err = qerr
		}
	}
	return sent, err
}

// mine reports whether a packet goes through queue q: the queue is chosen by
// flow, so that a flow keeps its order. netstack hashes TCP flows only; everything
// else goes through queue 0.
func (e *Endpoint) mine(q *mac.Queue, pkt *stack.PacketBuffer) bool {
	n := uint32(len(e.dev.Queues()))
	return n == 1 || pkt.Hash%n == uint32(q.Index())
}

func (e *Endpoint) count(q *mac.Queue, list []*stack.PacketBuffer) int {
	n := 0
	for _, pkt := range list {
		if e.mine(q, pkt) {
			n++
		}
	}
	return n
}

// write sends those packets of list that go through queue q.
func (e *Endpoint) write(q *mac.Queue, list []*stack.PacketBuffer) (int, tcpip.Error) {
	first := 0
	for first < len(list) && !e.mine(q, list[first]) {
		first++
	}
	if list = list[first:]; len(list) == 0 {
		return 0, nil
	}
	tx := q.LockTX()
	if tx == nil {
		n := e.count(q, list)
		e.stats.txLinkDown.add(n)
		q.CountTXDrop(n)
		return 0, &tcpip.ErrNoBufferSpace{}
	}
	defer q.UnlockTX()
	sent := 0
	var err tcpip.Error
	limit := e.dev.MTU() + ethernetHeader
	for i, pkt := range list {
		if !e.mine(q, pkt) {
			continue
		}
		if n := pkt.Size(); n > limit {
			e.stats.txTooLong.add(1)
			q.CountTXDrop(1)
			err = &tcpip.ErrMessageTooLong{}
			continue
		} else if n < ethernetHeader {
			e.stats.txTooShort.add(1)
			q.CountTXDrop(1)
			err = &tcpip.ErrMalformedHeader{}
			continue
		}
		if !e.send(q, tx, pkt) {
			n := e.count(q, list[i:])
			e.stats.txRingFull.add(n)
			q.CountTXDrop(n)
			err = &tcpip.ErrNoBufferSpace{}
			break
		}
		sent++
	}
	q.FlushTX()
	return sent, err
}

// send commits one packet, or keeps it back when it is a fragment whose train is
// not complete. It reports false when the ring is full.
func (e *Endpoint) send(q *mac.Queue, tx *ring.TX, pkt *stack.PacketBuffer) bool {
	var l layout
	if e.dev.TXChecksum() {
		l = parse(head(pkt), pkt.Size())
		// What is forwarded has its checksum, and comes in any order.
		if l.fragment && !pkt.NetworkPacketInfo.IsForwardedPacket {
			h := e.trains.hold(pkt, &l)
			if h.lost != nil {
				e.dropTrain(q, h.lost)
			}
			if h.complete != nil {
				return e.sendTrain(q, tx, h.complete)
			}
			if h.kept {
				return true
			}
		}
	}
	b := reserve(q, tx, pkt.Size())
	if b == nil {
		return false
	}
	gather(b, pkt)
	if l.headers == 0 && !l.fragment && e.dev.TXChecksum() {
		// The headers may lie scattered over views (forwarded packets).
		l = parse(b, len(b))
	}
	tx.Commit(ring.TXFrame{Checksum: e.checksum(b, &l)})
	return true
}

// checksum says what the device is to insert into frame b. netstack leaves TCP
// and UDP checksums out when the endpoint has CapabilityTXChecksumOffload; what
// the engine cannot parse is summed here, in place.
func (e *Endpoint) checksum(b []byte, l *layout) ring.Checksum {
	switch {
	case l.headers == 0:
		return ring.ChecksumNone
	case l.options:
		fillChecksum(b, l)
		return ring.ChecksumNone
	case l.transport == header.UDPProtocolNumber:
		header.UDP(b[l.transportAt:]).SetChecksum(0xffff) // not 0: see ring.ChecksumFull
	}
	return ring.ChecksumFull
}

// reserveTries bounds how often a packet waits for space that other senders then
// take: each wait ends with progress of the device, or is the last.
const reserveTries = 16

// reserve gets room for n bytes, waiting if need be and allowed.
func reserve(q *mac.Queue, tx *ring.TX, n int) []byte {
	for range reserveTries {
		if b := tx.Reserve(n); b != nil || !q.WaitTX() {
			return b
		}
	}
	return nil
}

// head is the contiguous beginning of a packet: all of its headers when netstack
// has built it.
func head(pkt *stack.PacketBuffer) []byte {
	views, skip := pkt.AsViewList()
	for v := views.Front(); v != nil; v = v.Next() {
		if b := v.AsSlice(); len(b) > skip {
			return b[skip:]
		} else {
			skip -= len(b)
		}
	}
	return nil
}

// gather copies a packet into dst, which has its size.
func gather(dst []byte, pkt *stack.PacketBuffer) {
	views, skip := pkt.AsViewList()
	n := 0
	for v := views.Front(); v != nil; v = v.Next() {
		b := v.AsSlice()
		if len(b) <= skip {
			skip -= len(b)
			continue
		}
		n += copy(dst[n:], b[skip:])
		skip = 0
	}
	clear(dst[n:])
}
