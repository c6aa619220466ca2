package dwmac4

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwmac/dwtest"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/field"
	"github.com/barewire/barewire/mac/internal/gmac4"
)

func TestNewRefuses(t *testing.T) {
	for version, want := range map[uint32]error{0: mac.ErrNoDevice, 0xFFFFFFFF: mac.ErrNoDevice, 0x1037: mac.ErrUnsupported, 0x2076: mac.ErrUnsupported} {
		regs := newRegs(version)
		_, err := New(&fakeBus{regs: regs})
		require.ErrorIs(t, err, want, "%#x", version)
		require.ErrorContains(t, err, "fake0")
		require.Empty(t, regs.writes)
		require.Equal(t, map[uint32]int{gmac4.MACVersion: 1}, regs.reads, "nothing else is touched")
	}
	gone := errors.New("gone")
	_, err := New(&fakeBus{err: gone})
	require.ErrorIs(t, err, gone)
}

func TestInfo(t *testing.T) {
	regs := newRegs(0x3052)
	i := newCore(t, regs).Info()
	require.Equal(t, mac.Info{
		Core: "dwmac4", Version: "5.20", Address: mac.HardwareAddr{0, 2, 3, 4, 5, 6},
		RXQueues: 1, TXQueues: 1, RXChecksum: true, TXChecksum: true, TSO: true,
		PerfectFilters: 3, HashBins: 64, AddressBits: 40, MaxMTU: 9000, RXFIFO: 16384, TXFIFO: 16384, Watchdog: true,
		Ring: mac.RingLimits{DescriptorSize: 16, Align: 16, MinSlots: 4, MaxSlots: 1024, Reserve: 1,
			BufferAlign: 16, MaxBuffer: 16368, MaxPiece: 16368, ContextSlots: 2, TotalLength: true},
	}, i)

	// A core that has nothing, and whose FIFO fields say nothing.
	regs = newRegs(0x1040)
	regs.regs[gmac4.MACFeature0], regs.regs[gmac4.MACFeature1], regs.regs[gmac4.MACFeature2] = gmac4.Feat0MII, 0, 0
	c := newCore(t, regs)
	i = c.Info()
	require.Equal(t, []int{1, 1, 0, 0, 32, 1500, 0, 0}, []int{i.RXQueues, i.TXQueues, i.PerfectFilters, i.HashBins, i.AddressBits, i.MaxMTU, i.RXFIFO, i.TXFIFO})
	require.False(t, i.RXChecksum || i.TXChecksum || i.TSO)
	require.Zero(t, i.Ring.ContextSlots)
	require.Nil(t, c.MDIO())

	// Everything at its largest.
	regs = newRegs(0x1053)
	regs.regs[gmac4.MACFeature0] = 0xFFFFFFFF
	regs.regs[gmac4.MACFeature1] = field.Put(gmac4.Feat1RxFIFO, 11) | field.Put(gmac4.Feat1TxFIFO, 10) | 2<<14 | gmac4.Feat1Hash
	regs.regs[gmac4.MACFeature2] = field.Put(gmac4.Feat2RxQ, 7) | field.Put(gmac4.Feat2TxQ, 3) | field.Put(gmac4.Feat2RxCh, 3) | field.Put(gmac4.Feat2TxCh, 7)
	i = newCore(t, regs).Info()
	require.Equal(t, []int{4, 4, 127, 256, 48}, []int{i.RXQueues, i.TXQueues, i.PerfectFilters, i.HashBins, i.AddressBits})
}

func TestConfigure(t *testing.T) {
	regs := newRegs(0x1051)
	c := newCore(t, regs)
	require.NoError(t, c.Configure(testSetup()))
	for off, want := range map[uint32]uint32{
		gmac4.DMAMode:                            0,
		gmac4.DMASysBus:                          0x0202180E, // OSR 2/2, AAL, EAME, bursts of 16, 8, 4
		gmac4.ChanBase(0) + gmac4.ChanControl:    1 << 16,
		gmac4.ChanBase(0) + gmac4.ChanTxControl:  8<<16 | 1<<12 | 1<<4,
		gmac4.ChanBase(0) + gmac4.ChanRxControl:  8<<16 | 2048<<1,
		gmac4.QueueBase(0) + gmac4.TxQOpMode:     63<<16 | 2<<2 | 1<<1,
		gmac4.QueueBase(0) + gmac4.RxQOpMode:     63<<20 | 7<<14 | 4<<8 | 1<<7 | 1<<6 | 1<<5,
		gmac4.MACRxQCtrl0:                        2,
		gmac4.MTLRxQDMAMap0:                      0,
		gmac4.MACConfig:                          1<<27 | 1<<23 | 1<<18 | 1<<15 | 1<<14 | 1<<13 | 1<<9,
		gmac4.MACExtConfig:                       1526,
		gmac4.MAC1usTic:                          124,
		gmac4.MACVLANTag:                         0, // B051: never stripped
		gmac4.MACVLANIncl:                        0,
		gmac4.MACIntEnable:                       0,
		gmac4.MMC + dwregs.MMCRxIntMask:          0xFFFFFFFF,
		gmac4.MMC + dwregs.MMCTxIntMask:          0xFFFFFFFF,
		gmac4.MMC + dwregs.MMCIPCIntMask:         0xFFFFFFFF,
		gmac4.MMC + dwregs.MMCControl:            5, // reset, reset on read
		gmac4.AddrHigh(0):                        0x80000100,
		gmac4.AddrLow(0):                         0x00000002,
		gmac4.ChanBase(0) + gmac4.ChanRxWatchdog: 0,
	} {
		v, ok := regs.last(off)
		require.True(t, ok, gmac4.RegName(off))
		require.Equal(t, want, v, "%s: %#x", gmac4.RegName(off), v)
	}
	for _, w := range regs.writes {
		require.Zero(t, w.off == gmac4.MACConfig && w.v&3 != 0, "transmitter and receiver stay off")
	}
}

func TestConfigureMultiQueue(t *testing.T) {
	regs := newRegs(0x1051)
	regs.regs[gmac4.MACFeature2] = 4 | 4<<6 | 4<<12 | 4<<18
	c := newCore(t, regs)
	s := testSetup()
	s.RXQueues, s.TXQueues = 5, 3
	require.NoError(t, c.Configure(s))
	for off, want := range map[uint32]uint32{
		gmac4.MTLRxQDMAMap0:                   0x03020100,
		gmac4.MTLRxQDMAMap1:                   0x00000004,
		gmac4.MACRxQCtrl0:                     0x2AA,
		gmac4.MACRxQCtrl1:                     1 << 20,
		gmac4.QueueBase(2) + gmac4.TxQOpMode:  20<<16 | 2<<2 | 1<<1, // 16 KiB / 3
		gmac4.QueueBase(4) + gmac4.RxQOpMode:  11<<20 | 1<<6 | 1<<5, // 16 KiB / 5: no flow control
		gmac4.ChanBase(4) + gmac4.ChanControl: 1 << 16,
	} {
		v, ok := regs.last(off)
		require.True(t, ok, gmac4.RegName(off))
		require.Equal(t, want, v, "%s: %#x", gmac4.RegName(off), v)
	}
	lo, _ := regs.last(gmac4.MACRxQCtrl2)
	hi, _ := regs.last(gmac4.MACRxQCtrl3)
	var all uint32
	for q := range 8 {
		prio := (uint64(hi)<<32 | uint64(lo)) >> (8 * q) & 0xFF
		require.Zero(t, all&uint32(prio), "a priority belongs to one queue")
		all |= uint32(prio)
	}
	require.Equal(t, uint32(0xFF), all)
}

func TestConfigureRefuses(t *testing.T) {
	regs := newRegs(0x1051)
	regs.regs[gmac4.MACFeature1] = 4 | 4<<6 // 2 KiB both ways
	regs.regs[gmac4.MACFeature0] &^= gmac4.Feat0RxCOE
	c := newCore(t, regs)
	for name, change := range map[string]func(*mac.Setup){
		"queues":      func(s *mac.Setup) { s.RXQueues = 2 },
		"no queue":    func(s *mac.Setup) { s.TXQueues = 0 },
		"MTU":         func(s *mac.Setup) { s.MTU = 1851 },
		"small MTU":   func(s *mac.Setup) { s.MTU = 67 },
		"zero MTU":    func(s *mac.Setup) { s.MTU = 0 },
		"buffer size": func(s *mac.Setup) { s.BufferSize = 1500 },
		"checksum":    func(s *mac.Setup) { s.RXChecksum = true },
	} {
		s := testSetup()
		s.RXChecksum = false
		change(&s)
		err := c.Configure(s)
		require.Error(t, err, name)
		require.True(t, errors.Is(err, mac.ErrConfig) || errors.Is(err, mac.ErrUnsupported), name)
		require.Empty(t, regs.writes, "%s: refused before any write", name)
	}

	regs = newRegs(0x1051)
	regs.readonly[gmac4.MACConfig] = gmac4.ConfigIPC
	require.ErrorIs(t, newCore(t, regs).Configure(testSetup()), mac.ErrUnsupported, "engine that does not switch on")
}

func TestConfigureUnknownFIFO(t *testing.T) {
	regs := newRegs(0x1040)
	regs.regs[gmac4.MACFeature1] = 0
	regs.regs[gmac4.QueueBase(0)+gmac4.TxQOpMode] = 7 << 16
	regs.regs[gmac4.QueueBase(0)+gmac4.RxQOpMode] = 31 << 20
	c := newCore(t, regs)
	require.NoError(t, c.Configure(testSetup()), "MTU 1500 always works")
	v, _ := regs.last(gmac4.QueueBase(0) + gmac4.TxQOpMode)
	require.Equal(t, uint32(7<<16|2<<2|1<<1), v, "size left as it was")
	v, _ = regs.last(gmac4.QueueBase(0) + gmac4.RxQOpMode)
	require.Equal(t, uint32(31<<20|1<<6|1<<5), v)
	v, _ = regs.last(gmac4.DMASysBus)
	require.Zero(t, v&gmac4.SysBusEAME, "a 32-bit core")
	require.ErrorIs(t, c.SetMTU(1501), mac.ErrConfig)
}

func TestSetMTU(t *testing.T) {
	regs := newRegs(0x1051)
	regs.regs[gmac4.MACFeature1] = 7 | 5<<6 // 4 KiB for transmit
	c := newCore(t, regs)
	require.NoError(t, c.Configure(testSetup()))
	require.NoError(t, c.SetMTU(3002))
	v, _ := regs.last(gmac4.MACConfig)
	require.NotZero(t, v&gmac4.ConfigJE)
	v, _ = regs.last(gmac4.MACExtConfig)
	require.Equal(t, uint32(3028), v)
	err := c.SetMTU(3003)
	require.ErrorIs(t, err, mac.ErrConfig, "frame and burst of 64 beats do not fit 4 KiB")
	require.ErrorContains(t, err, "open the device with it")
	v, _ = regs.last(gmac4.MACExtConfig)
	require.Equal(t, uint32(3028), v, "refused before any write")
	require.NoError(t, c.SetMTU(1500))
	v, _ = regs.last(gmac4.MACConfig)
	require.Zero(t, v&gmac4.ConfigJE)

	s := testSetup()
	s.MTU = 3003
	require.NoError(t, c.Configure(s), "a shorter burst makes room")
	v, _ = regs.last(gmac4.ChanBase(0) + gmac4.ChanTxControl)
	require.Equal(t, uint32(4), field.Get(gmac4.TxControlPBL, v))
}

func TestResetBounds(t *testing.T) {
	regs := newRegs(0x1051)
	regs.resetReads = 100
	require.NoError(t, newCore(t, regs).Reset(context.Background()))

	regs.resetReads = 1 << 30
	err := newCore(t, &fakeRegs{regs: regs.regs, reads: map[uint32]int{}, resetReads: 1 << 30}).Reset(context.Background())
	require.ErrorIs(t, err, mac.ErrReset)
	require.ErrorContains(t, err, "no receive clock from the PHY?")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = newCore(t, &fakeRegs{regs: regs.regs, reads: map[uint32]int{}, resetReads: 1 << 30}).Reset(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, mac.ErrReset)
}

// TestResetAfterCrash: a core left running is stopped before it is reset.
func TestResetAfterCrash(t *testing.T) {
	regs := newRegs(0x1051)
	base := gmac4.ChanBase(0)
	regs.regs[base+gmac4.ChanTxControl] = gmac4.TxControlST | 8<<16
	regs.regs[base+gmac4.ChanRxControl] = gmac4.RxControlSR | 0xC00
	regs.regs[base+gmac4.ChanIntEnable] = 0xD0C1
	regs.regs[base+gmac4.ChanStatus] = 0x8040
	regs.regs[gmac4.MACConfig] = 3 | 1<<13
	c := newCore(t, regs)
	require.NoError(t, c.Reset(context.Background()))
	require.Equal(t, access{gmac4.DMAMode, gmac4.DMAModeSWR}, regs.writes[len(regs.writes)-1])
	for off, want := range map[uint32]uint32{
		base + gmac4.ChanTxControl: 8 << 16,
		base + gmac4.ChanRxControl: 1<<31 | 0xC00,
		base + gmac4.ChanIntEnable: 0,
		base + gmac4.ChanStatus:    0,
		gmac4.MACConfig:            1 << 13,
	} {
		require.Equal(t, want, regs.regs[off], gmac4.RegName(off))
	}
}

// started is a core with rings, running.
func started(t *testing.T, regs *fakeRegs) *Core {
	t.Helper()
	c := newCore(t, regs)
	_, err := c.NewRX(0, dwtest.NewMemory(8), 8, 2048)
	require.NoError(t, err)
	_, err = c.NewTX(0, dwtest.NewMemory(8), 8)
	require.NoError(t, err)
	require.NoError(t, c.Configure(testSetup()))
	require.NoError(t, c.Start())
	return c
}

func TestStopNotIdle(t *testing.T) {
	regs := newRegs(0x1051)
	c := started(t, regs)
	regs.regs[gmac4.DMADebug0] = 0x3000
	err := c.Stop()
	require.ErrorIs(t, err, mac.ErrNotIdle)
	require.ErrorContains(t, err, "transmit state 3")
	regs.regs[gmac4.DMADebug0] = 0
	require.NoError(t, c.Stop())
}

func TestStartTwice(t *testing.T) {
	regs := newRegs(0x1051)
	c := started(t, regs)
	regs.writes = nil
	require.ErrorIs(t, c.Start(), mac.ErrConfig)
	require.Empty(t, regs.writes)
}

func TestStartNeedsRings(t *testing.T) {
	c := newCore(t, newRegs(0x1051))
	require.NoError(t, c.Configure(testSetup()))
	require.ErrorIs(t, c.Start(), mac.ErrConfig)
}
