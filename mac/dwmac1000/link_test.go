package dwmac1000

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

func TestSetLink(t *testing.T) {
	const speed = gmac3.ConfigPS | gmac3.ConfigFES | gmac3.ConfigDM
	for _, c := range []struct {
		link   mac.Link
		config uint32
		flow   uint32
	}{
		{mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true}, gmac3.ConfigDM, 0xFFFF0006},
		{mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true}, gmac3.ConfigDM, 4},
		{mac.Link{Up: true, Speed: 100, FullDuplex: true}, gmac3.ConfigPS | gmac3.ConfigFES | gmac3.ConfigDM, 0},
		{mac.Link{Up: true, Speed: 10, TXPause: true}, gmac3.ConfigPS, 0}, // no pause in half duplex
	} {
		regs := newRegs(0x1037, allFeatures)
		core := started(t, regs)
		regs.writes = nil
		require.NoError(t, core.SetLink(c.link))
		v := regs.regs[gmac3.MACConfig]
		require.Equal(t, c.config, v&speed, "%v", c.link)
		require.Equal(t, gmac3.ConfigTE|gmac3.ConfigRE, v&(gmac3.ConfigTE|gmac3.ConfigRE))
		require.Equal(t, c.flow, regs.regs[gmac3.MACFlow], "%v", c.link)
		before := regs.writes[0]
		for _, w := range regs.writes {
			if w.off == gmac3.MACConfig && (w.v^before.v)&speed != 0 {
				require.Zero(t, before.v&(gmac3.ConfigTE|gmac3.ConfigRE), "changed while off")
			}
			if w.off == gmac3.MACConfig {
				before = w
			}
		}
		require.NoError(t, core.SetLink(mac.Link{}))
		require.Zero(t, regs.regs[gmac3.MACConfig]&(gmac3.ConfigTE|gmac3.ConfigRE))
	}

	core := started(t, newRegs(0x1037, allFeatures&^(gmac3.FeatGMII|gmac3.FeatHD)))
	require.ErrorIs(t, core.SetLink(mac.Link{Up: true, Speed: 2500, FullDuplex: true}), mac.ErrConfig)
	require.ErrorIs(t, core.SetLink(mac.Link{Up: true, Speed: 1000, FullDuplex: true}), mac.ErrUnsupported)
	require.ErrorIs(t, core.SetLink(mac.Link{Up: true, Speed: 100}), mac.ErrUnsupported)
}

// TestSetSpeed: the SoC's transmit clock is changed with the MAC off, and a link
// whose clock cannot be had does not come up.
func TestSetSpeed(t *testing.T) {
	regs := newRegs(0x1037, allFeatures)
	core := started(t, regs)
	var speeds []int
	var fail error
	core.platform.SetSpeed = func(mbits int) error {
		require.Zero(t, regs.regs[gmac3.MACConfig]&(gmac3.ConfigTE|gmac3.ConfigRE))
		speeds = append(speeds, mbits)
		return fail
	}
	require.NoError(t, core.SetLink(mac.Link{Up: true, Speed: 100, FullDuplex: true}))
	require.NoError(t, core.SetLink(mac.Link{}))
	fail = errors.New("no such clock")
	require.ErrorIs(t, core.SetLink(mac.Link{Up: true, Speed: 10, FullDuplex: true}), fail)
	require.Equal(t, []int{100, 10}, speeds)
	require.Zero(t, regs.regs[gmac3.MACConfig]&gmac3.ConfigTE)
}

func TestInBandLink(t *testing.T) {
	for status, want := range map[uint32]mac.Link{
		0x0:        {},
		0x5:        {}, // no link, whatever else
		0xD:        {Up: true, Speed: 1000, FullDuplex: true},
		0xC:        {Up: true, Speed: 1000},
		0xB:        {Up: true, Speed: 100, FullDuplex: true},
		0x9:        {Up: true, Speed: 10, FullDuplex: true},
		0xF:        {}, // reserved speed
		0xFFFFFFFF: {},
	} {
		regs := newRegs(0x1037, allFeatures)
		regs.regs[gmac3.MACRGSMII] = status
		link, ok := newCore(t, regs, Platform{}).Link()
		require.True(t, ok)
		require.Equal(t, want, link, "%#x", status)
	}
	_, ok := newCore(t, newRegs(0x1037, allFeatures&^gmac3.FeatActPHY), Platform{}).Link()
	require.False(t, ok, "GMII carries none")
	_, ok = newCore(t, newRegs(0x1036, 0), Platform{}).Link()
	require.False(t, ok, "unknown interface")
}

func TestMDIO(t *testing.T) {
	for hz, cr := range map[int]uint32{25e6: 2, 50e6: 3, 75e6: 0, 125e6: 1, 200e6: 4, 250e6: 5, 400e6: 6, 0: 5} {
		regs := newRegs(0x1037, allFeatures)
		regs.regs[gmac3.MACMIIData], regs.readonly[gmac3.MACMIIData] = 0x1234, 0xFFFF // what the PHY answers
		c, err := NewCore(&fakeBus{regs: regs, hz: hz}, Platform{})
		require.NoError(t, err)
		m := c.MDIO()
		v, err := m.Read(3, 17)
		require.NoError(t, err)
		require.Equal(t, uint16(0x1234), v)
		require.Equal(t, access{gmac3.MACMIIAddr, 3<<11 | 17<<6 | cr<<2 | 1}, regs.writes[1], "%d Hz", hz)
		regs.writes = nil
		require.NoError(t, m.Write(31, 0, 0xABCD))
		require.Equal(t, []access{{gmac3.MACMIIData, 0xABCD}, {gmac3.MACMIIAddr, 31<<11 | cr<<2 | 3}}, regs.writes)
		_, err = m.Read45(1, 1, 1)
		require.ErrorIs(t, err, mac.ErrUnsupported)
	}
	c, err := NewCore(&fakeBus{regs: newRegs(0x1037, allFeatures), hz: 1e9}, Platform{})
	require.NoError(t, err)
	_, err = c.MDIO().Read(1, 1)
	require.ErrorIs(t, err, mac.ErrUnsupported)
}

func TestCounters(t *testing.T) {
	regs := newRegs(0x1037, allFeatures)
	core := started(t, regs)
	regs.regs[gmac3.MMC+0x80], regs.regs[gmac3.MMC+0xD4], regs.regs[gmac3.DMAMissed] = 7, 3, 1<<28|5<<17|1<<16|2
	var out mac.Counters
	core.Counters(&out)
	require.Equal(t, []uint64{7, 3, 2}, []uint64{out.RXFrames, out.RXOverflow, out.RXMissed})

	regs = newRegs(0x1037, allFeatures&^gmac3.FeatMMC)
	core = started(t, regs)
	regs.regs[gmac3.MMC+0x80], regs.regs[gmac3.DMAMissed] = 7, 5<<17|2
	out = mac.Counters{}
	core.Counters(&out)
	require.Equal(t, mac.Counters{RXOverflow: 5, RXMissed: 2}, out, "without counters of frames")
	regs.regs[gmac3.MACVersion] = 0xFFFFFFFF
	core.Counters(&out)
	require.Equal(t, mac.Counters{RXOverflow: 5, RXMissed: 2}, out, "gone: all ones are no counts")
}
