package dwmac4

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

// fakeRegs is a register file: what was written is read back, but for status
// registers, which are write 1 to clear.
type fakeRegs struct {
	mu     sync.Mutex
	regs   map[uint32]uint32
	writes []access
	reads  map[uint32]int

	// resetReads is how often DMA_Mode reads as in reset.
	resetReads int
	// readonly are bits that a write does not change.
	readonly map[uint32]uint32
}

type access struct{ off, v uint32 }

func newRegs(version uint32) *fakeRegs {
	f := &fakeRegs{regs: map[uint32]uint32{}, reads: map[uint32]int{}, readonly: map[uint32]uint32{}}
	f.regs[gmac4.MACVersion] = version
	f.regs[gmac4.MACFeature0] = gmac4.Feat0MII | gmac4.Feat0GMII | gmac4.Feat0HD | gmac4.Feat0SMA | gmac4.Feat0MMC |
		gmac4.Feat0TxCOE | gmac4.Feat0RxCOE | field.Put(gmac4.Feat0Addr, 3) | field.Put(gmac4.Feat0ActPHY, gmac4.ActPHYRGMII)
	f.regs[gmac4.MACFeature1] = 7 | 7<<6 | 1<<14 | gmac4.Feat1TSO | 1<<24 // 16 KiB both ways, 40 bits, 64 bins
	f.regs[gmac4.AddrHigh(0)] = 0x80000605
	f.regs[gmac4.AddrLow(0)] = 0x04030200
	return f
}

func (f *fakeRegs) Read32(off uint32) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads[off]++
	if off == gmac4.DMAMode && f.resetReads > 0 {
		f.resetReads--
		return f.regs[off] | gmac4.DMAModeSWR
	}
	return f.regs[off]
}

func (f *fakeRegs) Write32(off, v uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, access{off, v})
	for ch := range gmac4.MaxChannels {
		if off == gmac4.ChanBase(ch)+gmac4.ChanStatus {
			f.regs[off] &^= v
			return
		}
	}
	switch off {
	case gmac4.DMAMode:
		v &^= gmac4.DMAModeSWR
	case gmac4.MACMDIOAddr:
		v &^= gmac4.MDIOGB
	}
	f.regs[off] = v&^f.readonly[off] | f.regs[off]&f.readonly[off]
}

// raise sets bits of a register as the device does.
func (f *fakeRegs) raise(off, bits uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.regs[off] |= bits
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
	err     error
}

func (b *fakeBus) Name() string                         { return "fake0" }
func (b *fakeBus) ClockHz() int                         { return b.hz }
func (b *fakeBus) Registers(int) (mac.Registers, error) { return b.regs, b.err }

func newCore(t *testing.T, regs *fakeRegs) *Core {
	t.Helper()
	c, err := New(&fakeBus{regs: regs, hz: 125e6})
	require.NoError(t, err)
	require.Empty(t, regs.writes, "New only reads")
	return c
}

var testAddress = mac.HardwareAddr{2, 0, 0, 0, 0, 1}

func testSetup() mac.Setup {
	return mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, Address: testAddress, BufferSize: 2048, RXChecksum: true, TXChecksum: true}
}
