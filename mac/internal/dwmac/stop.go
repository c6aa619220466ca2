package dwmac

import (
	"context"
	"fmt"
	"time"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// The steps of a stop that GMAC4 and XGMAC have in common. Registers and bits go by
// the names of gmac4; XGMAC has them at the same place in a queue.

// Bounds of the waits. A frame of 16 KiB takes 13 ms at 10 Mbit/s.
const (
	drainLimit = 20 * time.Millisecond
	idleLimit  = 50 * time.Millisecond
)

// ClearBits clears bits of a register, if any of them is set.
func ClearBits(regs mac.Registers, reg, bits uint32) {
	if v := regs.Read32(reg); v&bits != 0 {
		regs.Write32(reg, v&^bits)
	}
}

// DrainTX lets the transmitter, when it is on, send the frame that DMA is at and what
// the FIFO of a queue still holds, and flushes the rest. base is where the queue's
// registers start, state and tps are where the transmit state of its channel is, whose
// start bit has been cleared: a FIFO may be empty before the frame has come.
func DrainTX(regs mac.Registers, base uint32, sending bool, state, tps uint32) {
	empty := func() bool {
		v := regs.Read32(base + gmac4.TxQDebug)
		return field.Get(gmac4.TxQDebugTRC, v) != gmac4.TRCRead && v&gmac4.TxQDebugTXQ == 0
	}
	drained := func(v uint32) bool { return v&tps == 0 && empty() }
	ctx := context.Background()
	if sending && Wait(ctx, regs, state, drainLimit, drained) || empty() {
		return
	}
	regs.Write32(base+gmac4.TxQOpMode, regs.Read32(base+gmac4.TxQOpMode)|gmac4.TxQOpFTQ)
	Wait(ctx, regs, base+gmac4.TxQOpMode, drainLimit, func(v uint32) bool { return v&gmac4.TxQOpFTQ == 0 })
}

// DrainRX lets DMA take what the FIFO of a queue still holds. debug is the queue's
// register, state and rps are where the receive state of its channel is: a DMA that
// is suspended for want of buffers, or stopped, takes nothing.
func DrainRX(regs mac.Registers, debug, state, rps uint32) {
	empty := func(v uint32) bool {
		if v&(gmac4.RxQDebugPRXQ|gmac4.RxQDebugRXQ) == 0 {
			return true
		}
		s := field.Get(rps, regs.Read32(state))
		return s == gmac4.StateStopped || s == gmac4.RxStateSuspended
	}
	Wait(context.Background(), regs, debug, drainLimit, empty)
}

// WaitStopped waits until both states of a channel, in register reg, say that it has
// stopped.
func WaitStopped(regs mac.Registers, channel int, reg, rps, tps uint32) error {
	stopped := func(v uint32) bool { return v&(rps|tps) == 0 }
	if Wait(context.Background(), regs, reg, idleLimit, stopped) {
		return nil
	}
	v := regs.Read32(reg)
	return fmt.Errorf("channel %d: receive state %d, transmit state %d after %v: reset the core: %w",
		channel, field.Get(rps, v), field.Get(tps, v), idleLimit, mac.ErrNotIdle)
}
