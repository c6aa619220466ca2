package dwxgmac2

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/xgmac2"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Limits of the rings.
const (
	maxSlots = 4096 // amd-xgbe's; Linux's stmmac goes to 1024

	// A receive buffer is posted as the two buffers of a descriptor, each half of it.
	// The format has no bit that says that there is no second one, and what a core
	// does with one at address 0 when a frame is longer than the first is not known.
	bufferAlign = 2 * dwmac.BufferAlign
	maxBuffer   = 2 * (xgmac2.MaxRxBuffer &^ (dwmac.BufferAlign - 1))
)

// rxRing is the receive codec of a queue. Like the ring it belongs to it has one
// owner.
type rxRing struct {
	dwmac.RXRing
	checksum bool // the checksum engine is on
}

var _ ring.RXCodec = (*rxRing)(nil)

// Harvest implements ring.RXCodec.Harvest: one load of each completed descriptor.
func (r *rxRing) Harvest(from int, out []ring.Completion) int {
	n, slot := 0, from
	for n < len(out) {
		w3 := r.Words.Load(slot*dwregs.DescriptorWords + 3)
		if w3&xgmac2.RDES3OWN != 0 {
			break
		}
		out[n] = decodeRX(w3, r.checksum)
		n++
		if slot++; slot == r.Slots {
			slot = 0
		}
	}
	if n > 0 {
		r.Words.ReadBarrier()
	}
	return n
}

// NewRX implements mac.Core.NewRX.
func (c *Core) NewRX(q int, desc pagepool.Memory, slots, bufferSize int) (ring.RXCodec, error) {
	if q < 0 || q >= c.info.RXQueues {
		return nil, fmt.Errorf("dwxgmac2: receive queue %d: the core has %d: %w", q, c.info.RXQueues, mac.ErrConfig)
	}
	if err := dwmac.CheckBuffer("dwxgmac2", bufferSize, bufferAlign, maxBuffer); err != nil {
		return nil, err
	}
	d, err := dwmac.NewRXRing("dwxgmac2", c.regs, desc, slots, maxSlots, bufferSize,
		xgmac2.ChanBase(q)+xgmac2.ChanRxTail, xgmac2.RDES3OWN, true)
	if err != nil {
		return nil, err
	}
	// Nothing is vouched for until Configure has switched the engine on.
	r := &rxRing{RXRing: d, checksum: c.setup.RXChecksum}
	r.Reset()
	c.rx[q] = r
	return r, nil
}

// NewTX implements mac.Core.NewTX.
func (c *Core) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	if q < 0 || q >= c.info.TXQueues {
		return nil, fmt.Errorf("dwxgmac2: transmit queue %d: the core has %d: %w", q, c.info.TXQueues, mac.ErrConfig)
	}
	t, err := dwmac.NewTXRing("dwxgmac2", c.regs, desc, slots, maxSlots, xgmac2.ChanBase(q)+xgmac2.ChanTxTail)
	if err != nil {
		return nil, err
	}
	c.tx[q] = t
	return t, nil
}

// startTX points the channel at its ring, empty, and starts transmit DMA. Writing
// the list address also takes the device back to slot 0.
func (c *Core) startTX(q int) {
	t, base := c.tx[q], xgmac2.ChanBase(q)
	t.ForgetMSS()
	c.regs.Write32(base+xgmac2.ChanTxRingLen, uint32(t.Slots-1))
	c.regs.Write32(base+xgmac2.ChanTxListHigh, uint32(t.Base>>32))
	c.regs.Write32(base+xgmac2.ChanTxList, uint32(t.Base))
	t.Kick(0)
	c.regs.Write32(base+xgmac2.ChanTxControl, c.txControl()|xgmac2.TxControlST)
}

// startRX does the same for receive, with the slots posted so far.
func (c *Core) startRX(q int) {
	r, base := c.rx[q], xgmac2.ChanBase(q)
	c.regs.Write32(base+xgmac2.ChanRxRingLen, uint32(r.Slots-1))
	c.regs.Write32(base+xgmac2.ChanRxListHigh, uint32(r.Base>>32))
	c.regs.Write32(base+xgmac2.ChanRxList, uint32(r.Base))
	r.Kick(r.Next)
	c.regs.Write32(base+xgmac2.ChanRxControl, rxControl(r.BufferSize)|xgmac2.RxControlSR)
}
