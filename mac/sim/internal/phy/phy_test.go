package phy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
)

func TestPHY(t *testing.T) {
	p := New(0x001cc916)
	require.EqualValues(t, 0x001c, p.Read(2))
	require.EqualValues(t, 0xc916, p.Read(3))
	require.EqualValues(t, bmsrAbilities|bmsrANDone|bmsrLink, p.Read(phyBMSR))
	p.SetLink(mac.Link{})
	require.EqualValues(t, bmsrAbilities, p.Read(phyBMSR))
	for _, c := range []struct {
		link             mac.Link
		partner, gigabit uint16
	}{
		{mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true}, 0x4501, 0x3800},
		{mac.Link{Up: true, Speed: 1000}, 0x4081, 0x3400},
		{mac.Link{Up: true, Speed: 100, FullDuplex: true, TXPause: true}, 0x4d01, 0},
		{mac.Link{Up: true, Speed: 10, RXPause: true}, 0x4821, 0},
	} {
		p.SetLink(c.link)
		require.Equal(t, []uint16{c.partner, c.gigabit}, []uint16{p.Read(phyANLPAR), p.Read(phyGBSR)}, "%v", c.link)
	}
	p.SetLink(mac.Link{})
	p.SetLink(mac.Link{Up: true, Speed: 100})
	require.Zero(t, p.Read(phyBMSR)&bmsrLink, "a link that was lost is told once")
	require.NotZero(t, p.Read(phyBMSR)&bmsrLink)

	p.Write(phyBMCR, bmcrPowerDown)
	require.Zero(t, p.Read(phyBMSR)&bmsrLink)
	p.Write(phyANAR, 0x41)
	p.Write45(3, 0x100, 7)
	p.Write(phyMMDCtl, 3)
	p.Write(phyMMDDat, 0x100)
	p.Write(phyMMDCtl, 1<<14|3)
	require.EqualValues(t, 7, p.Read(phyMMDDat), "clause 45 by way of clause 22")
	require.EqualValues(t, 0xffff, p.Read45(2, 0), "a device that is not there")
	p.Write(phyBMCR, bmcrReset)
	require.EqualValues(t, 0x1e1, p.Read(phyANAR))
	require.Zero(t, p.Read45(3, 0x100))
}
