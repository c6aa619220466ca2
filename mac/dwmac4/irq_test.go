package dwmac4

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

func TestInterruptEnable(t *testing.T) {
	for version, want := range map[uint32]uint32{0x40: 0x19182&^0x80 | 0x40 | 0x80, 0x41: 0xD1C2, 0x52: 0xD1C2} {
		regs := newRegs(version)
		started(t, regs)
		require.Equal(t, want, regs.regs[gmac4.ChanBase(0)+gmac4.ChanIntEnable], "version %#x", version)
	}
}

func TestInterrupt(t *testing.T) {
	const enable = 0xD1C2
	en, st := gmac4.ChanBase(0)+gmac4.ChanIntEnable, gmac4.ChanBase(0)+gmac4.ChanStatus
	for _, c := range []struct {
		name    string
		status  uint32
		want    mac.Events
		enable  uint32 // afterwards
		status2 uint32
	}{
		{"receive", 0x8040, mac.Events{RX: 1}, enable &^ 0xC0, 0},
		{"starved", 0x4080, mac.Events{RX: 1, Starved: 1}, enable &^ 0xC0, 0},
		{"transmit masked: left latched", 0x0001, mac.Events{}, enable, 1},
		{"transmit unavailable: not enabled, left", 0x8044, mac.Events{RX: 1}, enable &^ 0xC0, 4},
		{"bus error", 0x5000, mac.Events{Fatal: 1}, enable &^ 0x1000, 0},
		{"receive stopped", 0x4100, mac.Events{Fatal: 1}, enable &^ 0x100, 0},
		{"transmit stopped with receive", 0xC042, mac.Events{RX: 1, TXStopped: 1}, enable &^ 0xC2, 0},
		{"all", 0xFFFF, mac.Events{RX: 1, Starved: 1, Fatal: 1, TXStopped: 1}, 0xC000, 0x2E3D},
	} {
		regs := newRegs(0x1051)
		core := started(t, regs)
		regs.regs[gmac4.DMAIntStatus] = 1
		regs.regs[st] = c.status
		require.Equal(t, c.want, core.Interrupt(), c.name)
		require.Equal(t, c.enable, regs.regs[en], c.name)
		require.Equal(t, c.status2, regs.regs[st], c.name)
	}

	regs := newRegs(0x1051)
	core := started(t, regs)
	regs.writes = nil
	require.Equal(t, mac.Events{}, core.Interrupt(), "nothing pending")
	require.Empty(t, regs.writes)
	core.UnmaskTX(0)
	require.Equal(t, uint32(enable|1), regs.regs[en])
	regs.regs[gmac4.DMAIntStatus], regs.regs[st] = 1, 0x8041
	require.Equal(t, mac.Events{RX: 1, TX: 1}, core.Interrupt())
	require.Equal(t, uint32(enable&^0xC0), regs.regs[en])
	core.Unmask(0)
	require.Equal(t, uint32(enable), regs.regs[en])
	regs.regs[st] = 0x81C5
	core.Ack(0)
	require.Equal(t, uint32(0x8105), regs.regs[st], "only receive causes")

	require.NoError(t, core.Stop())
	core.Unmask(0)
	core.UnmaskTX(0)
	require.Zero(t, regs.regs[en], "a late unmask does nothing after Stop")

	regs.regs[gmac4.DMAIntStatus] = 0xFFFFFFFF
	require.Equal(t, mac.Events{Fatal: 1}, core.Interrupt(), "the device has gone")
}

func TestInterruptMAC(t *testing.T) {
	regs := newRegs(0x1051)
	core := started(t, regs)
	require.Equal(t, uint32(7), regs.regs[gmac4.MACIntEnable])
	regs.regs[gmac4.DMAIntStatus] = gmac4.DMAIntMAC | gmac4.DMAIntMTL
	regs.regs[gmac4.MACIntStatus] = 0xFFFFFFFF
	regs.regs[gmac4.MTLIntStatus] = 1
	regs.regs[gmac4.QueueBase(0)+gmac4.QInt] = 0x01010101
	regs.reads = map[uint32]int{}
	ev := core.Interrupt()
	require.True(t, ev.Link)
	require.Equal(t, ^uint32(0x7F3F), ev.Unknown)
	for _, off := range []uint32{gmac4.MACPHYIF, gmac4.MACANStatus, gmac4.MACPMT, gmac4.MACLPI, gmac4.MACTSStatus, gmac4.MACRxTxStatus} {
		require.Equal(t, 1, regs.reads[off], "%s clears its cause", gmac4.RegName(off))
	}
	v, _ := regs.last(gmac4.MACIntEnable)
	require.Equal(t, uint32(7), v)
	v, _ = regs.last(gmac4.QueueBase(0) + gmac4.QInt)
	require.Equal(t, uint32(0x00010001), v, "write 1 to clear, enables off")
	require.Zero(t, core.Interrupt().Unknown, "reported once")

	regs = newRegs(0x1051)
	regs.regs[gmac4.MACFeature0] &^= gmac4.Feat0ActPHY // GMII: no in-band status
	started(t, regs)
	require.Zero(t, regs.regs[gmac4.MACIntEnable])
}

// TestUnmaskRace: masking and unmasking from three goroutines never loses a bit:
// the register ends as the copy says.
func TestUnmaskRace(t *testing.T) {
	regs := newRegs(0x1051)
	core := started(t, regs)
	regs.regs[gmac4.DMAIntStatus] = 1
	var wg sync.WaitGroup
	for _, f := range []func(){
		func() { core.Interrupt() },
		func() { core.Ack(0); core.Unmask(0) },
		func() { core.UnmaskTX(0) },
		func() { regs.raise(gmac4.ChanBase(0)+gmac4.ChanStatus, 0x8041) },
	} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 2000 {
				f()
			}
		}()
	}
	wg.Wait()
	core.Interrupt() // what is still pending
	core.Unmask(0)
	core.UnmaskTX(0)
	require.Equal(t, uint32(0xD1C3), regs.regs[gmac4.ChanBase(0)+gmac4.ChanIntEnable])
}
