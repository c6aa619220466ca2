package sun8i

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// fakeRegs is a register file: what was written is read back, but for INT_STA and
// for bits that clear themselves.
type fakeRegs struct {
	regs   map[uint32]uint32
	writes []access
}

type access struct{ off, v uint32 }

// newRegs is a window where each register reads v until it is written.
func newRegs(init ...access) *fakeRegs {
	f := &fakeRegs{regs: map[uint32]uint32{}}
	for _, a := range init {
		f.regs[a.off] = a.v
	}
	return f
}

func newCoreRegs() *fakeRegs { return newRegs(access{emac.BasicCtl1, emac.Ctl1Reset}) }

func (f *fakeRegs) Read32(off uint32) uint32 { return f.regs[off] }

func (f *fakeRegs) Write32(off, v uint32) {
	f.writes = append(f.writes, access{off, v})
	switch off {
	case emac.IntSta:
		v = f.regs[off] &^ v
	case emac.BasicCtl1:
		v &^= emac.Ctl1SoftRst
	case emac.MIICmd:
		v &^= emac.MIIBusy
	}
	f.regs[off] = v
}

// fakeBus has the windows that are not nil.
type fakeBus struct {
	mac.Bus    // nil: what New must not use fails the test
	windows    [3]*fakeRegs
	compatible []string
	hz         int
	wiring     mac.Wiring
}

func (b *fakeBus) Name() string         { return "fake0" }
func (b *fakeBus) ClockHz() int         { return b.hz }
func (b *fakeBus) Compatible() []string { return b.compatible }
func (b *fakeBus) Wiring() mac.Wiring   { return b.wiring }
func (b *fakeBus) Registers(i int) (mac.Registers, error) {
	if b.windows[i] == nil {
		return nil, mac.ErrNoDevice
	}
	return b.windows[i], nil
}

// soc is a bus with all windows of a SoC, the clocks on or off.
func soc(t *testing.T, name string, clk uint32, on bool) (*fakeBus, emac.SoC) {
	t.Helper()
	for _, s := range emac.SoCs() {
		if s.Name != name {
			continue
		}
		b := &fakeBus{compatible: []string{s.Compatible}, windows: [3]*fakeRegs{newCoreRegs(), newRegs(), newRegs(access{emac.CCUPLL, 0x90001000})}}
		if on {
			for _, bit := range []emac.CCUBit{s.Gate, s.Reset} {
				b.windows[2].regs[bit.Reg] |= bit.Mask
			}
		}
		b.windows[s.ClkWindow].regs[s.ClkReg] = clk
		return b, s
	}
	t.Fatalf("no SoC %s", name)
	return nil, emac.SoC{}
}

func bare() *fakeBus { return &fakeBus{windows: [3]*fakeRegs{newCoreRegs()}} }

func newCore(t *testing.T, b *fakeBus, board Board) *Core {
	t.Helper()
	c, err := NewBoard(b, board)
	require.NoError(t, err)
	for i, w := range b.windows {
		require.True(t, w == nil || len(w.writes) == 0, "New writes to window %d", i)
	}
	return c
}

const ringAddr = 0x4567_0000

func newMemory(slots int) pagepool.Memory {
	return pagepool.NewHeap(slots*emac.DescriptorSize, ringAddr)
}

func words(t *testing.T, m pagepool.Memory, slot int) (d [4]uint32) {
	t.Helper()
	w, err := ring.NewWords(m)
	require.NoError(t, err)
	for i := range d {
		d[i] = w.Load(slot*4 + i)
	}
	return d
}

func setStatus(t testing.TB, m pagepool.Memory, slot int, v uint32) {
	t.Helper()
	w, err := ring.NewWords(m)
	require.NoError(t, err)
	w.Publish(slot*4, v)
}
