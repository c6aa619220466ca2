package dwmac

import (
	"context"
	"time"

	"github.com/barewire/barewire/mac"
)

// Wait reads register off until done likes it, for limit or until ctx ends. It
// always reads once more after the time is up, so that a wait that was not
// scheduled for long does not fail for that.
func Wait(ctx context.Context, regs mac.Registers, off uint32, limit time.Duration, done func(uint32) bool) bool {
	deadline := time.Now().Add(limit)
	for tries := 0; ; tries++ {
		late := time.Now().After(deadline) || ctx.Err() != nil
		if done(regs.Read32(off)) {
			return true
		}
		if late {
			return false
		}
		if tries > 50 {
			time.Sleep(50 * time.Microsecond)
		}
	}
}
