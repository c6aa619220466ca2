package dwmac4

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

func TestLinkConfig(t *testing.T) {
	for _, c := range []struct {
		speed   int
		full    bool
		ps, fes uint32
	}{
		{10, false, 1, 0}, {100, true, 1, 1}, {1000, true, 0, 0}, {2500, true, 0, 1},
	} {
		v, ok := linkConfig(mac.Link{Speed: c.speed, FullDuplex: c.full})
		require.True(t, ok)
		dm := uint32(0)
		if c.full {
			dm = 1
		}
		require.Equal(t, c.ps<<15|c.fes<<14|dm<<13, v, "%d", c.speed)
	}
	_, ok := linkConfig(mac.Link{Speed: 40})
	require.False(t, ok)
}

// TestSetLink: speed and duplex change only with TE and RE off (B052), and half
// duplex has no pause (B054).
func TestSetLink(t *testing.T) {
	regs := newRegs(0x1051)
	c := started(t, regs)
	require.Zero(t, regs.regs[gmac4.MACConfig]&3, "no link yet")
	links := []mac.Link{
		{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true},
		{},
		{Up: true, Speed: 100, FullDuplex: true, TXPause: true},
		{Up: true, Speed: 10, RXPause: true, TXPause: true},
		{Up: true, Speed: 1000, FullDuplex: true},
	}
	for _, l := range links {
		before := regs.regs[gmac4.MACConfig]
		regs.writes = nil
		require.NoError(t, c.SetLink(l))
		for _, w := range regs.writes {
			if w.off != gmac4.MACConfig {
				continue
			}
			if (w.v^before)&speedBits != 0 {
				require.Zero(t, (w.v|before)&3, "%v: speed changed while running", l)
			}
			before = w.v
		}
		if !l.Up {
			require.Zero(t, before&3)
			continue
		}
		require.Equal(t, uint32(3), before&3)
		want, _ := linkConfig(l)
		require.Equal(t, want, before&speedBits)
		rx, tx := regs.regs[gmac4.MACRxFlow], regs.regs[gmac4.TxFlow(0)]
		require.Equal(t, l.RXPause && l.FullDuplex, rx != 0, "%v", l)
		require.Equal(t, l.TXPause && l.FullDuplex, tx == 0xFFFF0002, "%v", l)
	}
	require.ErrorIs(t, c.SetLink(mac.Link{Up: true, Speed: 40, FullDuplex: true}), mac.ErrConfig)
	c.setup.TXQueues = 2
	require.ErrorContains(t, c.SetLink(mac.Link{Up: true, Speed: 100}), "one queue", "half duplex with several (B054)")
	c.limits.gmii, c.limits.hd = false, false
	require.ErrorIs(t, c.SetLink(mac.Link{Up: true, Speed: 1000, FullDuplex: true}), mac.ErrUnsupported)
	require.ErrorIs(t, c.SetLink(mac.Link{Up: true, Speed: 100}), mac.ErrUnsupported)
}

func TestInBandLink(t *testing.T) {
	regs := newRegs(0x1051)
	c := newCore(t, regs)
	for v, want := range map[uint32]mac.Link{
		0:                     {},
		1<<19 | 1<<17 | 1<<16: {Up: true, Speed: 100, FullDuplex: true},
		1<<19 | 2<<17 | 1<<16: {Up: true, Speed: 1000, FullDuplex: true},
		1<<19 | 0<<17:         {Up: true, Speed: 10},
		1<<19 | 3<<17 | 1<<16: {}, // reserved speed
		2<<17 | 1<<16:         {},
		0xFFFFFFFF:            {},
	} {
		regs.regs[gmac4.MACPHYIF] = v
		l, ok := c.Link()
		require.True(t, ok)
		require.Equal(t, want, l, "%#x", v)
	}
	c.limits.phy = gmac4.ActPHYRMII
	_, ok := c.Link()
	require.False(t, ok)
}

func TestMDIO(t *testing.T) {
	regs := newRegs(0x1051)
	m := newCore(t, regs).MDIO()
	regs.regs[gmac4.MACMDIOData] = 0xABCD
	regs.readonly[gmac4.MACMDIOData] = 0xFFFF
	v, err := m.Read(5, 2)
	require.NoError(t, err)
	require.Equal(t, uint16(0xABCD), v)
	require.NoError(t, m.Write(31, 4, 0x01E1))
	_, err = m.Read45(1, 7, 0x8001)
	require.NoError(t, err)
	require.NoError(t, m.Write45(1, 3, 0x1234, 0x5678))
	const busy, cr = 1, 1 << 8 // 125 MHz: /62
	require.Equal(t, []access{
		{0x204, 0}, {0x200, 5<<21 | 2<<16 | cr | 3<<2 | busy},
		{0x204, 0x01E1}, {0x200, 31<<21 | 4<<16 | cr | 1<<2 | busy},
		{0x204, 0x80010000}, {0x200, 1<<21 | 7<<16 | cr | 3<<2 | 2 | busy},
		{0x204, 0x12345678}, {0x200, 1<<21 | 3<<16 | cr | 1<<2 | 2 | busy},
	}, regs.writes)
	_, err = m.Read(32, 0)
	require.ErrorIs(t, err, mac.ErrConfig)
	require.ErrorIs(t, m.Write(0, -1, 0), mac.ErrConfig)

	regs.regs[gmac4.MACMDIOAddr] = gmac4.MDIOGB
	_, err = m.Read(1, 1)
	require.ErrorContains(t, err, "still busy")

	c, err := New(&fakeBus{regs: newRegs(0x1051), hz: 1e9})
	require.NoError(t, err)
	_, err = c.MDIO().Read(1, 1)
	require.ErrorIs(t, err, mac.ErrUnsupported, "no divider is slow enough")
}

func TestCounters(t *testing.T) {
	regs := newRegs(0x1051)
	c := newCore(t, regs)
	var k mac.Counters
	regs.regs[gmac4.MMC+dwregs.MMCRxCRC] = 99
	c.Counters(&k)
	require.Zero(t, k, "what was counted before Configure is not ours")
	require.NoError(t, c.Configure(testSetup()))
	regs.regs[gmac4.MMC+dwregs.MMCRxCRC] = 0xFFFFFFFF
	regs.regs[gmac4.MMC+dwregs.MMCTxSingle], regs.regs[gmac4.MMC+dwregs.MMCTxMulti] = 2, 3
	regs.regs[gmac4.QueueBase(0)+gmac4.RxQMissed] = 7<<16 | 5
	c.Counters(&k)
	c.Counters(&k) // the fake does not clear on read
	require.Equal(t, uint64(2*0xFFFFFFFF), k.RXCRC, "64 bits")
	require.Equal(t, uint64(10), k.TXCollisions)
	require.Equal(t, uint64(14), k.RXMissed)
	require.Zero(t, k.RXOverflow, "the MMC counts those")

	require.NoError(t, c.Reset(context.Background()))
	var after mac.Counters
	c.Counters(&after)
	require.Equal(t, uint64(5), after.TXCollisions, "a reset keeps what was not fetched")

	regs = newRegs(0x1051)
	regs.regs[gmac4.MACFeature0] &^= gmac4.Feat0MMC
	c = newCore(t, regs)
	require.NoError(t, c.Configure(testSetup()))
	regs.regs[gmac4.MMC+dwregs.MMCRxCRC] = 99
	regs.regs[gmac4.QueueBase(0)+gmac4.RxQMissed] = 7<<16 | 5
	k = mac.Counters{}
	c.Counters(&k)
	require.Equal(t, mac.Counters{RXMissed: 7, RXOverflow: 5}, k, "without an MMC")
	_, ok := regs.last(gmac4.MMC + dwregs.MMCControl)
	require.False(t, ok)
}
