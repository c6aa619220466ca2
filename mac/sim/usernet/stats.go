package usernet

import "sync/atomic"

// Stats are the counts of a Network since New. RX is from the wire, TX to the
// wire.
type Stats struct {
	RXFrames uint64 `json:"rx_frames"`
	RXBytes  uint64 `json:"rx_bytes"`
	// RXJoined frames reached the stack as part of the frame before.
	RXJoined uint64 `json:"rx_joined"`
	// RXDropped frames found the queue full, RXNotOurs ones were for another MAC
	// address, RXShort ones had no whole Ethernet header, RXTooLong ones exceeded
	// the MTU.
	RXDropped uint64 `json:"rx_dropped"`
	RXNotOurs uint64 `json:"rx_not_ours"`
	RXShort   uint64 `json:"rx_short"`
	RXTooLong uint64 `json:"rx_too_long"`
	TXFrames  uint64 `json:"tx_frames"`
	TXBytes   uint64 `json:"tx_bytes"`
	// TXUnplugged packets were sent while no wire was plugged in.
	TXUnplugged uint64 `json:"tx_unplugged"`

	// TCPConns counts forwarded connections that the guest accepted, TCPFailed
	// ones it did not, TCPActive those open now.
	TCPConns  uint64 `json:"tcp_conns"`
	TCPFailed uint64 `json:"tcp_failed"`
	TCPActive int64  `json:"tcp_active"`
	// UDPClients counts clients of forwarded ports, UDPActive those known now,
	// UDPEvicted those that made place for another. UDPDropped datagrams could
	// not be sent on.
	UDPClients uint64 `json:"udp_clients"`
	UDPActive  int64  `json:"udp_active"`
	UDPEvicted uint64 `json:"udp_evicted"`
	UDPDropped uint64 `json:"udp_dropped"`
}

type counters struct {
	rxFrames, rxBytes, rxJoined              atomic.Uint64
	rxDropped, rxNotOurs, rxShort, rxTooLong atomic.Uint64
	txFrames, txBytes, txUnplugged           atomic.Uint64
	tcpConns, tcpFailed                      atomic.Uint64
	udpClients, udpEvicted, udpDropped       atomic.Uint64
	tcpActive, udpActive                     atomic.Int64
}

func (c *counters) stats() Stats {
	return Stats{
		RXFrames:    c.rxFrames.Load(),
		RXBytes:     c.rxBytes.Load(),
		RXJoined:    c.rxJoined.Load(),
		RXDropped:   c.rxDropped.Load(),
		RXNotOurs:   c.rxNotOurs.Load(),
		RXShort:     c.rxShort.Load(),
		RXTooLong:   c.rxTooLong.Load(),
		TXFrames:    c.txFrames.Load(),
		TXBytes:     c.txBytes.Load(),
		TXUnplugged: c.txUnplugged.Load(),
		TCPConns:    c.tcpConns.Load(),
		TCPFailed:   c.tcpFailed.Load(),
		TCPActive:   c.tcpActive.Load(),
		UDPClients:  c.udpClients.Load(),
		UDPActive:   c.udpActive.Load(),
		UDPEvicted:  c.udpEvicted.Load(),
		UDPDropped:  c.udpDropped.Load(),
	}
}
