package dwmac1000

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

func TestInterrupt(t *testing.T) {
	const enable = 0x1A1EA // NIE, AIE, FBI, RPS, RU, RI, UNF, TJT, TPS
	for _, c := range []struct {
		name   string
		status uint32
		want   mac.Events
		enable uint32 // afterwards
		left   uint32
	}{
		{"receive", 0x10040, mac.Events{RX: 1}, enable &^ 0xC0, 0},
		{"starved", 0x08080, mac.Events{RX: 1, Starved: 1}, enable &^ 0xC0, 0},
		{"transmit masked: left latched", 0x00001, mac.Events{}, enable, 1},
		{"idle transmitter and states: left", 0x10044 | 6<<20 | 3<<17, mac.Events{RX: 1}, enable &^ 0xC0, 4 | 6<<20 | 3<<17},
		{"bus error", 0x0A000 | 5<<23, mac.Events{Fatal: 1}, enable &^ 0x2000, 5 << 23},
		{"receive stopped", 0x08100, mac.Events{Fatal: 1}, enable &^ 0x100, 0},
		{"underflow", 0x08020, mac.Events{TXStopped: 1}, enable &^ 0x20, 0},
		{"jabber", 0x08008, mac.Events{TXStopped: 1}, enable &^ 0x8, 0},
		{"overflow and watchdog: counted by the hardware", 0x00210, mac.Events{}, enable, 0x210},
		{"transmit stopped with receive", 0x18042, mac.Events{RX: 1, TXStopped: 1}, enable &^ 0xC2, 0},
	} {
		regs := newRegs(0x1037, allFeatures)
		core := started(t, regs)
		require.Equal(t, uint32(enable), regs.regs[gmac3.DMAIntEnable])
		regs.regs[gmac3.DMAStatus] = c.status
		require.Equal(t, c.want, core.Interrupt(), c.name)
		require.Equal(t, c.enable, regs.regs[gmac3.DMAIntEnable], c.name)
		require.Equal(t, c.left, regs.regs[gmac3.DMAStatus], c.name)
	}

	regs := newRegs(0x1037, allFeatures)
	core := started(t, regs)
	core.UnmaskTX(0)
	regs.regs[gmac3.DMAStatus] = 0x10041
	require.Equal(t, mac.Events{RX: 1, TX: 1}, core.Interrupt())
	require.Equal(t, uint32(enable&^0xC0), regs.regs[gmac3.DMAIntEnable])
	core.Unmask(0)
	require.Equal(t, uint32(enable), regs.regs[gmac3.DMAIntEnable])
	regs.regs[gmac3.DMAStatus] = 0x101C5
	core.Ack(0)
	require.Equal(t, uint32(0x10105), regs.regs[gmac3.DMAStatus], "only receive causes")
	require.NoError(t, core.Stop())
	core.Unmask(0)
	core.UnmaskTX(0)
	require.Zero(t, regs.regs[gmac3.DMAIntEnable], "a late unmask does nothing after Stop")

	regs.regs[gmac3.DMAStatus] = 0xFFFFFFFF
	require.Equal(t, mac.Events{Fatal: 1}, core.Interrupt(), "the device has gone")
}

// TestInterruptMAC: causes that the DMA's status cannot clear end where they come
// from.
func TestInterruptMAC(t *testing.T) {
	regs := newRegs(0x1037, allFeatures)
	core := started(t, regs)
	require.Equal(t, uint32(0x608), regs.regs[gmac3.MACIntMask], "link causes alone are open")
	regs.regs[gmac3.DMAStatus] = gmac3.StatusGLI | gmac3.StatusGMI
	regs.regs[gmac3.MACIntStatus] = 0xFFFFFFFF
	regs.reads = map[uint32]int{}
	regs.writes = nil
	ev := core.Interrupt()
	require.True(t, ev.Link)
	require.Equal(t, ^uint32(0x6FF), ev.Unknown)
	for _, off := range []uint32{gmac3.MACRGSMII, gmac3.MACANStatus, gmac3.MACPMT, gmac3.MACLPI, gmac3.MACTSStatus} {
		require.Equal(t, 1, regs.reads[off], "%s clears its cause", gmac3.RegName(off))
	}
	v, _ := regs.last(gmac3.MACIntMask)
	require.Equal(t, uint32(0x608), v)
	v, _ = regs.last(gmac3.MMC + 0x100)
	require.Equal(t, uint32(0xFFFFFFFF), v, "counters are masked again")
	require.Zero(t, core.Interrupt().Unknown, "reported once")

	regs = newRegs(0x1037, allFeatures&^gmac3.FeatActPHY) // GMII: no in-band status
	core = started(t, regs)
	require.Equal(t, uint32(0x60F), regs.regs[gmac3.MACIntMask])
	regs.regs[gmac3.DMAStatus], regs.regs[gmac3.MACIntStatus] = gmac3.StatusGLI, 1
	regs.writes = nil
	require.False(t, core.Interrupt().Link)
	v, ok := regs.last(gmac3.MACIntMask)
	require.True(t, ok, "masked again, or it would come for ever")
	require.Equal(t, uint32(0x60F), v)
}
