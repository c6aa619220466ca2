package mac

import (
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Snapshot is everything that can be known of a device at one time, for status
// pages and collectors.
type Snapshot struct {
	Name       string          `json:"name"`
	Core       string          `json:"core"`
	Version    string          `json:"version"`
	Address    string          `json:"address"`
	MTU        int             `json:"mtu"`
	Link       Link            `json:"link"`
	Coalesce   ring.Coalesce   `json:"coalesce"`
	Stats      Stats           `json:"stats"`
	Hardware   Counters        `json:"hardware"`
	Recoveries Recoveries      `json:"recoveries"`
	PHYErrors  uint64          `json:"phy_errors"` // looks at the link that the PHY did not answer
	Queues     []QueueSnapshot `json:"queues"`
}

// QueueSnapshot is one queue's share.
type QueueSnapshot struct {
	Index        int            `json:"index"`
	RXInterrupts uint64         `json:"rx_interrupts"`
	TXInterrupts uint64         `json:"tx_interrupts"`
	Starved      uint64         `json:"rx_buf_unav"`
	RXDropped    uint64         `json:"rx_dropped"`
	TXDropped    uint64         `json:"tx_dropped"`
	Multicast    uint64         `json:"multicast"`
	RXRing       int            `json:"rx_ring"`
	RXPosted     int            `json:"rx_posted"`
	TXRing       int            `json:"tx_ring"`
	TXInUse      int            `json:"tx_in_use"`
	RX           ring.RXStats   `json:"rx"`
	TX           ring.TXStats   `json:"tx"`
	Pool         pagepool.Stats `json:"page_pool"`
}

// Snapshot collects all counters. What a poll goroutine counts is as of the end
// of its last pass.
func (d *Device) Snapshot() Snapshot {
	d.mu.Lock()
	if d.state == running {
		d.core.Counters(&d.counters)
	}
	s := Snapshot{
		Name: d.cfg.Name, Core: d.info.Core, Version: d.info.Version,
		Address: d.cfg.Address.String(), MTU: d.cfg.MTU,
		Hardware: d.counters, Recoveries: d.recovers, PHYErrors: d.link.phyErrors,
	}
	d.mu.Unlock()
	s.Link, s.Coalesce = d.Link(), d.Coalesce()
	for _, q := range d.queues {
		s.Queues = append(s.Queues, q.snapshot())
	}
	s.Stats = s.sum()
	return s
}

// Stats returns the standard interface counters.
func (d *Device) Stats() Stats { return d.Snapshot().Stats }

func (q *Queue) snapshot() QueueSnapshot {
	s := QueueSnapshot{
		Index:        q.index,
		RXInterrupts: q.rxIRQs.Load(),
		TXInterrupts: q.txIRQs.Load(),
		Starved:      q.starves.Load(),
		RXDropped:    q.drops.Load(),
		TXDropped:    q.txDrops.Load(),
		Multicast:    q.multicasts.Load(),
		RXRing:       q.dev.cfg.RXRing,
		TXRing:       q.dev.cfg.TXRing,
	}
	q.tx.Lock()
	s.TX, s.TXInUse = q.tx.ring.Stats(), q.tx.ring.InUse()
	q.tx.Unlock()
	q.published.Lock()
	s.RX, s.Pool, s.RXPosted = q.published.rx, q.published.pool, q.published.ring
	q.published.Unlock()
	return s
}

// sum makes the interface counters out of those of queues and hardware. Errors
// that the hardware keeps to itself (frames it never wrote to a ring) come from
// its counters; errors of frames that reached a ring from the ring's. Frames
// missed for want of a buffer were good ones and no errors, as in Linux.
func (s *Snapshot) sum() Stats {
	h := &s.Hardware
	t := Stats{
		Collisions:      h.TXCollisions,
		RXMissedErrors:  h.RXMissed,
		RXFIFOErrors:    h.RXOverflow,
		TXFIFOErrors:    h.TXUnderflow,
		TXCarrierErrors: h.TXCarrier,
		TXWindowErrors:  h.TXLate,
		TXAbortedErrors: h.TXExcessive,
	}
	t.TXErrors = t.TXFIFOErrors + t.TXCarrierErrors + t.TXWindowErrors + t.TXAbortedErrors
	for i := range s.Queues {
		q := &s.Queues[i]
		t.RXPackets += q.RX.Frames
		t.RXBytes += q.RX.Bytes
		t.TXPackets += q.TX.Frames
		t.TXBytes += q.TX.Bytes
		t.RXDropped += q.RXDropped
		t.TXDropped += q.TXDropped
		t.Multicast += q.Multicast
		t.RXCRCErrors += q.RX.CRC
		t.RXLengthErrors += q.RX.Length + q.RX.BadLength + q.RX.TooLong
		t.RXOverErrors += q.RX.Overflow
		t.RXFrameErrors += q.RX.Framing + q.RX.MissingFirst + q.RX.MissingLast
		t.RXErrors += q.RX.Dropped()
	}
	t.RXErrors += t.RXFIFOErrors
	return t
}
