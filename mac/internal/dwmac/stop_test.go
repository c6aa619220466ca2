package dwmac

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// fetching is a queue whose DMA has fetched a descriptor when it is stopped: the frame
// comes into the FIFO later, and leaves later still. Each read is a step.
type fetching struct {
	step    int
	flushed bool
}

const stateReg, tps = 0x10, 15 << 12

func (f *fetching) Read32(off uint32) uint32 {
	f.step++
	switch {
	case off == stateReg && f.step < 12:
		return field.Put(tps, gmac4.TxStateRead)
	case off == gmac4.TxQDebug && f.step > 6 && f.step < 12:
		return gmac4.TxQDebugTXQ
	}
	return 0
}

func (f *fetching) Write32(off, v uint32) { f.flushed = f.flushed || off == gmac4.TxQOpMode }

func TestDrainTX(t *testing.T) {
	f := &fetching{}
	DrainTX(f, 0, true, stateReg, tps)
	require.GreaterOrEqual(t, f.step, 12, "the frame has left")
	require.False(t, f.flushed)

	f = &fetching{step: 7}
	DrainTX(f, 0, false, stateReg, tps)
	require.True(t, f.flushed, "nothing leaves with the transmitter off")

	f = &fetching{}
	DrainTX(f, 0, false, stateReg, tps)
	require.False(t, f.flushed, "there is nothing")
}
