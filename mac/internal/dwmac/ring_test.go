package dwmac

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac/dwtest"
	"github.com/barewire/barewire/pagepool"
	"github.com/barewire/barewire/ring"
)

// Places of the tail pointers.
const rxTail, txTail = 0x28, 0x20

func newRings(t *testing.T, slots int) (regs *fakeRegs, rx *RXRing, rxMem *dwtest.Memory, tx *TXRing, txMem *dwtest.Memory) {
	t.Helper()
	regs = &fakeRegs{regs: map[uint32]uint32{}}
	rxMem, txMem = dwtest.NewMemory(slots), dwtest.NewMemory(slots)
	r, err := NewRXRing("core", regs, rxMem, slots, 1024, 2048, rxTail, 0x81000000, false)
	require.NoError(t, err)
	tx, err = NewTXRing("core", regs, txMem, slots, 1024, txTail)
	require.NoError(t, err)
	require.Empty(t, regs.writes, "no register is written")
	rxMem.Log, txMem.Log = nil, nil
	return regs, &r, rxMem, tx, txMem
}

func TestPost(t *testing.T) {
	regs, rx, m, _, _ := newRings(t, 6)
	for slot := range 6 { // what a device left behind
		dwtest.SetWords(t, m, slot, [4]uint32{0xDEAD0000, 0xDEAD0001, 0xDEAD0002, 0x3FFFFFFF})
	}
	rx.Post(4, []ring.Buffer{{Addr: 0x10000}, {Addr: 0x2_0000_1000, Interrupt: true}, {Addr: 0x3000}})
	require.Equal(t, &[4]uint32{0x10000, 0, 0, 0x81000000}, dwtest.Words(t, m, 4))
	require.Equal(t, &[4]uint32{0x1000, 2, 0, 0xC1000000}, dwtest.Words(t, m, 5))
	require.Equal(t, &[4]uint32{0x3000, 0, 0, 0x81000000}, dwtest.Words(t, m, 0))
	dwtest.CheckOwnOrder(t, m.Log)
	require.Equal(t, 12, m.Count("store"), "each word once")
	require.Equal(t, 1, m.Count("write"), "one barrier for the batch")
	require.Zero(t, m.Count("load"), "descriptors are not read back")

	rx.Kick(1)
	require.Equal(t, "doorbell", m.Log[len(m.Log)-1].Kind)
	require.Equal(t, []access{{rxTail, 0x2345_0010}}, regs.writes)
	rx.Kick(0)
	rx.Kick(0)
	require.Equal(t, []access{{rxTail, 0x2345_0010}, {rxTail, 0x2345_0000}, {rxTail, 0x2345_0000}}, regs.writes,
		"the base after a wrap, and a tail that has not moved")

	m.Log = nil
	rx.Post(1, nil)
	require.Empty(t, m.Log)
	rx.Reset()
	for slot := range 6 {
		require.Equal(t, &[4]uint32{}, dwtest.Words(t, m, slot))
	}
}

func TestPostHalves(t *testing.T) {
	m := dwtest.NewMemory(4)
	r, err := NewRXRing("core", &fakeRegs{regs: map[uint32]uint32{}}, m, 4, 1024, 2048, rxTail, 0x80000000, true)
	require.NoError(t, err)
	m.Log = nil
	r.Post(3, []ring.Buffer{{Addr: 0x1_FFFF_F800}, {Addr: 0x1_FFFF_FC00, Interrupt: true}})
	require.Equal(t, &[4]uint32{0xFFFFF800, 1, 0xFFFFFC00, 0x80000001}, dwtest.Words(t, m, 3))
	require.Equal(t, &[4]uint32{0xFFFFFC00, 1, 0, 0xC0000002}, dwtest.Words(t, m, 0), "the second half lies beyond 4 GiB")
	dwtest.CheckOwnOrder(t, m.Log)
}

func TestRingChecks(t *testing.T) {
	regs := &fakeRegs{regs: map[uint32]uint32{}}
	txOn := func(m pagepool.Memory, slots int) error {
		_, err := NewTXRing("core", regs, m, slots, 1024, txTail)
		return err
	}
	for name, err := range map[string]error{
		"too few slots":  txOn(dwtest.NewMemory(3), 3),
		"too many slots": txOn(dwtest.NewMemory(1025), 1025),
		"short memory":   txOn(dwtest.NewMemory(8), 9),
		"buffer size":    CheckBuffer("core", 2044, 16, 16368),
		"buffer too big": CheckBuffer("core", 16384, 16, 16368),
		"no buffer":      CheckBuffer("core", 0, 16, 16368),
		"misaligned":     txOn(pagepool.NewHeap(512, 0x1008), 8),
		"across 4 GiB":   txOn(pagepool.NewHeap(512, 1<<32-64), 8),
	} {
		require.ErrorIs(t, err, mac.ErrConfig, name)
		require.ErrorContains(t, err, "core: ", name)
	}
	require.NoError(t, txOn(dwtest.NewMemory(1024), 1024))
}
