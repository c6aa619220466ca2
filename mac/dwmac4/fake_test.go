package dwmac4

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
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

// watched is memory that logs the accesses to it.
type watched struct {
	pagepool.Memory
	log []event
}

type event struct {
	kind  string // load, store, write, read, doorbell
	index int
	value uint32
}

func (w *watched) DescriptorWatcher() ring.Watcher { return w }
func (w *watched) DescriptorLoad(i int)            { w.log = append(w.log, event{"load", i, 0}) }
func (w *watched) DescriptorStore(i int, v uint32) { w.log = append(w.log, event{"store", i, v}) }
func (w *watched) Barrier(k ring.BarrierKind) {
	w.log = append(w.log, event{kind: [...]string{"write", "read", "doorbell"}[k]})
}

func (w *watched) count(kind string) (n int) {
	for _, e := range w.log {
		if e.kind == kind {
			n++
		}
	}
	return n
}

const ringAddr = 0x1_2345_0000

func newMemory(slots int) *watched {
	return &watched{Memory: pagepool.NewHeap(slots*gmac4.DescriptorSize, ringAddr)}
}

// words are the four words of slot in m.
func words(t *testing.T, m pagepool.Memory, slot int) *[4]uint32 {
	t.Helper()
	w, err := ring.NewWords(plain{m})
	require.NoError(t, err)
	var d [4]uint32
	for i := range d {
		d[i] = w.Load(slot*4 + i)
	}
	return &d
}

func setWords(t *testing.T, m pagepool.Memory, slot int, d [4]uint32) {
	t.Helper()
	w, err := ring.NewWords(plain{m})
	require.NoError(t, err)
	for i := range d {
		w.Publish(slot*4+i, d[i])
	}
}

// plain hides that memory is watched: the device's side.
type plain struct{ pagepool.Memory }

// checkOwnOrder fails when a word with OWN is published before a barrier has
// ordered the other words of its descriptor.
func checkOwnOrder(t *testing.T, log []event) {
	t.Helper()
	dirty := map[int]bool{} // descriptors stored to since the last write barrier
	for _, e := range log {
		switch {
		case e.kind == "write" || e.kind == "doorbell":
			clear(dirty)
		case e.kind == "store" && e.index%4 == 3 && e.value>>31 != 0:
			require.False(t, dirty[e.index/4], "OWN of slot %d before a barrier", e.index/4)
		case e.kind == "store":
			dirty[e.index/4] = true
		}
	}
}
