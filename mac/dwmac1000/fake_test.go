package dwmac1000

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac/dwtest"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac3"
	"github.com/barewire/barewire/pagepool"
)

// fakeRegs is a register file: what was written is read back, but for the status
// register, which is write 1 to clear.
type fakeRegs struct {
	mu     sync.Mutex
	regs   map[uint32]uint32
	writes []access
	reads  map[uint32]int

	// resetReads is how often DMA_BusMode reads as in reset.
	resetReads int
	// sending is how often DMA_Status reads as if a frame were on its way, cut that the
	// transmitter was switched off meanwhile.
	sending int
	cut     bool
	// readonly are bits that a write does not change.
	readonly map[uint32]uint32
}

type access struct{ off, v uint32 }

// allFeatures has what a core can have, at its simplest.
var allFeatures = gmac3.FeatMII | gmac3.FeatGMII | gmac3.FeatHD | gmac3.FeatHash | gmac3.FeatAddr | gmac3.FeatSMA | gmac3.FeatMMC |
	gmac3.FeatTxCOE | gmac3.FeatRxCOE2 | gmac3.FeatEnhDesc | field.Put(gmac3.FeatActPHY, gmac3.ActPHYRGMII)

func newRegs(version, features uint32) *fakeRegs {
	f := &fakeRegs{regs: map[uint32]uint32{}, reads: map[uint32]int{}, readonly: map[uint32]uint32{}}
	f.regs[gmac3.MACVersion] = version
	f.regs[gmac3.DMAFeature] = features
	f.regs[gmac3.AddrHigh(0)] = 0x80000605
	f.regs[gmac3.AddrLow(0)] = 0x04030200
	return f
}

func (f *fakeRegs) Read32(off uint32) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads[off]++
	if off == gmac3.DMABusMode && f.resetReads > 0 {
		f.resetReads--
		return f.regs[off] | gmac3.BusSWR
	}
	if off == gmac3.DMAStatus && f.sending > 0 {
		f.sending--
		return f.regs[off] | field.Put(gmac3.StatusTS, gmac3.TxStateWait)
	}
	return f.regs[off]
}

func (f *fakeRegs) Write32(off, v uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, access{off, v})
	switch off {
	case gmac3.MACConfig:
		f.cut = f.cut || f.sending > 0 && v&gmac3.ConfigTE == 0
	case gmac3.DMAStatus:
		v = f.regs[off] &^ (v & gmac3.IntAll)
	case gmac3.DMABusMode:
		v &^= gmac3.BusSWR
	case gmac3.DMAOpMode:
		v &^= gmac3.OpFTF
	case gmac3.MACMIIAddr:
		v &^= gmac3.MIIGB
	}
	f.regs[off] = v&^f.readonly[off] | f.regs[off]&f.readonly[off]
}

// last is the last value written to off; ok is false when there was none.
func (f *fakeRegs) last(off uint32) (v uint32, ok bool) {
	for _, a := range f.writes {
		if a.off == off {
			v, ok = a.v, true
		}
	}
	return v, ok
}

// fakeBus has one register window.
type fakeBus struct {
	mac.Bus // nil: what New must not use fails the test
	regs    mac.Registers
	hz      int
	names   []string
	err     error
}

func (b *fakeBus) Name() string                         { return "fake0" }
func (b *fakeBus) Compatible() []string                 { return b.names }
func (b *fakeBus) ClockHz() int                         { return b.hz }
func (b *fakeBus) Registers(int) (mac.Registers, error) { return b.regs, b.err }

func newCore(t *testing.T, regs *fakeRegs, p Platform) *Core {
	t.Helper()
	c, err := NewCore(&fakeBus{regs: regs, hz: 125e6}, p)
	require.NoError(t, err)
	require.Empty(t, regs.writes, "New only reads")
	return c
}

func testSetup() mac.Setup {
	return mac.Setup{
		RXQueues: 1, TXQueues: 1, MTU: 1500, Address: mac.HardwareAddr{2, 0, 0, 0, 0, 1}, BufferSize: 2032,
		RXChecksum: true, TXChecksum: true,
	}
}

// ringAddr is below 4 GiB, as everything of this core is.
const ringAddr = 0x2345_0000

func newMemory(slots int) *dwtest.Memory {
	return &dwtest.Memory{Memory: pagepool.NewHeap(slots*gmac3.ExtendedSize, ringAddr)}
}

// started is a core that has been configured and started on the registers.
func started(t *testing.T, regs *fakeRegs) *Core {
	t.Helper()
	c := newCore(t, regs, Platform{RXFIFO: 16384, TXFIFO: 16384})
	_, err := c.NewRX(0, newMemory(8), 8, 2032)
	require.NoError(t, err)
	_, err = c.NewTX(0, newMemory(8), 8)
	require.NoError(t, err)
	require.NoError(t, c.Configure(testSetup()))
	require.NoError(t, c.Start())
	return c
}
