package dwmac

import (
	"fmt"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Limits of the descriptor rings of GMAC4 and XGMAC.
const (
	MinSlots = 4

	// Reserve keeps one slot empty: a tail pointer equal to the device's own position
	// means "nothing to do".
	Reserve = 1

	// BufferAlign is the widest bus: the low bits of a receive buffer's size below
	// the bus width are ignored. MaxPiece is a multiple of it.
	BufferAlign = 16
	MaxPiece    = dwregs.MaxPiece &^ (BufferAlign - 1)
)

// Ring is what the codecs of GMAC4 and XGMAC share: descriptor memory and its
// doorbell.
type Ring struct {
	Base  uint64 // device address of slot 0
	Slots int
	Words *ring.Words

	regs mac.Registers
	tail uint32 // offset of the tail pointer register
}

// NewRing checks descriptor memory for slots descriptors. tail is the offset of the
// ring's tail pointer, core is for errors.
func NewRing(core string, regs mac.Registers, desc pagepool.Memory, slots, maxSlots int, tail uint32) (Ring, error) {
	if slots < MinSlots || slots > maxSlots {
		return Ring{}, fmt.Errorf("%s: ring of %d slots: takes %d to %d: %w", core, slots, MinSlots, maxSlots, mac.ErrConfig)
	}
	size := slots * dwregs.DescriptorSize
	if have := len(desc.Bytes()); have < size {
		return Ring{}, fmt.Errorf("%s: descriptor memory of %d bytes for %d slots: need %d: %w", core, have, slots, size, mac.ErrConfig)
	}
	first, last := desc.DeviceAddr(), desc.DeviceAddr()+uint64(size)-1
	if first>>32 != last>>32 {
		return Ring{}, fmt.Errorf("%s: ring at %#x to %#x crosses a multiple of 4 GiB: tail pointers have 32 bits: %w", core, first, last, mac.ErrConfig)
	}
	words, err := ring.NewWords(desc)
	if err != nil {
		return Ring{}, fmt.Errorf("%s: descriptor memory: %w: %w", core, err, mac.ErrConfig)
	}
	return Ring{Base: first, Slots: slots, Words: words, regs: regs, tail: tail}, nil
}

// Kick implements ring.RXCodec.Kick and ring.TXCodec.Kick. The tail pointer is
// the first slot that the device may not touch; it is written even when it has
// not changed, since a suspended receive DMA goes on only then.
func (r *Ring) Kick(next int) {
	r.Words.DoorbellBarrier()
	r.regs.Write32(r.tail, uint32(r.Base)+uint32(next)*dwregs.DescriptorSize)
}

// Clear writes zeros to every descriptor.
func (r *Ring) Clear() {
	for i := range r.Slots * dwregs.DescriptorWords {
		r.Words.Store(i, 0)
	}
}

// RXRing is the half of a receive codec that posts. What a completion looks like is
// each core's own business.
type RXRing struct {
	Ring
	BufferSize int
	Next       int // slot after the last one posted, for a start

	own    uint32 // of the last word of a posted descriptor
	second uint64 // where buffer 2 starts in a buffer, 0: there is none
}

// rxIOC asks for an interrupt, in the last word of a receive descriptor.
const rxIOC uint32 = 1 << 30

// NewRXRing is NewRing for buffers of bufferSize bytes. own gives a descriptor with
// one buffer to the device; with halves the buffer is posted as two, one behind the
// other.
func NewRXRing(core string, regs mac.Registers, desc pagepool.Memory, slots, maxSlots, bufferSize int, tail, own uint32, halves bool) (RXRing, error) {
	r, err := NewRing(core, regs, desc, slots, maxSlots, tail)
	rx := RXRing{Ring: r, BufferSize: bufferSize, own: own}
	if halves {
		rx.second = uint64(bufferSize / 2)
	}
	return rx, err
}

// CheckBuffer checks the size of receive buffers.
func CheckBuffer(core string, size, align, largest int) error {
	if size < align || size > largest || size%align != 0 {
		return fmt.Errorf("%s: receive buffers of %d bytes: take %d to %d in steps of %d: %w", core, size, align, largest, align, mac.ErrConfig)
	}
	return nil
}

// Post implements ring.RXCodec.Post.
func (r *RXRing) Post(from int, bufs []ring.Buffer) {
	if len(bufs) == 0 {
		return
	}
	slot := from
	for i := range bufs {
		w := slot * dwregs.DescriptorWords
		r.Words.Store(w, uint32(bufs[i].Addr))
		r.Words.Store(w+1, uint32(bufs[i].Addr>>32))
		second := uint32(0)
		if r.second != 0 {
			second = uint32(bufs[i].Addr + r.second)
		}
		r.Words.Store(w+2, second)
		if slot++; slot == r.Slots {
			slot = 0
		}
	}
	r.Next = slot
	// One barrier for all: no OWN bit is stored before the last address.
	r.Words.WriteBarrier()
	slot = from
	for i := range bufs {
		own := r.own
		if r.second != 0 {
			own |= uint32((bufs[i].Addr + r.second) >> 32)
		}
		if bufs[i].Interrupt {
			own |= rxIOC
		}
		r.Words.Publish(slot*dwregs.DescriptorWords+3, own)
		if slot++; slot == r.Slots {
			slot = 0
		}
	}
}

// Reset implements ring.RXCodec.Reset.
func (r *RXRing) Reset() {
	r.Clear()
	r.Next = 0
}
