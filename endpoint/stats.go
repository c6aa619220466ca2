package endpoint

import "sync/atomic"

// counter is an event counter.
type counter struct{ n atomic.Uint64 }

func (c *counter) add(n int) { c.n.Add(uint64(n)) }

type stats struct {
	rxDetached, rxOtherHost, rxOwn                counter
	txLinkDown, txRingFull, txTooLong, txTooShort counter
	txFragments                                   counter
}

// Stats counts the packets that an endpoint dropped, by reason. They are part of
// the device's rx_dropped and tx_dropped.
type Stats struct {
	// RXDetached: no dispatcher was attached. RXOtherHost: sent to another
	// station's address. RXOwn: sent by this station and come back.
	RXDetached  uint64 `json:"rx_detached"`
	RXOtherHost uint64 `json:"rx_other_host"`
	RXOwn       uint64 `json:"rx_own_address"`
	// TXLinkDown: the link was down or the device closed. TXRingFull: the ring had
	// no space in time. TXTooLong: longer than the MTU. TXTooShort: no
	// Ethernet header. TXFragments: fragments of
	// datagrams that never became complete, or only partly fit the ring; they were
	// kept back to compute the UDP checksum, and WritePackets reported them sent.
	TXLinkDown  uint64 `json:"tx_link_down"`
	TXRingFull  uint64 `json:"tx_ring_full"`
	TXTooLong   uint64 `json:"tx_too_long"`
	TXTooShort  uint64 `json:"tx_too_short"`
	TXFragments uint64 `json:"tx_fragments"`
}

// Stats returns the counts so far.
func (e *Endpoint) Stats() Stats {
	s := &e.stats
	return Stats{
		RXDetached:  s.rxDetached.n.Load(),
		RXOtherHost: s.rxOtherHost.n.Load(),
		RXOwn:       s.rxOwn.n.Load(),
		TXLinkDown:  s.txLinkDown.n.Load(),
		TXRingFull:  s.txRingFull.n.Load(),
		TXTooLong:   s.txTooLong.n.Load(),
		TXTooShort:  s.txTooShort.n.Load(),
		TXFragments: s.txFragments.n.Load(),
	}
}
