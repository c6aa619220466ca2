package sun8i

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/mac/internal/mii"
	"github.com/barewire/barewire/mac/sim"
	"github.com/barewire/barewire/mac/sim/phy"
)

// cold is a core that nobody has set up, without the rig's programming.
func cold(t *testing.T, cfg Config) *Model {
	cfg.Inline, cfg.Windows, cfg.Cold = true, true, true
	m := New(cfg)
	m.Connect(sim.NewSpace(nil), func(bool) {})
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func mdioRead(t *testing.T, m *Model, at, reg uint32) uint32 {
	t.Helper()
	m.Write32(emac.MIICmd, 3<<20|at<<12|reg<<4|emac.MIIBusy)
	require.NotZero(t, m.Read32(emac.MIICmd)&emac.MIIBusy, "has to be polled")
	require.Zero(t, m.Read32(emac.MIICmd)&emac.MIIBusy)
	return m.Read32(emac.MIIData)
}

func mdioWrite(m *Model, at, reg, v uint32) {
	m.Write32(emac.MIIData, v)
	m.Write32(emac.MIICmd, 3<<20|at<<12|reg<<4|emac.MIIWrite|emac.MIIBusy)
	m.Read32(emac.MIICmd)
}

// TestColdH3: no clock, no registers; no PHY, no end of a reset; and the mux is
// taken over by a reset alone.
func TestColdH3(t *testing.T) {
	m := cold(t, Config{SoC: "H3", StalePHY: true})
	require.Zero(t, m.Read32(emac.BasicCtl1))
	m.Write32(emac.TxDescList, 4)
	ccu := func(reg, v uint32) { m.Write32(ccuBase+reg, v) }
	ccu(0x60, 1<<17)
	require.Zero(t, m.Read32(emac.BasicCtl1), "still in reset")
	ccu(0x2C0, 1<<17)
	require.Equal(t, emac.Ctl1Reset, m.Read32(emac.BasicCtl1))
	require.Zero(t, m.Read32(emac.TxDescList), "what was written without a clock is lost")
	require.EqualValues(t, 0x58000, m.Read32(syscBase+0x30))
	require.EqualValues(t, 0xFFFF, mdioRead(t, m, 1, mii.PHYID1), "shut down")

	reset := func() bool {
		m.Write32(emac.BasicCtl1, emac.Ctl1SoftRst)
		return m.Read32(emac.BasicCtl1)&emac.Ctl1SoftRst == 0
	}
	m.Write32(syscBase+0x30, 1<<20|emac.EPHYSelect)
	ccu(0x70, 1)
	ccu(0x2C8, 4)
	m.glue.stale.Store(true) // as if it had been so before
	require.EqualValues(t, 0x0044, mdioRead(t, m, 1, mii.PHYID1))
	require.EqualValues(t, 0xFFFF, mdioRead(t, m, 2, mii.PHYID1))
	require.False(t, reset())
	ccu(0x2C8, 0)
	require.NotZero(t, m.Read32(emac.BasicCtl1)&emac.Ctl1SoftRst)
	ccu(0x2C8, 4)
	require.Zero(t, m.Read32(emac.BasicCtl1)&emac.Ctl1SoftRst, "its reset was what it waited for")

	m.Write32(syscBase+0x30, emac.EPHYShutdown)
	require.EqualValues(t, 0xFFFF, mdioRead(t, m, 1, mii.PHYID1), "still connected, and off")
	require.True(t, reset())
	require.EqualValues(t, 0x1234, mdioRead(t, m, 1, mii.PHYID1), "the external one")
	require.Same(t, m.PHY(), m.mdio.PHY)
}

// TestSleepingPHY is the board after a warm reboot: the PHY is powered down, and a
// reset ends when somebody wakes it (B045).
func TestSleepingPHY(t *testing.T) {
	m := cold(t, Config{SoC: "R40", PHY: phy.Config{PoweredDown: true}})
	m.Write32(ccuBase+0x64, 1<<17)
	m.Write32(ccuBase+0x2C4, 1<<17)
	m.Write32(emac.BasicCtl1, emac.Ctl1SoftRst)
	require.NotZero(t, m.Read32(emac.BasicCtl1)&emac.Ctl1SoftRst)
	v := mdioRead(t, m, 1, mii.BMCR)
	require.NotZero(t, v&mii.BMCRPowerDown, "MDIO works in a reset")
	mdioWrite(m, 1, mii.BMCR, v&^mii.BMCRPowerDown)
	require.Zero(t, m.Read32(emac.BasicCtl1)&emac.Ctl1SoftRst)
	require.Equal(t, "EMAC_CLK", m.RegisterName(ccuBase+0x164))
	require.Equal(t, []string{"CCU_0x64", "SYSCON_0x30", "RX_CTL1"}, []string{m.RegisterName(ccuBase + 0x64), m.RegisterName(syscBase + 0x30), m.RegisterName(emac.RxCtl1)})
	require.Empty(t, m.Violations().List())
}

func TestReset(t *testing.T) {
	r := newRig(t, Config{MACAddress: peerAddr, InBandLink: true})
	require.Equal(t, uint32(0x80000100), r.read(emac.AddrHigh(0)), "the rig's own")
	for off := uint32(0); off < emac.WindowSize; off += 4 {
		if off != emac.MIICmd && off != emac.BasicCtl1 {
			r.write(off, 0x55555554)
		}
	}
	r.m.Faults().Once(sim.SlowReset)
	r.write(emac.BasicCtl1, emac.Ctl1SoftRst)
	r.write(emac.TxFlowCtl, 1)
	require.Zero(t, r.read(emac.TxFlowCtl), "nothing can be written meanwhile")
	r.clock.Advance(89 * time.Millisecond)
	require.NotZero(t, r.read(emac.BasicCtl1)&emac.Ctl1SoftRst)
	r.clock.Advance(time.Millisecond)
	for off, want := range map[uint32]uint32{
		emac.BasicCtl0: 0, emac.BasicCtl1: 0x08000000, emac.IntEn: 0, emac.RxCtl1: 0, emac.TxCtl1: 0, emac.RxFrmFlt: 0,
		emac.AddrHigh(0): 0x8000FFFF, emac.AddrLow(0): 0xFFFFFFFF, emac.AddrHigh(3): 0xFFFF, emac.RGMIISta: 0xD,
		emac.TxDMASta: 0, emac.RxDMASta: 0, emac.TxCurDesc: 0,
	} {
		require.Equal(t, want, r.read(off), emac.RegName(off))
	}
	r.m.Faults().Once(sim.DeadReset)
	r.write(emac.BasicCtl1, emac.Ctl1SoftRst)
	r.clock.Advance(time.Hour)
	require.NotZero(t, r.read(emac.BasicCtl1)&emac.Ctl1SoftRst)
	r.write(emac.BasicCtl1, emac.Ctl1SoftRst)
	require.Zero(t, r.read(emac.BasicCtl1)&emac.Ctl1SoftRst, "the next one ends")
}

func TestLinkInBand(t *testing.T) {
	r := newRig(t, Config{InBandLink: true})
	r.write(emac.IntEn, emac.IntRGMII)
	for l, want := range map[mac.Link]uint32{
		{}: 0, {Up: true, Speed: 10}: 8, {Up: true, Speed: 100, FullDuplex: true}: 0xB, {Up: true}: 0xD,
	} {
		r.m.SetLink(mac.Link{})
		r.taken()
		r.m.SetLink(l)
		require.Equal(t, want, r.read(emac.RGMIISta))
		require.Equal(t, l.Up, r.level)
	}
	r.m.Faults().Once(sim.LinkFlap)
	r.m.SetLink(mac.Link{Up: true})
	r.m.Deliver(frame(ownAddr, 100))
	require.Zero(t, r.read(emac.RGMIISta))
	r.clock.Advance(time.Millisecond)
	require.NotZero(t, r.read(emac.RGMIISta))
}
