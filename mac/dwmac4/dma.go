package dwmac4

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

const (
	maxSlots  = 1024 // DMA_CHi_*Desc_Ring_Length has 10 bits
	maxBuffer = gmac4.MaxRxBuffer &^ (dwmac.BufferAlign - 1)
)

// rxRing is the receive codec of a queue. Like the ring it belongs to it has one
// owner.
type rxRing struct {
	dwmac.RXRing
	checksum bool // the device writes verdicts
}

var _ ring.RXCodec = (*rxRing)(nil)

// Harvest implements ring.RXCodec.Harvest. It loads RDES3 of each completed
// descriptor and then, behind one barrier for the batch, RDES1 of those that
// end a good frame and have a checksum verdict.
func (r *rxRing) Harvest(from int, out []ring.Completion) int {
	n, slot := 0, from
	var flags ring.Flags
	for n < len(out) {
		w3 := r.Words.Load(slot*dwregs.DescriptorWords + 3)
		if w3&gmac4.RDES3OWN != 0 {
			break
		}
		out[n] = decodeRX(w3)
		flags |= out[n].Flags
		n++
		if slot++; slot == r.Slots {
			slot = 0
		}
	}
	if n == 0 {
		return 0
	}
	r.Words.ReadBarrier()
	if flags&needVerdict != 0 {
		r.verdicts(from, out[:n])
	}
	return n
}

func (r *rxRing) verdicts(from int, out []ring.Completion) {
	for i := range out {
		if out[i].Flags&needVerdict == 0 {
			continue
		}
		out[i].Flags &^= needVerdict
		if r.checksum {
			slot := (from + i) % r.Slots
			out[i].Flags |= decodeVerdict(r.Words.Load(slot*dwregs.DescriptorWords + 1))
		}
	}
}

// NewRX implements mac.Core.NewRX.
func (c *Core) NewRX(q int, desc pagepool.Memory, slots, bufferSize int) (ring.RXCodec, error) {
	if q < 0 || q >= c.info.RXQueues {
		return nil, fmt.Errorf("dwmac4: receive queue %d: the core has %d: %w", q, c.info.RXQueues, mac.ErrConfig)
	}
	if err := dwmac.CheckBuffer("dwmac4", bufferSize, dwmac.BufferAlign, maxBuffer); err != nil {
		return nil, err
	}
	d, err := dwmac.NewRXRing("dwmac4", c.regs, desc, slots, maxSlots, bufferSize,
		gmac4.ChanBase(q)+gmac4.ChanRxTail, gmac4.RDES3OWN|gmac4.RDES3BUF1V, false)
	if err != nil {
		return nil, err
	}
	// Verdicts are read once Configure has switched the engine on.
	r := &rxRing{RXRing: d, checksum: c.setup.RXChecksum}
	r.Reset()
	c.rx[q] = r
	return r, nil
}

// NewTX implements mac.Core.NewTX.
func (c *Core) NewTX(q int, desc pagepool.Memory, slots int) (ring.TXCodec, error) {
	if q < 0 || q >= c.info.TXQueues {
		return nil, fmt.Errorf("dwmac4: transmit queue %d: the core has %d: %w", q, c.info.TXQueues, mac.ErrConfig)
	}
	t, err := dwmac.NewTXRing("dwmac4", c.regs, desc, slots, maxSlots, gmac4.ChanBase(q)+gmac4.ChanTxTail)
	if err != nil {
		return nil, err
	}
	c.tx[q] = t
	return t, nil
}
