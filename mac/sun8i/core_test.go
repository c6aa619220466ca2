package sun8i

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/emac"
	"github.com/barewire/barewire/ring"
)

func TestNewRefuses(t *testing.T) {
	for _, v := range []uint32{0, 0xFFFFFFFF} {
		b := bare()
		b.windows[0].regs[emac.BasicCtl1] = v
		_, err := New(b)
		require.ErrorIs(t, err, mac.ErrNoDevice)
		require.ErrorContains(t, err, "fake0")
	}
	_, err := New(&fakeBus{})
	require.ErrorIs(t, err, mac.ErrNoDevice)
}

func TestInfo(t *testing.T) {
	b, _ := soc(t, "A83T", 0, true)
	b.windows[0].regs[emac.AddrHigh(0)], b.windows[0].regs[emac.AddrLow(0)] = 0x80000605, 0x04030200
	require.Equal(t, mac.Info{
		Core: "sun8i", Version: "A83T", Address: mac.HardwareAddr{0, 2, 3, 4, 5, 6},
		RXQueues: 1, TXQueues: 1, RXChecksum: true, TXChecksum: true,
		PerfectFilters: 7, AddressBits: 32, MaxMTU: 1500, RXFIFO: 16384, TXFIFO: 4096, EveryFrame: true,
		Ring: mac.RingLimits{DescriptorSize: 16, Align: 16, MinSlots: 2, MaxSlots: 1024,
			BufferAlign: 4, MaxBuffer: 2044, MaxPiece: 2047, TotalLength: true},
	}, newCore(t, b, Board{}).Info())
	require.Equal(t, "sun8i", Driver().Name)
	require.Contains(t, Driver().Compatible, "allwinner,sun8i-r40-gmac")
}

func testSetup() mac.Setup {
	return mac.Setup{RXQueues: 1, TXQueues: 1, MTU: 1500, Address: mac.HardwareAddr{2, 0, 0, 0, 0, 1}, BufferSize: 2044, RXChecksum: true, TXChecksum: true}
}

func TestConfigure(t *testing.T) {
	b := bare()
	regs := b.windows[0]
	for n := range emac.AddrSlots {
		regs.regs[emac.AddrHigh(n)], regs.regs[emac.AddrLow(n)] = 0xFFFFFFFF, 0xFFFFFFFF
	}
	c := newCore(t, b, Board{})
	require.NoError(t, c.Configure(testSetup()))
	for off, want := range map[uint32]uint32{
		emac.BasicCtl1: 8 << 24, emac.IntEn: 0,
		emac.TxCtl0: 0, emac.TxCtl1: 0x00000006,
		emac.RxCtl0: 1 << 27, emac.RxCtl1: 0x01E0000F,
		emac.TxFlowCtl: 0, emac.RxFrmFlt: 0, emac.RxHash0: 0, emac.RxHash1: 0,
		emac.AddrHigh(0): 0x80000100, emac.AddrLow(0): 2,
		emac.AddrHigh(1): 0, emac.AddrHigh(7): 0, emac.AddrLow(7): 0,
	} {
		require.Equal(t, want, regs.regs[off], emac.RegName(off))
	}
	s := testSetup()
	s.RXChecksum = false
	require.NoError(t, c.Configure(s))
	require.Zero(t, regs.regs[emac.RxCtl0])

	for _, change := range []func(*mac.Setup){
		func(s *mac.Setup) { s.RXQueues = 2 }, func(s *mac.Setup) { s.TXQueues = 0 },
		func(s *mac.Setup) { s.MTU = 1501 }, func(s *mac.Setup) { s.MTU = 67 }, func(s *mac.Setup) { s.BufferSize = 2048 },
	} {
		s := testSetup()
		change(&s)
		require.ErrorIs(t, c.Configure(s), mac.ErrConfig)
	}
	require.NoError(t, c.SetMTU(576))
	require.ErrorIs(t, c.SetMTU(1501), mac.ErrConfig)
	require.ErrorIs(t, c.SetAddress(mac.Broadcast), mac.ErrConfig)
	actual, err := c.SetWatchdog(0, 0)
	require.NoError(t, err)
	require.Zero(t, actual)
	_, err = c.SetWatchdog(0, 100)
	require.ErrorIs(t, err, ring.ErrCoalesce)
	require.ErrorIs(t, c.Start(), mac.ErrConfig, "no rings")
}

func TestDivider(t *testing.T) {
	for hz, want := range map[int]uint32{
		0: 3, -1: 3, 24e6: 0, 40e6: 0, 40_000_001: 1, 80e6: 1, 80_000_001: 2, 160e6: 2, 160_000_001: 3, 200e6: 3, 300e6: 3, 320e6: 3,
	} {
		got, ok := divider(hz)
		require.True(t, ok, hz)
		require.Equal(t, want, got, hz)
	}
	_, ok := divider(320_000_001)
	require.False(t, ok)
	b := bare()
	b.hz = 400e6
	c := newCore(t, b, Board{})
	_, err := c.MDIO().Read(1, 2)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	c.wakePHYs() // gives up
	require.Empty(t, b.windows[0].writes)
}

func TestMDIO(t *testing.T) {
	b := bare()
	b.hz = 200e6
	regs := b.windows[0]
	c := newCore(t, b, Board{})
	require.NoError(t, c.MDIO().Write(31, 4, 0x1E1))
	v, err := c.MDIO().Read(1, 2)
	require.NoError(t, err)
	require.EqualValues(t, 0xFFFF, v, "an absent PHY, whatever the register held")
	require.Equal(t, []access{
		{emac.MIIData, 0x1E1}, {emac.MIICmd, 3<<20 | 31<<12 | 4<<4 | 3},
		{emac.MIIData, 0xFFFF}, {emac.MIICmd, 3<<20 | 1<<12 | 2<<4 | 1},
	}, regs.writes)
	_, err = c.MDIO().Read45(1, 1, 0)
	require.ErrorIs(t, err, mac.ErrUnsupported)
	require.ErrorIs(t, c.MDIO().Write45(1, 1, 0, 0), mac.ErrUnsupported)
}

func TestLinkRegisters(t *testing.T) {
	b, _ := soc(t, "A64", 6, true)
	regs := b.windows[0]
	c := newCore(t, b, Board{})
	for v, want := range map[uint32]mac.Link{
		0: {}, 0xFFFFFFFF: {}, 5: {}, 0xE: {},
		8: {Up: true, Speed: 10}, 0xB: {Up: true, Speed: 100, FullDuplex: true}, 0xD: {Up: true, Speed: 1000, FullDuplex: true},
	} {
		regs.regs[emac.RGMIISta] = v
		l, ok := c.Link()
		require.True(t, ok)
		require.Equal(t, want, l, "%#x", v)
	}

	_, err := c.NewRX(0, newMemory(4), 4, 1536)
	require.NoError(t, err)
	_, err = c.NewTX(0, newMemory(4), 4)
	require.NoError(t, err)
	require.NoError(t, c.Start())
	require.Zero(t, regs.regs[emac.TxCtl0]|regs.regs[emac.RxCtl0], "off until the link is known")
	for _, x := range []struct {
		link           mac.Link
		basic, rx, flw uint32
	}{
		{mac.Link{Up: true, Speed: 1000, FullDuplex: true, RXPause: true, TXPause: true}, 1, 1<<31 | 1<<16, 0x4001},
		{mac.Link{Up: true, Speed: 100, FullDuplex: true, TXPause: true}, 0xD, 1 << 31, 0x4001},
		{mac.Link{Up: true, Speed: 10, RXPause: true, TXPause: true}, 8, 1 << 31, 0}, // half duplex has none
	} {
		regs.regs[emac.BasicCtl0] = 0xF // the loopback bit has set itself
		require.NoError(t, c.SetLink(x.link))
		require.Equal(t, []uint32{x.basic, x.rx, x.flw, 1 << 31},
			[]uint32{regs.regs[emac.BasicCtl0], regs.regs[emac.RxCtl0], regs.regs[emac.TxFlowCtl], regs.regs[emac.TxCtl0]}, "%v", x.link)
	}
	require.NoError(t, c.SetLink(mac.Link{}))
	require.Zero(t, regs.regs[emac.TxCtl0]|regs.regs[emac.RxCtl0]|regs.regs[emac.TxFlowCtl])
	require.ErrorIs(t, c.SetLink(mac.Link{Up: true, Speed: 2500}), mac.ErrConfig)

	b, _ = soc(t, "H3", 0x58000, true)
	c = newCore(t, b, Board{})
	_, ok := c.Link()
	require.False(t, ok)
	require.ErrorIs(t, c.SetLink(mac.Link{Up: true, Speed: 1000}), mac.ErrUnsupported)
}

func TestInterrupt(t *testing.T) {
	const enabled = 1<<8 | 1<<9 | 1<<10 | 1<<1 | 1<<3 | 1<<4 | 1<<16
	for _, c := range []struct {
		name   string
		status uint32
		state  uint32 // RX_DMA_STA
		want   mac.Events
		enable uint32 // afterwards
		left   uint32 // of status
	}{
		{"nothing", 0, 3, mac.Events{}, enabled, 0},
		{"receive", 1 << 8, 3, mac.Events{RX: 1}, enabled &^ (1<<8 | 1<<9), 0},
		{"starved", 1 << 9, 4, mac.Events{RX: 1, Starved: 1}, enabled &^ (1<<8 | 1<<9), 0},
		{"transmit masked: left latched", 1 << 0, 3, mac.Events{}, enabled, 1},
		{"receive DMA stopped", 1 << 10, 0, mac.Events{Fatal: 1}, enabled &^ (1 << 10), 0},
		{"FreeBSD's missing buffers", 1 << 10, 4, mac.Events{RX: 1, Starved: 1}, enabled &^ (1 << 10), 0},
		{"transmit DMA stopped", 1 << 1, 3, mac.Events{TXStopped: 1}, enabled &^ (1 << 1), 0},
		{"transmit underflow", 1 << 4, 3, mac.Events{TXStopped: 1}, enabled &^ (1 << 4), 0},
		{"transmit time-out", 1 << 3, 3, mac.Events{TXStopped: 1}, enabled &^ (1 << 3), 0},
		{"link", 1 << 16, 3, mac.Events{Link: true}, enabled, 0},
		{"not ours: left alone", 1<<2 | 1<<5 | 1<<11 | 1<<13, 3, mac.Events{}, enabled, 1<<2 | 1<<5 | 1<<11 | 1<<13},
		{"overflow: counted", 1<<12 | 1<<8, 3, mac.Events{RX: 1}, enabled &^ (1<<8 | 1<<9), 0},
		{"gone", 0xFFFFFFFF, 3, mac.Events{Fatal: 1}, enabled, 0xFFFFFFFF},
	} {
		b, _ := soc(t, "A64", 6, true)
		regs := b.windows[0]
		core := newCore(t, b, Board{})
		regs.regs[emac.IntSta] = 0x6FF
		core.openIRQ()
		require.Zero(t, regs.regs[emac.IntSta])
		require.EqualValues(t, enabled, regs.regs[emac.IntEn])
		regs.regs[emac.IntSta], regs.regs[emac.RxDMASta] = c.status, c.state
		require.Equal(t, c.want, core.Interrupt(), c.name)
		require.Equal(t, c.enable, regs.regs[emac.IntEn], c.name)
		require.Equal(t, c.left, regs.regs[emac.IntSta], c.name)
		var counters mac.Counters
		core.Counters(&counters)
		require.Equal(t, c.name == "overflow: counted", counters.RXOverflow == 1, c.name)
		core.Unmask(0)
		core.UnmaskTX(0)
		require.EqualValues(t, c.enable|1<<8|1<<9|1, regs.regs[emac.IntEn], c.name)
		regs.regs[emac.IntSta] = 0x301
		core.Ack(0)
		require.EqualValues(t, 1, regs.regs[emac.IntSta], "receive causes only")
	}
}

// TestStuckDMA: a DMA that does not stop is said to be.
func TestStuckDMA(t *testing.T) {
	for _, reg := range []uint32{emac.TxDMASta, emac.RxDMASta} {
		b := bare()
		b.windows[0].regs[reg] = 2
		err := newCore(t, b, Board{}).Stop()
		require.ErrorIs(t, err, mac.ErrNotIdle)
		require.ErrorContains(t, err, emac.RegName(reg))
		require.False(t, errors.Is(err, mac.ErrReset))
	}
}
