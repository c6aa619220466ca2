package dwmac1000

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/barewire/barewire/mac"
	"github.com/barewire/barewire/mac/internal/dwregs"
	"github.com/barewire/barewire/mac/internal/gmac3"
)

func TestNewRefuses(t *testing.T) {
	for version, want := range map[uint32]error{0: mac.ErrNoDevice, 0xFFFFFFFF: mac.ErrNoDevice, 0x1042: mac.ErrUnsupported, 0x0010: mac.ErrUnsupported} {
		regs := newRegs(version, 0)
		_, err := New(&fakeBus{regs: regs})
		require.ErrorIs(t, err, want, "%#x", version)
		require.ErrorContains(t, err, "fake0")
		require.Empty(t, regs.writes)
		require.Equal(t, map[uint32]int{gmac3.MACVersion: 1}, regs.reads, "nothing else is touched")
	}
	gone := errors.New("gone")
	_, err := New(&fakeBus{err: gone})
	require.ErrorIs(t, err, gone)
	for name, p := range map[string]Platform{
		"FIFO": {RXFIFO: -1}, "bins": {HashBins: 32}, "addresses": {Addresses: 33}, "burst": {Burst: 64}, "odd burst": {Burst: 3},
	} {
		_, err := NewCore(&fakeBus{regs: newRegs(0x1037, 0)}, p)
		require.ErrorIs(t, err, mac.ErrConfig, name)
	}
}

func TestInfo(t *testing.T) {
	i := newCore(t, newRegs(0xD137, allFeatures), Platform{RXFIFO: 16384, TXFIFO: 4096, Addresses: 32}).Info()
	require.Equal(t, mac.Info{
		Core: "dwmac1000", Version: "3.70", Address: mac.HardwareAddr{0, 2, 3, 4, 5, 6},
		RXQueues: 1, TXQueues: 1, RXChecksum: true, TXChecksum: true, ChecksumMTU: 3898,
		PerfectFilters: 31, HashBins: 64, AddressBits: 32, MaxMTU: 9000, RXFIFO: 16384, TXFIFO: 4096, Watchdog: true,
		Ring: mac.RingLimits{DescriptorSize: 32, Align: 16, MinSlots: 4, MaxSlots: 1024,
			BufferAlign: 16, MaxBuffer: 8176, MaxPiece: 4096, TotalLength: true},
	}, i)

	// A core that has nothing, and of which nothing is known.
	c := newCore(t, newRegs(0x1032, gmac3.FeatMII), Platform{})
	i = c.Info()
	require.Equal(t, []int{0, 0, 0, 3800, 0}, []int{i.PerfectFilters, i.HashBins, i.ChecksumMTU, i.MaxMTU, i.RXFIFO})
	require.False(t, i.RXChecksum || i.TXChecksum || i.Watchdog)
	require.True(t, i.EveryFrame)
	require.Nil(t, c.MDIO())
	_, err := c.SetWatchdog(0, 100)
	require.ErrorIs(t, err, mac.ErrUnsupported)

	// What is not certain is not used.
	i = newCore(t, newRegs(0x1037, allFeatures|gmac3.FeatExtHash), Platform{}).Info()
	require.Equal(t, []int{1, 0, 1500}, []int{i.PerfectFilters, i.HashBins, i.ChecksumMTU})
	i = newCore(t, newRegs(0x1037, allFeatures&^gmac3.FeatRxCOE2|gmac3.FeatRxCOE1), Platform{HashBins: -1, Addresses: 1, NoWatchdog: true}).Info()
	require.Equal(t, []int{0, 0}, []int{i.PerfectFilters, i.HashBins})
	require.False(t, i.RXChecksum, "an engine of type 1 says nothing of the payload")
	require.False(t, i.Watchdog)
	require.Equal(t, 16, newCore(t, newRegs(0x1037, allFeatures), Platform{Chained: true}).Info().Ring.DescriptorSize)
}

// TestPlatforms: SoCs by their device-tree names, with the features that their
// cores show.
func TestPlatforms(t *testing.T) {
	for _, c := range []struct {
		names             []string
		version, features uint32
		check             func(mac.Info)
	}{
		{[]string{"allwinner,sun7i-a20-gmac"}, 0x1036, 0, func(i mac.Info) {
			require.Equal(t, []int{16384, 4096, 64, 16, 3770}, []int{i.RXFIFO, i.TXFIFO, i.HashBins, i.Ring.DescriptorSize, i.ChecksumMTU})
			require.True(t, i.TXChecksum && !i.RXChecksum)
		}},
		// The feature register of QEMU's NPCM boards: normal descriptors.
		{[]string{"nuvoton,npcm8xx-sgmii"}, 0x1032, 0x100D4F37, func(i mac.Info) {
			require.Equal(t, []int{1, 64, 16, 1500, 3800}, []int{i.PerfectFilters, i.HashBins, i.Ring.DescriptorSize, i.ChecksumMTU, i.MaxMTU})
			require.True(t, i.TXChecksum && i.RXChecksum && i.EveryFrame)
		}},
		{[]string{"altr,socfpga-stmmac", "snps,dwmac-3.70a", "snps,dwmac"}, 0x1037, allFeatures | gmac3.FeatExtHash, func(i mac.Info) {
			require.Equal(t, []int{31, 256, 32}, []int{i.PerfectFilters, i.HashBins, i.Ring.DescriptorSize})
			require.False(t, i.Watchdog)
		}},
		{[]string{"board,own", "snps,dwmac-3.710"}, 0x1037, allFeatures, func(i mac.Info) {
			require.Equal(t, 1500, i.ChecksumMTU)
		}},
		{nil, 0x1037, allFeatures, func(i mac.Info) { require.True(t, i.Watchdog) }},
	} {
		core, err := New(&fakeBus{regs: newRegs(c.version, c.features), names: c.names})
		require.NoError(t, err, "%v", c.names)
		c.check(core.Info())
	}
	for name, p := range platforms {
		require.NoError(t, p.check(), name)
		require.Equal(t, p.RXFIFO, PlatformFor("other", name).RXFIFO)
	}
	d := DriverFor(Platform{RXFIFO: 8192})
	core, err := d.New(&fakeBus{regs: newRegs(0x1037, 0), names: []string{"allwinner,sun7i-a20-gmac"}})
	require.NoError(t, err)
	require.Equal(t, 8192, core.Info().RXFIFO, "the caller's word goes before the name's")
}

func TestConfigure(t *testing.T) {
	regs := newRegs(0x1037, allFeatures)
	c := newCore(t, regs, Platform{RXFIFO: 16384, TXFIFO: 16384})
	require.NoError(t, c.Configure(testSetup()))
	for off, want := range map[uint32]uint32{
		gmac3.DMABusMode:                 1<<25 | 8<<8 | 1<<7, // AAL, PBL 8, ATDS
		gmac3.DMAOpMode:                  1<<26 | 1<<25 | 1<<24 | 1<<21 | 3<<11 | 2<<9 | 1<<8 | 1<<2,
		gmac3.DMAWatchdog:                0,
		gmac3.MACIntMask:                 0x60F,
		gmac3.MACConfig:                  1<<27 | 1<<21 | 1<<16 | 1<<15 | 1<<14 | 1<<11 | 1<<10,
		gmac3.MACVLANTag:                 0,
		gmac3.MACFilter:                  0,
		gmac3.MACFlow:                    0,
		gmac3.AddrHigh(0):                0x80000100,
		gmac3.AddrLow(0):                 0x00000002,
		gmac3.MMC + dwregs.MMCRxIntMask:  0xFFFFFFFF,
		gmac3.MMC + dwregs.MMCTxIntMask:  0xFFFFFFFF,
		gmac3.MMC + dwregs.MMCIPCIntMask: 0xFFFFFFFF,
		gmac3.MMC + dwregs.MMCControl:    5, // reset, reset on read
	} {
		v, ok := regs.last(off)
		require.True(t, ok, gmac3.RegName(off))
		require.Equal(t, want, v, "%s: %#x", gmac3.RegName(off), v)
	}
	for _, w := range regs.writes {
		require.Zero(t, w.off == gmac3.MACConfig && w.v&0xC != 0, "transmitter and receiver stay off")
	}

	regs = newRegs(0x1036, 0)
	c = newCore(t, regs, PlatformFor("allwinner,sun7i-a20-gmac"))
	s := testSetup()
	s.RXChecksum = false
	require.NoError(t, c.Configure(s))
	require.Equal(t, uint32(1<<25|1<<16|16<<8), regs.regs[gmac3.DMABusMode], "fixed bursts of 16, normal descriptors")
}

func TestConfigureRefuses(t *testing.T) {
	c := newCore(t, newRegs(0x1037, allFeatures), Platform{TXFIFO: 2048})
	for name, change := range map[string]func(*mac.Setup){
		"queues":       func(s *mac.Setup) { s.RXQueues = 2 },
		"no queue":     func(s *mac.Setup) { s.TXQueues = 0 },
		"MTU":          func(s *mac.Setup) { s.MTU, s.TXChecksum = 9001, false },
		"small MTU":    func(s *mac.Setup) { s.MTU = 67 },
		"checksum MTU": func(s *mac.Setup) { s.MTU = 1851 },
		"buffer size":  func(s *mac.Setup) { s.BufferSize = 1500 },
	} {
		s := testSetup()
		change(&s)
		require.ErrorIs(t, c.Configure(s), mac.ErrConfig, name)
	}
	s := testSetup()
	s.MTU, s.TXChecksum = 9000, false
	require.NoError(t, c.Configure(s), "jumbo frames, with checksums of the stack")

	regs := newRegs(0x1037, allFeatures)
	regs.readonly[gmac3.MACConfig] = gmac3.ConfigIPC
	require.ErrorIs(t, newCore(t, regs, Platform{}).Configure(testSetup()), mac.ErrUnsupported, "an engine that does not switch on")
	c = newCore(t, newRegs(0x1037, 0), Platform{})
	require.ErrorIs(t, c.Configure(testSetup()), mac.ErrUnsupported, "no engine")
	require.ErrorIs(t, c.SetAddress(mac.Broadcast), mac.ErrConfig)
}

func TestSetMTU(t *testing.T) {
	regs := newRegs(0x1037, allFeatures)
	c := newCore(t, regs, Platform{RXFIFO: 4096, TXFIFO: 4096})
	s := testSetup()
	s.TXChecksum = false
	require.NoError(t, c.Configure(s))
	config := func() uint32 { return regs.regs[gmac3.MACConfig] & (gmac3.ConfigJE | gmac3.Config2K) }
	require.NoError(t, c.SetMTU(1974))
	require.Equal(t, gmac3.Config2K, config())
	require.NoError(t, c.SetMTU(1975))
	require.Equal(t, gmac3.ConfigJE, config())
	require.ErrorIs(t, c.SetMTU(9000), mac.ErrConfig, "stored before it is forwarded: too long")
	require.ErrorIs(t, c.SetMTU(9001), mac.ErrConfig)
	s.MTU = 9000
	require.NoError(t, c.Configure(s))
	require.Zero(t, regs.regs[gmac3.DMAOpMode]&gmac3.OpRSF, "opened with it, it is cut through")
	require.NoError(t, c.SetMTU(1500))
}

func TestResetBounds(t *testing.T) {
	regs := newRegs(0x1037, allFeatures)
	c := newCore(t, regs, Platform{})
	regs.resetReads = 40
	require.NoError(t, c.Reset(context.Background()))
	regs.resetReads = 1 << 30
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := c.Reset(ctx)
	require.ErrorIs(t, err, mac.ErrReset)
	require.ErrorIs(t, err, context.Canceled)
}

func TestStop(t *testing.T) {
	regs := newRegs(0x1037, allFeatures)
	c := started(t, regs)
	require.ErrorIs(t, c.Start(), mac.ErrConfig, "running")
	require.NoError(t, c.SetLink(mac.Link{Up: true, Speed: 1000, FullDuplex: true}))
	regs.writes = nil
	require.NoError(t, c.Stop())
	var order []access
	for _, w := range regs.writes {
		if w.off == gmac3.MACConfig || w.off == gmac3.DMAOpMode {
			order = append(order, access{w.off, w.v & (gmac3.ConfigTE | gmac3.ConfigRE)})
			if w.off == gmac3.DMAOpMode {
				order[len(order)-1].v = w.v & (gmac3.OpST | gmac3.OpSR)
			}
		}
	}
	require.Equal(t, []access{
		{gmac3.DMAOpMode, gmac3.OpSR}, {gmac3.MACConfig, gmac3.ConfigRE}, {gmac3.MACConfig, 0}, {gmac3.DMAOpMode, 0},
	}, order, "transmit DMA, transmitter, receiver, receive DMA")
	require.Zero(t, regs.regs[gmac3.DMAIntEnable])

	regs.regs[gmac3.DMAStatus] = 3 << 20
	err := c.Stop()
	require.ErrorIs(t, err, mac.ErrNotIdle)
	require.ErrorContains(t, err, "transmit state 3")

	regs.regs[gmac3.DMAStatus] = 0
	regs.regs[gmac3.MACDebug] = gmac3.DebugTXF
	regs.writes = nil
	require.NoError(t, c.Stop())
	require.Contains(t, regs.writes, access{gmac3.DMAOpMode, c.opMode | gmac3.OpFTF}, "what does not drain is flushed")

	c = newCore(t, newRegs(0x1037, allFeatures), Platform{})
	require.ErrorIs(t, c.Start(), mac.ErrConfig, "no rings")
}

// TestStopSendsTheLastFrame: a version without the debug register shows a frame on its
// way in the state of the DMA alone. The transmitter goes on until it has left.
func TestStopSendsTheLastFrame(t *testing.T) {
	for _, version := range []uint32{0x1034, 0x1037} {
		regs := newRegs(version, allFeatures)
		c := started(t, regs)
		require.NoError(t, c.SetLink(mac.Link{Up: true, Speed: 1000, FullDuplex: true}))
		regs.sending, regs.cut = 10, false
		require.NoError(t, c.Stop())
		require.False(t, regs.cut)
		require.Zero(t, regs.sending)
	}
}
